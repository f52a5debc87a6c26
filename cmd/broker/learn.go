package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// learnTime bounds the wait of a command for servers that were never listed.
const learnTime = 2 * time.Second

// learnMissing connects to the servers that were never listed, waits for them for
// learnTime, and prints those that are still missing. If only is the name of a server, it
// waits for that one.
func (a *app) learnMissing(cmd *cobra.Command, s *application.App, only string) {
	ctx, cancel := context.WithTimeout(cmd.Context(), learnTime)
	defer cancel()
	defer func() {
		for _, st := range s.Missing(only) {
			cli.Fprintf(a.Err, "left out until broker index has listed it: %s: %s\n", st.Name, cli.Standing(st, time.Now()))
		}
	}()
	s.BeginLearning(ctx, only)
	done := a.goOnByKey(ctx, s, len(starting(s)), cancel)
	s.Broker.AwaitStarting(ctx, s.ServerNamed(only))
	done()
}

// refreshFlag adds the flag --refresh to a command that reads stored listings.
func refreshFlag(c *cobra.Command, refresh *bool) {
	c.Flags().BoolVar(refresh, "refresh", false, "connect to the servers and list their tools anew first")
}

// readKnown takes over the states of the servers from a running daemon without starting
// any. With refresh it connects to the servers that the command is about instead.
func (a *app) readKnown(cmd *cobra.Command, s *application.App, refresh bool, only string) {
	if !refresh {
		s.ObserveDaemon()
		return
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	names := s.Concerned(only)
	done := a.goOnByKey(ctx, s, len(names), cancel)
	defer done()
	if len(names) > 0 {
		s.Broker.Refresh(ctx, names...)
	}
}

// goOnByKey shows the progress of starting servers and calls goOn when a key is
// pressed, until done is called or ctx is done.
func (a *app) goOnByKey(ctx context.Context, s *application.App, all int, goOn func()) (done func()) {
	return a.MeterUntilKey(ctx, progressOf(s, all), "the servers that are starting", goOn)
}

// progressOf returns a function that describes the servers that have not answered yet.
func progressOf(s *application.App, all int) func() string {
	return func() string {
		var waiting []string
		for _, st := range starting(s) {
			waiting = append(waiting, fmt.Sprintf("%s %s, %s", st.Name, st.Doing, cli.Duration(time.Since(st.Since))))
		}
		if len(waiting) == 0 {
			return ""
		}
		all = max(all, len(waiting))
		return fmt.Sprintf("%d of %d servers answered; %s", all-len(waiting), all, cli.OneLine(strings.Join(waiting, "; "), 300))
	}
}

// starting returns the servers of a session that are starting.
func starting(s *application.App) []upstream.Status {
	return slices.DeleteFunc(s.Broker.Status(), func(st upstream.Status) bool { return st.State != upstream.StateStarting })
}

// notListed returns the error for a server with unknown tools. again is the command
// that connects to it with --refresh; refreshed is set if it did.
func notListed(s *application.App, server, again string, refreshed bool) error {
	hint := again + " --refresh"
	if refreshed {
		hint = "servers test " + gate.Name(server)
	}
	for _, st := range s.Broker.Status() {
		if st.Name == server {
			return cli.Exit(cli.ExitServers, cli.Errorf("the tools of %s are not known: %s\nhint: broker %s", server, cli.Standing(st, time.Now()), hint))
		}
	}
	return cli.Usagef("no server is called %q", server)
}

// forgetFailure lets commands and a daemon try a failed server again at once, since the
// cause may be gone.
func (a *app) forgetFailure(cfg *config.Config, server string) error {
	dir, err := config.StateDir(a.stateDir, cfg.Path)
	if err != nil {
		return err
	}
	for _, c := range application.Upstreams(cfg) {
		if c.Name == server {
			err = upstream.ForgetFailure(application.CatalogueDir(dir), c)
		}
	}
	return err
}

// printMissing prints the state of each server that the command is about whose tools
// are not known, and a command to try next. It returns the number of these servers.
func printMissing(w io.Writer, s *application.App, only, prefix string) int {
	missing := s.Missing(only)
	for _, st := range missing {
		cli.Fprintf(w, "%s%s: %s\n", prefix, st.Name, cli.Standing(st, time.Now()))
	}
	switch len(missing) {
	case 0:
	case 1:
		cli.Fprintf(w, "try it now: broker servers test %s\n", missing[0].Name)
	default:
		cli.Fprintln(w, "try them now, and wait for them: broker index")
	}
	return len(missing)
}

// maxUnsearched is how many servers a search explains that its query does not name.
const maxUnsearched = 2

// printUnsearched says which servers a search left out. Where these are many, it explains
// those that the query names, and lists the others on one line.
func printUnsearched(w io.Writer, s *application.App, req broker.SearchRequest) {
	missing := s.Missing(req.Server)
	if len(missing) <= maxUnsearched {
		printMissing(w, s, req.Server, "not searched: ")
		return
	}
	var others []string
	for _, st := range missing {
		if mentions(req.Query, st.Name) {
			cli.Fprintf(w, "not searched: %s: %s\n", st.Name, cli.Standing(st, time.Now()))
		} else {
			others = append(others, gate.Name(st.Name)+" ("+string(st.State)+")")
		}
	}
	if len(others) > 0 {
		cli.Fprintf(w, "not searched: %s\n", strings.Join(others, ", "))
	}
	cli.Fprintln(w, "broker servers list shows the causes; to try them now, and wait for them: broker index")
}

// mentions reports whether a query has a word of a server's name.
func mentions(query, name string) bool {
	words := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	return slices.ContainsFunc(words(name), func(word string) bool { return len(word) > 1 && slices.Contains(words(query), word) })
}
