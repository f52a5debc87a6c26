package upstream

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// A ring keeps the last lines of a stream. It is safe for concurrent use.
type ring struct {
	maxLines, maxBytes, maxLine int

	mu    sync.Mutex
	lines []string
	bytes int
	hide  *hider
}

// hideSlack is how much of a long line is read beyond what is kept, so that a
// value that the cut goes through is recognised.
const hideSlack = 1 << 10

// setHider makes r hide values in the lines that come from now on.
func (r *ring) setHider(h *hider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hide = h
}

func newRing() *ring {
	return &ring{maxLines: 100, maxBytes: 16 << 10, maxLine: 2 << 10}
}

// add appends one line. Terminal escapes and invisible characters are taken
// out and values hidden, since these lines end up in error messages.
func (r *ring) add(line []byte) {
	cut := len(line) > r.maxLine
	if cut {
		line = line[:min(len(line), r.maxLine+hideSlack)]
	}
	s := strings.TrimRight(gate.Clean(stripEscapes(strings.ToValidUTF8(string(line), "\uFFFD"))), " \t\n")
	if s == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s = r.hide.in(s)
	if cut {
		s = strings.ToValidUTF8(s[:min(len(s), r.maxLine)], "") + " …"
	}
	r.lines = append(r.lines, s)
	r.bytes += len(s)
	for len(r.lines) > r.maxLines || (r.bytes > r.maxBytes && len(r.lines) > 1) {
		r.bytes -= len(r.lines[0])
		r.lines[0] = "" // let go of the text, the array may live on
		r.lines = r.lines[1:]
	}
}

// snapshot returns a copy of the lines, oldest first.
func (r *ring) snapshot() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// last returns the line that says most about why a server failed, "" if there is
// none: the cause in npm's report, or of the last twenty the newest that mentions
// an error, else the newest. A stack trace ends in frames
// and braces, and npm's report in advice.
func (r *ring) last() string {
	lines := r.snapshot()
	if cause := npmCause(lines); cause != "" {
		return cause
	}
	newest := ""
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-20; i-- {
		line := strings.TrimSpace(lines[i])
		l := strings.ToLower(line)
		if isNoise(l) {
			continue
		}
		if strings.Contains(l, "error") {
			return line
		}
		if newest == "" {
			newest = line
		}
	}
	return newest
}

// isNoise reports whether a line, in small letters, tells nothing of a failure.
func isNoise(line string) bool {
	return strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "npm warn") || strings.HasPrefix(line, "npm notice") ||
		strings.HasPrefix(line, "npm error") || strings.HasPrefix(line, "npm err!")
}

// npmCause is the line of npm's report that holds the cause, or "": the first
// error in it, else the first that says anything.
func npmCause(lines []string) string {
	first := ""
	for _, line := range lines {
		rest, ok := npmReport(line)
		if !ok || npmCode.MatchString(rest) {
			continue
		}
		if strings.Contains(rest, "rror: ") {
			return strings.TrimSpace(line)
		}
		first = cmp.Or(first, strings.TrimSpace(line))
	}
	return first
}

// npmReport is what a line of npm's report on a failure says.
func npmReport(line string) (rest string, ok bool) {
	for _, prefix := range []string{"npm error", "npm ERR!"} { // the latter until npm 9
		if rest, ok = strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// npmCode is a line of npm's report that names no cause.
var npmCode = regexp.MustCompile(`(?i)^((code|syscall|errno|enoent|signal|command|path|dest|cwd|stack|404|network|notarget)( \S+)?|(path|dest|cwd|command) .*|A complete log of this run.*)?$`)

// reset forgets all lines.
func (r *ring) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines, r.bytes = nil, 0
}

// copyFrom adds every line of src until it ends. Lines of any length are read.
func (r *ring) copyFrom(src io.Reader) {
	br := bufio.NewReaderSize(src, 4<<10)
	for {
		line, _, err := lines.Read(br, r.maxLine+hideSlack)
		r.add(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			return
		}
	}
}

// stripEscapes takes terminal escape sequences (colours, titles) out of s.
func stripEscapes(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1b {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i >= len(s) {
			break
		}
		switch s[i] {
		case '[': // CSI: parameters, then one final byte
			for i++; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
			}
		case ']': // OSC: up to BEL or ST
			for i++; i < len(s) && s[i] != 0x07 && s[i] != 0x1b; i++ {
			}
			if i+1 < len(s) && s[i] == 0x1b && s[i+1] == '\\' {
				i++
			}
		}
	}
	return b.String()
}
