package link

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// handleMessages makes o handle the questions and notifications of the server.
func (s *Session) handleMessages(o *mcp.ClientOptions) {
	o.Capabilities = s.promised.Protocol()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true} // see rounds
	o.LoggingMessageHandler = s.onLog
	if s.promised.Form || s.promised.URL {
		o.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return questionOf[*mcp.ElicitResult](ctx, s, req.Params)
		}
		o.ElicitationCompleteHandler = func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			if req.Params != nil {
				s.calls.pageDone(req.Params.ElicitationID)
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
func (s *Session) rootsQuestions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "roots/list" {
			return next(ctx, method, req)
		}
		return questionOf[*mcp.ListRootsResult](ctx, s, &mcp.ListRootsParams{})
	}
}

// questionOf answers a request of the server that does not say which call it
// belongs to.
func questionOf[R mcp.InputResponse](ctx context.Context, s *Session, q mcp.InputRequest) (R, error) {
	var none R
	if _, roots := q.(*mcp.ListRootsParams); !roots {
		if s.listener != nil {
			s.listener.Asked()
		}
	}
	q, err := hiddenIn(q, s.Hide)
	if err != nil {
		return none, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	calls, err := s.calls.askers(q)
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

// ask is ask, and remembers who was asked to open a page.
func (s *Session) ask(ctx context.Context, calls []*Call, q mcp.InputRequest) (mcp.InputResponse, error) {
	if p, ok := q.(*mcp.ElicitParams); ok && p.ElicitationID != "" && calls[0].o.Talker != nil {
		s.calls.openPage(p.ElicitationID, calls[0])
	}
	return ask(ctx, calls, q)
}
