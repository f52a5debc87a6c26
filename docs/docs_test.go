package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
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

// Pages are whole as HTML: nothing of their text is an element, and each link within
// them leads to a page and a heading.
func TestHTML(t *testing.T) {
	tests := []struct{ name, markdown, want string }{
		{"text is escaped", "a <script> & `<b>`", "<p>a &lt;script&gt; &amp; <code>&lt;b&gt;</code></p>\n"},
		{"links", "[the `x` page](policy.md#flows) [out](https://example.com) [bad](javascript:alert(1)) [code](../cmd/x.go)", `<p><a href="policy#flows">the <code>x</code> page</a> <a href="https://example.com" rel="noreferrer">out</a> bad) code</p>` + "\n"},
		{"lists in lists", "- a\n  b\n  - c\n- d", "<ul>\n<li>a\nb<ul>\n<li>c</li>\n</ul>\n</li>\n<li>d</li>\n</ul>\n"},
		{"code in lists", "1. a\n   ```sh\n   x <y>\n   ```", "<ol>\n<li>a<pre class=\"block\" tabindex=\"0\">x &lt;y&gt;\n</pre>\n</li>\n</ol>\n"},
		{"tables", "| k | |\n|---|---|\n| `a\\|b` | **c** *d* |", "<div class=\"scroll\" role=\"region\" aria-label=\"Table\" tabindex=\"0\"><table>\n<tr><th>k</th><th></th></tr>\n<tr><td><code>a|b</code></td><td><strong>c</strong> <em>d</em></td></tr>\n</table></div>\n"},
		{"headings", "## `a` of b\n## `a` of b", "<h2 id=\"a-of-b\"><code>a</code> of b</h2>\n<h2 id=\"a-of-b-1\"><code>a</code> of b</h2>\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, docs.HTML(tt.markdown)); diff != "" {
				t.Errorf("HTML mismatch (-want +got):\n%s", diff)
			}
		})
	}
	for _, topic := range docs.Topics() {
		text, _ := docs.Page(topic.Name)
		page := docs.HTML(text)
		for _, m := range regexp.MustCompile(`href="([\w-]*)(?:#([\w-]+))?"`).FindAllStringSubmatch(page, -1) {
			target := page
			if m[1] != "" {
				other, _ := docs.Page(m[1])
				target = docs.HTML(other)
			}
			if target == "" || m[2] != "" && !strings.Contains(target, `id="`+m[2]+`"`) {
				t.Errorf("%s links to %s, which is not there", topic.Name, m[0])
			}
		}
	}
}
