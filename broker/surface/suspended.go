package surface

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/internal/fair"
)

// In protocol 2026-07-28 a server cannot send requests. A script that has a
// question for the client therefore ends the client's request, with the result
// input_required, but goes on living: the client sends its request again, with
// the answers and the state that it was given, and is attached to the script
// that is waiting. The state is random, works once, and only for the client
// that it was given to. Among several brokers it begins with the name of the one
// where the script waits. A client that does not come back in time has lost its
// script: the question fails in it, and so do all further ones.

const (
	// maxSuspended is how many scripts may wait for one client at one time. Each
	// of them holds a process.
	maxSuspended = 32
	// gatherTime is how long after a question others may join it: the questions that
	// servers ask in parallel calls should be one round for the client.
	gatherTime = 50 * time.Millisecond
)

// suspendedCalls holds the calls that wait for the answers of their clients.
type suspendedCalls struct {
	mu      sync.Mutex
	closed  bool
	replica string               // this broker among several, or empty
	busy    func() (done func()) // called while a script waits; may be nil
	byState map[string]*suspendedCall
	running map[*suspendedCall]bool
	wg      sync.WaitGroup // one per suspended call
}

// A suspendedCall is a call that outlives the request that started it. It is the
// upstream.Talker of its calls.
type suspendedCall struct {
	surface  *Surface
	client   string
	can      questions.Capabilities
	messages chan string
	cancel   context.CancelCauseFunc
	done     chan *mcp.CallToolResult // holds the answer when the script has ended
	asked    chan struct{}            // holds a token when there are new questions

	expiry  *time.Timer // guarded by suspendedCalls.mu
	endWait func()      // ends its wait, the same

	mu        sync.Mutex
	abandoned error // set when the client will not answer any more
	count     int
	questions map[string]*question // without an answer yet
}

type question struct {
	q      mcp.InputRequest
	sent   bool
	answer chan reply // holds one
}

type reply struct {
	response mcp.InputResponse
	err      error
}

// serve answers one request of the client: with the script's answer, or with
// what the script wants to know.
func (c *suspendedCall) serve(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	stop := c.surface.progress(ctx, req, c.messages)
	defer stop()
	for {
		select {
		case res := <-c.done:
			return res, nil
		case <-c.asked:
			select {
			case <-time.After(gatherTime):
			case <-ctx.Done():
				continue
			}
			if res := c.suspend(); res != nil {
				return res, nil
			}
		case <-ctx.Done():
			c.cancel(context.Cause(ctx))
			return <-c.done, nil
		}
	}
}

// suspend answers the client with all questions that it has not received. It returns nil
// if there are none, or no room to wait for their answers.
func (c *suspendedCall) suspend() *mcp.CallToolResult {
	c.surface.suspended.mu.Lock()
	defer c.surface.suspended.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := make(mcp.InputRequestMap)
	for id, q := range c.questions {
		if !q.sent {
			requests[id] = q.q
		}
	}
	if len(requests) == 0 {
		return nil
	}
	if c.surface.suspended.closed || c.surface.suspended.full(c.client) {
		for id := range requests {
			c.replyLocked(id, reply{err: fmt.Errorf("%d scripts wait for answers already", maxSuspended)})
		}
		return nil
	}
	for id := range requests {
		c.questions[id].sent = true
	}
	state := newID(c.surface.suspended.replica)
	c.surface.suspended.byState[state] = c
	if busy := c.surface.suspended.busy; busy != nil {
		c.endWait = busy()
	}
	c.expiry = time.AfterFunc(c.surface.opts.Load().AnswerTimeout, func() { c.expire(state) })
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}
}

// forget ends the wait for a client; s.mu is held.
func (s *suspendedCalls) forget(state string) {
	c := s.byState[state]
	delete(s.byState, state)
	c.expiry.Stop()
	if c.endWait != nil {
		c.endWait()
		c.endWait = nil
	}
}

// serveAs names the replica that scripts wait at, and what is called while one does.
func (s *suspendedCalls) serveAs(replica string, busy func() func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replica, s.busy = replica, busy
}

// full reports whether a client may have no further script wait. There are a few
// places more for those who have fewer.
func (s *suspendedCalls) full(client string) bool {
	own := 0
	for _, c := range s.byState {
		if c.client == client {
			own++
		}
	}
	return own >= maxSuspended || len(s.byState) >= maxSuspended+fair.More(maxSuspended)
}

// expire gives up a client that has not come back.
func (c *suspendedCall) expire(state string) {
	c.surface.suspended.mu.Lock()
	waiting := c.surface.suspended.byState[state] == c
	if waiting {
		c.surface.suspended.forget(state)
	}
	c.surface.suspended.mu.Unlock()
	if waiting {
		c.abandon(fmt.Errorf("nobody answered for %g s", c.surface.opts.Load().AnswerTimeout.Seconds()))
	}
}

// abandon fails all questions, and those to come.
func (c *suspendedCall) abandon(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = err
	for id := range c.questions {
		c.replyLocked(id, reply{err: err})
	}
}

// replyLocked ends a question; c.mu is held.
func (c *suspendedCall) replyLocked(id string, r reply) {
	c.questions[id].answer <- r
	delete(c.questions, id)
}

// Capabilities implements upstream.Talker.
func (c *suspendedCall) Capabilities() questions.Capabilities { return c.can }

// Answer implements upstream.Talker.
func (c *suspendedCall) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	asking := &question{q: q, answer: make(chan reply, 1)}
	c.mu.Lock()
	if c.abandoned != nil {
		c.mu.Unlock()
		return nil, c.abandoned
	}
	c.count++
	id := fmt.Sprintf("q%d", c.count)
	c.questions[id] = asking
	c.mu.Unlock()
	select {
	case c.asked <- struct{}{}:
	default:
	}
	select {
	case r := <-asking.answer:
		return r.response, r.err
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.questions, id)
		c.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// PageDone implements upstream.Talker. The protocol has no message for it: a
// client that comes back with "accept" has seen to its page.
func (c *suspendedCall) PageDone(string) {}

// close ends what is under way and waits for it.
func (s *suspendedCalls) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.running {
		c.cancel(errClosing)
	}
	for state := range s.byState {
		s.forget(state)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

var errClosing = errors.New("the broker is being stopped")
