package transport

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK hands an answer to its request at once, but what came before it, such as
// progress and log messages of that request, to other goroutines. A settler holds an
// answer back until these are handled, so that nothing that a server said during a
// call comes after its end.
type settler struct {
	mu      sync.Mutex
	waiting int           // notifications that were read and not handled
	idle    chan struct{} // closed when none is; nil while nobody waits
}

// settleTime bounds how long an answer is held back: a handler may be slow, and the SDK
// drops notifications that it cannot read.
const settleTime = 100 * time.Millisecond

// concernsCall reports whether a notification belongs to a call.
func concernsCall(method string) bool {
	return method == "notifications/progress" || method == "notifications/message"
}

// read is called with each message before the SDK has it.
func (s *settler) read(ctx context.Context, m jsonrpc.Message) {
	if req, ok := m.(*jsonrpc.Request); ok {
		if !req.IsCall() && concernsCall(req.Method) {
			s.mu.Lock()
			s.waiting++
			s.mu.Unlock()
		}
		return
	}
	s.mu.Lock()
	if s.waiting == 0 {
		s.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	s.idle = idle
	s.mu.Unlock()
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-idle:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.waiting, s.idle = 0, nil // what was dropped delays one answer, and not the next ones
	s.mu.Unlock()
}

// handled notes that the handler of a notification has returned.
func (s *settler) handled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		return
	}
	if s.waiting--; s.waiting == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// Settle makes the answer of a call wait a little for the progress and log messages that
// came before it, until handled has been called for each. It is called before Connect.
// handled takes the method of any notification.
func (c *Stdio) Settle() (handled func(method string)) {
	c.settles = true
	return func(method string) {
		if concernsCall(method) {
			c.settling.handled()
		}
	}
}
