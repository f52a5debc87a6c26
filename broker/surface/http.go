package surface

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
)

// Handler returns the Streamable HTTP endpoint at /mcp. It serves clients of both
// protocol eras: those with sessions, and those that name the version in each request.
// /healthz always answers 200, and /readyz depends on Ready.
func (s *Surface) Handler(o HTTPOptions) (http.Handler, error) {
	loopback := isLoopback(o.Addr)
	if !loopback && !o.closed() {
		return nil, fmt.Errorf("%s can be reached by other machines, so it needs a token\n"+
			`hint: broker tokens create NAME, or "broker": {"http": {"tokens": {"me": "${BROKER_TOKEN}"}}} in the config, or listen on 127.0.0.1`, o.Addr)
	}
	for name, token := range o.Tokens {
		if token == "" {
			return nil, fmt.Errorf("the HTTP token of %q is empty", name)
		}
	}
	mux := http.NewServeMux()
	all := &profileRouter{o: o, base: s, sessions: newHTTPSessions(), handlers: make(map[*Surface]http.Handler)}
	var large largeBodies
	endpoint := checkOrigin(large.limit(all), o, loopback)
	mux.Handle("/mcp", endpoint)
	mux.Handle("/mcp/{profile}", endpoint)
	if o.Replicas != nil { // what others pass on is checked here again, and stays here
		inner := http.NewServeMux()
		inner.Handle("/mcp", checkOrigin(large.limit(markForwarded(all)), o, false))
		inner.Handle("/mcp/{profile}", checkOrigin(large.limit(markForwarded(all)), o, false))
		o.Replicas.Serve(s.guardHTTP(inner))
	}
	if o.SignIn != nil {
		metadata := o.SignIn.metadata()
		mux.Handle(wellKnown, metadata)
		mux.Handle(wellKnown+"/", metadata)
	}
	if o.API != nil {
		mux.Handle("/api/", requireSameSite(o.API, loopback, o.RefuseAPI))
	}
	if o.Console != nil && (loopback || o.ConsoleSignIn) {
		mux.Handle("/console", requireSameSite(o.Console, loopback, refusePlainly))
		mux.Handle("/console/", requireSameSite(o.Console, loopback, refusePlainly))
	}
	if o.Connect != nil && (len(o.Tokens) > 0 || o.SignIn != nil) {
		mux.Handle("POST /connect", checkOrigin(forBearer(o.ConnectLink), o, loopback))
		mux.Handle("/connect", o.Connect)
		mux.Handle("/connect/", o.Connect)
	}
	// Monitoring has no token and learns nothing else.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, o.Ready == nil || o.Ready()) })
	mux.HandleFunc("/", notFound)
	return s.guardHTTP(withBodyDeadline(mux, cmp.Or(o.bodyTime, bodyTime))), nil
}

// ConsoleHandler serves the console and its API, without MCP, on a loopback
// address.
func ConsoleHandler(console, api http.Handler, refuse func(w http.ResponseWriter, status int, detail string)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", requireSameSite(api, true, refuse))
	console = requireSameSite(console, true, refusePlainly)
	mux.Handle("/console", console)
	mux.Handle("/console/", console)
	mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusFound))
	return withBodyDeadline(mux, bodyTime)
}

func writeHealth(w http.ResponseWriter, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	status, text := http.StatusOK, "ok\n"
	if !ok {
		status, text = http.StatusServiceUnavailable, "not ready\n"
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}
