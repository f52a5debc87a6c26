package broker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// placer is a runner that returns where it was asked to run a script.
type placer struct{}

func (placer) Run(_ context.Context, req sandbox.Request) (sandbox.Result, error) {
	value, err := json.Marshal([]string{string(req.Language), string(req.Isolation)})
	return sandbox.Result{Value: value}, err
}

func (placer) Close() error { return nil }

func placed(t *testing.T, d broker.Deps, s broker.Settings) *broker.Broker {
	t.Helper()
	d.Runner = placer{}
	b, err := broker.New(d, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

var bothIsolations = []sandbox.Isolation{sandbox.InWorker, sandbox.InContainer}

// Clients are shown a choice only where there is one; elsewhere they are shown
// what they were shown before.
func TestIsolationIsShownOnlyWhereItCanBeChosen(t *testing.T) {
	surface := func(isolations ...sandbox.Isolation) string {
		text, err := json.Marshal(placed(t, broker.Deps{Isolations: isolations}, broker.Settings{}).Surface())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	none, one, both := surface(), surface(sandbox.InWorker), surface(bothIsolations...)
	if none != one || strings.Contains(none, "isolation") {
		t.Errorf("without a choice the surface is\n%s\nand\n%s", none, one)
	}
	const argument = `"isolation":{"type":"string","enum":["worker","container"],"description":"where it runs"},`
	if got := strings.Replace(both, argument, "", 1); got == both || got != none {
		t.Errorf("with a choice the surface is\n%s\nwant one argument more than in\n%s", both, none)
	}
}

func TestIsolationOfAScript(t *testing.T) {
	missing := map[sandbox.Language]string{sandbox.JavaScript: "its image is missing, run: build it"}
	for _, tt := range []struct {
		name    string
		choice  []sandbox.Isolation
		req     broker.ExecuteRequest
		result  string
		refused string
	}{
		{name: "none", result: `["typescript",""]`},
		{name: "chosen", choice: bothIsolations, req: broker.ExecuteRequest{Isolation: "Container"}, result: `["typescript","container"]`},
		{name: "not to be chosen", req: broker.ExecuteRequest{Isolation: "worker"}, refused: "a script cannot choose its isolation here (config: sandbox.perCall): leave it out. 0 tools called"},
		{name: "the user's own", req: broker.ExecuteRequest{Isolation: "worker", AnyIsolation: true}, result: `["typescript","worker"]`},
		{name: "none at all is not to be chosen", choice: bothIsolations, req: broker.ExecuteRequest{Isolation: "inprocess"}, refused: `unknown isolation "inprocess": use worker or container. 0 tools called`},
		{name: "nor by the user", req: broker.ExecuteRequest{Isolation: "inprocess", AnyIsolation: true}, refused: `unknown isolation "inprocess": use worker or container. 0 tools called`},
		{name: "a language whose place is missing", choice: bothIsolations, req: broker.ExecuteRequest{Language: "js"}, refused: "javascript does not run here: its image is missing, run: build it; or use typescript. 0 tools called"},
		{name: "in another place", choice: bothIsolations, req: broker.ExecuteRequest{Language: "js", Isolation: "worker"}, result: `["javascript","worker"]`},
		{name: "a language that runs in one place alone", choice: bothIsolations, req: broker.ExecuteRequest{Language: "python", Isolation: "container"}, refused: "python does not run here: use typescript. 0 tools called"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := placed(t, broker.Deps{Isolations: tt.choice, UnavailableLanguages: missing, Languages: []sandbox.Language{sandbox.TypeScript}}, broker.Settings{})
			tt.req.Code = "1"
			a := b.Execute(t.Context(), tt.req)
			if string(a.Result) != tt.result || a.Stderr != tt.refused {
				t.Errorf("result %s, refused with %q; want %s, %q", a.Result, a.Stderr, tt.result, tt.refused)
			}
		})
	}
}
