package transport

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK passes an answer to its request at once, but passes earlier messages, such as
// progress and log messages of that request, to other goroutines. A settler delays an
// answer until these are handled, so that no message of a call comes after its end.
type settler struct {
	mu      sync.Mutex
	waiting int           // notifications that were read but not handled
	idle    chan struct{} // closed when waiting is zero; nil if no answer waits
}

// settleTime bounds the delay of an answer: a handler may be slow, and the SDK drops
// notifications that it cannot read.
const settleTime = 100 * time.Millisecond

// concernsCall reports whether a notification belongs to a call.
func concernsCall(method string) bool {
	return method == "notifications/progress" || method == "notifications/message"
}

// read is called with each message before the SDK gets it.
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
	s.waiting, s.idle = 0, nil // dropped notifications delay one answer, not the next ones
	s.mu.Unlock()
}

// handled records that the handler of a notification has returned.
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

// Settle makes the answer of a call wait briefly for the progress and log messages that
// came before it, until handled was called for each. Call Settle before Connect, and
// handled with the method of any notification.
func (c *Stdio) Settle() (handled func(method string)) {
	c.settles = true
	return func(method string) {
		if concernsCall(method) {
			c.settling.handled()
		}
	}
}
