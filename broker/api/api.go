// Package api reads and changes what a broker manages and has recorded: a Reader serves
// commands with --json, and an HTTP handler serves programs and the console below
// /api/. openapi.json describes the part about skills and plugins, and is served at
// /api/openapi.json; docs/console.md lists the rest.
//
// Reads of skills and plugins need one of the tokens of MCP clients, if there are any;
// changes need the admin token, and are refused if none is configured. The activity of
// all clients is shown only to the console and to the admin token. Errors are problem
// details (RFC 9457) with a code and a sentence that says what to do. Answers contain
// no paths of this host outside of skills.
package api

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/state"
)

// Options are what the interface is made of. Library and Owner are required.
type Options struct {
	// Library returns the library of skills and plugins as configured now.
	Library func() *library.Library
	// Tools returns the tools of a skill that can be called; nil means those that
	// the skill has by itself.
	Tools func(*skills.Skill) []skills.Tool
	// Tokens are the tokens of clients that may read, by client name. Without any,
	// every client that can connect may read.
	Tokens map[string]string
	// Issued returns the client of a token that Tokens does not contain, or ""; nil
	// issues none.
	Issued func(token string) (client string)
	// TokensOnly reports whether reading requires a token even if Tokens is empty.
	TokensOnly func() bool
	// AdminToken allows its bearer to change things and read; if empty, no client may
	// change anything.
	AdminToken string
	// Owner returns the client in tokens that owns token, or "". It takes constant
	// time.
	Owner func(tokens map[string]string, token string) string
	// Reader answers what the console shows; nil serves skills and plugins only.
	Reader *Reader
	// Session returns the console session of a request; nil means that there are no
	// sessions. An error means that it cannot be determined now.
	Session func(r *http.Request) (Session, error)
	// Enter says how to get a session; empty means to run broker console.
	Enter string
	// Always writes a rule that allows tools into the policy of the config; nil
	// cannot.
	Always func(tools []string) error
	// SaveScript saves a script for people and other scripts, and returns the output of
	// the corresponding command. An error describes what is wrong with the script. If
	// nil, scripts cannot be saved.
	SaveScript func(name, description, code string) (any, error)
	// Servers changes the servers in the config; if nil, they cannot be changed.
	Servers ServerConfig
	// Settings returns the values of the config in force, without secrets; it may be
	// nil.
	Settings func() (any, error)
	// Cancel ends an execution, whichever broker it runs at; nil ends those of this
	// process alone.
	Cancel func(ctx context.Context, id string) error
	// Note records what a person decided; nil is fine.
	Note func(state.Event)
	// Private requires a session even if there are no tokens.
	Private bool
	// Changed is called after each change, also one that fails, before it is
	// answered; nil is fine.
	Changed func()
	// FileRead is called after a read of a skill's file, with the error, if any; it may
	// be nil.
	FileRead func(k *skills.Skill, client, path string, err error)
	// Logger receives errors that the client did not cause; nil discards them.
	Logger *slog.Logger
}

// A Session is that of a browser at the console.
type Session struct {
	In      bool
	Changes bool // it may change things
	// Person is the person who has signed in; nil means a session that was opened with
	// a printed token, on the broker's machine.
	Person *upstream.Person
	Denied string // why the person may do nothing here any more
}

// Names of clients without a token.
const (
	clientHTTP    = "http"
	clientAdmin   = "admin"
	clientConsole = "console"
)

//go:embed openapi.json
var description []byte

type server struct {
	o   Options
	mux *http.ServeMux
}

// A route is one operation. Those that change something need the admin token.
type route struct {
	method, path string
	changes      bool
	handle       func(s *server, r *http.Request) (status int, answer any, err error)
}

// routes are all operations; openapi.json has the same.
var routes = []route{
	{http.MethodGet, "/api/openapi.json", false, (*server).openAPI},
	{http.MethodGet, "/api/skills", false, (*server).listSkills},
	{http.MethodPost, "/api/skills/install", true, (*server).installSkill},
	{http.MethodGet, "/api/skills/{name}", false, (*server).showSkill},
	{http.MethodPut, "/api/skills/{name}", true, (*server).switchSkill},
	{http.MethodDelete, "/api/skills/{name}", true, (*server).removeSkill},
	{http.MethodGet, "/api/skills/{name}/files/{path...}", false, (*server).readFile},
	{http.MethodGet, "/api/plugins", false, (*server).listPlugins},
	{http.MethodPost, "/api/plugins/install", true, (*server).installPlugin},
	{http.MethodGet, "/api/plugins/{name}", false, (*server).showPlugin},
	{http.MethodPut, "/api/plugins/{name}", true, (*server).switchPlugin},
	{http.MethodDelete, "/api/plugins/{name}", true, (*server).removePlugin},
	{http.MethodGet, "/api/plugins/{name}/commands", false, (*server).listCommands},
}

// New returns the handler of everything below /api/. It does not check the origin of
// requests: the caller must refuse requests of foreign web pages.
func New(o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Note == nil {
		o.Note = func(state.Event) {}
	}
	if o.Tools == nil {
		o.Tools = (*skills.Skill).AllTools
	}
	s := &server{o: o, mux: http.NewServeMux()}
	for _, r := range routes {
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { s.serve(r, o.Private, w, req) })
	}
	for _, r := range views {
		if o.Reader != nil {
			s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { s.serve(r, true, w, req) })
		}
	}
	s.mux.HandleFunc("/", s.unknown)
	return s.mux
}

