package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Calls makes the host calls of one run: it counts them, lets at most
// Limits.InFlight run at one time, and keeps the others waiting in order. Its
// methods are safe for concurrent use.
type Calls struct {
	ctx    context.Context
	call   sandbox.CallFunc
	limits sandbox.Limits
	// Journal hears of the calls that are numbered; nil hears of none.
	Journal *sandbox.Journal

	mu       sync.Mutex
	changed  sync.Cond // signalled when waiting or held shrink
	asked    int       // calls that the program asked for
	made     int       // calls that reached call
	running  int
	waiting  []pending
	held     int64 // bytes of argument in waiting and running calls
	finished sync.WaitGroup
	closed   bool
	stop     func() bool
}

type pending struct {
	call sandbox.Call
	done func(json.RawMessage, error)
}

// NewCalls returns the Calls of a run. They go to call and end with ctx. Close must be
// called.
func NewCalls(ctx context.Context, call sandbox.CallFunc, limits sandbox.Limits) *Calls {
	if call == nil {
		call = func(context.Context, sandbox.Call) (json.RawMessage, error) {
			return nil, errors.New("there is nothing to call here: this program runs without tools")
		}
	}
	c := &Calls{ctx: ctx, call: call, limits: limits}
	c.changed.L = &c.mu
	c.stop = context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	return c
}

// Start makes call, now or when those before it have ended, and returns at
// once. done is called once, from any goroutine; from the caller's own, before
// Start returns, if the call is refused.
func (c *Calls) Start(call sandbox.Call, done func(json.RawMessage, error)) {
	if call.Seq > 0 && c.Journal != nil && c.Journal.Made != nil {
		answered, plain := c.Journal.Made(call), done
		done = func(value json.RawMessage, err error) {
			if err == nil || err != sandbox.ErrWithheld && c.ctx.Err() == nil {
				answered(value, err)
			}
			plain(value, err)
		}
	}
	c.mu.Lock()
	c.asked++
	if err := c.refuse(call); err != nil {
		c.mu.Unlock()
		done(nil, err)
		return
	}
	c.held += int64(len(call.Args))
	p := pending{call, done}
	if c.running >= c.limits.InFlight {
		c.waiting = append(c.waiting, p)
		c.mu.Unlock()
		return
	}
	c.running++
	c.made++
	c.finished.Add(1)
	c.mu.Unlock()
	go c.work(p)
}

// refuse returns why call is not made; c.mu is held.
func (c *Calls) refuse(call sandbox.Call) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if c.asked <= c.limits.Calls {
		return RefuseCall(call, c.limits.ResultBytes)
	}
	return &sandbox.CallError{
		Name:    "ToolError",
		Message: fmt.Sprintf("limit of %d calls per run reached (config: sandbox.maxCalls): ask for more in one call, or go on in another run", c.limits.Calls),
		Fields:  limitFields(sandbox.CodeCallLimit),
	}
}

// RefuseCall returns why call is not made whatever else is made: its name is too
// long, or its argument over max bytes.
func RefuseCall(call sandbox.Call, max int) error {
	if err := nameTooLong(call); err != nil {
		return err
	}
	return ArgumentTooLarge(call, max)
}

// nameTooLong returns the error for a call by a name that nothing has. Of such a
// name nothing is kept.
func nameTooLong(call sandbox.Call) error {
	max := sandbox.MaxNameBytes
	if call.Func == "tools.search" {
		max = sandbox.MaxQueryBytes
	}
	if len(call.Func) <= sandbox.MaxNameBytes && len(call.Target) <= max {
		return nil
	}
	return &sandbox.CallError{
		Name:    "ToolError",
		Message: fmt.Sprintf("%s: the name has over %s, which is the most and fixed", Cut(call.Func, 40), Size(int64(max))),
		Fields:  limitFields(sandbox.CodeNameTooLong),
	}
}

// answerTooLarge returns the error for an answer that the program has no memory
// to read, and that the host should not hold many of.
func answerTooLarge(call sandbox.Call, n int, limits sandbox.Limits) error {
	if limits.MemoryBytes == 0 || int64(n) <= limits.MemoryBytes/2 {
		return nil
	}
	return &sandbox.CallError{
		Name: "ToolError",
		Message: fmt.Sprintf("answer of %s from %s is over half of the memory limit of %s (config: sandbox.memory): ask for less, such as one page or fewer fields",
			Size(int64(n)), Cut(sandbox.ShownTarget(call.Target), 200), Size(limits.MemoryBytes)),
		Fields: limitFields(sandbox.CodeAnswerTooLarge),
	}
}

// work makes p, and then those that wait, until none does.
func (c *Calls) work(p pending) {
	defer c.finished.Done()
	for {
		value, err := c.call(c.ctx, p.call)
		if c.isClosed() {
			return // the waiter is gone
		}
		if errors.Is(err, sandbox.ErrWithheld) {
			err = sandbox.ErrWithheld
		}
		if large := answerTooLarge(p.call, len(value), c.limits); large != nil {
			value, err = nil, large
		}
		p.done(value, err)
		c.mu.Lock()
		c.held -= int64(len(p.call.Args))
		c.changed.Broadcast()
		if len(c.waiting) == 0 || c.ctx.Err() != nil {
			c.running--
			c.mu.Unlock()
			return
		}
		p = c.waiting[0]
		c.waiting[0] = pending{}
		c.waiting = c.waiting[1:]
		c.made++
		c.mu.Unlock()
	}
}

// maxWaiting is the number of waiting calls at which Room stops a reader.
const maxWaiting = 64

// heldShare is the part of the largest argument at which Room stops a reader,
// too: each argument is in memory several times until its call has ended.
const heldShare = 8

// Room blocks while so many calls wait, or hold so much argument, that the
// program should be held back: until some have ended, or the run has.
func (c *Calls) Room() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.ctx.Err() == nil && (len(c.waiting) > maxWaiting || c.held > int64(c.limits.ResultBytes)/heldShare && c.running > 0) {
		c.changed.Wait()
	}
}

// Counts returns how many calls were made, and how many of them are running.
func (c *Calls) Counts() (made, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made, c.running
}

// linger is how long a run that has ended waits for calls that do not heed
// their context.
const linger = 3 * time.Second

func (c *Calls) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close waits for the calls that are running, and answers those that still
// wait with the reason of the run's end. The run's context must be done by
// then, so that the calls have been told to end; one that does not is left
// behind after a moment, and what it answers is lost.
func (c *Calls) Close() {
	if _, running := c.Counts(); running > 0 {
		finished := make(chan struct{})
		go func() { c.finished.Wait(); close(finished) }()
		patience := time.NewTimer(linger)
		defer patience.Stop()
		select {
		case <-finished:
		case <-patience.C:
		}
	} else {
		c.finished.Wait()
	}
	c.stop()
	c.mu.Lock()
	c.closed = true
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, p := range waiting {
		p.done(nil, context.Cause(c.ctx))
	}
}
