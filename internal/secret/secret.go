// Package secret reads secrets from programs, such as the command line of a password manager.
// Their output stays in memory for some seconds.
package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

const (
	// patience bounds the time of a program.
	patience = 10 * time.Second
	// fresh is the time for which an answer is reused: servers that start together, and share a
	// vault, unlock it once.
	fresh = 10 * time.Second
	// maxBytes bounds a secret, in bytes.
	maxBytes = 64 << 10
	// maxSaid bounds the examined part of a program's stderr.
	maxSaid = 4 << 10
)

// Programs reads secrets from programs. The zero value is ready to use; it is safe for concurrent
// use.
type Programs struct {
	mu      sync.Mutex
	answers map[string]*answer
}

// An answer is the answer for one reference.
type answer struct {
	done  chan struct{}
	at    time.Time // the time of the answer; set before done is closed
	value string
	err   error
}

// Get runs a command line, without a shell and without stdin, and returns its output without a
// final line break. Concurrent or close requests for one reference share a run. Errors contain
// nothing of the output.
func (p *Programs) Get(reference string, argv []string) (string, error) {
	p.mu.Lock()
	a := p.answers[reference]
	if a == nil || a.stale() {
		a = &answer{done: make(chan struct{})}
		if p.answers == nil {
			p.answers = make(map[string]*answer)
		}
		p.answers[reference] = a
		go func() {
			a.value, a.err = run(argv)
			a.at = time.Now()
			close(a.done)
			time.AfterFunc(fresh, func() { p.forget(reference, a) })
		}()
	}
	p.mu.Unlock()
	<-a.done
	return a.value, a.err
}

// stale reports whether a must not be reused. A failure is not reused.
func (a *answer) stale() bool {
	select {
	case <-a.done:
		return a.err != nil || time.Since(a.at) > fresh
	default:
		return false
	}
}

func (p *Programs) forget(reference string, a *answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers[reference] == a {
		delete(p.answers, reference)
	}
}

// run runs one command line.
func run(argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	stdout, stderr := &bounded{limit: maxBytes, full: cancel}, &bounded{limit: maxSaid}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, time.Second
	spawn.Group(cmd)
	err := spawn.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	value := stdout.b.String()
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	switch {
	case stdout.truncated:
		return "", fmt.Errorf("%s printed more than %d KiB, which is too long for a secret", argv[0], maxBytes>>10)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s did not end within %g s: unlock it or sign in first, in a terminal", argv[0], patience.Seconds())
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no program %s on the PATH", argv[0])
	case err != nil:
		return "", fmt.Errorf("%s: %w%s", argv[0], err, lastLine(stderr.b.String(), value))
	case value == "":
		return "", fmt.Errorf("%s printed nothing", argv[0])
	}
	return value, nil
}

// lastLine returns the last line of a program's stderr, if it contains nothing of the value.
func lastLine(stderr, value string) string {
	stderr = strings.TrimSpace(stderr)
	line := strings.TrimSpace(stderr[strings.LastIndexByte(stderr, '\n')+1:])
	if line == "" {
		return ""
	}
	for part := range strings.FieldsSeq(value) {
		line = strings.ReplaceAll(line, part, redact.Hidden)
	}
	return ": " + gate.Terminal(redact.Cut(line, 200))
}

// A bounded keeps the first bytes that are written to it.
type bounded struct {
	b         bytes.Buffer
	limit     int
	truncated bool
	full      func() // called when there is more; may be nil
}

func (w *bounded) Write(p []byte) (int, error) {
	room := w.limit - w.b.Len()
	if len(p) <= room {
		return w.b.Write(p)
	}
	w.b.Write(p[:max(room, 0)])
	if w.full != nil && !w.truncated {
		w.full()
	}
	w.truncated = true
	return len(p), nil
}

var _ io.Writer = (*bounded)(nil)
