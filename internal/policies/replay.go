package policies

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Decision call would end otherwise than it did.
type Decision struct {
	Execution string    `json:"execution,omitempty"`
	Seq       int       `json:"seq"`
	Started   time.Time `json:"started"`
	Tool      string    `json:"tool"`
	// Was is "made" or "denied", Now an effect.
	Was    string `json:"was"`
	Now    string `json:"now"`
	Code   string `json:"code"`
	Reason string `json:"reason,omitempty"`
	At     string `json:"at,omitempty"` // of the rule
}

// A Replay is what a policy makes of what was recorded.
type Replay struct {
	Calls int `json:"calls"`
	// Unclear are calls that depend on arguments that were not recorded.
	Unclear int        `json:"unclear"`
	Changes []Decision `json:"changes"`

	Rules    *policy.Rules
	Profile  string // that all callers seem to have, or empty
	Catalog  *discovery.Catalog
	ReadOnly bool
}

// Run replays the calls of a record that began after a moment.
func (r *Replay) Run(ctx context.Context, record state.AuditStore, since time.Time) error {
	r.Changes = []Decision{}
	return record.Export(ctx, func(e state.Execution, calls []state.Call) error {
		r.add(e, slices.DeleteFunc(calls, func(c state.Call) bool { return c.Started.Before(since) }))
		return nil
	})
}

// add replays the calls of one execution.
func (r *Replay) add(e state.Execution, calls []state.Call) {
	var run policy.Run
	for _, c := range calls {
		if c.Server == "" { // no such tool
			continue
		}
		r.Calls++
		tool := toolFor(r.Catalog, c.Server, c.Tool, c.ID)
		call := policy.Call{Caller: e.Client, Tool: tool, Args: bytes.TrimSpace(c.Args), Profile: r.Profile, ReadOnly: r.ReadOnly, Run: run}
		if len(call.Args) == 0 || !json.Valid(call.Args) {
			call.Args = nil
			if r.Rules.DependsOnArguments(call) {
				r.Unclear++
			}
		}
		d := r.Rules.Decide(call)
		was := "made"
		if c.Status == "denied" {
			was = "denied"
		}
		if (was == "made") != (d.Effect == policy.Allow) {
			one := Decision{Execution: e.ID, Seq: c.Seq, Started: c.Started, Tool: c.ID, Was: was, Now: d.Effect.String(), Code: d.Code, Reason: d.Reason}
			if d.Rule != nil {
				one.At = d.Rule.Position.String()
			}
			r.Changes = append(r.Changes, one)
		}
		if d.Effect != policy.Deny {
			run.AddCall(tool, r.Rules.ClassOf(tool))
			run.AddRead(tool, c.Result, r.Rules.WatchesValues(tool, r.Profile))
		}
	}
}

// PrintReplay prints one line for equal changes.
func PrintReplay(w io.Writer, r Replay) error {
	type row struct {
		Decision
		n int
	}
	var rows []row
	for _, c := range r.Changes {
		i := slices.IndexFunc(rows, func(r row) bool {
			return r.Tool == c.Tool && r.Was == c.Was && r.Now == c.Now && r.At == c.At && r.Code == c.Code
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{Decision: c})
		}
		rows[i].n++
	}
	cli.Fprintf(w, "%s, %d would be decided differently", cli.Count(r.Calls, "recorded call"), len(r.Changes))
	if r.Unclear > 0 {
		cli.Fprintf(w, "; of %d the arguments matter and were not recorded", r.Unclear)
	}
	cli.Fprintln(w)
	if len(rows) == 0 {
		return nil
	}
	cli.Fprintln(w)
	return cli.NewTable("TOOL\tCALLS\tWAS\tNOW\tBY\t", func(r row) []any {
		by := r.Code
		if r.At != "" {
			by = r.At
		}
		return []any{r.Tool, r.n, r.Was, r.Now, by, ""}
	}).Print(w, rows)
}
