package script

import (
	"sort"
	"unicode/utf16"
)

// Lines are the offsets of the lines of a text. A line ends with
// , \r, \r
// , U+2028 or U+2029, as in JavaScript and its tools. Columns count from 1 in UTF-16, as in
// editors and source maps. It is not safe for concurrent use.
type Lines struct {
	text   string
	starts []int
}

// lineEnd returns the length of the line end at i, in bytes, or 0.
func lineEnd(text string, i int) int {
	n := lineBreak(text, i)
	if n == 1 && text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
		return 2
	}
	return n
}

func (t *Lines) index() {
	if t.starts != nil {
		return
	}
	t.starts = []int{0}
	for i := 0; i < len(t.text); {
		n := lineEnd(t.text, i)
		if n > 0 {
			t.starts = append(t.starts, i+n)
		}
		i += max(n, 1)
	}
}

// line returns the number, from 1, of the line that contains offset, and its start and end without
// the line end.
func (t *Lines) line(offset int) (number, start, end int) {
	t.index()
	number = sort.SearchInts(t.starts, offset+1)
	start = t.starts[number-1]
	for end = start; end < len(t.text) && lineBreak(t.text, end) == 0; {
		end++
	}
	return number, start, end
}

// Offset returns the offset of a line and a column.
func (t *Lines) Offset(line, column int) (int, bool) {
	t.index()
	if line < 1 || line > len(t.starts) || column < 1 {
		return 0, false
	}
	at := t.starts[line-1]
	left := column - 1
	for i, r := range t.text[at:] {
		if left <= 0 {
			return at + i, true
		}
		if lineBreak(t.text, at+i) > 0 {
			return 0, false
		}
		left -= utf16.RuneLen(max(r, 0))
	}
	return len(t.text), left <= 0
}

// byteOffset returns the offset of a line and a column in bytes from 0, at most the length of the
// text.
func (t *Lines) byteOffset(line, column int) int {
	t.index()
	at := t.starts[min(max(line, 1), len(t.starts))-1]
	return min(at+max(column, 0), len(t.text))
}

// Column returns the column in characters for a column in bytes from 0.
func (t *Lines) Column(line, bytes int) int {
	offset := t.byteOffset(line, bytes)
	if offset == len(t.text) {
		return max(1, bytes+1)
	}
	_, start, _ := t.line(offset)
	return t.column(start, offset)
}

// column returns the column of an offset on the line that begins at start.
func (t *Lines) column(start, offset int) int {
	n := 1
	for _, r := range t.text[start:max(start, min(offset, len(t.text)))] {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
