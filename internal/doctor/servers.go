package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// learn asks a running daemon for the states of the servers, and starts those of which
// nothing is known, until ctx is done. What has failed is not tried again, unless that
// costs nothing.
func (e *examination) learn(ctx context.Context) {
	s := e.session
	e.daemon = s.ObserveDaemon()
	var names []string
	unlisted := s.Broker.Unlisted()
	for _, st := range s.Broker.Status() {
		if slices.Contains(unlisted, st.Name) && !hasFailed(st) {
			names = append(names, st.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	if e.daemon {
		s.Root.Upstream().Follow(ctx, s.DaemonServers)
	}
	s.Broker.Learn(ctx, names...)
	s.Broker.AwaitStarting(ctx, "")
}

// hasFailed reports whether a failure of a server is known that another start would cost
// something to confirm.
func hasFailed(st upstream.Status) bool {
	return st.Failures > 0 && st.RetryAt.After(st.FailedAt)
}

// recall adds a check for each server from what is known of it.
func (e *examination) recall(ctx context.Context) {
	for _, st := range e.session.Broker.Status() {
		e.addServer(e.known(ctx, st))
	}
}

// refresh starts the named servers, or all, at the same time, and adds each when it is
// listed or has failed, or ctx is done.
func (e *examination) refresh(ctx context.Context) {
	names := e.Servers
	if len(names) == 0 {
		for _, st := range e.session.Broker.Status() {
			names = append(names, st.Name)
		}
	}
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			for _, st := range e.session.Broker.Refresh(ctx, name) {
				e.addServer(e.checkStarted(ctx, st))
			}
		})
	}
	wg.Wait()
	slices.SortStableFunc(e.seen.Servers, func(a, b Check) int {
		return slices.IndexFunc(names, func(n string) bool { return n == a.Name }) - slices.IndexFunc(names, func(n string) bool { return n == b.Name })
	})
}

// addServer adds the check of a server, after those of everything else.
func (e *examination) addServer(c Check) {
	<-e.others
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen.Servers = append(e.seen.Servers, c)
	e.print(c)
}

// checkStarted returns the check of a server that the examination has started or tried to start.
func (e *examination) checkStarted(ctx context.Context, st upstream.Status) Check {
	switch {
	case errors.Is(st.Err, upstream.ErrUnknownServer):
		return Check{Name: st.Name, OK: true, Detail: "disabled: it was not started", Hint: "broker servers enable " + cli.ShellWord(st.Name)}
	case context.Cause(ctx) == errNotWaited && (st.State == upstream.StateStarting || st.Took == 0 && st.FailedAt.Before(e.Begun)):
		return e.unfinished(st)
	}
	return checkServer(ctx, e.session, st)
}

// unfinished returns the check of a server that is starting, or was never started.
func (e *examination) unfinished(st upstream.Status) Check {
	c := Check{Name: st.Name, OK: true, Unchecked: true, Hint: "broker servers test " + cli.ShellWord(st.Name) + ", to wait for it"}
	switch {
	case st.State == upstream.StateStarting:
		c.Detail = fmt.Sprintf("still %s after %s", cli.OrStarting(string(st.Doing)), cli.Duration(time.Since(st.Since)))
	case st.Err != nil:
		c.Detail = "not checked: " + cli.OneLine(st.Err.Error(), 200)
	default:
		c.Detail = "not checked: it was never started"
	}
	if n := e.listed(st.Name); n > 0 {
		c.Detail += "; it has listed " + cli.Count(n, "tool") + " before"
	}
	return c
}

// listed returns the number of tools that are known of a server.
func (e *examination) listed(server string) int {
	if srv, ok := e.session.Broker.Catalog().Server(server); ok && !srv.Unlisted {
		return len(srv.Tools)
	}
	return 0
}

