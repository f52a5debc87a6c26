package link

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Servers ask questions during a call: for a form to be filled in, a page to be opened,
// a text from the client's model, the client's roots.
//
// In protocol 2026-07-28 the question is a result of its call. In older protocols, it
// is a request on the session, which does not name a call, and callers share the
// session. It is put to the caller of the calls that are in flight on the session. If
// there are several callers, or no call, it is refused: a refusal is better than an
// answer of the wrong person.
//
// A session of the older protocols announces Client.Capabilities when it is opened,
// though some callers may lack them. Each call of the newer one announces the
// capabilities of its caller. A question that cannot be asked is answered with a
// protocol error, never with "decline", which would be a person's decision. If the call
// then fails, its error is an *InputError; otherwise its result counts.

// MaxQuestions bounds what one call may ask, since each question stops clocks.
const MaxQuestions = 20

// A Call is one call of a tool. It is made with NewCall.
type Call struct {
	ctx          context.Context // of the call; questions end with it
	server, tool string
	o            CallOptions
	clock        *callClock
	token        string // of its progress; "" if not requested

	reporting sync.Mutex // held while o.OnProgress runs
	reported  bool       // nothing is reported any more

	mu        sync.Mutex
	questions int
	refused   *InputError // first question without an answer
}

// NewCall returns a call of a tool that ends with ctx. expire is called when the server
// has not answered within limit, without the time of questions. Stop must be called. Nil
// options mean the zero value.
func NewCall(ctx context.Context, server, tool string, o *CallOptions, limit time.Duration, expire func()) *Call {
	c := &Call{ctx: ctx, server: server, tool: tool, clock: newCallClock(limit, expire)}
	if o != nil {
		c.o = *o
	}
	return c
}

// Stop stops the clock of the call.
func (c *Call) Stop() { c.clock.stop() }

// Sent calls CallOptions.Sent.
func (c *Call) Sent() {
	if c.o.Sent != nil {
		c.o.Sent()
	}
}

// progress passes on a message about the progress of the call, unless that is
// over.
func (c *Call) progress(progress, total float64, message string) {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	if !c.reported {
		c.o.OnProgress(progress, total, message)
	}
}

// noMoreProgress ends the reports of progress; none is running when it returns.
func (c *Call) noMoreProgress() {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.reported = true
}

func (c *Call) capabilities() questions.Capabilities {
	if c.o.Talker == nil {
		return questions.Capabilities{}
	}
	return c.o.Talker.Capabilities()
}

// caller returns a value that is equal for calls of the same caller.
func (c *Call) caller() any {
	if c.o.Caller != nil {
		return c.o.Caller
	}
	return c
}

// Pause stops all clocks of the call.
func (c *Call) Pause() (resume func()) {
	mine := c.clock.pause()
	if c.o.Pause == nil {
		return mine
	}
	theirs := c.o.Pause()
	return func() { mine(); theirs() }
}

// refuse records that q is not answered, and returns the error for the server.
func (c *Call) refuse(q mcp.InputRequest, why, hint string, retry bool) *InputError {
	e := &InputError{Server: c.server, Tool: c.tool, Asked: questions.Describe(q), Why: why, Hint: hint, Retry: retry}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = e
	}
	return e
}

// outcome replaces a failure that follows from a refused question.
func (c *Call) outcome(raw json.RawMessage, err error) (json.RawMessage, error) {
	if c.ctx.Err() != nil || (err == nil && !isToolError(raw)) {
		return raw, err
	}
	c.mu.Lock()
	refused := c.refused
	c.mu.Unlock()
	if refused == nil {
		refused = c.refusedItself(raw, err)
	}
	if refused == nil {
		return raw, err
	}
	if err != nil && !answered(err) {
		lost := *refused // other calls may share it
		lost.Lost, lost.Retry = true, false
		refused = &lost
	}
	return nil, refused
}

// answered reports whether an error of a call comes from its server. The questions of
// newer servers are results, so they count as answers.
func answered(err error) bool {
	if _, ok := errors.AsType[*InputError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*transport.SendError](err); ok {
		return false
	}
	if status, ok := errors.AsType[*transport.StatusError](err); ok {
		return status.Status >= 400 && status.Status < 500
	}
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

// unsupported is how servers' own libraries refuse to ask what the client did
// not promise.
var unsupported = lazyregexp.New(`(?i)client does not support [^.]{0,40}(elicitation|sampling|createmessage|roots)`)

// refusedItself returns the error of a call whose server refused without asking, since
// the client lacks a capability, or nil.
func (c *Call) refusedItself(raw json.RawMessage, err error) *InputError {
	said := string(raw)
	code := int64(0)
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		said, code = rpc.Message, rpc.Code
	}
	match := unsupported.FindStringSubmatch(said)
	if match == nil && code != mcp.CodeMissingRequiredClientCapabilities {
		return nil
	}
	asked := "input that it could not ask this client for"
	if match != nil {
		asked = strings.ToLower(match[1])
	}
	return &InputError{Server: c.server, Tool: c.tool, Asked: asked,
		Why: "this client cannot be asked for it", Hint: clientHint}
}

const clientHint = "use a client that has this MCP capability, or give the tool what it needs in its arguments"

func isToolError(raw json.RawMessage) bool {
	failed := false
	transport.EachMember(raw, func(key string, value json.RawMessage) {
		if key == "isError" { // the last one counts, as for those who decode it
			failed = string(value) == "true"
		}
	})
	return failed
}

// Ask puts q to the caller of the call; ctx is the request's.
func (c *Call) Ask(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	return ask(ctx, []*Call{c}, q)
}

// ask puts q to the caller of calls, who made all of them; ctx is the request's.
func ask(ctx context.Context, calls []*Call, q mcp.InputRequest) (mcp.InputResponse, error) {
	c := calls[0]
	refuse := func(why, hint string) error {
		var e *InputError
		for _, c := range calls {
			e = c.refuse(q, why, hint, false)
		}
		return e
	}
	if name := questions.Missing(c.capabilities(), q); name != "" {
		return nil, refuse(fmt.Sprintf("this client cannot be asked: it lacks the capability %s", name), clientHint)
	}
	if why := questions.Unshowable(q); why != "" {
		return nil, refuse(why, "")
	}
	if p, ok := q.(*mcp.ElicitParams); ok && questions.IsPage(p) {
		if _, err := outbound.Page(p.URL); err != nil {
			return nil, refuse(err.Error(), "")
		}
	}
	c.mu.Lock()
	c.questions++
	tooMany := c.questions > MaxQuestions
	c.mu.Unlock()
	if tooMany {
		return nil, refuse(fmt.Sprintf("it has already asked %d times", MaxQuestions), "")
	}
	for _, c := range calls {
		defer c.Pause()()
	}
	answering, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	answer, err := c.o.Talker.Answer(answering, questions.Labelled(c.server, q))
	switch {
	case err != nil && answering.Err() != nil:
		return nil, context.Cause(answering)
	case err != nil:
		return nil, refuse(gate.Clean(err.Error()), "")
	case !questions.Fits(q, answer):
		return nil, refuse("the client's answer is of another kind", "")
	}
	return answer, nil
}

// A callClock is the time that a server has for a call. A question stops it,
// and after the answer the server has its whole time again.
type callClock struct {
	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	pauses int
	over   bool
}

func newCallClock(limit time.Duration, expire func()) *callClock {
	return &callClock{limit: limit, timer: time.AfterFunc(limit, expire)}
}

func (c *callClock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	c.timer.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pauses--; c.pauses == 0 && !c.over {
			c.timer.Reset(c.limit)
		}
	}
}

func (c *callClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}
