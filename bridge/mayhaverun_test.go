package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
)

const mayHaveRunText = "the tool may have run all the same: look before you call it again"

// Whether a call may have run follows from what happened to it, whatever the words of
// an error are.
func TestErrorSaysWhetherTheCallMayHaveRun(t *testing.T) {
	lost := errors.New("connection reset")
	known := &bridge.Error{Code: bridge.CodeProtocol, Message: mayHaveRunText, Hint: mayHaveRunText}
	unknown := &bridge.Error{Code: bridge.CodeUnavailable, Message: "gone", MayHaveRun: true}
	for _, c := range []struct {
		name string
		sent bool
		raw  string
		err  error
		ends bool // the execution, while the call is under way
		want bool
		code bridge.Code
	}{
		{"not sent", false, "", lost, false, false, bridge.CodeUnavailable},
		{"sent and lost", true, "", lost, false, true, bridge.CodeUnavailable},
		{"the execution ends before it is sent", false, "", context.Canceled, true, false, bridge.CodeCancelled},
		{"the execution ends while it is under way", true, "", context.Canceled, true, true, bridge.CodeCancelled},
		{"the server refuses, with these words", true, "", known, false, false, bridge.CodeProtocol},
		{"the transport knows", true, "", unknown, false, true, bridge.CodeUnavailable},
		{"the tool fails, with these words", true, `{"isError":true,"content":[{"type":"text","text":"` + mayHaveRunText + `"}]}`, nil, false, false, bridge.CodeTool},
		{"the answer is no result", true, `[]`, nil, false, false, bridge.CodeProtocol},
	} {
		ctx, end := context.WithCancel(t.Context())
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: bridge.CallerFunc(func(ctx context.Context, _, _ string, _ json.RawMessage) (json.RawMessage, error) {
			if c.sent {
				bridge.Sent(ctx)
			}
			if c.ends {
				end()
			}
			return json.RawMessage(c.raw), c.err
		})})
		_, err := b.Call(ctx, "shop__open", nil)
		end()
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok || e.MayHaveRun != c.want || e.Code != c.code || e.MayHaveRun && (e.Retryable || e.Hint == "") {
			t.Errorf("%s: %#v", c.name, e)
			continue
		}
		var fields struct {
			MayHaveRun bool `json:"mayHaveRun"`
		}
		if err := json.Unmarshal(e.Fields(), &fields); err != nil || fields.MayHaveRun != c.want {
			t.Errorf("%s: the script gets %s", c.name, e.Fields())
		}
	}
}
