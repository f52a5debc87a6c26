package script

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Truncated marks a stream of which more was written.
const Truncated = "\n[output truncated]"

// An Output keeps the beginning of what is written to it. It takes everything, so
// that a script does not notice. It may be used by several goroutines.
type Output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	max  int
	more bool
}

var _ io.Writer = (*Output)(nil)

// NewOutput returns one that keeps so many bytes; 0 means DefaultMaxOutput.
func NewOutput(limit int) *Output {
	if limit == 0 {
		limit = DefaultMaxOutput
	}
	return &Output{max: limit}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.max - o.b.Len()
	o.b.Write(p[:min(left, len(p))])
	o.more = o.more || len(p) > left
	return len(p), nil
}

// String is what was kept, with a mark if that is not all.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.ToValidUTF8(o.b.String(), "\uFFFD")
	if o.more {
		text += Truncated
	}
	return text
}
