package setup

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

// unnamedTasks returns a task for each client that has the broker and does not pass on all
// variables that the config names, since its entry was written before they were added.
func (s *Setup) unnamedTasks() (list []task) {
	path, exists, err := config.Target(s.ConfigPath)
	if err != nil || !exists {
		return nil
	}
	for _, c := range clients.All() {
		r := clients.Request{}
		if s.Aim(&r, c.ID) != nil {
			continue
		}
		if r.Config, err = filepath.Abs(path); err != nil {
			continue
		}
		names, err := clients.Unnamed(r) // a file that cannot be read is for install to report
		if err != nil || len(names) == 0 {
			continue
		}
		list = append(list, task{Server: c.ID, Why: fmt.Sprintf("the entry of %s does not name %s, which the client may not pass on", c.Title, cli.Few(names)),
			Do: []string{"broker install " + c.ID}})
	}
	return list
}

// sayUnnamed prints what unnamedTasks returns.
func (s *Setup) sayUnnamed() {
	for _, t := range s.unnamedTasks() {
		cli.Fprintf(s.Err, "%s: %s\n", t.Why, cli.Hint(gate.Terminal(strings.Join(t.Do, ", "))))
	}
}

// recordOutcomes records which servers a person has added to the config at path, or
// replaced there.
func (s *Setup) recordOutcomes(path, command string, outcomes []clients.Outcome) {
	cfg, err := config.Load(path)
	if err != nil {
		return // the next command reports it
	}
	for _, o := range outcomes {
		if o.Action == clients.Added || o.Action == clients.Replaced {
			s.Record(cfg, state.Event{Kind: state.EventServers, Server: gate.Cut(gate.Line(o.Server()), 200), Detail: string(o.Action) + " (" + command + ")"})
		}
	}
}
