package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

// A replayed call would end otherwise than it did.
type replayed struct {
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

// A replay is what a policy makes of what was recorded.
type replay struct {
	Calls int `json:"calls"`
	// Unclear are calls that depend on arguments that were not recorded.
	Unclear int        `json:"unclear"`
	Changes []replayed `json:"changes"`
}

func (a *app) policyReplayCommand() *cobra.Command {
	var since time.Time
	var file, profile string
	c := &cobra.Command{
		Use:   "replay [--since 7d] [--policy FILE]",
		Short: "Show which recorded calls a policy would decide differently",
		Long: "Show which recorded calls the policy of the config, or the one in FILE, would decide differently. Nothing is\n" +
			"called. Arguments are recorded only with \"audit\": {\"payloads\": true}, and redacted; without them, rules about\n" +
			"arguments do not match, and such calls are counted as unclear. FILE holds a policy, or a whole servers.json.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withTools(func(s *application.App) error {
				rules := s.Config.Rules()
				if file != "" {
					var err error
					if rules, err = readPolicy(file); err != nil {
						return err
					}
				}
				if profile != "" && !rules.HasProfile(profile) {
					return cli.Usagef("the policy has no profile %q", profile)
				}
				out := replay{Changes: []replayed{}}
				err := s.Audit.Export(cmd.Context(), func(e state.Execution, calls []state.Call) error {
					out.add(s, rules, profile, e, slices.DeleteFunc(calls, func(c state.Call) bool { return c.Started.Before(since) }))
					return nil
				})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(out)
				}
				return printReplay(a.Out, out)
			})
		},
	}
	cli.SinceVar(c.Flags(), &since, "calls")
	c.Flags().StringVar(&file, "policy", "", "a file with another policy (default: that of the config)")
	c.Flags().StringVar(&profile, "profile", "", "as if all callers had this profile")
	return c
}

// readPolicy reads a policy, alone in its file or in a servers.json.
func readPolicy(file string) (*policy.Rules, error) {
	rules, err := config.LoadPolicy(file)
	if err == nil && rules == nil {
		return nil, cli.Usagef("%s is not there", file)
	}
	if err != nil {
		if cfg, e := loadConfig(file); e == nil {
			return cfg.Rules(), nil
		}
		return nil, err
	}
	return rules, nil
}

// add replays the calls of one execution.
func (r *replay) add(s *application.App, rules *policy.Rules, profile string, e state.Execution, calls []state.Call) {
	var run policy.Run
	for _, c := range calls {
		if c.Server == "" { // no such tool
			continue
		}
		r.Calls++
		tool := toolFor(s, c.Server, c.Tool, c.ID)
		call := policy.Call{Caller: e.Client, Tool: tool, Args: bytes.TrimSpace(c.Args), Profile: profile, ReadOnly: s.Config.Broker.ReadOnly, Run: run}
		if len(call.Args) == 0 || !json.Valid(call.Args) {
			call.Args = nil
			if rules.DependsOnArguments(call) {
				r.Unclear++
			}
		}
		d := rules.Decide(call)
		was := "made"
		if c.Status == "denied" {
			was = "denied"
		}
		if (was == "made") != (d.Effect == policy.Allow) {
			one := replayed{Execution: e.ID, Seq: c.Seq, Started: c.Started, Tool: c.ID, Was: was, Now: d.Effect.String(), Code: d.Code, Reason: d.Reason}
			if d.Rule != nil {
				one.At = d.Rule.Position.String()
			}
			r.Changes = append(r.Changes, one)
		}
		if d.Effect != policy.Deny {
			run.AddCall(tool, rules.ClassOf(tool))
			run.AddRead(tool, c.Result, rules.WatchesValues(tool, profile))
		}
	}
}

// printReplay prints one line for equal changes.
func printReplay(w io.Writer, r replay) error {
	type row struct {
		replayed
		n int
	}
	var rows []row
	for _, c := range r.Changes {
		i := slices.IndexFunc(rows, func(r row) bool {
			return r.Tool == c.Tool && r.Was == c.Was && r.Now == c.Now && r.At == c.At && r.Code == c.Code
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{replayed: c})
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

func (a *app) policyInitCommand() *cobra.Command {
	var since time.Time
	c := &cobra.Command{
		Use:   "init [--since 30d]",
		Short: "Propose a policy from the tools of all servers and the recorded calls",
		Long: "Propose a policy: the preset is careful; tools that may change something are allowed if they were used, and destructive\n" +
			"tools that were never used are denied. It is printed; no file is changed.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withTools(func(s *application.App) error {
				a.learnMissing(cmd, s, "")
				calls, err := countCalls(cmd.Context(), s, since)
				if err != nil {
					return err
				}
				proposed := json.RawMessage(policy.Suggest(s.Broker.Catalog().Tools(), calls))
				if !a.JSON {
					cli.Fprintln(a.Err, "put it into a file and try it with: broker policy replay --policy FILE; then it is \"policy\" in \"broker\" of "+s.Config.Path+"")
				}
				return a.PrintJSON(proposed)
			})
		},
	}
	cli.SinceVar(c.Flags(), &since, "calls (default: all)")
	return c
}

// countCalls counts the calls that were made, by tool id.
func countCalls(ctx context.Context, s *application.App, since time.Time) (map[string]int, error) {
	calls := make(map[string]int)
	err := s.Audit.Export(ctx, func(_ state.Execution, list []state.Call) error {
		for _, c := range list {
			if c.Server != "" && c.Status == "ok" && !c.Started.Before(since) {
				calls[toolFor(s, c.Server, c.Tool, c.ID).ID]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	return calls, nil
}
