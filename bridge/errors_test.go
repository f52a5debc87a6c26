package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/bridge"
)

const mayHaveRunText = "the tool may have run: check before you call it again"

// Whether a call may have run depends on what happened to it, not on the text of an
// error.
func TestErrorSaysWhetherTheCallMayHaveRun(t *testing.T) {
	lost := errors.New("connection reset")
	known := &bridge.Error{Code: bridge.CodeProtocol, Message: mayHaveRunText, Hint: mayHaveRunText}
	unknown := &bridge.Error{Code: bridge.CodeUnavailable, Message: "gone", MayHaveRun: true}
	for _, c := range []struct {
		name string
		sent bool
		raw  string
		err  error
		ends bool // the execution, during the call
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

// Error messages are bounded where they are created.
func TestFailuresAreBounded(t *testing.T) {
	huge := strings.Repeat("é", 1<<20)
	quoted, _ := json.Marshal(huge)
	for name, caller := range map[string]bridge.CallerFunc{
		"a tool that fails":  answering(`{"isError":true,"content":[{"type":"text","text":` + string(quoted) + `}]}`),
		"structured content": answering(`{"isError":true,"content":[],"structuredContent":{"a":` + string(quoted) + `}}`),
		"an unknown error": func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New(huge)
		},
		"an error with a hint": func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			return nil, &bridge.Error{Code: bridge.CodeNeedsInput, Message: huge, Hint: huge}
		},
		"an error with a name": func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
			return nil, &bridge.Error{Code: bridge.CodeDenied, Server: huge, Tool: huge}
		},
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: caller})
		_, err := b.Call(t.Context(), "shop__open", nil)
		e, ok := errors.AsType[*bridge.Error](err)
		if !ok || len(e.Message) > bridge.MaxMessage || len(e.Fields()) > 8<<10 || !utf8.ValidString(e.Message+e.Hint+e.Tool) {
			t.Errorf("%s: %d bytes of message, %d of fields", name, len(e.Message), len(e.Fields()))
		}
		if len(e.Message) > 1000 && !strings.HasSuffix(e.Message, "bytes in all]") {
			t.Errorf("%s: the message does not say that it is cut", name)
		}
	}
}
