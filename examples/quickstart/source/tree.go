package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of one answer, and of one file that is looked into.
const (
	maxFileBytes = 4 << 20
	maxTextBytes = 1 << 20
	maxFiles     = 20_000
	maxMatches   = 1000
)

// A tree is one source tree. Its methods are the tools; they are safe for
// concurrent use. Paths cannot leave the tree, not through symbolic links
// either: os.Root sees to that.
type tree struct {
	root *os.Root
}

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root}, nil
}

// Close closes the tree's directory.
func (t *tree) Close() error { return t.root.Close() }

// walk calls f with each regular file below dir, in path order, until f
// returns fs.SkipAll or an error.
func (t *tree) walk(ctx context.Context, dir string, f func(name string, d fs.DirEntry) error) error {
	dir = path.Clean(cmp.Or(strings.Trim(dir, "/"), "."))
	if !fs.ValidPath(dir) {
		return fmt.Errorf("directory %q is outside the source tree: give a path from its root", dir)
	}
	return fs.WalkDir(t.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == dir {
				return fmt.Errorf("no directory %q: list_files without dir shows what is there", dir)
			}
			return nil // gone or unreadable since: not listed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if base := path.Base(name); name != dir && (base[0] == '.' || base == "node_modules") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return f(name, d)
	})
}

// read returns the contents of a text file.
func (t *tree) read(name string) ([]byte, error) {
	name = path.Clean(strings.TrimPrefix(name, "/"))
	info, err := t.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no file %q: take a path from list_files", name)
	case err != nil:
		return nil, fmt.Errorf("file %q cannot be read: %w", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is not a file: list_files with dir shows what is in a directory", name)
	case info.Size() > maxFileBytes:
		return nil, fmt.Errorf("file %q has %d bytes, more than the %d that are read", name, info.Size(), maxFileBytes)
	}
	data, err := t.root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("file %q cannot be read: %w", name, err)
	}
	if !isText(data) {
		return nil, fmt.Errorf("file %q is not text", name)
	}
	return data, nil
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

type listFilesIn struct {
	Dir   string `json:"dir,omitempty" jsonschema:"only below this directory, from the root of the tree"`
	Ext   string `json:"ext,omitempty" jsonschema:"only files with this ending, such as .go"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many files at most; 20000 unless given"`
}

type listFilesOut struct {
	Files     []file `json:"files"`
	Truncated bool   `json:"truncated,omitempty" jsonschema:"whether there are more files than the limit"`
}

type file struct {
	Path  string `json:"path" jsonschema:"the file, from the root of the tree"`
	Bytes int64  `json:"bytes"`
}

func (t *tree) listFiles(ctx context.Context, in listFilesIn) (listFilesOut, error) {
	if in.Ext != "" && in.Ext[0] != '.' {
		in.Ext = "." + in.Ext
	}
	limit := clamp(in.Limit, maxFiles, maxFiles)
	out := listFilesOut{Files: []file{}}
	err := t.walk(ctx, in.Dir, func(name string, d fs.DirEntry) error {
		if in.Ext != "" && path.Ext(name) != in.Ext {
			return nil
		}
		if len(out.Files) == limit {
			out.Truncated = true
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil {
			out.Files = append(out.Files, file{Path: name, Bytes: info.Size()})
		}
		return nil
	})
	return out, err
}

// clamp returns n, or otherwise if n is zero or negative, but at most most.
func clamp(n, otherwise, most int) int {
	if n <= 0 {
		n = otherwise
	}
	return min(n, most)
}

type pathIn struct {
	Path string `json:"path" jsonschema:"the file, from the root of the tree"`
}

type countLinesOut struct {
	Path     string `json:"path"`
	Lines    int    `json:"lines" jsonschema:"all lines"`
	Blank    int    `json:"blank" jsonschema:"lines with nothing but white space"`
	Comments int    `json:"comments" jsonschema:"lines with nothing but a line comment"`
	Code     int    `json:"code" jsonschema:"all others"`
}

// lineComment is how a line comment begins in files with an ending.
var lineComment = map[string]string{
	".go": "//", ".ts": "//", ".js": "//", ".c": "//", ".h": "//", ".rs": "//", ".java": "//",
	".py": "#", ".sh": "#", ".yml": "#", ".yaml": "#", ".toml": "#",
}

func (t *tree) countLines(_ context.Context, in pathIn) (countLinesOut, error) {
	data, err := t.read(in.Path)
	if err != nil {
		return countLinesOut{}, err
	}
	out := countLinesOut{Path: in.Path}
	comment := lineComment[path.Ext(in.Path)]
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		out.Lines++
		switch {
		case len(line) == 0:
			out.Blank++
		case comment != "" && bytes.HasPrefix(line, []byte(comment)):
			out.Comments++
		default:
			out.Code++
		}
	}
	return out, nil
}

