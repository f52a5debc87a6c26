// Package skillcases contains the test cases for all packages about skills: files on a disk or in
// an archive, and the expected results. It is for tests.
//
// There is one file of lines for each kind of case. Trees are data, so that links, line ends and
// unusual bytes survive any checkout.
package skillcases

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

//go:embed cases/*.jsonl
var files embed.FS

// An Entry is an entry of a tree: a text, bytes, a link, a directory or a repeated text.
type Entry struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Base64  []byte `json:"base64"`
	Symlink string `json:"symlink"`
	Dir     bool   `json:"dir"`
	Mode    string `json:"mode"`
	Prefix  string `json:"prefix"`
	Suffix  string `json:"suffix"`
	Repeat  struct {
		Unit  string `json:"unit"`
		Times int    `json:"times"`
	} `json:"repeat"`
}

// Run runs one subtest for each case of a kind, with the tree of the case in a new directory. It
// decodes the case into input and the expected result into want.
func Run[Input, Want any](t *testing.T, kind string, test func(t *testing.T, dir string, in Input, want Want)) {
	data, err := files.ReadFile("cases/" + kind + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Case, Expected json.RawMessage
		}
		var tree struct {
			ID   string  `json:"id"`
			Tree []Entry `json:"tree"`
		}
		var in Input
		var want Want
		decode(t, lines.Bytes(), &c)
		decode(t, c.Case, &tree)
		decode(t, c.Case, &in)
		decode(t, c.Expected, &want)
		t.Run(tree.ID, func(t *testing.T) {
			dir := t.TempDir()
			Write(t, dir, tree.Tree)
			test(t, dir, in, want)
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %.100s", err, data)
	}
}

// Write writes a tree to a directory. It skips the test if the tree contains a symbolic link and
// the system does not support them.
func Write(t *testing.T, dir string, tree []Entry) {
	t.Helper()
	for _, e := range tree {
		path := filepath.Join(dir, filepath.FromSlash(e.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Symlink != "":
			if err := os.Symlink(e.Symlink, path); err != nil {
				t.Skip("needs symbolic links:", err)
			}
			continue
		case e.Dir:
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := uint64(0o644)
		if e.Mode != "" {
			var err error
			if mode, err = strconv.ParseUint(e.Mode, 8, 32); err != nil {
				t.Fatal(err)
			}
		}
		data := e.Base64
		if data == nil {
			data = []byte(e.Text + e.Prefix + strings.Repeat(e.Repeat.Unit, e.Repeat.Times) + e.Suffix)
		}
		if err := os.WriteFile(path, data, os.FileMode(mode)); err != nil {
			t.Fatal(err)
		}
	}
}
