package await

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// LearnTime bounds the wait of a command for servers that were never listed.
const LearnTime = 2 * time.Second

// Learn connects to the servers that were never listed, waits for them for
// LearnTime, and prints those that are still missing. If only is the name of a server, it
// waits for that one.
func Learn(ctx context.Context, t *cli.IO, s *application.App, only string) {
	ctx, cancel := context.WithTimeout(ctx, LearnTime)
	defer cancel()
	defer func() {
		for _, st := range s.Missing(only) {
			cli.Fprintf(t.Err, "left out until broker index has listed it: %s: %s\n", st.Name, cli.Standing(st, time.Now()))
		}
	}()
	s.BeginLearning(ctx, only)
	done := goOnByKey(ctx, t, s, len(Starting(s)), cancel)
	s.Broker.AwaitStarting(ctx, s.ServerNamed(only))
	done()
}

// Known takes over the states of the servers from a running daemon without starting
// any. With refresh it connects to the servers that the command is about instead.
func Known(ctx context.Context, t *cli.IO, s *application.App, refresh bool, only string) {
	if !refresh {
		s.ObserveDaemon()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	names := s.Concerned(only)
	done := goOnByKey(ctx, t, s, len(names), cancel)
	defer done()
	if len(names) > 0 {
		s.Broker.Refresh(ctx, names...)
	}
}

// Refresh connects to all servers and lists their tools, until a key is pressed.
func Refresh(ctx context.Context, t *cli.IO, s *application.App) []upstream.Status {
	ctx, goOn := context.WithCancel(ctx)
	defer goOn()
	defer goOnByKey(ctx, t, s, len(s.Broker.Status()), goOn)()
	return s.Broker.Refresh(ctx)
}

// goOnByKey shows the progress of starting servers and calls goOn when a key is
// pressed, until done is called or ctx is done.
func goOnByKey(ctx context.Context, t *cli.IO, s *application.App, all int, goOn func()) (done func()) {
	return t.MeterUntilKey(ctx, progressOf(s, all), "the servers that are starting", goOn)
}

// progressOf returns a function that describes the servers that have not answered yet.
func progressOf(s *application.App, all int) func() string {
	return func() string {
		var waiting []string
		for _, st := range Starting(s) {
			waiting = append(waiting, fmt.Sprintf("%s %s, %s", st.Name, st.Doing, cli.Duration(time.Since(st.Since))))
		}
		if len(waiting) == 0 {
			return ""
		}
		all = max(all, len(waiting))
		return fmt.Sprintf("%d of %d servers answered; %s", all-len(waiting), all, cli.OneLine(strings.Join(waiting, "; "), 300))
	}
}

// Starting returns the servers of a session that are starting.
func Starting(s *application.App) []upstream.Status {
	return slices.DeleteFunc(s.Broker.Status(), func(st upstream.Status) bool { return st.State != upstream.StateStarting })
}
