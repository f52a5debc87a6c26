package setup

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A task is what is left to do for a server.
type task struct {
	Server string   `json:"server"`
	Why    string   `json:"why"`
	Kept   []string `json:"kept_by,omitempty"` // clients that start it themselves until then
	Do     []string `json:"do"`                // commands
}

// settle decides what becomes of servers that do not work yet: they stay with their
// clients, unless the person at the terminal or a flag wants them to move all the same.
// Those that have failed are disabled in the config, so that they do not run twice once
// they work; the others go on in the background.
func (i *initRun) settle(ctx context.Context) error {
	var names []string
	if i.index != nil {
		for _, row := range i.index.Servers {
			if row.Error != "" || row.Status == string(upstream.StateStarting) || row.Status == string(upstream.StateNeedsSignIn) {
				i.stuck[row.Name] = row
				names = append(names, row.Name)
			}
		}
	}
	stay := !i.MoveFailed
	if person := i.setup.Person(); len(names) > 0 && stay && !i.Yes && person != nil && (i.Clients == nil || len(i.Clients) > 0) {
		var err error
		them := map[bool]string{true: "it with its client until it does", false: "them with their clients until they do"}[len(names) == 1]
		if stay, err = person.Confirm(ctx, cli.OneLine(strings.Join(names, ", "), 200)+map[bool]string{true: " does", false: " do"}[len(names) == 1]+" not work yet. Leave "+them+"?", true); err != nil {
			return err
		}
	}
	for _, o := range i.plan.outcomes {
		_, stuck := i.stuck[o.Server()]
		if o.Disabled || stuck && stay && o.Action != clients.Conflict && o.Action != clients.Skipped && o.Action != clients.Self {
			i.kept = append(i.kept, o)
		}
	}
	if stay {
		if err := i.disable(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return i.stuck[name].Status == string(upstream.StateStarting) }) {
		i.ahead = i.setup.StartDaemon(ctx)
	}
	return nil
}

// disable disables the servers in the config that have failed and were added just now.
func (i *initRun) disable() error {
	for _, name := range i.plan.added() {
		if row, stuck := i.stuck[name]; stuck && row.Status == string(upstream.StateFailed) {
			i.disabled = append(i.disabled, name)
		}
	}
	if len(i.disabled) == 0 {
		return nil
	}
	return editConfig(i.plan.path, func(data []byte, cfg *config.Config) (_ []byte, err error) {
		for _, name := range i.disabled {
			if s := cfg.Server(name); s != nil && !s.Disabled && err == nil {
				data, err = config.SetDisabled(data, name, true)
			}
		}
		return data, err
	})
}

// tasks returns what is left to do, server by server.
func (i *initRun) tasks() []task {
	list, seen := []task{}, map[string]bool{}
	for _, o := range i.plan.outcomes {
		name := o.Server()
		if o.Action != clients.Added && o.Action != clients.Replaced && o.Action != clients.Same || seen[name] {
			continue
		}
		seen[name] = true
		if t := i.taskFor(o); t.Why != "" {
			i.addKeepers(&t, name)
			list = append(list, t)
		}
	}
	return append(append(list, i.projectTasks()...), i.setup.unnamedTasks()...)
}

// taskFor returns what is left to do for a server of the config. It has no Why if that is
// nothing.
func (i *initRun) taskFor(o clients.Outcome) task {
	t := task{Server: o.Server()}
	name := cli.ShellWord(t.Server)
	row, stuck := i.stuck[t.Server]
	missing := unset(i.setup.Lookup, []clients.Outcome{o})
	switch {
	case o.Disabled:
		t.Why, t.Do = "it is disabled in "+cli.ShortPath(i.plan.path), []string{"broker servers test " + name}
	case len(missing) > 0 && (stuck || i.index == nil):
		t.Why = strings.Join(missing, ", ") + map[bool]string{true: " is not set here; set it", false: " are not set here; set them"}[len(missing) == 1] + " where the broker starts"
		t.Do = []string{"broker servers test " + name}
	case !stuck:
		if n := i.heldOf(t.Server); n > 0 {
			t.Why, t.Do = cli.Count(n, "tool")+" held back until you have seen what changed", []string{"broker pins diff " + name}
		}
	case row.Status == string(upstream.StateNeedsSignIn):
		t.Why, t.Do = "it needs a sign-in", []string{"broker auth login " + name}
	case row.Status == string(upstream.StateStarting) && i.ahead:
		t.Why, t.Do = fmt.Sprintf("still %s after %s; this goes on in the background", cli.OrStarting(row.Doing), cli.Duration(i.waited)), []string{"broker servers list"}
	case row.Status == string(upstream.StateStarting):
		t.Why, t.Do = fmt.Sprintf("still %s after %s, when this command ended it: no daemon runs here", cli.OrStarting(row.Doing), cli.Duration(i.waited)), []string{"broker index"}
	default:
		t.Why, t.Do = cli.OneLine(cli.Cause(row.Error), 160), []string{"broker servers test " + name}
	}
	return t
}

// heldOf returns how many tools of a server are held back.
func (i *initRun) heldOf(server string) int {
	if i.index != nil {
		for _, row := range i.index.Servers {
			if row.Name == server {
				return row.Held
			}
		}
	}
	return 0
}

// addKeepers adds the clients to a task that start the server themselves, and how to move
// it later; without any, how to enable it.
func (i *initRun) addKeepers(t *task, name string) {
	for _, o := range i.kept {
		c := i.connected[o.From]
		if c == nil || o.Server() != name {
			continue
		}
		move := "broker install " + c.ID + " --move --server " + cli.ShellWord(o.Name)
		if o.Dir != "" {
			move = "broker install " + c.ID + " --move --projects --server " + cli.ShellWord(o.Name)
		}
		if !slices.Contains(t.Kept, c.Title) {
			t.Kept = append(t.Kept, c.Title)
		}
		if !slices.Contains(t.Do, move) {
			t.Do = append(t.Do, move)
		}
	}
	if len(t.Kept) == 0 && slices.Contains(i.disabled, name) {
		t.Do = append(t.Do, "broker servers enable "+cli.ShellWord(name))
	}
}

// printTasks prints what is left to do.
func printTasks(w io.Writer, tasks []task) {
	if len(tasks) > 0 {
		cli.Fprintf(w, "\nwhat is left to do:\n")
	}
	for _, t := range tasks {
		cli.Fprintf(w, "  %s: %s", t.Server, t.Why)
		if len(t.Kept) > 0 {
			cli.Fprintf(w, "; until it is moved, %s %s it", strings.Join(t.Kept, " and "), map[bool]string{true: "starts", false: "start"}[len(t.Kept) == 1])
		}
		cli.Fprintln(w)
		for _, command := range t.Do {
			cli.Fprintln(w, cli.Hint("      "+gate.Terminal(command)))
		}
	}
}

// named returns the name of a server with the project that it is for.
func named(o clients.Outcome) string {
	if o.Dir == "" {
		return o.Name
	}
	return o.Name + " of " + cli.ShortPath(o.Dir)
}
