package lines

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// A Ring keeps the last lines of a stream. It is safe for concurrent use.
type Ring struct {
	maxLines, maxBytes, maxLine int

	mu        sync.Mutex
	lines     []string
	bytes     int
	truncated bool
	hide      func(string) string // nil hides nothing
}

// hideSlack is the number of bytes of a long line that are read beyond the kept ones, so that a
// value across the cut is recognized.
const hideSlack = 1 << 10

// SetHide makes r pass later lines through hide, which replaces secrets.
func (r *Ring) SetHide(hide func(string) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hide = hide
}

// NewRing returns a ring of 100 lines of 2 KiB, 16 KiB in all.
func NewRing() *Ring {
	return &Ring{maxLines: 100, maxBytes: 16 << 10, maxLine: 2 << 10}
}

// Add appends one line. It removes terminal escapes and invisible characters, and hides values,
// since the lines become part of error messages.
func (r *Ring) Add(line []byte) {
	cut := len(line) > r.maxLine
	if cut {
		line = line[:min(len(line), r.maxLine+hideSlack)]
	}
	s := strings.TrimRight(gate.Clean(escapes.ReplaceAllString(strings.ToValidUTF8(string(line), "\uFFFD"), "")), " \t\n")
	if s == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hide != nil {
		s = r.hide(s)
	}
	if cut {
		s = strings.ToValidUTF8(s[:min(len(s), r.maxLine)], "") + " …"
	}
	r.lines = append(r.lines, s)
	r.bytes += len(s)
	for len(r.lines) > r.maxLines || (r.bytes > r.maxBytes && len(r.lines) > 1) {
		r.truncated = true
		r.bytes -= len(r.lines[0])
		r.lines[0] = "" // release the text; the array may stay alive
		r.lines = r.lines[1:]
	}
}

// escapes matches terminal escape sequences: colours and similar ones, titles, and others of two
// bytes.
var escapes = lazyregexp.New(`\x1b(\[[^\x40-\x7e]*[\x40-\x7e]?|\][^\x07\x1b]*(\x07|\x1b\\)?|.?)`)

// Lines returns a copy of the lines, oldest first.
func (r *Ring) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// Cut reports whether lines are missing at the beginning.
func (r *Ring) Cut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.truncated
}

// Reset forgets all lines.
func (r *Ring) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines, r.bytes, r.truncated = nil, 0, false
}

// CopyFrom adds every line of src until it ends. Lines of any length are read.
func (r *Ring) CopyFrom(src io.Reader) {
	br := bufio.NewReaderSize(src, 4<<10)
	for {
		line, _, err := Read(br, r.maxLine+hideSlack)
		r.Add(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			return
		}
	}
}
