package host

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

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/app/observe"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/sandbox/remote"
)

// SandboxdOptions say how the scripts of brokers on other machines are run.
type SandboxdOptions struct {
	remote.ServerOptions
	// Addr is where brokers connect, and Health where probes and Prometheus do; Health may
	// be empty.
	Addr, Health string
	// Drain is how long scripts may take to finish at the end.
	Drain time.Duration
	// Print prints one line for the user.
	Print func(line string)
}

// RunSandboxd runs the scripts of brokers on other machines until ctx is done.
func RunSandboxd(ctx context.Context, o SandboxdOptions) error {
	addr, err := surface.NormalizeAddr(o.Addr)
	if err != nil {
		return &app.Error{Err: err, Usage: true, Lines: true}
	}
	s, err := remote.NewServer(ctx, o.ServerOptions)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if o.Health != "" {
		h, err := net.Listen("tcp", o.Health)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: observe.OwnHost(h.Addr(), sandboxdHealth(s)), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
		defer server.Close()
		go func() { _ = server.Serve(h) }() // ends with Close
		o.Print(fmt.Sprintf("broker: health at http://%s/readyz", h.Addr()))
	}
	o.Print(fmt.Sprintf("broker: sandboxd at %s, %s at one time: %s", l.Addr(), words.Count(s.Stats().Most, "script"), app.DescribeLayers(s.Layers())))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = l.Close() // ends Serve
	if n := s.Stats().Running; n > 0 {
		o.Print(fmt.Sprintf("broker: finishing %s, for %s at most", words.Count(n, "script"), o.Drain))
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Drain)
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
