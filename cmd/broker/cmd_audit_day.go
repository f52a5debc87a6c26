package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxDayExecutions and maxDayCalls bound the records that one day shows.
	maxDayExecutions = 1000
	maxDayCalls      = 10_000
)

// A dayRecord is the record of a day, earliest first.
type dayRecord struct {
	Executions []state.Execution `json:"executions"`
	Calls      []state.Call      `json:"calls"`
	Truncated  bool              `json:"truncated,omitempty"`
}

// withDays adds the argument DAY to c, the command audit.
func (a *app) withDays(c *cobra.Command) *cobra.Command {
	c.Long = "Show and manage the record of executions and calls. With a DAY, such as today, yesterday, monday or 2026-01-31, or a time\n" +
		"ago, such as 2h, show what was recorded then: each execution with its calls."
	c.Example = "  broker audit yesterday\n  broker audit list --since monday --until yesterday"
	group := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		day := strings.Join(args, " ")
		if len(args) == 0 {
			return nil
		}
		if _, err := parseSpan(day, time.Now()); err == nil {
			return nil
		}
		if day != "" && strings.ContainsAny(day[:1], "0123456789") {
			return usage("audit %q: %w", day, errMoment)
		}
		return group(cmd, args)
	}
	help := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return help(cmd, args)
		}
		s, err := parseSpan(strings.Join(args, " "), time.Now())
		if err != nil {
			return err
		}
		if s.from.Equal(s.until) { // a moment: until now
			s.until = time.Now().Add(time.Minute)
		}
		return a.withAudit(func(ctx context.Context, store record, _ []string) error { return a.showDay(ctx, store, s) })(cmd, nil)
	}
	return c
}

func (a *app) showDay(ctx context.Context, store record, s span) error {
	executions, err := store.List(ctx, state.Filter{Since: s.from, Until: s.until, Limit: maxDayExecutions + 1})
	if err != nil {
		return err
	}
	calls, err := store.Calls(ctx, state.CallFilter{Since: s.from, Until: s.until, Limit: maxDayCalls + 1})
	if err != nil {
		return err
	}
	day := dayRecord{Truncated: len(executions) > maxDayExecutions || len(calls) > maxDayCalls}
	day.Executions = orEmpty(executions[:min(len(executions), maxDayExecutions)])
	day.Calls = orEmpty(calls[:min(len(calls), maxDayCalls)])
	slices.Reverse(day.Executions)
	slices.Reverse(day.Calls)
	if a.json {
		return a.printJSON(day)
	}
	return printDay(a.stdout, day, s)
}

func printDay(w io.Writer, day dayRecord, s span) error {
	if len(day.Executions)+len(day.Calls) == 0 {
		_, err := say(w, "nothing was recorded between %s and %s\n", s.from.Local().Format("2006-01-02 15:04"), s.until.Local().Format("2006-01-02 15:04"))
		return err
	}
	of := make(map[string][]state.Call)
	for _, c := range day.Calls {
		of[c.ExecutionID] = append(of[c.ExecutionID], c)
	}
	for _, e := range day.Executions {
		say(w, "%s  %s  %s", when(e.Started), shortID(e.ID, day.Executions), e.Status)
		if e.Error != "" {
			say(w, ": %s", oneLine(e.Error, 100))
		}
		say(w, "  (%s, %s, %s)\n", counted(e.Calls, "call"), e.Duration.Round(time.Millisecond), clientOf(e))
		printDayCalls(w, of[e.ID])
		delete(of, e.ID)
	}
	for _, c := range day.Calls { // of no execution, or of an earlier one
		if _, left := of[c.ExecutionID]; left {
			printDayCalls(w, []state.Call{c})
		}
	}
	if day.Truncated {
		say(w, "there are more records: broker audit export prints all\n")
	}
	if len(day.Calls) > 0 && !slices.ContainsFunc(day.Calls, func(c state.Call) bool { return len(c.Args) > 0 }) {
		say(w, "arguments are not kept; to keep them: \"broker\": {\"audit\": {\"payloads\": true}} in the config\n")
	}
	return nil
}

// printDayCalls prints a line for each call, and its arguments if they were recorded.
func printDayCalls(w io.Writer, calls []state.Call) {
	for _, c := range calls {
		say(w, "    %s  %s  %s, %s", c.Started.Local().Format(time.TimeOnly), c.ID, c.Status, c.Duration.Round(time.Millisecond))
		if c.Error != "" {
			say(w, ": %s", oneLine(c.Error, 80))
		}
		say(w, "\n")
		if len(c.Args) > 0 {
			say(w, "              %s\n", oneLine(string(c.Args), 100))
		}
	}
}
