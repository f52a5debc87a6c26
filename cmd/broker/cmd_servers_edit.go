package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// serversAddOptions are the options of broker servers add.
type serversAddOptions struct {
	server setup.NewServer
}

func serversAddCommand(e *env) *cobra.Command {
	o := &serversAddOptions{}
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
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), e, args) },
	}
	f := c.Flags()
	f.StringVar(&o.server.URL, "url", "", "URL of a remote server")
	f.StringVar(&o.server.Type, "type", "", "transport of a remote server: http or sse (default: auto-detect)")
	f.StringArrayVar(&o.server.Headers, "header", nil, "header for every request, as 'Name: value'; may be repeated")
	f.StringArrayVar(&o.server.Env, "env", nil, "environment variable for the program, as NAME=value; may be repeated")
	f.StringVar(&o.server.Description, "description", "", "one line on what it is for")
	noIndexFlag(c, &o.server.NoIndex)
	f.BoolVar(&o.server.Disabled, "disabled", false, "add it disabled")
	return c
}

func (o *serversAddOptions) run(ctx context.Context, e *env, args []string) error {
	o.server.Command = args[1:]
	return clientSetup(e).AddServer(ctx, args[0], o.server)
}

func serversRemoveCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a server from servers.json", Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			return clientSetup(e).EditServer(args[0], "remove", "removed", func(data []byte, s *config.Server) ([]byte, error) {
				return config.RemoveServer(data, s.Name)
			})
		},
	}
}

// serversSwitchOptions are the options of broker servers enable and disable.
type serversSwitchOptions struct {
	use string
	off bool
}

func serversSwitchCommand(e *env, use, short string, off bool) *cobra.Command {
	o := &serversSwitchOptions{use: use, off: off}
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
}

func (o *serversSwitchOptions) run(e *env, args []string) error {
	return clientSetup(e).EditServer(args[0], o.use, o.use+"d", func(data []byte, s *config.Server) ([]byte, error) {
		if s.Disabled == o.off {
			return data, nil
		}
		return config.SetDisabled(data, s.Name, o.off)
	})
}
