package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// askDaemonTime is how long a command waits for what a daemon knows.
const askDaemonTime = time.Second

// askDaemonServers returns how the servers of this config are in the daemon that runs for
// it; nil if none does, or none that answers soon.
func (s *session) askDaemonServers() []upstream.Elsewhere {
	w, err := daemon.AskWithin(s.state, daemon.OpStatus, daemon.Build{}, askDaemonTime)
	if err != nil || w.Status == nil {
		return nil
	}
	var list []upstream.Elsewhere
	if json.Unmarshal(w.Status.Servers, &list) != nil { // a daemon of an earlier version says nothing
		return nil
	}
	return list
}

// observeDaemon makes a session know what a running daemon knows of the servers. It
// reports whether there is one.
func (s *session) observeDaemon() bool {
	list := s.askDaemonServers()
	if list != nil {
		s.root.Upstream().Observe(list)
	}
	return list != nil
}

// concerned are the servers that a command is about: the only one that it names, or all.
func (s *session) concerned(only string) []string {
	var names []string
	for _, st := range s.broker.Status() {
		if s.config.Server(only) == nil || st.Name == only {
			names = append(names, st.Name)
		}
	}
	return names
}

// beginLearning connects, in the background, the servers whose tools are not known, unless
// they have failed a short time ago or a daemon is starting them. only names the only
// server that the command is about, if it is one's name.
func (a *app) beginLearning(ctx context.Context, s *session, only string) {
	names := s.concerned(only)
	names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(s.broker.Unlisted(), name) })
	if len(names) == 0 {
		return
	}
	if s.observeDaemon() {
		s.root.Upstream().Follow(ctx, s.askDaemonServers)
	}
	s.broker.Learn(ctx, names...)
}

// learnMissing is for commands that need the tools of all servers, or of the only one that
// they are about: it waits until the servers that were never listed are, or have failed.
func (a *app) learnMissing(cmd *cobra.Command, s *session, only string) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	a.beginLearning(ctx, s, only)
	done := a.goOnByKey(ctx, s, len(starting(s)), cancel)
	s.broker.AwaitStarting(ctx, s.known(only))
	done()
}

// known returns a name if it is that of a server, or "".
func (s *session) known(name string) string {
	if s.config.Server(name) == nil {
		return ""
	}
	return name
}

// refreshFlag is the flag of commands that read what is known of the servers.
func refreshFlag(c *cobra.Command, refresh *bool) {
	c.Flags().BoolVar(refresh, "refresh", false, "connect to the servers and list their tools anew first")
}

// readKnown makes a session know what is known of its servers without starting any; with
// refresh it connects to those that the command is about first.
func (a *app) readKnown(cmd *cobra.Command, s *session, refresh bool, only string) {
	if !refresh {
		s.observeDaemon()
		return
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	names := s.concerned(only)
	done := a.goOnByKey(ctx, s, len(names), cancel)
	defer done()
	if len(names) > 0 {
		s.broker.Refresh(ctx, names...)
	}
}

// keyAfter is how long a command waits in silence.
const keyAfter = 500 * time.Millisecond

// goOnByKey shows what each of all servers does that is starting, and calls goOn when a key is
// pressed, until the function that it returns is called, or ctx is done.
func (a *app) goOnByKey(ctx context.Context, s *session, all int, goOn func()) (done func()) {
	stop := a.showProgress(s, all)
	pressed, release := a.anyKey(ctx)
	over := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		hint := time.NewTimer(keyAfter)
		defer hint.Stop()
		for {
			select {
			case <-pressed:
				goOn()
				return
			case <-hint.C:
				if pressed != nil && len(starting(s)) > 0 {
					a.line.Lock()
					progress(a.stderr, "broker: a key goes on without those that are starting\n")
					a.line.Unlock()
				}
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-gone; release(); stop() }
}

// starting are the servers of a session that are being started.
func starting(s *session) []upstream.Status {
	return slices.DeleteFunc(s.broker.Status(), func(st upstream.Status) bool { return st.State != upstream.StateStarting })
}

// standing says how a server is whose tools are not known, on one line.
func standing(st upstream.Status, now time.Time) string {
	switch {
	case st.State == upstream.StateStarting && st.Err == nil:
		return fmt.Sprintf("still %s after %s", st.Doing, spell(now.Sub(st.Since)))
	case st.Err != nil && !st.FailedAt.IsZero():
		return failedAgo(string(st.State), st.FailedAt, now) + why(oneLine(st.Err.Error(), 200))
	case st.Err != nil && st.State == upstream.StateIdle:
		return "not listed yet: " + oneLine(st.Err.Error(), 200)
	case st.Err != nil:
		return string(st.State) + ": " + why(oneLine(st.Err.Error(), 200))
	}
	return "not listed yet"
}

// failedAgo says when a server failed, to be followed by the cause.
func failedAgo(state string, at, now time.Time) string {
	if state != string(upstream.StateNeedsSignIn) {
		state = "failed"
	}
	return fmt.Sprintf("%s %s ago: ", state, spell(now.Sub(at)))
}

// inTime says when something happens that may be due.
func inTime(at, now time.Time) string {
	if !at.After(now) {
		return "by the next command that needs it"
	}
	return "in " + spell(at.Sub(now))
}

// spell is a duration as one says it, in its largest unit.
func spell(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 0))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// notListed is the error of a command about a server whose tools are not known; again is
// the command that connects to it with --refresh.
func (s *session) notListed(server, again string) error {
	for _, st := range s.broker.Status() {
		if st.Name == server {
			return &codeError{exitServers, hinted("the tools of %s are not known: %s\nhint: broker %s --refresh", server, standing(st, time.Now()), again)}
		}
	}
	return usage("no server is called %q", server)
}

// forgetFailure makes commands and a daemon try a server again that has failed, as its
// cause may be gone.
func (a *app) forgetFailure(cfg *config.Config, server string) error {
	dir, err := config.StateDir(a.stateDir, cfg.Path)
	if err != nil {
		return err
	}
	for _, c := range upstreams(cfg) {
		if c.Name == server {
			err = upstream.ForgetFailure(catalogueDir(dir), c)
		}
	}
	return err
}

// printMissing says of each server that the command is about, and whose tools are not
// known, why, and what to do about it. It returns how many there are.
func printMissing(w io.Writer, s *session, only, prefix string) int {
	unlisted, missing := s.broker.Unlisted(), []upstream.Status{}
	concerned := s.concerned(only)
	for _, st := range s.broker.Status() {
		if slices.Contains(unlisted, st.Name) && slices.Contains(concerned, st.Name) {
			missing = append(missing, st)
		}
	}
	for _, st := range missing {
		say(w, "%s%s: %s\n", prefix, st.Name, standing(st, time.Now()))
	}
	switch len(missing) {
	case 0:
	case 1:
		say(w, "try it now: broker servers test %s\n", missing[0].Name)
	default:
		sayln(w, "try them now, and wait for them: broker index")
	}
	return len(missing)
}
