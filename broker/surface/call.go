package surface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

func callerOf(client string, extra *mcp.RequestExtra, session *mcp.ServerSession) Caller {
	c := Caller{Client: client}
	if extra != nil && extra.TokenInfo != nil {
		c.Owner = extra.TokenInfo.UserID
		c.Team, _ = extra.TokenInfo.Extra[teamKey].(string)
	}
	if session != nil {
		c.Session = session.ID()
	}
	if c.Session == "" && extra != nil {
		if client, ok := readSession(extra.Header.Get(sessionHeader)); ok {
			c.Session, c.ClientInfo = extra.Header.Get(sessionHeader), client
		}
	}
	return c
}

// serve answers the calls of a tool for the SDK.
func (s *Surface) serve(client string, t Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, leave := s.requests.join(ctx, req)
		defer leave()
		if state := req.Params.RequestState; state != "" {
			v, err := s.resume(client, state, req.Params.InputResponses)
			if err != nil {
				return nil, err
			}
			return v.serve(ctx, req)
		}
		h, err := s.handler(t, req)
		if err != nil {
			return Failed(err), nil
		}
		c := &Call{Caller: callerOf(client, req.Extra, req.Session), Arguments: req.Params.Arguments}
		if info := req.ClientInfo(); info != nil {
			c.ClientInfo = gate.Clean(info.Name)
		}
		stateless := req.Extra != nil && req.Extra.Header != nil && (req.ProtocolVersion() >= StatelessSince || req.Session.ID() == "")
		ctx = upstream.WithConversation(ctx, s.conversations.conversation(ctx, req.Session, c.Caller, stateless, overHTTP(req.Extra)))
		key, lasting := toldKeyOf(ctx, c, req, stateless)
		c.news = func(about, text string) bool { return s.told.news(key, lasting, about, text) }
		messages := make(chan string, 64)
		if req.Params.GetProgressToken() != nil {
			c.Progress = func(_ int, message string) {
				select {
				case messages <- message:
				default: // a client that does not keep up loses messages, not calls
				}
			}
		}
		do := func(ctx context.Context, talker upstream.Talker) *mcp.CallToolResult {
			c.Talker = talker
			return s.answer(ctx, t.Name, h, c)
		}
		can := questions.Of(req.ClientCapabilities())
		if can != (questions.Capabilities{}) && req.ProtocolVersion() >= StatelessSince {
			if v, ok := s.startCall(ctx, client, can, messages, do); ok {
				return v.serve(ctx, req)
			}
			return Failed(errClosing), nil
		}
		stop := s.progress(ctx, req, messages)
		defer stop()
		return do(ctx, sessionTalker{req.Session, can, s.opts.Load().AnswerTimeout}), nil
	}
}

// handler is that of a tool for a request, which is done once if it has a key.
func (s *Surface) handler(t Tool, req *mcp.CallToolRequest) (Handler, error) {
	docs := s.opts.Load().Requests
	if docs == nil || t.Annotations != nil && t.Annotations.ReadOnlyHint {
		return t.Handler, nil
	}
	key, err := keyOf(req)
	if err != nil || key == "" {
		return t.Handler, err
	}
	return s.once(docs, t.Name, key, t.Handler), nil
}

// heartbeat is how often a client that asked for progress hears that a script
// still runs; many give up on a request that is silent for a minute.
const heartbeat = 5 * time.Second

const (
	// progressBurst and progressEvery bound the progress reports of one call. Excess
	// reports are dropped.
	progressBurst = 64
	progressEvery = 100 * time.Millisecond
)

// A pace limits a rate. Its zero value allows progressBurst reports at once, and then
// one each progressEvery.
type pace struct{ next time.Time }

// allows reports whether a report may be sent now.
func (p *pace) allows(now time.Time) bool {
	if first := now.Add(-progressBurst * progressEvery); p.next.Before(first) {
		p.next = first
	}
	if !p.next.Before(now) {
		return false
	}
	p.next = p.next.Add(progressEvery)
	return true
}

// progress sends messages to the client, if it asked for that. The function it
// returns ends the reports when those that are there have been sent.
func (s *Surface) progress(ctx context.Context, req *mcp.CallToolRequest, messages <-chan string) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		started, sent := time.Now(), 0.0
		var rate pace
		for {
			var message string
			select {
			case message = <-messages:
			case <-tick.C:
				message = fmt.Sprintf("running for %d s", int(time.Since(started).Seconds()))
			case <-done:
				select {
				case message = <-messages:
				default:
					return
				}
			}
			if !rate.allows(time.Now()) {
				continue
			}
			sent++
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: sent, Message: message})
			if err != nil {
				s.log.Debug("send progress", "err", err)
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// once is h for a request with a key.
func (s *Surface) once(docs state.Documents, tool, key string, h Handler) Handler {
	return func(ctx context.Context, c *Call) (*mcp.CallToolResult, error) {
		owner := c.Owner
		if of := s.opts.Load().OwnerFor; of != nil {
			owner = of(owner)
		}
		name := digest(owner, key)
		unlock, err := docs.LockDocument(ctx, name) // for as long as the first one is answered
		if err != nil {
			return nil, fmt.Errorf("wait for the request with the same idempotency key: %w", err)
		}
		defer unlock()
		before, err := docs.Document(ctx, name)
		if err == nil {
			return storedAnswer(before, digest(tool, string(c.Arguments)))
		}
		if !errors.Is(err, state.ErrNotFound) {
			return nil, fmt.Errorf("look for the request with the same idempotency key: %w", err)
		}
		r := requested{Digest: digest(tool, string(c.Arguments)), Execution: state.NewID()}
		if err := storeAnswer(ctx, docs, name, r); err != nil {
			return nil, fmt.Errorf("keep the idempotency key, so nothing was done: %w", err)
		}
		c.Execution = r.Execution
		res, err := h(ctx, c)
		if err != nil {
			res = Failed(err)
		}
		r.Answer, err = json.Marshal(res)
		if err != nil || len(r.Answer) > maxKept {
			r.Answer, err = json.Marshal(Failed(fmt.Errorf("this request was answered before, with more than is kept: broker audit show %s", r.Execution)))
		}
		if err == nil {
			err = storeAnswer(context.WithoutCancel(ctx), docs, name, r)
		}
		if err != nil {
			s.log.Error("keep an answer for who asks again", "execution", r.Execution, "err", err)
		}
		s.forgotten.removeOld(ctx, docs)
		return res, nil
	}
}
