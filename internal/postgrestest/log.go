package postgrestest

import (
	"bytes"
	"sync"
)

// A serverLog is what a server writes.
type serverLog struct {
	mu    sync.Mutex
	text  []byte
	want  string
	from  int           // where the wanted text may be
	found chan struct{} // closed when it was written
}

// await returns a channel that is closed when the server writes text from now on.
func (l *serverLog) await(text string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.want, l.from, l.found = text, len(l.text), make(chan struct{})
	return l.found
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if l.found != nil && bytes.Contains(l.text[l.from:], []byte(l.want)) {
		close(l.found)
		l.found = nil
	}
	return len(p), nil
}

// last returns the end of the log.
func (l *serverLog) last() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text[max(0, len(l.text)-2000):])
}
