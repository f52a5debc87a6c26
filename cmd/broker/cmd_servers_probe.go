package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/doctor"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// A probe is what one start of a server showed.
type probe struct {
	Server    string `json:"server"`
	OK        bool   `json:"ok"`
	Transport string `json:"transport"`
	Status    string `json:"status"`
	MS        int64  `json:"ms"` // until its tools were listed, or it had failed
	Tools     int    `json:"tools"`
	Version   string `json:"version,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	Error     string `json:"error,omitempty"`
	Hint      string `json:"hint,omitempty"`
	// Withheld are variables of well-known programs that are set here but not passed to
	// the server.
	Withheld []string `json:"withheld"`
	// Stderr and Dropped are the last lines that it wrote to stderr, and to
	// stdout without being MCP.
	Stderr  []string `json:"stderr"`
	Dropped []string `json:"stdout"`
}

func serversTestCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Start a server, list its tools and report how long it took",
		Long:  "Start a server, even a disabled one, list its tools and report how long it took. Exits with 3 if it failed.",
		Args:  cli.OneArg("the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := startProbe(cmd.Context(), e, args[0], "test")
			if err != nil {
				return err
			}
			if e.JSON {
				return finishProbe(p, e.PrintJSON(p))
			}
			if !p.OK {
				cli.Fprintf(e.Out, "%s failed after %s: %s\n", p.Server, time.Duration(p.MS)*time.Millisecond, p.Error)
				for _, line := range doctor.Unsaid(p.Stderr, p.Error) {
					cli.Fprintf(e.Out, "  | %s\n", cli.OneLine(line, 200))
				}
				if p.Hint != "" {
					cli.Fprintf(e.Out, "do: %s\n", p.Hint)
				}
				setup.PrintWithheld(e.Out, p.Withheld)
				return finishProbe(p, nil)
			}
			cli.Fprintf(e.Out, "%s works: %s, %s in %s", p.Server, p.Transport, cli.Count(p.Tools, "tool"), time.Duration(p.MS)*time.Millisecond)
			if p.Version != "" {
				cli.Fprintf(e.Out, ", %s", p.Version)
			}
			cli.Fprintln(e.Out)
			setup.PrintWithheld(e.Out, p.Withheld)
			return nil
		},
	}
}

func serversLogsCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "logs NAME",
		Short: "Start a server and show what it logs",
		Long: "Start a server, list its tools, and show what it wrote to stderr and, apart from MCP messages, to stdout.\n" +
			"Exits with 3 if the server failed.",
		Args: cli.OneArg("the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := startProbe(cmd.Context(), e, args[0], "logs")
			if err != nil {
				return err
			}
			if e.JSON {
				return finishProbe(p, e.PrintJSON(p))
			}
			for _, line := range p.Stderr {
				cli.Fprintf(e.Out, "stderr | %s\n", line)
			}
			for _, line := range p.Dropped {
				cli.Fprintf(e.Out, "stdout | %s\n", line)
			}
			if len(p.Stderr)+len(p.Dropped) == 0 {
				cli.Fprintf(e.Err, "%s wrote nothing\n", p.Server)
			}
			if p.Error != "" {
				cli.Fprintf(e.Err, "%s failed: %s\n", p.Server, p.Error)
			}
			return finishProbe(p, nil)
		},
	}
}

// finishProbe is the error of a probe that was shown.
func finishProbe(p probe, err error) error {
	if err == nil && !p.OK {
		err = cli.Exit(cli.ExitServers, nil)
	}
	return err
}

// startProbe starts one server by itself, whether it is enabled or not.
func startProbe(ctx context.Context, e *env, name, command string) (p probe, err error) {
	err = e.withState(ctx, func(cfg *config.Config, st *application.State) error {
		s, err := cli.KnownServer(cfg, name, command)
		if err != nil {
			return err
		}
		only := *cfg
		only.Servers = []config.Server{*s}
		only.Servers[0].Disabled = false
		pool := serverPool(e, application.Upstreams(&only), st)
		start := time.Now()
		first := pool.Refresh(ctx, name)[0]
		took := time.Since(start)
		if err := pool.Close(); err != nil {
			return err
		}
		p = probeOf(first, pool.Status()[0], took) // after the end nothing is on its way any more
		p.Withheld = setup.Withheld(only.Servers)
		return nil
	})
	return p, err
}

// probeOf returns what a server's status shows after its start, and at its end.
func probeOf(st, last upstream.Status, took time.Duration) probe {
	p := probe{Server: st.Name, OK: st.Err == nil && st.State == upstream.StateReady, Transport: st.Transport, Status: string(st.State), MS: took.Milliseconds(), Tools: st.Tools,
		Version: st.Version, Protocol: st.Protocol, Hint: st.Hint, Stderr: cli.OrEmpty(longer(st.Stderr, last.Stderr)), Dropped: cli.OrEmpty(longer(st.Dropped, last.Dropped))}
	if st.Err != nil {
		p.Error = st.Err.Error()
	}
	return p
}

// serverPool connects to servers without a broker.
func serverPool(e *env, servers []upstream.Config, st *application.State) *upstream.Pool {
	l := e.setup()
	return l.Pool(servers, st)
}

// longer is the one that has more lines.
func longer(a, b []string) []string {
	if len(b) > len(a) {
		return b
	}
	return a
}
