package app

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// askDaemonTime bounds how long a command waits for the answer of a daemon.
const askDaemonTime = time.Second

// DaemonServers returns the states of the servers in the daemon that uses a state
// directory, or nil if no daemon answers in time.
func DaemonServers(dir string) []upstream.Elsewhere {
	w, err := daemon.AskWithin(dir, daemon.OpStatus, daemon.Build{}, askDaemonTime)
	if err != nil || w.Status == nil {
		return nil
	}
	var list []upstream.Elsewhere
	if json.Unmarshal(w.Status.Servers, &list) != nil { // earlier versions do not send servers
		return nil
	}
	return list
}

// DaemonServers returns the states of the servers in the daemon of the same config, or nil.
func (s *App) DaemonServers() []upstream.Elsewhere { return DaemonServers(s.State.Dir) }

// ObserveDaemon takes over the states of the servers from a running daemon. It reports
// whether one is running.
func (s *App) ObserveDaemon() bool {
	list := s.DaemonServers()
	if list != nil {
		s.Root.Upstream().Observe(list)
	}
	return list != nil
}

// Concerned returns the servers that a command is about: only, or all of them if only is
// not the name of a server.
func (s *App) Concerned(only string) []string {
	var names []string
	for _, st := range s.Broker.Status() {
		if s.Config.Server(only) == nil || st.Name == only {
			names = append(names, st.Name)
		}
	}
	return names
}

// BeginLearning connects, in the background, the servers with unknown tools, except those
// that failed recently and those that a daemon is starting. If only is the name of a
// server, the others are left alone.
func (s *App) BeginLearning(ctx context.Context, only string) {
	names := s.Concerned(only)
	names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(s.Broker.Unlisted(), name) })
	if len(names) == 0 {
		return
	}
	if s.ObserveDaemon() {
		s.Root.Upstream().Follow(ctx, s.DaemonServers)
	}
	s.Broker.Learn(ctx, names...)
}

// ServerNamed returns name if a server has it, or "".
func (s *App) ServerNamed(name string) string {
	if s.Config.Server(name) == nil {
		return ""
	}
	return name
}

// Missing returns the servers that a command is about and whose tools are not known.
func (s *App) Missing(only string) []upstream.Status {
	unlisted, concerned := s.Broker.Unlisted(), s.Concerned(only)
	return slices.DeleteFunc(s.Broker.Status(), func(st upstream.Status) bool {
		return !slices.Contains(unlisted, st.Name) || !slices.Contains(concerned, st.Name)
	})
}

// RetryFailed connects anew to the servers that could not be connected.
func (s *App) RetryFailed(ctx context.Context) {
	var names []string
	for _, st := range s.Root.Status() {
		if st.State == upstream.StateFailed {
			names = append(names, st.Name)
		}
	}
	if len(names) > 0 {
		s.Root.Refresh(ctx, names...)
	}
}
