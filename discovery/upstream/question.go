package upstream

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// handleMessages makes o handle the questions and notifications of the server.
func (s *session) handleMessages(o *mcp.ClientOptions) {
	o.Capabilities = s.promised.Protocol()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true} // see rounds
	o.LoggingMessageHandler = s.onLog
	if s.promised.Form || s.promised.URL {
		o.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return questionOf[*mcp.ElicitResult](ctx, s, req.Params)
		}
		o.ElicitationCompleteHandler = func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			if req.Params != nil {
				s.pageDone(req.Params.ElicitationID)
			}
		}
	}
	if s.promised.Sampling {
		o.CreateMessageWithToolsHandler = func(ctx context.Context, req *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
			return questionOf[*mcp.CreateMessageWithToolsResult](ctx, s, req.Params)
		}
	}
}

// rootsQuestions handles roots/list, which the SDK would answer by itself.
func (s *session) rootsQuestions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "roots/list" {
			return next(ctx, method, req)
		}
		return questionOf[*mcp.ListRootsResult](ctx, s, &mcp.ListRootsParams{})
	}
}

// questionOf answers a request of the server that does not say which call it
// belongs to.
func questionOf[R mcp.InputResponse](ctx context.Context, s *session, q mcp.InputRequest) (R, error) {
	var none R
	if _, roots := q.(*mcp.ListRootsParams); !roots {
		s.asked()
	}
	q, err := hiddenIn(q, s.hide)
	if err != nil {
		return none, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	calls, err := s.askers(q)
	if err != nil {
		return none, refusal(q, err)
	}
	answer, err := s.ask(ctx, calls, q)
	if err != nil {
		return none, refusal(q, err)
	}
	return answer.(R), nil // ask has seen to it
}

// refusal is err as the server gets it.
func refusal(q mcp.InputRequest, err error) error {
	code := int64(jsonrpc.CodeMethodNotFound)
	if _, ok := q.(*mcp.ElicitParams); ok {
		code = jsonrpc.CodeInvalidParams // as the protocol has it for modes that a client lacks
	}
	message := err.Error()
	if e, ok := errors.AsType[*InputError](err); ok {
		message = e.Why
	}
	return &jsonrpc.Error{Code: code, Message: message}
}

// askers returns the calls one of which q belongs to. They are all of one
// caller; if that cannot be known, the error says so.
func (s *session) askers(q mcp.InputRequest) ([]*liveCall, error) {
	calls := s.live()
	if len(calls) == 0 {
		return nil, errors.New("no call is running that this could belong to")
	}
	for _, c := range calls {
		if c.caller() == calls[0].caller() {
			continue
		}
		var e *InputError
		for _, c := range calls {
			e = c.refuse(q, "calls of several clients are running on this server, and it did not say which one it asks", "call again", true)
		}
		return nil, e
	}
	return calls, nil
}

// live returns the calls under way.
func (s *session) live() []*liveCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]*liveCall, 0, len(s.calls))
	for c := range s.calls {
		calls = append(calls, c)
	}
	return calls
}

// askGuarded is ask in a goroutine of its own, for one call.
func (s *session) askGuarded(ctx context.Context, c *liveCall, q mcp.InputRequest) (answer mcp.InputResponse, err error) {
	defer s.recovered("tools/call", &err)
	if q, err = hiddenIn(q, s.hide); err != nil {
		return nil, err
	}
	return s.ask(ctx, []*liveCall{c}, q)
}

// ask is ask, and remembers who was asked to open a page.
func (s *session) ask(ctx context.Context, calls []*liveCall, q mcp.InputRequest) (mcp.InputResponse, error) {
	if p, ok := q.(*mcp.ElicitParams); ok && p.ElicitationID != "" && calls[0].o.Talker != nil {
		s.mu.Lock()
		if s.pages == nil || len(s.pages) >= maxPagesAsked {
			s.pages = make(map[string]func())
		}
		talker, id := calls[0].o.Talker, questions.PageID(calls[0].server, p.ElicitationID)
		s.pages[p.ElicitationID] = func() { talker.PageDone(id) }
		s.mu.Unlock()
	}
	return ask(ctx, calls, q)
}

// maxPagesAsked bounds the remembered pages that were not completed.
const maxPagesAsked = 100

func (s *session) pageDone(id string) {
	s.mu.Lock()
	done := s.pages[id]
	delete(s.pages, id)
	s.mu.Unlock()
	if done != nil {
		done()
	}
}

