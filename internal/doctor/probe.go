package doctor

import (
	"context"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// A Probe is what one start of a server showed.
type Probe struct {
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

// StartServer starts one server by itself, whether it is enabled or not, lists its tools
// and ends it. command is the one that an error about the name mentions.
func StartServer(ctx context.Context, where application.Setup, name, command string) (p Probe, err error) {
	err = where.WithState(ctx, func(cfg *config.Config, st *application.State) error {
		s, err := cli.KnownServer(cfg, name, command)
		if err != nil {
			return err
		}
		only := *cfg
		only.Servers = []config.Server{*s}
		only.Servers[0].Disabled = false
		pool := where.Pool(application.Upstreams(&only), st)
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
func probeOf(st, last upstream.Status, took time.Duration) Probe {
	p := Probe{Server: st.Name, OK: st.Err == nil && st.State == upstream.StateReady, Transport: st.Transport, Status: string(st.State), MS: took.Milliseconds(), Tools: st.Tools,
		Version: st.Version, Protocol: st.Protocol, Hint: st.Hint, Stderr: cli.OrEmpty(longer(st.Stderr, last.Stderr)), Dropped: cli.OrEmpty(longer(st.Dropped, last.Dropped))}
	if st.Err != nil {
		p.Error = st.Err.Error()
	}
	return p
}

// longer returns the one that has more lines.
func longer(a, b []string) []string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// PrintTest prints whether the server works. It is an error if the server failed.
func (p Probe) PrintTest(t *cli.IO) error {
	if t.JSON {
		return p.end(t.PrintJSON(p))
	}
	if !p.OK {
		cli.Fprintf(t.Out, "%s failed after %s: %s\n", p.Server, time.Duration(p.MS)*time.Millisecond, p.Error)
		for _, line := range Unsaid(p.Stderr, p.Error) {
			cli.Fprintf(t.Out, "  | %s\n", cli.OneLine(line, 200))
		}
		if p.Hint != "" {
			cli.Fprintf(t.Out, "do: %s\n", cli.Hint(gate.Terminal(p.Hint)))
		}
		setup.PrintWithheld(t.Out, p.Withheld)
		return p.end(nil)
	}
	cli.Fprintf(t.Out, "%s works: %s, %s in %s", p.Server, p.Transport, cli.Count(p.Tools, "tool"), time.Duration(p.MS)*time.Millisecond)
	if p.Version != "" {
		cli.Fprintf(t.Out, ", %s", p.Version)
	}
	cli.Fprintln(t.Out)
	setup.PrintWithheld(t.Out, p.Withheld)
	return nil
}

// PrintLogs prints what the server wrote. It is an error if the server failed.
func (p Probe) PrintLogs(t *cli.IO) error {
	if t.JSON {
		return p.end(t.PrintJSON(p))
	}
	for _, line := range p.Stderr {
		cli.Fprintf(t.Out, "stderr | %s\n", line)
	}
	for _, line := range p.Dropped {
		cli.Fprintf(t.Out, "stdout | %s\n", line)
	}
	if len(p.Stderr)+len(p.Dropped) == 0 {
		cli.Fprintf(t.Err, "%s wrote nothing\n", p.Server)
	}
	if p.Error != "" {
		cli.Fprintf(t.Err, "%s failed: %s\n", p.Server, p.Error)
	}
	return p.end(nil)
}

// end returns the error of a probe that was shown.
func (p Probe) end(err error) error {
	if err == nil && !p.OK {
		err = cli.Exit(cli.ExitServers, nil)
	}
	return err
}
