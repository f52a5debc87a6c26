package top

import (
	"strings"
	"sync"
)

// A LastLine keeps the last line that a process prints while its terminal shows something
// else.
type LastLine struct {
	mu   sync.Mutex
	line string
}

// Write implements io.Writer.
func (l *LastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(string(p))
	l.line = text[strings.LastIndexByte(text, '\n')+1:]
	return len(p), nil
}

// Take returns what was said since the last time.
func (l *LastLine) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line
	l.line = ""
	return line
}
