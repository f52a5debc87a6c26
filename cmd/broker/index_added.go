package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// noIndexFlag is the flag that thenIndex obeys.
func noIndexFlag(c *cobra.Command, skip *bool) {
	c.Flags().BoolVar(skip, "no-index", false, "do not connect to the servers that were added")
}

// addedTime bounds how long a command that adds servers waits for them. The broker
// lists the rest when it serves.
const addedTime = 45 * time.Second

// thenIndex ends a command that has added servers, nil for those of the config that
// were never listed: it prints what the command did, connects to the servers, and says
// what they cost without and with the broker. With --json the report is part of
// what is printed.
func (a *app) thenIndex(ctx context.Context, skip bool, added []string, print func(*api.IndexReport) error, known ...string) (*api.IndexReport, error) {
	if skip || added != nil && len(added)+len(known) == 0 {
		return nil, print(nil)
	}
	if !a.JSON {
		if err := print(nil); err != nil {
			return nil, err
		}
	}
	report, err := a.indexAdded(ctx, added, known)
	if err != nil { // the command has done what it was for
		cli.Fprintf(a.Err, "not indexed: %v\n", err)
	}
	switch {
	case a.JSON:
		return report, print(report)
	case report != nil:
		cli.Fprintln(a.Out)
		setup.PrintIndex(a.Out, *report)
	}
	return report, nil
}

func (a *app) indexAdded(ctx context.Context, added, known []string) (*api.IndexReport, error) {
	s, err := a.open(-1)
	if err != nil {
		return nil, err
	}
	defer s.Close()
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
	cli.Fprintf(a.Err, "connecting to %s; --no-index skips this\n", cli.OneLine(strings.Join(names, ", "), 100))
	if a.background && a.client().EnsureDaemon(ctx) {
		a.awaitReload(ctx, s, names)
	}
	waiting, cancel := context.WithTimeout(ctx, addedTime)
	defer cancel()
	status := a.refreshEach(waiting, s, names, cancel)
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
func (a *app) awaitReload(ctx context.Context, s *application.App, names []string) {
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
func (a *app) refreshEach(ctx context.Context, s *application.App, names []string, goOn func()) []upstream.Status {
	defer a.goOnByKey(ctx, s, len(names), goOn)()
	status := make([]upstream.Status, len(names))
	var elsewhere []upstream.Status
	if s.ObserveDaemon() {
		elsewhere = starting(s)
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
			case !cli.IsTerminal(a.Err):
			case st.Err != nil:
				cli.ReplaceLine(a.Err, "  %s: %s\n", cli.OneLine(name, 40), string(st.State))
			default:
				cli.ReplaceLine(a.Err, "  %s: %s, %s, %s\n", cli.OneLine(name, 40), string(st.State), cli.Count(st.Tools, "tool"), st.Took.Round(time.Millisecond))
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
