package await

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// addedTime bounds how long a command that adds servers waits for them. The broker
// lists the rest when it serves.
const addedTime = 45 * time.Second

// Added connects to the added servers, or if nil to those that were never listed, and
// reports what they cost. daemon starts a daemon that goes on with servers that were not
// waited for, and reports whether one runs.
func Added(ctx context.Context, t *cli.IO, s *application.App, added, known []string, daemon func() bool) (*api.IndexReport, error) {
	unlisted := s.Broker.Unlisted()
	if added == nil {
		added = unlisted
	}
	added = slices.Concat(added, slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !slices.Contains(unlisted, name) }))
	var names []string // without those that are disabled
	for _, st := range s.Broker.Status() {
		if slices.Contains(added, st.Name) {
			names = append(names, st.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	cli.Fprintf(t.Err, "connecting to %s; --no-index skips this\n", cli.OneLine(strings.Join(names, ", "), 100))
	if daemon() {
		awaitReload(ctx, s, names)
	}
	waiting, cancel := context.WithTimeout(ctx, addedTime)
	defer cancel()
	status := refreshEach(waiting, t, s, names, cancel)
	if ctx.Err() != nil {
		return nil, cli.Errorf("interrupted before every server was listed\nhint: broker index")
	}
	report, err := api.ReportIndex(s.Broker, status)
	return &report, err
}

// reloadTime bounds the wait for a daemon to read a changed config.
const reloadTime = 3 * time.Second

// awaitReload waits until the daemon knows these servers as the config has them now, so
// that they are not started twice.
func awaitReload(ctx context.Context, s *application.App, names []string) {
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		unreported := s.Root.Upstream().Unreported(s.DaemonServers())
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(unreported, name) }) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// refreshEach lists the tools of these servers, and says on a terminal when each has
// answered. A key ends the wait by goOn. A server that a daemon is starting is not started
// here, too.
func refreshEach(ctx context.Context, t *cli.IO, s *application.App, names []string, goOn func()) []upstream.Status {
	defer goOnByKey(ctx, t, s, len(names), goOn)()
	status := make([]upstream.Status, len(names))
	var elsewhere []upstream.Status
	if s.ObserveDaemon() {
		elsewhere = Starting(s)
		s.Root.Upstream().Follow(ctx, s.DaemonServers)
	}
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			if slices.ContainsFunc(elsewhere, func(st upstream.Status) bool { return st.Name == name }) {
				s.Broker.Learn(ctx, name) // if the daemon ends
				s.Broker.AwaitStarting(ctx, name)
				s.Root.Upstream().AwaitState(ctx, name)
				status[i] = statusOf(s, name)
			} else {
				status[i] = s.Broker.Refresh(ctx, name)[0]
			}
			switch st := status[i]; {
			case !cli.IsTerminal(t.Err):
			case st.Err != nil:
				cli.ReplaceLine(t.Err, "  %s: %s\n", cli.OneLine(name, 40), string(st.State))
			default:
				cli.ReplaceLine(t.Err, "  %s: %s, %s, %s\n", cli.OneLine(name, 40), string(st.State), cli.Count(st.Tools, "tool"), st.Took.Round(time.Millisecond))
			}
		})
	}
	wg.Wait()
	return status
}

// statusOf returns the state of one server of a session.
func statusOf(s *application.App, name string) upstream.Status {
	for _, st := range s.Broker.Status() {
		if st.Name == name {
			return st
		}
	}
	return upstream.Status{Name: name, State: upstream.StateFailed, Err: upstream.ErrUnknownServer}
}
