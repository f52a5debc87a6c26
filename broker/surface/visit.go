package surface

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
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
	// maxPaused is how many scripts may wait for one client at one time. Each
	// of them holds a process.
	maxPaused = 32
	// gatherTime is how long after a question others may join it: what scripts
	// and servers ask at the same time should be one round for the client.
	gatherTime = 10 * time.Millisecond
)

// paused are the suspended executions that wait for their clients.
type paused struct {
	mu      sync.Mutex
	closed  bool
	replica string               // this broker among several, or empty
	busy    func() (done func()) // is called while a script waits; nil is not
	byState map[string]*visit
	running map[*visit]bool
	wg      sync.WaitGroup // one per visit
}

// A visit is a call that outlives the request that started it. It is the
// upstream.Talker of its calls.
type visit struct {
	surface  *Surface
	client   string
	can      questions.Capabilities
	messages chan string
	cancel   context.CancelCauseFunc
	done     chan *mcp.CallToolResult // holds the answer when the script has ended
	asked    chan struct{}            // holds a token when there are new questions

	expiry *time.Timer // guarded by paused.mu
	waits  func()      // ends its wait, the same

	mu        sync.Mutex
	lost      error // set when the client will not answer any more
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

// startVisit starts do for a client. It is false when the broker is being
// closed.
func (s *Surface) startVisit(ctx context.Context, client string, can questions.Capabilities, messages chan string, do func(context.Context, upstream.Talker) *mcp.CallToolResult) (*visit, bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	v := &visit{
		surface: s, client: client, can: can, messages: messages, cancel: cancel,
		done: make(chan *mcp.CallToolResult, 1), asked: make(chan struct{}, 1), questions: make(map[string]*question),
	}
	s.paused.mu.Lock()
	defer s.paused.mu.Unlock()
	if s.paused.closed {
		cancel(nil)
		return nil, false
	}
	if s.paused.running == nil {
		s.paused.running = make(map[*visit]bool)
		s.paused.byState = make(map[string]*visit)
	}
	s.paused.running[v] = true
	s.paused.wg.Go(func() {
		defer cancel(nil)
		v.done <- do(ctx, v)
		s.paused.mu.Lock()
		defer s.paused.mu.Unlock()
		delete(s.paused.running, v)
	})
	return v, true
}

// attend answers one request of the client: with the script's answer, or with
// what the script wants to know.
func (v *visit) attend(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	stop := v.surface.progress(ctx, req, v.messages)
	defer stop()
	for {
		select {
		case res := <-v.done:
			return res, nil
		case <-v.asked:
			select {
			case <-time.After(gatherTime):
			case <-ctx.Done():
				continue
			}
			if res := v.pause(); res != nil {
				return res, nil
			}
		case <-ctx.Done():
			v.cancel(context.Cause(ctx))
			return <-v.done, nil
		}
	}
}

// pause answers the client with all questions that it has not received. It returns nil
// if there are none, or no room to wait for their answers.
func (v *visit) pause() *mcp.CallToolResult {
	v.surface.paused.mu.Lock()
	defer v.surface.paused.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	requests := make(mcp.InputRequestMap)
	for id, q := range v.questions {
		if !q.sent {
			requests[id] = q.q
		}
	}
	if len(requests) == 0 {
		return nil
	}
	if v.surface.paused.closed || v.surface.paused.full(v.client) {
		for id := range requests {
			v.replyLocked(id, reply{err: fmt.Errorf("%d scripts wait for answers already", maxPaused)})
		}
		return nil
	}
	for id := range requests {
		v.questions[id].sent = true
	}
	state := newID(v.surface.paused.replica)
	v.surface.paused.byState[state] = v
	if busy := v.surface.paused.busy; busy != nil {
		v.waits = busy()
	}
	v.expiry = time.AfterFunc(v.surface.opts.Load().AnswerTimeout, func() { v.expire(state) })
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}
}

// forget ends the wait for a client; p.mu is held.
func (p *paused) forget(state string) {
	v := p.byState[state]
	delete(p.byState, state)
	v.expiry.Stop()
	if v.waits != nil {
		v.waits()
		v.waits = nil
	}
}

// serveAs names the replica that scripts wait at, and what is called while one does.
func (p *paused) serveAs(replica string, busy func() func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replica, p.busy = replica, busy
}

// full reports whether a client may have no further script wait. There are a few
// places more for those who have fewer.
func (p *paused) full(client string) bool {
	own := 0
	for _, v := range p.byState {
		if v.client == client {
			own++
		}
	}
	return own >= maxPaused || len(p.byState) >= maxPaused+fair.More(maxPaused)
}

// expire gives up a client that has not come back.
func (v *visit) expire(state string) {
	v.surface.paused.mu.Lock()
	waiting := v.surface.paused.byState[state] == v
	if waiting {
		v.surface.paused.forget(state)
	}
	v.surface.paused.mu.Unlock()
	if waiting {
		v.lose(fmt.Errorf("nobody answered for %g s", v.surface.opts.Load().AnswerTimeout.Seconds()))
	}
}

// lose fails all questions, and those to come.
func (v *visit) lose(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lost = err
	for id := range v.questions {
		v.replyLocked(id, reply{err: err})
	}
}

// replyLocked ends a question; v.mu is held.
func (v *visit) replyLocked(id string, r reply) {
	v.questions[id].answer <- r
	delete(v.questions, id)
}

// returning finds the execution that a client comes back to, and gives it the
// answers.
func (s *Surface) returning(client, state string, answers mcp.InputResponseMap) (*visit, error) {
	s.paused.mu.Lock()
	v := s.paused.byState[state]
	if v == nil || v.client != client {
		s.paused.mu.Unlock()
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "no script waits with this requestState: it was used, the answer came too late, or the broker was restarted; run the script again"}
	}
	s.paused.forget(state)
	s.paused.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, q := range v.questions {
		if !q.sent {
			continue
		}
		if response, ok := answers[id]; ok && response != nil {
			v.replyLocked(id, reply{response: response})
			continue
		}
		v.replyLocked(id, reply{err: errors.New("the client came back without an answer")})
	}
	return v, nil
}

// Capabilities implements upstream.Talker.
func (v *visit) Capabilities() questions.Capabilities { return v.can }

// Answer implements upstream.Talker.
func (v *visit) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	asking := &question{q: q, answer: make(chan reply, 1)}
	v.mu.Lock()
	if v.lost != nil {
		v.mu.Unlock()
		return nil, v.lost
	}
	v.count++
	id := fmt.Sprintf("q%d", v.count)
	v.questions[id] = asking
	v.mu.Unlock()
	select {
	case v.asked <- struct{}{}:
	default:
	}
	select {
	case r := <-asking.answer:
		return r.response, r.err
	case <-ctx.Done():
		v.mu.Lock()
		delete(v.questions, id)
		v.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// PageDone implements upstream.Talker. The protocol has no message for it: a
// client that comes back with "accept" has seen to its page.
func (v *visit) PageDone(string) {}

// close ends what is under way and waits for it.
func (p *paused) close() {
	p.mu.Lock()
	p.closed = true
	for v := range p.running {
		v.cancel(errClosing)
	}
	for state := range p.byState {
		p.forget(state)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

var errClosing = errors.New("the broker is being stopped")
