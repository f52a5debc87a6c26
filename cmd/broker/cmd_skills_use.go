package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func (a *app) skillsCallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "call NAME TOOL [INPUT|-]",
		Short: "Call a tool of a skill: a script, start and advance of a workflow, or what else it offers",
		Long: "Call a tool of a skill as call_skill_tool does. INPUT is JSON; with -, it is read from stdin. What the tool answers is printed as JSON; the exit code\n" +
			"is 1 if it failed, also when a workflow does not take an answer.",
		Example: "  broker skills call triage start '{\"repo\": \"o/r\"}'\n  broker skills call triage advance '{\"session\": \"…\", \"answer\": {\"level\": 2}}'",
		Args:    someArgs(2, 3, "the names of a skill and of a tool, and perhaps an input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.skillInput(append(args, "")[2])
			if err != nil {
				return err
			}
			s, err := a.openAnyway(-1)
			if err != nil {
				return err
			}
			s.broker.StartLazily(cmd.Context())
			value, failed, err := s.broker.CallSkillTool(cmd.Context(), args[0], args[1], input, broker.ExecuteRequest{Client: clientCLI, Owner: state.Local})
			closed := s.close()
			if e, ok := errors.AsType[*skills.FileError](err); ok {
				hint := "broker skills show " + args[0]
				if e.Code == "skill_not_found" {
					hint = "broker skills list"
				}
				return usage("%w [%s]\nhint: %s", e, e.Code, hint)
			}
			if err != nil {
				return err
			}
			if err := a.printValue(value); err != nil {
				return err
			}
			if failed {
				return &codeError{code: exitFailed}
			}
			return closed
		},
	}
}

// skillInput reads the input of a tool; nil is none.
func (a *app) skillInput(text string) (json.RawMessage, error) {
	if text == "-" {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, usage("the input is invalid JSON: %s\nhint: quote it for the shell, as in '{\"name\": \"…\"}', or give it on stdin with -", oneLine(text, 80))
	}
	return json.RawMessage(text), nil
}

// printValue prints a JSON value; text is printed as it is, unless --json asks
// for JSON.
func (a *app) printValue(value json.RawMessage) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if text, ok := v.(string); ok && !a.json {
		_, err := sayln(a.stdout, lines(text))
		return err
	}
	return a.printJSON(value)
}

func (a *app) skillsStatsCommand() *cobra.Command {
	var since time.Duration
	c := &cobra.Command{
		Use:   "stats [NAME]",
		Short: "Summarize how skills were used, and by whom",
		Long:  "Summarize how skills were used, and by which clients: activations, files read, tools called, how many of these failed, and when each was last used. The record is that of broker audit.",
		Args:  someArgs(0, 1, "at most the name of a skill"),
		RunE: a.withAudit(func(ctx context.Context, store *sqlite.Store, args []string) error {
			list, err := store.SkillStats(ctx, ago(since))
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if list, err = a.statsOf(ctx, store, list, args[0]); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(map[string]any{"skills": list})
			}
			return printSkillStats(a.stdout, list)
		}),
	}
	timeVar(c.Flags(), &since, "since", "only since this long ago, such as 24h")
	return c
}

// statsOf is what of list is about the skill of that name. One that is neither
// recorded nor there is wrong usage.
func (a *app) statsOf(ctx context.Context, store *sqlite.Store, list []state.SkillStats, name string) ([]state.SkillStats, error) {
	list = slices.DeleteFunc(list, func(s state.SkillStats) bool { return s.Skill != name })
	if len(list) > 0 {
		return list, nil
	}
	ever, err := store.SkillStats(ctx, time.Time{})
	if err != nil || slices.ContainsFunc(ever, func(s state.SkillStats) bool { return s.Skill == name }) {
		return list, err
	}
	var now *skills.Snapshot
	err = a.withView(func(_ *skillHome, v *skillView) error {
		now = v.registry.Refresh()
		return nil
	})
	if err != nil || now.Contains(name) {
		return list, err
	}
	var known []string
	for _, k := range now.All() {
		known = append(known, k.Ref)
	}
	for _, s := range ever {
		known = append(known, s.Skill)
	}
	slices.Sort(known)
	text := lines(fmt.Sprintf("nothing is recorded of a skill %q, and there is none", name))
	if near := nearest.Names(name, slices.Compact(known), 3); len(near) > 0 {
		text = lines(gate.Terminal(string(text)) + "\nhint: did you mean " + gate.Terminal(strings.Join(near, " or ")) + "?")
	}
	return nil, usage("%s", text)
}

// printSkillStats prints what was done with skills, and below each by whom.
func printSkillStats(w io.Writer, list []state.SkillStats) error {
	var rows [][]any
	for _, s := range list {
		rows = append(rows, useRow(s.Skill, "", s.SkillUse))
		for _, c := range s.Clients {
			rows = append(rows, useRow("", c.Client, c.SkillUse))
		}
	}
	return table[[]any]{"SKILL\tCLIENT\tACTIVATED\tFILES READ\tTOOLS CALLED\tFAILED\tLAST USE", func(r []any) []any { return r }}.print(w, rows)
}

func useRow(skill, client string, u state.SkillUse) []any {
	return []any{oneLine(skill, 64), oneLine(client, 40), u.Activations, u.Reads, u.ToolCalls, u.Errors, u.LastUse.Local().Format(time.DateTime)}
}
