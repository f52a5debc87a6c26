package cli

import (
	"strings"
	"testing"
)

func TestJoined(t *testing.T) {
	long := strings.Repeat("word ", 14) + "end"
	for text, want := range map[string]string{
		long + "\nmore":            long + " more",
		long + "\n\nmore":          long + "\n\nmore",
		long + "\n  an example":    long + "\n  an example",
		"short\nmore":              "short\nmore",
		"  " + long + "\nnot more": "  " + long + "\nnot more",
	} {
		if got := JoinParagraphs(text); got != want {
			t.Errorf("joined(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFolded(t *testing.T) {
	for _, tt := range []struct {
		text   string
		width  int
		margin string
		want   string
	}{
		{"one two three", 0, "", "one two three"},
		{"one two three", 8, "", "one two\nthree"},
		{"one two three four", 9, "  ", "one two\n  three\n  four"},
		{"a\n  one two three\nb", 9, "", "a\n  one two\n  three\nb"},
		{"a-word-that-is-longer than that", 10, "", "a-word-that-is-longer\nthan that"},
	} {
		if got := Fold(tt.text, tt.width, tt.margin); got != tt.want {
			t.Errorf("folded(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}
