package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// maxMistakes bounds the mistakes of a report.
const maxMistakes = 100

// A Report is the error for an invalid file: all its mistakes, in the order of the file, and the
// notes that may explain them.
type Report struct {
	// Path is the file's path as given.
	Path string
	// Mistakes must be fixed. They are in the order of the file, and never empty.
	Mistakes []Mistake
	// Notes are warnings, such as unknown keys, in the order of the file.
	Notes []Mistake
	// More is the number of mistakes that were left off.
	More int
}

// A Mistake is a message about a position in a file.
type Mistake struct {
	// Line and Column count from 1; the column counts characters, as editors do.
	Line, Column int
	// Text describes the mistake, with advice.
	Text string
}

// Error returns one line for each mistake and note, in the order of the file.
func (r *Report) Error() string {
	all := slices.Clone(r.Mistakes)
	for _, n := range r.Notes {
		n.Text = "note: " + n.Text
		all = append(all, n)
	}
	sortMistakes(all)
	var b strings.Builder
	for i, m := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.at(r.Path))
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more", r.Path, r.More)
	}
	return b.String()
}

func (m Mistake) at(path string) string {
	return fmt.Sprintf("%s:%d:%d: %s", path, m.Line, m.Column, m.Text)
}

func sortMistakes(ms []Mistake) {
	slices.SortStableFunc(ms, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// A collector collects the mistakes and notes of one file.
type collector struct {
	path string // names the file
	// ofProject rejects keys that a project must not have; included leaves out invalid servers of
	// an included file.
	ofProject, included bool
	personal            bool // the current value may contain secrets of people

	data     []byte
	lines    []int // offset of the first byte of each line
	mistakes []Mistake
	notes    []Mistake
	more     int

	quotaAt []located // the tools of quotas
}

func newCollector(data []byte) *collector {
	c := &collector{data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			c.lines = append(c.lines, i+1)
		}
	}
	return c
}

// position converts a byte offset to a line and a column in characters.
func (c *collector) position(off int) (line, column int) {
	off = min(max(off, 0), len(c.data))
	i, found := slices.BinarySearch(c.lines, off)
	if !found {
		i--
	}
	return i + 1, 1 + utf8.RuneCount(c.data[c.lines[i]:off])
}

func (c *collector) fail(off int, format string, args ...any) {
	if len(c.mistakes) == maxMistakes {
		c.more++
		return
	}
	line, column := c.position(off)
	c.mistakes = append(c.mistakes, Mistake{line, column, fmt.Sprintf(format, args...)})
}

func (c *collector) note(off int, format string, args ...any) {
	if len(c.notes) == maxMistakes {
		return
	}
	line, column := c.position(off)
	c.notes = append(c.notes, Mistake{line, column, fmt.Sprintf(format, args...)})
}

// report returns the collected mistakes as an error, or nil.
func (c *collector) report(path string) error {
	sortMistakes(c.mistakes)
	sortMistakes(c.notes)
	if len(c.mistakes) == 0 {
		return nil
	}
	return &Report{Path: path, Mistakes: c.mistakes, Notes: c.notes, More: c.more}
}

// didYouMean returns a clause with the nearest known names, or "".
func didYouMean(name string, known []string) string {
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

// quote quotes a name of the file, and cuts a long one.
func quote(s string) string { return fmt.Sprintf("%q", gate.Cut(s, 60)) }

// firstInvalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
