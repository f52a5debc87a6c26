package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/records"
	"github.com/mcpbroker/mcpbroker/state"
)

// withDays adds the argument DAY to c, the command audit.
func withDays(e *env, c *cobra.Command) *cobra.Command {
	c.Long = "Show and manage the record of executions and calls. With a DAY, such as today, yesterday, monday or 2026-01-31, or a time\n" +
		"ago, such as 2h, show what was recorded then: each execution with its calls."
	c.Example = "  broker audit yesterday\n  broker audit list --since monday --until yesterday"
	group := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		day := strings.Join(args, " ")
		if len(args) == 0 {
			return nil
		}
		if _, err := cli.ParseSpan(day, time.Now()); err == nil {
			return nil
		}
		if day != "" && strings.ContainsAny(day[:1], "0123456789") {
			return cli.Usagef("audit %q: %w", day, cli.ErrSpan)
		}
		return group(cmd, args)
	}
	help := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return help(cmd, args)
		}
		s, err := cli.ParseSpan(strings.Join(args, " "), time.Now())
		if err != nil {
			return err
		}
		if s.From.Equal(s.Until) { // a moment means from then until now
			s.Until = time.Now().Add(time.Minute)
		}
		return e.withRecord(cmd.Context(), func(store state.AuditStore) error {
			day, err := records.ReadDay(cmd.Context(), store, s)
			if err != nil {
				return err
			}
			if e.JSON {
				return e.PrintJSON(day)
			}
			return records.PrintDay(e.Out, day, s)
		})
	}
	return c
}
