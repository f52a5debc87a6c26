package setup

import (
	"context"
	"errors"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

// A serverEdit is what the commands that change a server print with --json.
type serverEdit struct {
	Config string   `json:"config"`
	Server string   `json:"server"`
	Action string   `json:"action"`
	Notes  []string `json:"notes,omitempty"`
	// Index is what the server costs, if it was listed.
	Index *api.IndexReport `json:"index,omitempty"`
}

func (s *Setup) printEdit(e serverEdit) error {
	if s.JSON {
		return s.PrintJSON(e)
	}
	cli.Fprintf(s.Out, "%s: %s %s\n", e.Config, e.Action, e.Server)
	for _, n := range e.Notes {
		cli.Fprintf(s.Out, "note: %s\n", n)
	}
	s.sayUnnamed()
	return nil
}

// A NewServer is the arguments of "servers add".
type NewServer struct {
	URL, Type, Description string
	Headers, Env           []string
	Disabled, NoIndex      bool
	Command                []string
}

// entry is the server as servers.json has it.
func (n NewServer) entry() (config.Object, error) {
	var o config.Object
	add := func(key string, value any, there bool) {
		if there {
			o = append(o, config.Field{Key: key, Value: value})
		}
	}
	headers, err := pairs(n.Headers, ":", "--header", "'Name: value'")
	if err != nil {
		return nil, err
	}
	env, err := pairs(n.Env, "=", "--env", "NAME=value")
	switch {
	case err != nil:
		return nil, err
	case n.URL == "" && len(n.Command) == 0:
		return nil, cli.Usagef("servers add needs --url URL, or the command of the server after --")
	case n.URL != "" && len(n.Command) > 0:
		return nil, cli.Usagef("servers add takes --url or a command, not both")
	case n.URL == "" && len(headers) > 0:
		return nil, cli.Usagef("--header is for servers with --url; for a program use --env")
	case n.URL != "" && len(env) > 0:
		return nil, cli.Usagef("--env is for programs; for a server with --url use --header")
	}
	add("description", n.Description, n.Description != "")
	add("type", n.Type, n.Type != "")
	if len(n.Command) > 0 {
		add("command", n.Command[0], true)
		add("args", n.Command[1:], len(n.Command) > 1)
	}
	add("url", n.URL, n.URL != "")
	add("env", env, len(env) > 0)
	add("headers", headers, len(headers) > 0)
	add("disabled", true, n.Disabled)
	return o, nil
}

// pairs reads the values of a flag that may be given several times. A message
// does not show one, which may be a secret.
func pairs(list []string, sep, flag, form string) (config.Object, error) {
	var o config.Object
	for i, s := range list {
		key, value, ok := strings.Cut(s, sep)
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return nil, cli.Usagef("%s number %d has to have the form %s", flag, i+1, form)
		}
		if o.Get(key) != nil {
			return nil, cli.Usagef("%s %s is given twice", flag, key)
		}
		if sep == ":" {
			value = strings.TrimSpace(value)
		}
		o = append(o, config.Field{Key: key, Value: value})
	}
	return o, nil
}

func (s *Setup) AddServer(ctx context.Context, name string, n NewServer) error {
	entry, err := n.entry()
	if err != nil {
		return err
	}
	if err := checkEntry(name, entry); err != nil {
		return err
	}
	path, _, err := config.Target(s.ConfigPath)
	if err != nil {
		return err
	}
	err = editConfig(path, func(data []byte, cfg *config.Config) ([]byte, error) {
		if cfg.Server(name) != nil {
			return nil, cli.Usagef("there is a server %q already\nhint: broker servers remove %s", name, name)
		}
		return config.AddServer(data, name, entry)
	})
	if err != nil {
		return err
	}
	s.recordEdit(path, name, "added")
	_, err = s.Index(ctx, n.NoIndex || n.Disabled, []string{name}, func(report *api.IndexReport) error {
		return s.printEdit(serverEdit{path, name, "added", ClientOptions().SecretNotes(name, entry), report})
	})
	return err
}

// checkEntry says what is wrong with a new server, before it has a place in a
// file.
func checkEntry(name string, entry config.Object) error {
	data, err := config.AddServer(nil, name, entry)
	if err != nil {
		return err
	}
	_, err = config.Parse("", data)
	if report, ok := errors.AsType[*config.Report](err); ok {
		return cli.Usagef("%s", report.Mistakes[0].Text)
	}
	return err
}

// editConfig changes the text of the config at path, which has to be right.
func editConfig(path string, change func([]byte, *config.Config) ([]byte, error)) error {
	err := config.Edit(path, func(data []byte) ([]byte, error) {
		cfg, err := config.Parse(path, data)
		if err != nil {
			return nil, err
		}
		return change(data, cfg)
	})
	if mistake, ok := errors.AsType[*cli.ExitError](err); ok {
		return mistake // the user's, with a hint on its own line
	}
	return err
}

// EditServer changes one server in the text of the config.
func (s *Setup) EditServer(name, command, done string, change func([]byte, *config.Server) ([]byte, error)) error {
	path, err := config.Find(s.ConfigPath)
	if err != nil {
		return err
	}
	err = editConfig(path, func(data []byte, cfg *config.Config) ([]byte, error) {
		server, err := cli.KnownServer(cfg, name, command)
		if err != nil {
			return nil, err
		}
		return change(data, server)
	})
	if err != nil {
		return err
	}
	s.recordEdit(path, name, done)
	return s.printEdit(serverEdit{Config: path, Server: name, Action: done})
}

// recordEdit records that a person changed a server in the config at path.
func (s *Setup) recordEdit(path, name, done string) {
	if cfg, err := config.Load(path); err == nil {
		s.Record(cfg, state.Event{Kind: state.EventServers, Server: gate.Cut(gate.Line(name), 200), Detail: done})
	}
}
