package mcpbroker_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// retired are phrases that have to be read twice, each followed by plain words. The
// second list is about comments and pages only.
var retired = [2][]string{{
	"whose token one is", "the client that owns the token",
	"which there is not ", "that does not exist",
	"there is none of ", "is not available",
	"nil answers that ", "if nil, it returns",
	" lets in", "allows",
	" let in ", "admitted",
	" looks after", "manages",
	" look after ", "manage",
	" looked after", "checked",
	"as whoever ", "as the user, client or operator",
	"is nobody's", "belongs to no client",
	" begins anew", "starts without its state",
	"nil for none", "or nil",
	"empty for none", "or empty",
	"nil has none", "it may be nil",
	"There is no such page", "Page not found",
	"not what was approved", "changed since its approval",
	"a key goes on", "press a key to go on",
	"<<<<<<< ", "the merged text",
	"journaling", "runJournal",
	"errNothingKept", "errNoStore",
	"errNotHere", "errUnavailable",
	"keepOrigin", "storeOrigin",
	"keepPlanned", "notePlanned",
	"fair.Places", "fair.Slots",
	"wayToRead", "split",
	"placeOf(", "locationOf(",
	"goesOn(", "continues(",
	"takeOut(", "removeEntry(",
	"usualHosts", "defaultHosts",
	"diskPlaces", "diskSlots",
	"nobody in particular", "does not name a person",
	"let into the", "admitted to the",
	"let anybody in", "admit anybody",
}, {
	" mend", "fix",
	" remark", "note, warn",
	" told of ", "notified of, shown",
	"nobody's fault", "not caused by the client",
	"// Who ", "the user, client or operator",
}}

// wordy matches comments that describe a thing by a clause with a question word, or say
// "is no X".
var wordy = regexp.MustCompile(`^\s*// (?:An? |The )?\w+ (?:is|are) (?:(?:up to )?how|where|who|whose|whom) |// .* (?:is|are) no |// .* (?:anew|is told)\b|// .* of our own\b`)

// harmless removes uses of "no" that are good English.
var harmless = strings.NewReplacer("no longer", "", "here is no ", "", "here are no ", "")

// plainPackages are the packages whose comments have been read with the question how the
// Go standard library would say it.
var plainPackages = []string{
	"bridge", "broker/console", "broker/learned", "broker/run", "codegen", "policy/...",
	"sandbox/docker", "sandbox/jsrun/...", "sandbox/script",
	"internal/accounts", "internal/apitoken", "internal/atomicfile", "internal/badmessages", "internal/bearer", "internal/catalogues",
	"internal/clients", "internal/config", "internal/daemon", "internal/evaluate", "internal/eventually", "internal/fair",
	"internal/fakeauth", "internal/fakes3", "internal/fakeupstream", "internal/filelock", "internal/gate",
	"internal/jsonscan/...", "internal/lazyregexp", "internal/lines", "internal/nearest", "internal/oauth", "internal/outbound",
	"internal/pins", "internal/pipes", "internal/postgrestest", "internal/redact", "internal/related", "internal/replicas",
	"internal/results", "internal/schema", "internal/secret", "internal/service", "internal/skillcases", "internal/spawn/...",
	"internal/telemetry", "internal/tokens", "internal/top", "internal/tsname", "internal/wordstem", "internal/workertest",
}

// longestComment bounds a line with only a comment, in characters; a tab counts as four.
const longestComment = 120

// Comments are short lines, and in plainPackages also short sentences.
func TestComments(t *testing.T) {
	seen := 0
	tree := os.DirFS(".")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "dist"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		plain := matchAny(plainPackages, path.Dir(name)) && !strings.HasSuffix(name, "_test.go")
		for i, problem := range commentProblems(string(text), plain) {
			t.Errorf("%s:%d: %s", name, i, problem)
		}
		if plain {
			seen++
		}
		return nil
	})
	if err != nil || seen < 300 {
		t.Errorf("%d files of plain packages were read: %v", seen, err)
	}
	const sample = `package x

// sent is how many calls were sent.
var sent int // how many were received

// f begins anew.
func f() {}

// g adds. It is no method.
func g() {}

// h says that there are no longer any, and where they are.
func h() {}
`
	if got := commentProblems(sample+"// "+strings.Repeat("long ", 30), true); len(got) != 4 {
		t.Errorf("of a sample with four problems, it finds %v", got)
	}
}

// commentProblems returns the problems of the comments in a file by their lines.
func commentProblems(text string, plain bool) map[int]string {
	problems := map[int]string{}
	for i, line := range strings.Split(text, "\n") {
		comment := strings.HasPrefix(strings.TrimSpace(line), "// ")
		if comment && len([]rune(strings.ReplaceAll(line, "\t", "    "))) > longestComment {
			problems[i+1] = fmt.Sprintf("a comment of more than %d characters: wrap it", longestComment)
		}
		if plain && wordy.MatchString(harmless.Replace(line)) {
			problems[i+1] = strings.TrimSpace(line) + ": subject, verb, object"
		}
	}
	return problems
}

// Comments, messages and pages use the words of the field, in the order subject, verb,
// object.
func TestRetiredWords(t *testing.T) {
	tree := os.DirFS(".")
	seen := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		base, ext := path.Base(name), path.Ext(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base == "testdata" || base == "dist"):
			return fs.SkipDir
		case d.IsDir() || name == "words_test.go" || ext != ".go" && ext != ".md" && ext != ".ts" && ext != ".tsx":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		seen++
		for i, list := range retired {
			for j := 0; j < len(list); j += 2 {
				for at := bytes.Index(text, []byte(list[j])); at >= 0; {
					line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at+len(list[j])]
					if i == 0 || ext == ".md" || bytes.Contains(line, []byte("// ")) {
						t.Errorf("%s:%d: %q: write %q", name, bytes.Count(text[:at], []byte("\n"))+1, list[j], list[j+1])
					}
					next := bytes.Index(text[at+1:], []byte(list[j]))
					if next < 0 {
						break
					}
					at += 1 + next
				}
			}
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("%d files were read: %v", seen, err)
	}
}

var sourceFile = regexp.MustCompile("`([a-z0-9]+/[a-z0-9/]+\\.(?:go|ts|tsx))`")

// The files that the architecture page names exist.
func TestFilesOfTheArchitecture(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	files := sourceFile.FindAllStringSubmatch(string(page), -1)
	if len(files) < 30 {
		t.Errorf("the page names %d files", len(files))
	}
	for _, m := range files {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
}
