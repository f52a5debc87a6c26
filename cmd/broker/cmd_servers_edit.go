package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

func serversAddCommand(e *env) *cobra.Command {
	var n setup.NewServer
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
			n.Command = args[1:]
			return clientSetup(e).AddServer(cmd.Context(), args[0], n)
		},
	}
	f := c.Flags()
	f.StringVar(&n.URL, "url", "", "URL of a remote server")
	f.StringVar(&n.Type, "type", "", "transport of a remote server: http or sse (default: auto-detect)")
	f.StringArrayVar(&n.Headers, "header", nil, "header for every request, as 'Name: value'; may be repeated")
	f.StringArrayVar(&n.Env, "env", nil, "environment variable for the program, as NAME=value; may be repeated")
	f.StringVar(&n.Description, "description", "", "one line on what it is for")
	noIndexFlag(c, &n.NoIndex)
	f.BoolVar(&n.Disabled, "disabled", false, "add it disabled")
	return c
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

func serversSwitchCommand(e *env, use, short string, off bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cli.OneArg("the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			return clientSetup(e).EditServer(args[0], use, use+"d", func(data []byte, s *config.Server) ([]byte, error) {
				if s.Disabled == off {
					return data, nil
				}
				return config.SetDisabled(data, s.Name, off)
			})
		},
	}
}
