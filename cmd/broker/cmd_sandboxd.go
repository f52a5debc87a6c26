package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/observe"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/sandbox/remote"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func (a *app) sandboxdCommand() *cobra.Command {
	var addr, health string
	var memory int64
	o := remote.ServerOptions{Worker: new(worker.Options), Build: version}
	c := &cobra.Command{
		Use:   "sandboxd",
		Short: "Run the scripts of brokers on other machines, each in a contained process",
		Long: "Run the scripts of brokers on other machines, each in a contained process of this one. It reads no config and keeps no state. Brokers name it in\n" +
			"\"remote\" of \"sandbox\"; both sides have certificates. A broker goes on making the calls: no script can reach the network from here.\n" +
			"After SIGTERM it takes no more scripts and finishes those that run. With --health, /healthz, /readyz and /metrics report on it.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, value := range map[string]string{"listen": addr, "cert": o.Files.Cert, "key": o.Files.Key, "client-ca": o.Files.CA} {
				if value == "" {
					return cli.Usagef("--%s is missing\nhint: broker sandboxd --listen 0.0.0.0:9443 --cert FILE --key FILE --client-ca FILE", flag)
				}
			}
			o.MemoryBytes, o.Logger = memory<<20, a.logger()
			o.Worker.Logger = o.Logger
			return a.sandboxd(cmd.Context(), o, addr, health)
		},
	}
	f := c.Flags()
	f.StringVar(&addr, "listen", "", "listen on this address, such as 0.0.0.0:9443")
	f.StringVar(&o.Files.Cert, "cert", "", "the certificate, a PEM file")
	f.StringVar(&o.Files.Key, "key", "", "its key, a PEM file")
	f.StringVar(&o.Files.CA, "client-ca", "", "who signs the certificates of brokers, a PEM file")
	f.StringVar(&health, "health", "", "listen on this address too, such as 0.0.0.0:9465, for probes and Prometheus, without TLS")
	f.IntVar(&o.Executions, "max-executions", 0, "how many scripts run at one time; 0 is four for each processor, 8 to 64")
	f.Int64Var(&memory, "max-memory", 1024, "the most memory that a broker may ask for, for one script, in MiB")
	cli.TimeVar(f, &o.Timeout, "max-timeout", "the most time that a broker may ask for, for one script; 10m if it is not given")
	f.StringSliceVar(&o.Worker.Require, "require", nil, "refuse to start without these layers: seccomp, landlock, memory")
	f.DurationVar(&a.drain, "drain", 2*time.Minute, "wait at most this long for scripts to finish after SIGTERM")
	return c
}

func (a *app) sandboxd(ctx context.Context, o remote.ServerOptions, addr, health string) error {
	addr, err := surface.NormalizeAddr(addr)
	if err != nil {
		return cli.Usagef("%w", cli.OwnLines(err))
	}
	s, err := remote.NewServer(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if health != "" {
		h, err := net.Listen("tcp", health)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: observe.OwnHost(h.Addr(), sandboxdHealth(s)), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
		defer server.Close()
		go func() { _ = server.Serve(h) }() // ends with Close
		cli.Fprintf(a.Err, "broker: health at http://%s/readyz\n", h.Addr())
	}
	cli.Fprintf(a.Err, "broker: sandboxd at %s, %s at one time: %s\n", l.Addr(), cli.Count(s.Stats().Most, "script"), application.DescribeLayers(s.Layers()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = l.Close() // ends Serve
	if n := s.Stats().Running; n > 0 {
		cli.Fprintf(a.Err, "broker: finishing %s, for %s at most\n", cli.Count(n, "script"), a.drain)
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.drain)
	defer cancel()
	s.Drain(limit)
	return <-done
}

// sandboxdHealth answers probes and Prometheus.
func sandboxdHealth(s *remote.Server) http.Handler {
	mux := http.NewServeMux()
	text := func(w http.ResponseWriter, code int, body string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.Draining() {
			text(w, http.StatusServiceUnavailable, "ending\n")
			return
		}
		text(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		n := s.Stats()
		var page strings.Builder
		page.WriteString(fmt.Sprintf("# TYPE broker_sandboxd_executions gauge\nbroker_sandboxd_executions %d\n"+
			"# TYPE broker_sandboxd_executions_most gauge\nbroker_sandboxd_executions_most %d\n"+
			"# TYPE broker_sandboxd_streams gauge\nbroker_sandboxd_streams %d\n", n.Running, n.Most, n.Streams))
		for _, m := range []struct {
			name, label string
			of          map[string]int
		}{{"broker_sandboxd_executions_total", "end", n.Ended}, {"broker_sandboxd_refused_total", "why", n.Refused}} {
			page.WriteString("# TYPE " + m.name + " counter\n")
			for _, k := range slices.Sorted(maps.Keys(m.of)) {
				page.WriteString(fmt.Sprintf("%s{%s=%q} %d\n", m.name, m.label, k, m.of[k]))
			}
		}
		text(w, http.StatusOK, page.String())
	})
	return mux
}
