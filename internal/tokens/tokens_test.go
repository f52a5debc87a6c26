package tokens

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The counts are those of OpenAI's tiktoken; tools/peers compares many more texts
// with another implementation.
func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		"":                        0,
		"hello world":             2,
		"search_tools":            2,
		" 1234567890":             5,
		"I'll don't WE'VE":        5,
		"\x7f":                    1,
		"日本語":                     2,
		"a\u0301":                 2,
		"x  \n\n  y":              4,
		"\n\t\na":                 2,
		strings.Repeat(" ", 10):   1,
		"not UTF-8: \xff\xfe end": 9,
	} {
		if got, err := Count(text); err != nil || got != want {
			t.Errorf("Count(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestPieces(t *testing.T) {
	for text, want := range map[string][]string{
		"Read  the FILE's 12345 lines...\n\n  end ": {"Read", " ", " the", " FILE's", " ", "123", "45", " lines", "...\n\n", " ", " end", " "},
		"camelCase HTTPServer":                      {"camel", "Case", " HTTPServer"},
		"A\u0301b":                                  {"A\u0301b"},
		"/* // */":                                  {"/*", " //", " */"},
		"\u0301":                                    {"\u0301"},
	} {
		if got := slices.Collect(pieces(text)); !slices.Equal(got, want) {
			t.Errorf("pieces(%q) = %q, want %q", text, got, want)
		}
	}
}

// A long text without spaces is counted in no time.
func TestLongPiece(t *testing.T) {
	began := time.Now()
	if n, err := Count(strings.Repeat("abcdefghij", 10_000)); err != nil || n < 10_000 {
		t.Errorf("%d tokens, %v", n, err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it takes %v", took)
	}
}

// Whatever a text is, its pieces are all of it.
func FuzzPieces(f *testing.F) {
	f.Add("Read the file's \xff lines\u0301 12\r\n ")
	f.Fuzz(func(t *testing.T, text string) {
		if got := strings.Join(slices.Collect(pieces(text)), ""); got != text {
			t.Errorf("pieces of %q are %q", text, got)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("List the issues of a repository, newest first. Takes owner, repo and state.\n", 100)
	for b.Loop() {
		if _, err := Count(text); err != nil {
			b.Fatal(err)
		}
	}
}
