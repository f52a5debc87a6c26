package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

// waitingRun records a run whose calls of tools wait for a decision.
func (v *view) waitingRun(tools ...string) state.Run {
	v.t.Helper()
	run := state.Run{ID: state.NewRunID(), Principal: state.Local, Code: "x", Started: time.Now()}
	j := v.runs.Begin(run)
	for i, tool := range tools {
		c := state.RunCall{Ordinal: i + 1, Func: "call", Tool: tool, Args: json.RawMessage(`{"page":"home"}`), Class: "destructive", State: state.RunAsked, Why: "is destructive", Made: time.Now()}
		if err := j.Record(c, true); err != nil {
			v.t.Fatal(err)
		}
	}
	run.Status, run.Expires = state.StatusWaiting, time.Now().Add(time.Hour)
	if err := j.End(run); err != nil {
		v.t.Fatal(err)
	}
	return run
}

// A run waits until each of its calls is decided about, and then to be resumed.
func TestDecidedRunsDoNotWait(t *testing.T) {
	for name, tt := range map[string]struct {
		only    []int
		approve bool
		status  string
		waiting int
	}{
		"one denied":   {[]int{1}, false, state.StatusWaiting, 1},
		"one approved": {[]int{2}, true, state.StatusWaiting, 1},
		"all denied":   {nil, false, state.StatusDecided, 0},
		"all approved": {nil, true, state.StatusDecided, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView(t)
			run := v.waitingRun("wiki__edit_page", "wiki__delete_page")
			verdict := state.Verdict{Approve: tt.approve, Only: tt.only, By: "a test", Denied: broker.Denied}
			if _, err := v.read.Decide(t.Context(), run.ID, verdict, func(state.Run, []state.RunCall) error { return nil }); err != nil {
				t.Fatal(err)
			}
			waiting, err := v.read.Waiting(t.Context())
			if err != nil || len(waiting.Runs) != tt.waiting {
				t.Errorf("waiting: %+v, %v; want %d", waiting.Runs, err, tt.waiting)
			}
			undone, err := v.read.Undone(t.Context())
			if err != nil || len(undone.Runs) != 1 || undone.Runs[0].Status != tt.status {
				t.Errorf("undone: %+v, %v; want status %s", undone.Runs, err, tt.status)
			}
		})
	}
}

// A call that the policy denies cannot be approved, whatever denies it; it can be denied.
func TestDeniedCallsCannotBeApproved(t *testing.T) {
	for name, tt := range map[string]struct {
		rules    string // of the policy
		readOnly bool
		tools    policy.ToolLists
		want     string // the refusal; empty if the calls are approved
	}{
		"balanced":            {rules: `{}`},
		"a rule":              {rules: `{"rules":[{"effect":"deny","tools":["wiki.delete_page"],"reason":"pages are archived"}]}`, want: "call 2 cannot be approved: wiki__delete_page is denied by the policy: pages are archived"},
		"a class":             {rules: `{"rules":[{"effect":"deny","tools":["*"],"class":["deletes"]}]}`, want: "call 2 cannot be approved: wiki__delete_page is denied by the policy"},
		"arguments":           {rules: `{"rules":[{"effect":"deny","tools":["wiki.delete_page"],"args":{"page":"home"}}]}`, want: "call 2 cannot be approved: wiki__delete_page is denied by the policy"},
		"other arguments":     {rules: `{"rules":[{"effect":"deny","tools":["wiki.delete_page"],"args":{"page":"old"}}]}`},
		"a preset":            {rules: `{"preset":"readonly"}`, want: "call 1 cannot be approved: wiki__edit_page changes something, and the policy (preset readonly) denies"},
		"read-only":           {rules: `{}`, readOnly: true, want: "call 1 cannot be approved: wiki__edit_page is not marked read-only"},
		"tools of a server":   {rules: `{}`, tools: policy.ToolLists{"wiki": {Deny: []string{"delete_*"}}}, want: "call 2 cannot be approved: wiki__delete_page "},
		"another rule asks":   {rules: `{"rules":[{"effect":"ask","tools":["*"]}]}`},
		"another rule denies": {rules: `{"rules":[{"effect":"deny","tools":["wiki.move_page"]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView(t)
			rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(tt.rules)})
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			tool := func(name string) discovery.ListedTool {
				return discovery.ListedTool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
			}
			b, err := broker.New(broker.Deps{Runner: idle{}, Fixed: []discovery.Listing{{Server: "wiki", Tools: []discovery.ListedTool{tool("edit_page"), tool("delete_page"), tool("move_page")}}}},
				broker.Settings{Policy: rules, ReadOnly: tt.readOnly, Tools: tt.tools})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
			v.read.Broker = b
			run := v.waitingRun("wiki__edit_page", "wiki__delete_page")
			decide := func(approve bool) error {
				_, err := v.read.Decide(t.Context(), run.ID, state.Verdict{Approve: approve, By: "a test", Denied: broker.Denied}, func(state.Run, []state.RunCall) error { return nil })
				return err
			}
			err = decide(true)
			if tt.want == "" {
				if err != nil {
					t.Errorf("approved: %v", err)
				}
				return
			}
			if _, ok := errors.AsType[*DeniedError](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("approved: %v; want %s", err, tt.want)
			}
			shown, err := v.read.Run(context.Background(), run.ID, true)
			if err != nil || shown.Calls[0].State != state.RunAsked || shown.Calls[1].State != state.RunAsked {
				t.Fatalf("after the refusal: %+v, %v", shown.Calls, err)
			}
			body, err := json.Marshal(map[string]any{"approve": true, "calls": []int{1, 2}, "digests": []string{shown.Calls[0].Digest, shown.Calls[1].Digest}})
			if err != nil {
				t.Fatal(err)
			}
			if status, text := v.ask(http.MethodPost, "/api/runs/"+run.ID+"/decide", string(body)); status != http.StatusConflict || !strings.Contains(text, `"denied"`) || !strings.Contains(text, "cannot be approved") {
				t.Errorf("over HTTP: %d %s", status, text)
			}
			if err := decide(false); err != nil {
				t.Errorf("denied: %v", err)
			}
		})
	}
}
