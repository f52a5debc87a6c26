package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// outcomes is a Journal with one outcome.
type outcomes struct{ known *bridge.Known }

func (o outcomes) Known(_ context.Context, a bridge.Attempt) *bridge.Known {
	if a.Tool.Server != "shop" {
		return nil
	}
	return o.known
}

func (outcomes) Asked(context.Context, bridge.Attempt, policy.Decision) error {
	return bridge.ErrNobody
}
func (outcomes) Sending(context.Context, bridge.Attempt) error { return nil }

// The run has read everything that a server said during a call, even if the call
// failed.
func TestWhatAServerSaidIsRead(t *testing.T) {
	const said = "Augusta King lives in Ockham Park"
	fails := func(e *bridge.Error, sent bool) bridge.CallerFunc {
		return func(ctx context.Context, _, _ string, _ json.RawMessage) (json.RawMessage, error) {
			if sent {
				bridge.Sent(ctx)
			}
			return nil, e
		}
	}
	plain := func(err error) bridge.CallerFunc {
		return func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) { return nil, err }
	}
	web := &discovery.Tool{Server: "web", ID: "web__post", ListedTool: discovery.ListedTool{Name: "post"}}
	both := func(ctx context.Context, name string) (*discovery.Tool, error) {
		if name == web.ID {
			return web, nil
		}
		return resolve(ctx, name)
	}
	gone := &bridge.Error{Code: bridge.CodeTool, Message: said}
	for _, c := range []struct {
		name   string
		caller bridge.Caller
		known  *bridge.Known
		read   bool
		texts  bool
	}{
		{"an error of JSON-RPC", fails(&bridge.Error{Code: bridge.CodeProtocol, Message: said}, true), nil, true, true},
		{"a question that nobody answered", fails(&bridge.Error{Code: bridge.CodeNeedsInput, Message: said}, true), nil, true, true},
		{"what a server wrote before it ended", fails(&bridge.Error{Code: bridge.CodeUnavailable, Message: said, MayHaveRun: true}, true), nil, true, true},
		{"what a server wrote instead of starting", plain(errors.New(said)), nil, true, true},
		{"a tool that fails", answering(`{"isError":true,"content":[{"type":"text","text":"` + said + `"}]}`), nil, true, true},
		{"an answer that is none", answering(`["` + said + `"]`), nil, true, true},
		{"no answer in time", fails(&bridge.Error{Code: bridge.CodeTimeout, Message: "no answer", MayHaveRun: true}, true), nil, true, false},
		{"a value of an earlier run", answering(`{}`), &bridge.Known{Value: json.RawMessage(`"` + said + `"`)}, true, true},
		{"a failure of an earlier run", answering(`{}`), &bridge.Known{Err: gone, ReachedServer: bridge.ReachedServer(gone.Fields())}, true, true},
		{"a denial of an earlier run", answering(`{}`), &bridge.Known{Err: errors.New("no"), ReachedServer: bridge.ReachedServer((&bridge.Error{Code: bridge.CodeDenied}).Fields())}, false, false},
		{"never sent", fails(&bridge.Error{Code: bridge.CodeTimeout, Message: "no place"}, false), nil, false, false},
		{"refused here", fails(&bridge.Error{Code: bridge.CodeDenied, Message: "held back"}, false), nil, false, false},
	} {
		rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(`{"flows": [{"from": ["shop.*"], "to": ["web.*"], "effect": "deny", "mode": "values"}]}`)})
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		o := bridge.Options{Resolve: both, Caller: bridge.CallerFunc(func(ctx context.Context, server, tool string, args json.RawMessage) (json.RawMessage, error) {
			if server == "shop" {
				return c.caller.Call(ctx, server, tool, args)
			}
			return json.RawMessage(`{"content":[]}`), nil
		}), Policy: rules, Rules: rules}
		if c.known != nil {
			o.Journal = outcomes{c.known}
		}
		b := bridge.New(o)
		_, _ = b.Call(t.Context(), "shop__open", nil)
		if got := len(b.Sources()) == 1; got != c.read {
			t.Errorf("%s: read %t, want %t", c.name, got, c.read)
		}
		_, err := b.Call(t.Context(), "web__post", json.RawMessage(`{"text":"`+said+`"}`))
		if e, _ := errors.AsType[*bridge.Error](err); c.texts != (e != nil && e.Code == bridge.CodeDenied) {
			t.Errorf("%s: its words are sent on: %v", c.name, err)
		}
	}
}
