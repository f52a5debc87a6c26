package contain

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
)

// An attacked runs programs as execute_code does: each in a broker of its own with the
// server "demo", which is in this process, the skill "attack", a record and a store.
type attacked struct {
	runner sandbox.Runner
	audit  state.AuditStore
	state  state.Backend
	log    *slog.Logger
	n      atomic.Int64
}

// maxStored is how much one hostile script may store.
const maxStored = 64 << 20

// openAttacked opens a broker with its record and store in dir. The caller closes
// runner, and then the record.
func openAttacked(runner sandbox.Runner, dir string, log *slog.Logger) (*attacked, error) {
	backend := app.OpenDirectory(dir, state.Limits{MaxBytes: maxStored}, log)
	record, err := backend.Audit(context.Background(), state.AuditOptions{Keep: state.Keep{Code: true}})
	if err != nil {
		return nil, err
	}
	return &attacked{runner: runner, audit: record, state: backend, log: log}, nil
}

// run is attack.Options.Run.
func (a *attacked) run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	demo, err := serveDemo(req.Call)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer demo.end()
	loop, err := loopSkill()
	if err != nil {
		return sandbox.Result{}, err
	}
	b, err := broker.New(broker.Deps{
		Runner:    keepOpen{a.runner},
		Audit:     a.audit,
		Results:   a.state.Results(),
		Values:    a.state.Values(),
		Logger:    a.log,
		Languages: app.AllLanguages,
	}, broker.Settings{
		Servers:    []upstream.Config{{Name: "demo", Type: "http", URL: demo.url}},
		Skills:     loop,
		MaxTimeout: time.Minute,
		Limits:     req.Limits,
	})
	if err != nil {
		return sandbox.Result{}, err
	}
	defer b.Close()
	b.Refresh(ctx) // so that the script's time is its own
	owner := fmt.Sprint("attack ", a.n.Add(1))
	defer a.forget(owner)
	got := b.Execute(ctx, broker.ExecuteRequest{
		Code: req.Code, Language: string(req.Language), Timeout: req.Limits.Timeout, Client: owner, Owner: owner, Stdout: req.Stdout, Stderr: req.Stderr,
	})
	return sandbox.Result{ExitCode: got.ExitCode, Value: got.Result, Error: got.Diagnostics}, nil
}

// forget removes what a script has stored.
func (a *attacked) forget(owner string) {
	ctx := context.Background()
	list, _ := a.state.Results().List(ctx, owner) // what cannot be listed is removed with the folder
	for _, r := range list {
		_ = a.state.Results().Remove(ctx, owner, r.Ref)
	}
}

// keepOpen is a runner that several brokers share, none of which closes it.
type keepOpen struct{ sandbox.Runner }

func (keepOpen) Close() error { return nil }

// A demoServer is an MCP server in this process.
type demoServer struct {
	url string
	end func()
}

// serveDemo serves tools that call answers; if call is nil, every answer is empty.
func serveDemo(call sandbox.CallFunc) (*demoServer, error) {
	ended, end := context.WithCancel(context.Background())
	s := mcp.NewServer(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	for _, name := range attack.Tools {
		s.AddTool(&mcp.Tool{Name: name, Description: "Hostile scripts call it.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(ended, cancel)()
				if call == nil {
					return nil, fmt.Errorf("nobody calls %s", name)
				}
				value, err := call(ctx, sandbox.Call{Func: "call", Target: "demo__" + name, Args: req.Params.Arguments})
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(value)}}}, nil
			})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		end()
		return nil, fmt.Errorf("serve tools to hostile scripts: %w", err)
	}
	h := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
		ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(l) // until Close
	}()
	return &demoServer{url: "http://" + l.Addr().String(), end: func() {
		end()
		_ = h.Close()
		<-done
	}}, nil
}

// loopSkill returns the skill "attack" with a workflow that calls a tool again and
// again.
func loopSkill() (*skills.Registry, error) {
	w, err := workflow.New(&workflow.Definition{Start: "call", Steps: map[string]*workflow.Step{"call": {
		Action: &workflow.Action{Tool: "demo__echo"}, MaxVisits: 60, OnMaxVisits: workflow.End, Next: []workflow.Branch{{To: "call"}},
	}}})
	if err != nil {
		return nil, err
	}
	r := skills.NewRegistry(nil)
	return r, r.Register(skills.Virtual{Name: "attack", Description: "Calls a tool again and again.", Workflow: w})
}
