package mcpbroker_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
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
}, {
	" mend", "fix",
	" remark", "note, warn",
	" told of ", "notified of, shown",
	"nobody's fault", "not caused by the client",
	"// Who ", "the user, client or operator",
}}

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
