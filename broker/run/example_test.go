package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// A keyring is a feature that scripts see a function of.
type keyring struct{}

func (keyring) HostFuncs() map[string]run.HostFunc {
	return map[string]run.HostFunc{"store.keys": {Do: func(context.Context, *run.Execution, sandbox.Call) (json.RawMessage, error) {
		return json.RawMessage(`["answered by a feature"]`), nil
	}}}
}

func Example() {
	c := catalog.New(catalog.Options{}, &upstream.Options{}, func() {})
	defer c.Close()
	runner := inproc.New()
	defer runner.Close()
	e := run.New(run.Options{
		Runner: runner, Languages: []sandbox.Language{sandbox.JavaScript}, Language: sandbox.JavaScript,
		Timeout: 10 * time.Second, MaxTimeout: 10 * time.Second, MaxOutputChars: 1000,
	}, c, slog.New(slog.DiscardHandler))
	e.Register(keyring{})
	answer := e.Execute(context.Background(), run.Request{Code: "return store.keys()"})
	fmt.Println(answer.ExitCode, string(answer.Result))
	// Output: 0 ["answered by a feature"]
}
