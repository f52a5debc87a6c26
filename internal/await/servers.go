package await

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// A Result is how one server answered, as "broker wait --json" prints it.
type Result struct {
	Server string `json:"server"`
	OK     bool   `json:"ok"`
	Status string `json:"status"`
	Tools  int    `json:"tools"`
	MS     int64  `json:"ms"` // until it was listed, or given up
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// Print prints what became of servers. Its error has the exit code 3 if one is not
// listed.
func Print(ctx context.Context, t *cli.IO, rows []Result) error {
	failed := 0
	for _, r := range rows {
		if !r.OK {
			failed++
			cli.Fprintf(t.Err, "%s: %s\n", r.Server, cli.OneLine(cli.Cause(r.Error), 300))
		}
	}
	if t.JSON {
		if err := t.PrintJSON(map[string]any{"servers": cli.OrEmpty(rows), "ok": failed == 0}); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("wait: interrupted")
	case failed > 0:
		return cli.Exit(cli.ExitServers, nil)
	case len(rows) == 0 && !t.JSON:
		cli.Fprintln(t.Out, "no server is configured")
	}
	return nil
}

// Servers waits for all of names at the same time, and prints each that is
// there.
func Servers(ctx context.Context, t *cli.IO, pool *upstream.Pool, names []string, limit time.Duration) []Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows := make([]Result, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			rows[i] = awaitServer(ctx, pool, name)
			if r := rows[i]; r.OK && !t.JSON {
				cli.Fprintf(t.Out, "%s: %s in %s\n", r.Server, cli.Count(r.Tools, "tool"), time.Duration(r.MS)*time.Millisecond)
			}
		})
	}
	wg.Wait()
	return rows
}

// awaitServer tries one server until it is listed, ctx is done, or to try again
// cannot help.
func awaitServer(ctx context.Context, pool *upstream.Pool, name string) Result {
	start := time.Now()
	var last upstream.Status // that of the last whole attempt
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		st := pool.Refresh(ctx, name)[0]
		if st.Err == nil && st.State == upstream.StateReady {
			return Result{Server: name, OK: true, Status: string(st.State), Tools: st.Tools, MS: time.Since(start).Milliseconds()}
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
		w := Result{Server: name, Status: string(last.State), MS: time.Since(start).Milliseconds(), Hint: last.Hint}
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