func (s *server) serve(r route, private bool, w http.ResponseWriter, req *http.Request) {
	var client string
	who, refusal := s.session(req)
	if refusal == nil {
		client, refusal = s.admit(req, who, r.changes, private)
	}
	if refusal != nil {
		if refusal.Status == http.StatusUnauthorized {
			challenge := `Bearer realm="broker"`
			if req.Header.Get("Authorization") != "" { // RFC 6750, section 3.1: a request without credentials gets no error code
				challenge += `, error="invalid_token"`
			}
			w.Header().Set("WWW-Authenticate", challenge)
		}
		refusal.write(w)
		return
	}
	status, answer, err := r.handle(s, req.WithContext(withClient(req.Context(), client, who.Person)))
	if r.changes && s.o.Changed != nil {
		s.o.Changed() // also after an error: something may have been changed before it
	}
	if err != nil {
		p := s.problem(err)
		if p.Status == http.StatusInternalServerError {
			s.o.Logger.Error("http interface", "method", req.Method, "path", r.path, "err", err)
		}
		p.write(w)
		return
	}
	if write, ok := answer.(http.HandlerFunc); ok {
		// A page of another port has the cookie too, and must not load this as a script.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		write(w, req)
		return
	}
	writeJSON(w, status, "application/json", answer)
}

// admit returns the session of a request, or the reason it is refused.
func (s *server) admit(req *http.Request, who Session, changes, private bool) (client string, refusal *Problem) {
	switch {
	case who.In && (who.Changes || !changes):
		return who.client(), nil
	case who.In && who.Person != nil:
		return "", newProblem(http.StatusForbidden, "read_only", `%s may look, and change nothing: "admins" of "http.console" in the config says who may`, gate.Cut(gate.Line(who.Person.Name), 200))
	case who.In:
		return "", newProblem(http.StatusForbidden, "read_only", "this console only shows: a program that uses the broker has opened it")
	}
	scheme, token, given := strings.Cut(req.Header.Get("Authorization"), " ")
	admin := ""
	if given && strings.EqualFold(scheme, "Bearer") {
		admin, client = s.o.Owner(map[string]string{clientAdmin: s.o.AdminToken}, token), s.o.Owner(s.o.Tokens, token)
		if client == "" && s.o.Issued != nil {
			client = s.o.Issued(token)
		}
	}
	switch {
	case admin != "" && s.o.AdminToken != "":
		return clientAdmin, nil
	case private:
		return "", newProblem(http.StatusForbidden, "no_session", "this needs a session: %s, or send the admin token", cmp.Or(s.o.Enter, `open the address that "broker console" prints`))
	case changes && s.o.AdminToken == "":
		return "", newProblem(http.StatusForbidden, "no_admin_token", `changes are off: set "broker": {"http": {"adminToken": "${BROKER_ADMIN_TOKEN}"}} in the config and start the broker again, or use the command line on its machine`)
	case changes && client != "":
		return "", newProblem(http.StatusForbidden, "not_admin", `the token of a client may read only: changes need that of "http.adminToken" in the config`)
	case changes:
		return "", newProblem(http.StatusUnauthorized, "unauthorized", `changes need the header "Authorization: Bearer TOKEN" with the token of "http.adminToken" in the config`)
	case client != "":
		return client, nil
	case len(s.o.Tokens) > 0 || s.o.TokensOnly != nil && s.o.TokensOnly():
		return "", newProblem(http.StatusUnauthorized, "unauthorized", `a token is needed: send the header "Authorization: Bearer TOKEN" with one of "http.tokens" in the config`)
	}
	return clientHTTP, nil
}

// client is what a session is called in the record.
func (who Session) client() string {
	if who.Person != nil {
		return who.Person.Name
	}
	return clientConsole
}

// session is that which a request comes from.
func (s *server) session(req *http.Request) (who Session, refusal *Problem) {
	if s.o.Session == nil {
		return Session{}, nil
	}
	who, err := s.o.Session(req)
	switch {
	case err != nil:
		s.o.Logger.Error("read the session of the console", "err", err)
		return Session{}, newProblem(http.StatusServiceUnavailable, "sessions_away", "who has signed in cannot be looked up now: try again later")
	case who.Denied != "":
		return Session{}, newProblem(http.StatusForbidden, "no_session", "%s", gate.Cut(gate.Line(who.Denied), 500))
	}
	return who, nil
}

// library returns the library for the client of a request.
func (s *server) library(r *http.Request) *library.Library { return s.o.Library().For(clientOf(r)) }

// unknown answers what no route is for.
func (s *server) unknown(w http.ResponseWriter, req *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		other := req.Clone(req.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		list := strings.Join(allowed, ", ")
		w.Header().Set("Allow", list)
		newProblem(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not for this: use %s", req.Method, list).write(w)
		return
	}
	newProblem(http.StatusNotFound, "not_found", "there is nothing at this address: /api/openapi.json describes what there is").write(w)
}

func (s *server) openAPI(*http.Request) (int, any, error) {
	return http.StatusOK, raw(description), nil
}
