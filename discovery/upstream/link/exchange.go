package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRounds bounds how often one call is sent again with answers.
const maxRounds = 20

// An exchange is one call on a session, with what the server asks in its results.
type exchange struct {
	*Session
	call *Call
}

// rounds sends a call, again with the answers for as long as its result asks
// questions, and returns the last result.
func (s exchange) rounds(ctx context.Context, params *mcp.CallToolParams) (json.RawMessage, error) {
	for round := 1; ; round++ {
		kept := captureCall()
		res, err := s.mcp.CallTool(transport.WithCapture(ctx, kept), params)
		kept.Release()
		switch {
		case errors.Is(err, transport.ErrCaptured):
			return kept.Raw, nil
		case err != nil:
			return nil, s.pagesFirst(ctx, answerError(kept, err))
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
		answers, err := s.answers(ctx, res.InputRequests)
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

// askGuarded is ask in a goroutine of its own, for one call.
func (s exchange) askGuarded(ctx context.Context, q mcp.InputRequest) (answer mcp.InputResponse, err error) {
	defer s.panics.recovered("tools/call", &err)
	if q, err = hiddenIn(q, s.Hide); err != nil {
		return nil, err
	}
	return s.ask(ctx, []*Call{s.call}, q)
}

// answers asks all of qs at the same time.
func (s exchange) answers(ctx context.Context, qs mcp.InputRequestMap) (mcp.InputResponseMap, error) {
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
			answer, err := s.askGuarded(ctx, q)
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
func (s exchange) pagesFirst(ctx context.Context, err error) error {
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
		hidden, hideErr := hiddenIn(q, s.Hide)
		if hideErr != nil {
			return hideErr
		}
		if page == nil {
			page = hidden
		}
		answer, askErr := s.ask(ctx, []*Call{s.call}, hidden)
		if askErr != nil {
			return askErr
		}
		switch answer.(*mcp.ElicitResult).Action {
		case "accept":
		case "decline":
			return s.call.refuse(hidden, "the person declined", "", false)
		default:
			return s.call.refuse(hidden, "the person closed the question without an answer", "call again when the person wants to be asked again", true)
		}
	}
	return s.call.refuse(page, "the person has not finished at that page", "call again when the person has finished", true)
}
