package surface

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A Caller is the client of a request.
type Caller struct {
	// Client is the name of the server that the client is connected to, for the
	// audit log.
	Client string
	// ClientInfo is what it called itself; it may be empty.
	ClientInfo string
	// Owner owns the results and values of a request: the name of its token, or "" for
	// the user of the state directory.
	Owner string
	// Team is the team whose quota counts, from the token, or empty.
	Team string
	// Session is which of the client's conversations it is, where the protocol
	// tells them apart.
	Session string
}

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

// A Call is one call of a tool by a client.
type Call struct {
	Caller
	Arguments json.RawMessage
	// Execution is the ID for the execution that this call may begin; if it is empty, the
	// execution gets a new ID.
	Execution string
	// Talker answers the questions that servers ask during the call.
	Talker upstream.Talker
	// Progress reports progress; nil if the client did not ask for it. It does not
	// block. calls is the number of calls so far.
	Progress func(calls int, message string)

	news func(about, text string) bool
}

// News reports whether the conversation of the call was not sent text about a subject
// before, and records that it is sent now. A call outside of a conversation has no
// memory: everything is new to it.
func (c *Call) News(about, text string) bool { return c.news == nil || c.news(about, text) }

// A Handler answers the calls of a tool. It may take its time, and may ask the
// client something before it is done. An error is a mistake of the caller, in
// words for a model.
type Handler func(ctx context.Context, c *Call) (*mcp.CallToolResult, error)

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
