package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A waited is how one server answered, as "broker wait --json" prints it.
type waited struct {
	Server string `json:"server"`
	OK     bool   `json:"ok"`
	Status string `json:"status"`
	Tools  int    `json:"tools"`
	MS     int64  `json:"ms"` // until it was listed, or given up
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

func (a *app) waitCommand() *cobra.Command {
	limit := time.Minute
	c := &cobra.Command{
		Use:   "wait [SERVER...]",
		Short: "Wait until servers answer, for scripts and CI",
		Long: "Wait until every server, or each of those named, has answered and listed its tools. A server that fails is\n" +
			"tried again, except when that cannot help: it needs a sign-in, its program or a variable is missing.\n\n" +
			"Exit codes:\n  0   all are listed\n  2   wrong usage or config\n  3   some are not; stderr has one line for each",
		Example: "  broker wait --timeout 90s github files && broker exec nightly.ts",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.wait(cmd.Context(), args, limit)
		},
	}
	cli.TimeVar(c.Flags(), &limit, "timeout", "how long to wait")
	return c
}

func (a *app) wait(ctx context.Context, names []string, limit time.Duration) error {
	cfg, st, err := a.loadState()
	if err != nil {
		return err
	}
	defer st.Close()
	for _, n := range names {
		switch s := cfg.Server(n); {
		case s == nil:
			return cli.UnknownServer(cfg, n, "wait")
		case s.Disabled:
			return cli.Usagef("server %q is disabled\nhint: broker servers enable %s", n, n)
		}
	}
	if len(names) == 0 {
		names = enabledServers(cfg)
	}
	pool := a.pool(application.Upstreams(cfg), st)
	rows := a.awaitServers(ctx, pool, names, limit)
	if err := pool.Close(); err != nil {
		return err
	}
	failed := 0
	for _, r := range rows {
		if !r.OK {
			failed++
			cli.Fprintf(a.Err, "%s: %s\n", r.Server, cli.OneLine(cli.Cause(r.Error), 300))
		}
	}
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"servers": cli.OrEmpty(rows), "ok": failed == 0}); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("wait: interrupted")
	case failed > 0:
		return cli.Exit(cli.ExitServers, nil)
	case len(rows) == 0 && !a.JSON:
		cli.Fprintln(a.Out, "no server is configured")
	}
	return nil
}

// enabledServers are the names of the servers that are used.
func enabledServers(cfg *config.Config) (names []string) {
	for _, s := range cfg.Servers {
		if !s.Disabled {
			names = append(names, s.Name)
		}
	}
	return names
}

// awaitServers waits for all of names at the same time, and prints each that is
// there.
func (a *app) awaitServers(ctx context.Context, pool *upstream.Pool, names []string, limit time.Duration) []waited {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows := make([]waited, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			rows[i] = awaitServer(ctx, pool, name)
			if r := rows[i]; r.OK && !a.JSON {
				cli.Fprintf(a.Out, "%s: %s in %s\n", r.Server, cli.Count(r.Tools, "tool"), time.Duration(r.MS)*time.Millisecond)
			}
		})
	}
	wg.Wait()
	return rows
}

// awaitServer tries one server until it is listed, ctx is done, or to try again
// cannot help.
func awaitServer(ctx context.Context, pool *upstream.Pool, name string) waited {
	start := time.Now()
	var last upstream.Status // that of the last whole attempt
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		st := pool.Refresh(ctx, name)[0]
		if st.Err == nil && st.State == upstream.StateReady {
			return waited{Server: name, OK: true, Status: string(st.State), Tools: st.Tools, MS: time.Since(start).Milliseconds()}
		}
		if st.Err != nil || last.Name == "" {
			last = st
		}
		if !hopeless(st) {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
				continue
			}
		}
		w := waited{Server: name, Status: string(last.State), MS: time.Since(start).Milliseconds(), Hint: last.Hint}
		if hopeless(st) {
			w.Error = fmt.Sprintf("%s: %v", last.State, last.Err)
		} else if w.Error = fmt.Sprintf("no answer in %s", time.Since(start).Round(100*time.Millisecond)); last.Err != nil {
			w.Error = fmt.Sprintf("not listed after %s: %v", time.Since(start).Round(100*time.Millisecond), last.Err)
		}
		return w
	}
}

// hopeless reports whether a server will fail again for the same reason until a
// person does something.
func hopeless(st upstream.Status) bool {
	_, reference := errors.AsType[*upstream.ReferenceError](st.Err)
	return reference || st.State == upstream.StateNeedsSignIn || errors.Is(st.Err, exec.ErrNotFound) || errors.Is(st.Err, fs.ErrNotExist)
}