type listFunctionsOut struct {
	Path      string     `json:"path"`
	Functions []function `json:"functions"`
}

type function struct {
	Name     string `json:"name" jsonschema:"its name; a method's after its receiver's type and a dot"`
	Line     int    `json:"line" jsonschema:"the line of its func keyword"`
	Lines    int    `json:"lines" jsonschema:"from func to the closing brace"`
	Exported bool   `json:"exported"`
}

func (t *tree) listFunctions(_ context.Context, in pathIn) (listFunctionsOut, error) {
	if path.Ext(in.Path) != ".go" {
		return listFunctionsOut{}, fmt.Errorf("%q is not a Go file: list_files with ext .go shows them", in.Path)
	}
	data, err := t.read(in.Path)
	if err != nil {
		return listFunctionsOut{}, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, in.Path, data, parser.SkipObjectResolution)
	if err != nil {
		return listFunctionsOut{}, fmt.Errorf("parse Go file: %w", err)
	}
	out := listFunctionsOut{Path: in.Path, Functions: []function{}}
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			from, to := fset.Position(f.Pos()).Line, fset.Position(f.End()).Line
			out.Functions = append(out.Functions, function{
				Name: receiver(f) + f.Name.Name, Line: from, Lines: to - from + 1, Exported: f.Name.IsExported(),
			})
		}
	}
	return out, nil
}

// receiver returns "T." for a method of T or *T, and "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	expr := f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name + "."
		default:
			return ""
		}
	}
}

type searchTextIn struct {
	Pattern string `json:"pattern" jsonschema:"a regular expression in RE2 syntax; (?i) in front ignores case"`
	Dir     string `json:"dir,omitempty" jsonschema:"only below this directory"`
	Ext     string `json:"ext,omitempty" jsonschema:"only files with this ending, such as .go"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many lines at most; 50 unless given, 1000 at most"`
}

type searchTextOut struct {
	Matches   []match `json:"matches"`
	Truncated bool    `json:"truncated,omitempty" jsonschema:"whether more lines match than the limit"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text" jsonschema:"the line, cut after 200 characters"`
}

func (t *tree) searchText(ctx context.Context, in searchTextIn) (searchTextOut, error) {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return searchTextOut{}, err
	}
	files, err := t.listFiles(ctx, listFilesIn{Dir: in.Dir, Ext: in.Ext})
	if err != nil {
		return searchTextOut{}, err
	}
	limit := clamp(in.Limit, 50, maxMatches)
	out := searchTextOut{Matches: []match{}}
	for _, f := range files.Files {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		data, err := t.read(f.Path)
		if err != nil {
			continue // too large, or not text
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if line = bytes.TrimRight(line, "\r\n"); !re.Match(line) {
				continue
			}
			if len(out.Matches) == limit {
				out.Truncated = true
				return out, nil
			}
			out.Matches = append(out.Matches, match{Path: f.Path, Line: n, Text: head(string(line), 200)})
		}
	}
	return out, nil
}

// head returns the first n characters of s.
func head(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

type readFileIn struct {
	Path  string `json:"path" jsonschema:"the file, from the root of the tree"`
	From  int    `json:"from,omitempty" jsonschema:"the first line to read; 1 unless given"`
	Lines int    `json:"lines,omitempty" jsonschema:"how many lines; all unless given"`
}

type readFileOut struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty" jsonschema:"whether text was cut at 1 MiB"`
}

func (t *tree) readFile(_ context.Context, in readFileIn) (readFileOut, error) {
	data, err := t.read(in.Path)
	if err != nil {
		return readFileOut{}, err
	}
	if in.From < 0 || in.Lines < 0 {
		return readFileOut{}, fmt.Errorf("from is %d and lines is %d: neither can be negative", in.From, in.Lines)
	}
	var text []byte
	n := 0
	for line := range bytes.Lines(data) {
		if n++; n >= in.From && (in.Lines == 0 || n < max(in.From, 1)+in.Lines) {
			text = append(text, line...)
		}
	}
	out := readFileOut{Text: string(text)}
	if len(text) > maxTextBytes {
		out = readFileOut{Text: strings.ToValidUTF8(string(text[:maxTextBytes]), ""), Truncated: true}
	}
	return out, nil
}
