package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An indexReport is what "broker index --json" prints.
type indexReport struct {
	Servers      []indexRow `json:"servers"`
	Tools        int        `json:"tools"`
	TokensBefore int        `json:"tokens_before"`
	TokensAfter  int        `json:"tokens_after"`
}

// statusDisabled is the status of a disabled server of the config.
const statusDisabled = "disabled"

type indexRow struct {
	Name     string   `json:"name"`
	Status   string   `json:"status"`
	Tools    int      `json:"tools"`
	Tokens   int      `json:"tokens"`
	MS       int64    `json:"ms"`
	Doing    string   `json:"doing,omitempty"` // of one that is starting
	Error    string   `json:"error,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Held is the number of the server's tools and other offers that are held back.
	Held int `json:"held,omitempty"`
}

func (a *app) indexCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "index",
		Short: "Connect to every server, index its tools and count the tokens saved",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.open(-1)
			if err != nil {
				return err
			}
			ctx, goOn := context.WithCancel(cmd.Context())
			done := a.goOnByKey(ctx, s, len(s.Broker.Status()), goOn)
			status := s.Broker.Refresh(ctx)
			done()
			goOn()
			if cmd.Context().Err() != nil {
				_ = s.Close() // the interruption is what there is to say
				return errors.New("index: interrupted before every server was listed")
			}
			report, err := makeIndexReport(s.Broker, status)
			for _, name := range application.Disabled(s.Config) {
				report.Servers = append(report.Servers, indexRow{Name: name, Status: statusDisabled})
			}
			if e := s.Close(); err == nil {
				err = e
			}
			if err != nil {
				return err
			}
			if a.JSON {
				err = a.PrintJSON(report)
			} else {
				printIndex(a.Out, report)
			}
			if err != nil {
				return err
			}
			return failedServers(status)
		},
	}
	return c
}

// failedServers is the error with exit code 3 if a server could not be listed or was
// skipped.
func failedServers(status []upstream.Status) error {
	var names []string
	what := "failed"
	for _, st := range status {
		if st.State == upstream.StateStarting {
			what = "failed or are still starting"
		} else if st.Err == nil {
			continue
		}
		names = append(names, st.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return cli.Exit(cli.ExitServers, cli.Errorf("%d of %d servers %s: %s\nhint: broker doctor", len(names), len(status), what, strings.Join(names, ", ")))
}

func makeIndexReport(b *broker.Broker, status []upstream.Status) (indexReport, error) {
	r := indexReport{Servers: []indexRow{}}
	catalog := b.Catalog()
	for _, st := range status {
		row := indexRow{Name: st.Name, Status: string(st.State), MS: st.Took.Milliseconds(), Doing: string(st.Doing), Hint: st.Hint}
		if st.Err != nil {
			row.Error = st.Err.Error()
		}
		if s, ok := catalog.Server(st.Name); ok {
			n, err := api.DefinitionTokens(s.Tools)
			if err != nil {
				return r, err
			}
			row.Tools, row.Tokens, row.Problems = len(s.Tools), n, s.Problems
			row.Held = len(s.Held)
		}
		r.Tools += row.Tools
		r.TokensBefore += row.Tokens
		r.Servers = append(r.Servers, row)
	}
	after, err := api.SurfaceTokens(b.Surface())
	r.TokensAfter = after
	return r, err
}

func printIndex(w io.Writer, r indexReport) {
	_ = cli.NewTable("SERVER\tTOOLS\tTOKENS\tTOOK\t", func(row indexRow) []any {
		note := ""
		switch {
		case row.Status == string(upstream.StateStarting):
			note = strings.TrimPrefix(row.Doing+", not waited for", ", ")
		case row.Error != "":
			note = row.Status + ": " + cli.OneLine(why(row.Error), 100)
		case row.Status == statusDisabled:
			note = "disabled: broker servers enable " + gate.Name(row.Name)
		case row.Held > 0:
			note = fmt.Sprintf("%d held back: broker pins diff %s", row.Held, gate.Name(row.Name))
		case len(row.Problems) > 0:
			note = fmt.Sprintf("%d repaired or left out: broker doctor", len(row.Problems))
		}
		return []any{row.Name, row.Tools, row.Tokens, time.Duration(row.MS) * time.Millisecond, note}
	}).Print(w, r.Servers)
	cli.Fprintf(w, "\n%s: %d tokens in every turn before, %d now", cli.Count(r.Tools, "tool"), r.TokensBefore, r.TokensAfter)
	if r.TokensBefore > r.TokensAfter {
		cli.Fprintf(w, " (%.1f %% less)", 100-100*float64(r.TokensAfter)/float64(r.TokensBefore))
	}
	cli.Fprintln(w)
	var failed []string
	for _, row := range r.Servers {
		if row.Error != "" && row.Status != string(upstream.StateStarting) {
			failed = append(failed, row.Name)
		}
	}
	if len(failed) > 0 {
		cli.Fprintf(w, "failed, and not counted: %s; broker doctor says more\n", strings.Join(failed, ", "))
	} else if r.TokensBefore < r.TokensAfter && r.Tools > 0 {
		cli.Fprintln(w, "that is more: with so few tools it is scripts that save tokens, not the search")
	}
}
