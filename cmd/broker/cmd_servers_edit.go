package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/state"
)

// A serverEdit is what the commands that change a server print with --json.
type serverEdit struct {
	Config string   `json:"config"`
	Server string   `json:"server"`
	Action string   `json:"action"`
	Notes  []string `json:"notes,omitempty"`
	// Index is what the server costs, if it was listed.
	Index *indexReport `json:"index,omitempty"`
}

func (a *app) printEdit(e serverEdit) error {
	if a.JSON {
		return a.PrintJSON(e)
	}
	cli.Fprintf(a.Out, "%s: %s %s\n", e.Config, e.Action, e.Server)
	for _, n := range e.Notes {
		cli.Fprintf(a.Out, "note: %s\n", n)
	}
	a.sayUnnamed()
	return nil
}

// A newServer is the arguments of "servers add".
type newServer struct {
	url, kind, description string
	headers, env           []string
	disabled, noIndex      bool
	command                []string
}

func (a *app) serversAddCommand() *cobra.Command {
	var n newServer
	c := &cobra.Command{
		Use:   "add NAME --url URL | add NAME -- COMMAND [ARG...]",
		Short: "Add a server to servers.json",
		Long:  "Add a server to servers.json, connect to it and say what its tools cost.",
		Example: "  broker servers add files -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes\n" +
			"  broker servers add github --url https://mcp.example.com/github --header 'Authorization: Bearer ${GITHUB_TOKEN}'",
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash < 0 && len(args) > 1:
				return cli.Usagef("servers add takes one name, got %q too\nhint: the command goes after --: broker servers add %s -- %s", args[1], args[0], strings.Join(args[1:], " "))
			case len(args) == 0 || dash == 0:
				return cli.Usagef("servers add needs the name of a server\nhint: %s --help", cmd.CommandPath())
			case dash > 1:
				return cli.Usagef("servers add takes one name, got %q too\nhint: %s --help", args[1], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n.command = args[1:]
			return a.addServer(cmd.Context(), args[0], n)
		},
	}
	f := c.Flags()
	f.StringVar(&n.url, "url", "", "URL of a remote server")
	f.StringVar(&n.kind, "type", "", "transport of a remote server: http or sse (default: auto-detect)")
	f.StringArrayVar(&n.headers, "header", nil, "header for every request, as 'Name: value'; may be repeated")
	f.StringArrayVar(&n.env, "env", nil, "environment variable for the program, as NAME=value; may be repeated")
	f.StringVar(&n.description, "description", "", "one line on what it is for")
	noIndexFlag(c, &n.noIndex)
	f.BoolVar(&n.disabled, "disabled", false, "add it disabled")
	return c
}

// entry is the server as servers.json has it.
func (n newServer) entry() (config.Object, error) {
	var o config.Object
	add := func(key string, value any, there bool) {
		if there {
			o = append(o, config.Field{Key: key, Value: value})
		}
	}
	headers, err := pairs(n.headers, ":", "--header", "'Name: value'")
	if err != nil {
		return nil, err
	}
	env, err := pairs(n.env, "=", "--env", "NAME=value")
	switch {
	case err != nil:
		return nil, err
	case n.url == "" && len(n.command) == 0:
		return nil, cli.Usagef("servers add needs --url URL, or the command of the server after --")
	case n.url != "" && len(n.command) > 0:
		return nil, cli.Usagef("servers add takes --url or a command, not both")
	case n.url == "" && len(headers) > 0:
		return nil, cli.Usagef("--header is for servers with --url; for a program use --env")
	case n.url != "" && len(env) > 0:
		return nil, cli.Usagef("--env is for programs; for a server with --url use --header")
	}
	add("description", n.description, n.description != "")
	add("type", n.kind, n.kind != "")
	if len(n.command) > 0 {
		add("command", n.command[0], true)
		add("args", n.command[1:], len(n.command) > 1)
	}
	add("url", n.url, n.url != "")
	add("env", env, len(env) > 0)
	add("headers", headers, len(headers) > 0)
	add("disabled", true, n.disabled)
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

func (a *app) addServer(ctx context.Context, name string, n newServer) error {
	entry, err := n.entry()
	if err != nil {
		return err
	}
	if err := checkEntry(name, entry); err != nil {
		return err
	}
	path, _, err := config.Target(a.configPath)
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
	a.recordEdit(path, name, "added")
	_, err = a.thenIndex(ctx, n.noIndex || n.disabled, []string{name}, func(report *indexReport) error {
		return a.printEdit(serverEdit{path, name, "added", clientOptions().SecretNotes(name, entry), report})
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

func (a *app) serversRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a server from servers.json", Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.editServer(args[0], "remove", "removed", func(data []byte, s *config.Server) ([]byte, error) {
				return config.RemoveServer(data, s.Name)
			})
		},
	}
}

func (a *app) serversSwitchCommand(use, short string, off bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.editServer(args[0], use, use+"d", func(data []byte, s *config.Server) ([]byte, error) {
				if s.Disabled == off {
					return data, nil
				}
				return config.SetDisabled(data, s.Name, off)
			})
		},
	}
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

// editServer changes one server in the text of the config.
func (a *app) editServer(name, command, done string, change func([]byte, *config.Server) ([]byte, error)) error {
	path, err := config.Find(a.configPath)
	if err != nil {
		return err
	}
	err = editConfig(path, func(data []byte, cfg *config.Config) ([]byte, error) {
		s, err := knownServer(cfg, name, command)
		if err != nil {
			return nil, err
		}
		return change(data, s)
	})
	if err != nil {
		return err
	}
	a.recordEdit(path, name, done)
	return a.printEdit(serverEdit{Config: path, Server: name, Action: done})
}

// recordEdit records that a person changed a server in the config at path.
func (a *app) recordEdit(path, name, done string) {
	if cfg, err := config.Load(path); err == nil {
		a.record(cfg, state.Event{Kind: state.EventServers, Server: gate.Cut(gate.Line(name), 200), Client: application.ClientCLI, Detail: done})
	}
}

// knownServer finds the server that a command names, or says which is nearest.
func knownServer(cfg *config.Config, name, command string) (*config.Server, error) {
	if s := cfg.Server(name); s != nil {
		return s, nil
	}
	return nil, unknownServer(cfg, name, "servers "+command)
}

// unknownServer says that no server has this name, with the nearest that one has.
func unknownServer(cfg *config.Config, name, command string) error {
	var known []string
	for _, s := range cfg.Servers {
		known = append(known, s.Name)
	}
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		return cli.Usagef("unknown server %q in %s\nhint: did you mean %q?", name, command, near[0])
	}
	return cli.Usagef("unknown server %q in %s\nhint: broker servers list", name, command)
}
