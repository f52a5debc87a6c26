package mcpbroker_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The programs print each error that docs/errors.md lists: its parts between the marks
// … occur in string literals of the sources, and one of them is long enough to be
// found.
func TestIndexOfErrors(t *testing.T) {
	page, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := textsOfSources(t)
	rows := 0
	for row := range strings.Lines(string(page)) {
		cell, _, ok := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		if !ok || !strings.HasPrefix(row, "| `") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			long := false
			for part := range strings.SplitSeq(m[1], "…") {
				part = strings.TrimSpace(part)
				long = long || len(part) >= 9
				if part != "" && !strings.Contains(texts, part) {
					t.Errorf("no source has %q of %s", part, m[0])
				}
			}
			if !long {
				t.Errorf("%s could be anything: it needs nine characters in a row", m[0])
			}
		}
	}
	if rows < 60 {
		t.Errorf("%d errors are listed", rows)
	}
}

// textsOfSources returns the string literals of the programs, one a line.
func textsOfSources(t *testing.T) string {
	t.Helper()
	var texts strings.Builder
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "tools" || d.Name() == "examples") {
				return fs.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		fset := token.NewFileSet()
		s.Init(fset.AddFile(path, fset.Base(), len(source)), source, nil, 0)
		for {
			_, tok, literal := s.Scan()
			if tok == token.EOF {
				return nil
			}
			if tok == token.STRING {
				text, err := strconv.Unquote(literal)
				if err != nil {
					return err
				}
				texts.WriteString(text + "\n")
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts.String()
}
