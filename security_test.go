package mcpbroker_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	quotedCode = regexp.MustCompile("`([^`]+)`")
)

// testsOf returns the names of the tests below dir by folder.
func testsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			in := filepath.ToSlash(filepath.Dir(path))
			found[in] = append(found[in], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each promise of docs/security.md names a test in the last column of its table, and
// that test exists.
func TestPromisesOfSecurityHaveTests(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t, ".")
	promises, inTable := 0, false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) < 4 {
			inTable = false
			continue
		}
		last := strings.ReplaceAll(strings.TrimSpace(cells[len(cells)-2]), "\x00", "|")
		switch {
		case last == "tested by" || last == "test":
			inTable = true
		case inTable && !strings.HasPrefix(last, "---"):
			promises++
			if problem := missingTest(last, tests); problem != "" {
				t.Errorf("%.60s: %s", cells[1], problem)
			}
		}
	}
	if promises < 40 {
		t.Errorf("%d promises with tests, want 40 and more", promises)
	}
}

// missingTest returns what is wrong with a cell that names tests, or "". A cell
// contains names of tests and of scripts of cmd/broker, and packages with a -run
// pattern, each in backquotes.
func missingTest(cell string, tests map[string][]string) string {
	named := quotedCode.FindAllStringSubmatch(cell, -1)
	if len(named) == 0 {
		return "no test is named"
	}
	for _, m := range named {
		command := strings.TrimPrefix(m[1], "go test ")
		pkg, run, _ := strings.Cut(command, " -run ")
		switch {
		case strings.HasPrefix(command, "./"):
			if problem := missingRun(strings.TrimPrefix(pkg, "./"), strings.Trim(run, "'"), tests); problem != "" {
				return problem
			}
		case strings.HasSuffix(command, ".txtar"):
			if _, err := os.Stat(filepath.Join("cmd/broker/testdata/script", command)); err != nil {
				return "no script " + command
			}
		default:
			if !matches("^"+regexp.QuoteMeta(command)+"$", "", tests) {
				return "no test " + command
			}
		}
	}
	return ""
}

// missingRun returns the alternative of a -run pattern that selects no test of a
// package.
func missingRun(pkg, run string, tests map[string][]string) string {
	for alternative := range strings.SplitSeq(run, "|") {
		if !matches(alternative, pkg, tests) {
			return "no test of " + pkg + " matches " + alternative
		}
	}
	return ""
}

// matches reports whether a pattern selects a test of a package, or of any package if
// that is empty.
func matches(pattern, pkg string, tests map[string][]string) bool {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	for in, names := range tests {
		if pkg != "" && in != pkg {
			continue
		}
		if slices.ContainsFunc(names, re.MatchString) {
			return true
		}
	}
	return false
}