// known returns the check of a server that was not started for it, unless its tools were
// unknown.
func (e *examination) known(ctx context.Context, st upstream.Status) Check {
	again := "broker servers test " + cli.ShellWord(st.Name)
	retried := st.State == upstream.StateStarting && st.Err != nil && !st.FailedAt.IsZero()
	failed := st.State == upstream.StateFailed || st.State == upstream.StateNeedsSignIn || retried
	unlisted := slices.Contains(e.session.Broker.Unlisted(), st.Name)
	switch {
	case failed && st.FailedAt.Before(e.Begun):
		c := Check{Name: st.Name, Detail: cli.FailedAgo(string(st.State), st.Err.Error(), st.FailedAt, time.Now()), Hint: again + " tries it now"}
		if st.Hint != "" {
			c.Hint = st.Hint + "; then " + again
		}
		if retried {
			c.Detail += "; it is being tried again"
		}
		return c
	case failed:
		return checkFailed(ctx, e.session, st)
	case st.State == upstream.StateStarting, unlisted:
		return e.unfinished(st)
	case st.State == upstream.StateReady && e.daemon:
		return checkListed(e.session, st, " running in the daemon")
	case st.State == upstream.StateReady:
		return checkServer(ctx, e.session, st)
	}
	if err := e.unstartable(e.session.Config, st.Name); err != nil && !e.daemon { // which may have other variables
		return Check{Name: st.Name, Detail: "cannot start: " + err.Error(), Hint: "correct it; then " + again}
	}
	c := checkListed(e.session, st, " when it was last listed")
	c.Detail += "; not started now"
	c.Unchecked, c.recalled = true, true
	return c
}

// unstartable returns the reason for which a server cannot start from here, as far as that
// is known without starting it.
func (e *examination) unstartable(cfg *config.Config, server string) error {
	s := cfg.Server(server)
	if s == nil {
		return nil
	}
	var set, unset []string
	variables, _ := s.Reads()
	for _, name := range variables {
		if _, ok := e.Lookup(name); ok {
			set = append(set, name)
		}
	}
	_, without := s.Restricted(set)
	for _, name := range without {
		if slices.Contains(variables, name) {
			unset = append(unset, name)
		}
	}
	if len(unset) > 0 {
		return fmt.Errorf("not set: %s", strings.Join(unset, ", "))
	}
	if s.Command == "" || strings.Contains(s.Command, "$") || launch.Runner(s.Command, s.Args) != "" { // whose package may be installed
		return nil
	}
	_, err := launch.LookPath(s.Command, cfg.Resolve(s.Dir), os.Environ())
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("command %q not found in PATH", s.Command)
	}
	return err
}

// checkServer returns the check of a server whose start has ended, with or without an error.
func checkServer(ctx context.Context, s *application.App, st upstream.Status) Check {
	if st.Err != nil {
		return checkFailed(ctx, s, st)
	}
	return checkListed(s, st, " in "+st.Took.Round(time.Millisecond).String())
}

// checkFailed returns the check of a server that has failed just now.
func checkFailed(ctx context.Context, s *application.App, st upstream.Status) Check {
	c := Check{Name: st.Name, Hint: st.Hint, Detail: cli.Failure(string(st.State), st.Err.Error())}
	c.Log, c.Output = Unsaid(st.Stderr, c.Detail), Unsaid(st.Dropped, c.Detail)
	if srv := s.Config.Server(st.Name); srv != nil {
		if h := shellHint(ctx, srv.Command); h != "" {
			c.Hint = h
		}
	}
	return c
}

// checkListed returns the check of a server whose tools are known; when follows their
// number.
func checkListed(s *application.App, st upstream.Status, when string) Check {
	c := Check{Name: st.Name, OK: true, Detail: st.Transport + ", " + cli.Count(st.Tools, "tool") + when}
	if st.Version != "" {
		c.Detail += ", " + st.Version
	}
	if srv, ok := s.Broker.Catalog().Server(st.Name); ok {
		if len(srv.Problems) > 0 {
			c.Detail += fmt.Sprintf("; %d repaired or left out: %s", len(srv.Problems), strings.Join(srv.Problems, "; "))
		}
		if len(srv.Held) > 0 {
			c.Detail += fmt.Sprintf("; %d held back: broker pins diff %s", len(srv.Held), gate.Name(st.Name))
		}
	}
	if held := s.Broker.HeldUpdate(st.Name); held != "" {
		c.Detail += "; " + held
	}
	if srv := s.Config.Server(st.Name); srv != nil {
		if note := pathNote(srv.Command, runtime.GOOS, exec.LookPath); note != "" {
			c.Detail += "; " + note
		}
	}
	if n := len(st.Dropped); n > 0 {
		c.Detail += fmt.Sprintf("; it prints what is not MCP to stdout, such as %q", cli.OneLine(st.Dropped[n-1], 60))
	}
	return c
}