// rounds sends a call, again with the answers for as long as its result asks
// questions, and returns the last result.
func (s *session) rounds(ctx context.Context, c *liveCall, params *mcp.CallToolParams) (json.RawMessage, error) {
	for round := 1; ; round++ {
		kept := captureCall()
		res, err := s.mcp.CallTool(transport.WithCapture(ctx, kept), params)
		kept.Release()
		switch {
		case errors.Is(err, transport.ErrCaptured):
			return kept.Raw, nil
		case err != nil:
			return nil, s.pagesFirst(ctx, c, answerError(kept, err))
		case kept.Raw != nil:
			return kept.Raw, nil
		case !res.NeedsInput():
			return nil, &transport.AnswerError{Why: "it has no result"}
		case round >= maxRounds:
			return nil, fmt.Errorf("the server asked for input %d times and still has no result", round)
		}
		if len(res.InputRequests) == 0 { // it is busy and wants to be asked later
			if err := wait(ctx, min(100*time.Millisecond<<min(round, 6), 5*time.Second)); err != nil {
				return nil, err
			}
		}
		answers, err := s.answers(ctx, c, res.InputRequests)
		if err != nil {
			return nil, err
		}
		next := *params
		next.InputResponses, next.RequestState = answers, res.RequestState
		params = &next
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answers asks all of qs at the same time.
func (s *session) answers(ctx context.Context, c *liveCall, qs mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		out   mcp.InputResponseMap
		first error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for id, q := range qs {
		wg.Go(func() {
			answer, err := s.askGuarded(ctx, c, q)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				if out == nil {
					out = make(mcp.InputResponseMap)
				}
				out[id] = answer
			case first == nil:
				first = err
				cancel() // the call fails, so the others need no answer
			}
		})
	}
	wg.Wait()
	return out, first
}

// pagesFirst handles the error of a server that requires pages to be opened before the
// call. It asks the caller to open them but does not repeat the call, since a person
// may take long.
func (s *session) pagesFirst(ctx context.Context, c *liveCall, err error) error {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rpc.Code != mcp.CodeURLElicitationRequired {
		return err
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || len(data.Elicitations) == 0 {
		return err
	}
	var page mcp.InputRequest
	for _, q := range data.Elicitations {
		if q == nil || !questions.IsPage(q) {
			return err
		}
		hidden, hideErr := hiddenIn(q, s.hide)
		if hideErr != nil {
			return hideErr
		}
		if page == nil {
			page = hidden
		}
		answer, askErr := s.ask(ctx, []*liveCall{c}, hidden)
		if askErr != nil {
			return askErr
		}
		switch answer.(*mcp.ElicitResult).Action {
		case "accept":
		case "decline":
			return c.refuse(hidden, "the person declined", "", false)
		default:
			return c.refuse(hidden, "the person closed the question without an answer", "call again when the person wants to be asked again", true)
		}
	}
	return c.refuse(page, "the person has not finished at that page", "call again when the person has finished", true)
}

// onLog keeps what the server logs among its output, and passes it on to the
// caller of the calls under way if that is one.
func (s *session) onLog(_ context.Context, req *mcp.LoggingMessageRequest) {
	text, ok := req.Params.Data.(string)
	if !ok {
		b, err := json.Marshal(req.Params.Data)
		if err != nil {
			return
		}
		text = string(b)
	}
	if req.Params.Logger != "" {
		text = req.Params.Logger + ": " + text
	}
	level := string(req.Params.Level)
	if !slices.Contains(logLevels, level) {
		level = logLevel
	}
	if s.logs != nil {
		s.logs.Add([]byte("[" + level + "] " + strings.ReplaceAll(text, "\n", " ")))
	}
	calls := s.live()
	for _, c := range calls {
		if c.caller() != calls[0].caller() {
			return
		}
	}
	if len(calls) > 0 && calls[0].o.OnLog != nil && level != "debug" {
		calls[0].o.OnLog(level, s.hide.In(gate.Clean(text)))
	}
}

// listenToLogs asks a server of the older protocols, once, for its log.
func (s *session) listenToLogs(ctx context.Context) {
	init := s.mcp.InitializeResult()
	if s.era == eraModern || init == nil || init.Capabilities == nil || init.Capabilities.Logging == nil {
		return
	}
	s.logging.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		// A server that does not support this sends no log messages. Its answer is
		// decoded behind guarded.
		_ = s.mcp.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: logLevel})
	})
}

// logLevel is the lowest level of the log messages to request. Messages with an
// unknown level count as this one.
const logLevel = "info"

// logLevels are the levels of MCP.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
