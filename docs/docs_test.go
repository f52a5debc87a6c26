package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/docs"
)

func ExamplePlain() {
	fmt.Print(docs.Plain("# Search\n\nSee [policy](policy.md) and `a | b`.\n\n| key | |\n|---|---|\n| `wait` | how long a search waits for servers that start |\n", 60))
	// Output:
	// Search
	// ======
	//
	// See policy (policy.md) and `a | b`.
	//
	// key
	// `wait`  how long a search waits for servers that start
}

// The index lists each page once.
func TestIndexListsEachPage(t *testing.T) {
	files, err := fs.Glob(os.DirFS("."), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]int)
	for _, topic := range docs.Topics() {
		listed[topic.Name+".md"]++
		if text, _ := docs.Page(topic.Name); !strings.HasPrefix(text, "# ") {
			t.Errorf("%s.md does not begin with its title", topic.Name)
		}
	}
	want := make(map[string]int)
	for _, file := range files {
		if file != "README.md" {
			want[file] = 1
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("pages in the index of README.md (-want +got):\n%s", diff)
	}
}

// Pages fit into a terminal, all but what is code or one long word.
func TestPagesFit(t *testing.T) {
	for _, topic := range docs.Topics() {
		text, ok := docs.Page(topic.Name)
		if !ok {
			t.Fatalf("no page %s", topic.Name)
		}
		for line := range strings.Lines(docs.Plain(text, 80)) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 80 && !strings.HasPrefix(line, "    ") && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, "  ") {
				t.Errorf("%s: a line of %d characters: %s", topic.Name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	tests := []struct{ name, markdown, want string }{
		{"paragraphs are filled", "one two\nthree four five six seven\n\nnext", "one two three four\nfive six seven\n\nnext\n"},
		{"lists hang", "- one two three four five\n  six\n- seven\n  - eight nine ten eleven twelve\n1. a", "- one two three four\n  five six\n- seven\n  - eight nine ten\n    eleven twelve\n1. a\n"},
		{"code stays", "a\n```sh\nbroker  help # a line that is too long for it\n\n```\nb", "a\n    broker  help # a line that is too long for it\n\nb\n"},
		{"code in lists", "- a\n  ```sh\n  x\n  ```\n", "- a\n    x\n"},
		{"marks go, code stays", "**a** `**b**` [c](c.md#d) [e.md](e.md) [f](#f) [g](https://g)", "a `**b**` c (c.md)\ne.md f g (https://g)\n"},
		{"wide tables are records", "| a | b | c |\n|---|---|--:|\n| long cell one | long cell two | `x\\|y` |", "long cell one\n    b: long cell two\n    c: `x|y`\n"},
		{"headings", "# One\n## Two\n### Three", "One\n===\nTwo\n---\nThree\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, docs.Plain(tt.markdown, 20)); diff != "" {
				t.Errorf("Plain mismatch (-want +got):\n%s", diff)
			}
		})
	}
}
