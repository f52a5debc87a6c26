package accounts

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

const (
	// maxForm bounds a form, in bytes.
	maxForm = 64 << 10
	// maxSecret bounds one secret.
	maxSecret = 8 << 10
	callback  = "connect/callback" // the redirect address of authorization servers
)

// Reserved are names that servers with connected accounts must not have.
var Reserved = []string{"callback", "signed-in", "-"}

// Handler serves the paths below /connect. It refuses requests for another host, or from pages of
// another origin.
func (a *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /connect", a.list)
	mux.HandleFunc("GET /connect/callback", a.callback)
	mux.HandleFunc("GET /connect/signed-in", a.signedIn)
	mux.HandleFunc("GET /connect/{server}", a.page)
	mux.HandleFunc("POST /connect/{server}", a.submit)
	mux.HandleFunc("GET /connect/{server}/{link}", a.confirm)
	mux.HandleFunc("POST /connect/{server}/{link}", a.confirmed)
	mux.HandleFunc("/connect/", http.NotFound)
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "requests from pages of another origin are refused", http.StatusForbidden)
	}))
	next := own.Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if !strings.EqualFold(r.Host, a.base().Host) || origin != "" && !strings.EqualFold(origin, a.base().Scheme+"://"+a.base().Host) {
			http.Error(w, "this page is at "+a.base().String(), http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if prefix := strings.TrimSuffix(a.base().Path, "/"); prefix != "" {
			http.StripPrefix(prefix, next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Link sends the address of the page with all accounts to a person's program, which has presented
// its token.
func (a *Service) Link(w http.ResponseWriter, r *http.Request, p *upstream.Person) {
	at, err := a.address(r.Context(), "", p)
	if err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{"url": at}) // the client may be gone
}

// requirePerson returns the person of a browser. It redirects an unknown browser to the
// sign-in, or says what to do.
func (a *Service) requirePerson(w http.ResponseWriter, r *http.Request, server string) (p *upstream.Person, hash string) {
	if p, hash = a.browser(r, server); p != nil {
		return p, hash
	}
	if a.o.SignIn != nil && r.Method == http.MethodGet {
		a.signIn(w, r, server)
		return nil, ""
	}
	a.fail(w, http.StatusForbidden, "Whose browser is this?",
		errors.New("this page needs a link that works once: your agent gets one when it calls a tool of the server"))
	return nil, ""
}

// confirm shows which person would connect what by a link, without using the link up: link
// previews request it too.
func (a *Service) confirm(w http.ResponseWriter, r *http.Request) {
	l, err := a.lookUp(r.Context(), r.PathValue("link"), kindLink, linkFor(r))
	if err != nil {
		a.fail(w, http.StatusNotFound, "This link is not good", err)
		return
	}
	a.writePage(w, http.StatusOK, "confirm", view{Title: "Is this you?", Person: l.Person.Name, Server: l.Server})
}

func linkFor(r *http.Request) func(pendingEntry) bool {
	server := r.PathValue("server")
	if server == "-" {
		server = ""
	}
	return func(w pendingEntry) bool { return w.Server == server }
}

// confirmed uses a link up: the browser belongs to the person from now on.
func (a *Service) confirmed(w http.ResponseWriter, r *http.Request) {
	l, err := a.take(r.Context(), r.PathValue("link"), kindLink, linkFor(r))
	if err == nil {
		err = a.startBrowserSession(r.Context(), w, l.Person, l.Server)
	}
	if err != nil {
		a.fail(w, http.StatusNotFound, "This link is not good", err)
		return
	}
	a.redirect(w, r, l.Server)
}

// redirect redirects a browser to the page of a server, or of all servers.
func (a *Service) redirect(w http.ResponseWriter, r *http.Request, server string) {
	at := a.base().JoinPath("connect")
	if server != "" {
		at = at.JoinPath(url.PathEscape(server))
	}
	http.Redirect(w, r, at.String(), http.StatusSeeOther)
}

// list shows the accounts of a person.
func (a *Service) list(w http.ResponseWriter, r *http.Request) {
	p, _ := a.requirePerson(w, r, "")
	if p == nil {
		return
	}
	v := view{Title: "Your accounts", Person: p.Name}
	for _, s := range a.o.Servers() {
		v.Servers = append(v.Servers, a.row(s, p))
	}
	a.writePage(w, http.StatusOK, "list", v)
}

func (a *Service) row(s Server, p *upstream.Person) row {
	return row{Name: s.Name, At: a.base().JoinPath("connect", url.PathEscape(s.Name)).String(), Connected: a.isConnected(s, p)}
}

// isConnected reports whether a person has connected a usable account.
func (a *Service) isConnected(s Server, p *upstream.Person) bool {
	if len(s.Secrets) > 0 {
		return a.version(s, p) != ""
	}
	to, err := s.OAuth()
	if err != nil {
		return false
	}
	st, err := a.signIns(p).Status(to)
	return err == nil && st.SignedIn
}

// page shows how a server is connected, or that it is connected.
func (a *Service) page(w http.ResponseWriter, r *http.Request) {
	s, ok := a.server(r.PathValue("server"))
	if !ok {
		a.fail(w, http.StatusNotFound, "No such server", errors.New("there is no server of this name with accounts to connect"))
		return
	}
	p, _ := a.requirePerson(w, r, s.Name)
	if p == nil {
		return
	}
	a.writePage(w, http.StatusOK, "server", view{Title: "Connect " + s.Name, Person: p.Name, Server: s.Name, Secrets: s.Secrets, row: a.row(s, p)})
}

// submit connects or disconnects a server.
func (a *Service) submit(w http.ResponseWriter, r *http.Request) {
	s, ok := a.server(r.PathValue("server"))
	if !ok {
		a.fail(w, http.StatusNotFound, "No such server", errors.New("there is no server of this name with accounts to connect"))
		return
	}
	p, hash := a.requirePerson(w, r, s.Name)
	if p == nil {
		return
	}
	switch {
	case r.ParseForm() != nil:
		a.fail(w, http.StatusBadRequest, "Not connected", errors.New("the form is missing or too long"))
	case r.PostForm.Get("do") == "disconnect":
		if err := a.Disconnect(r.Context(), p, s); err != nil {
			a.fail(w, http.StatusBadGateway, "Still connected", err)
			return
		}
		a.writePage(w, http.StatusOK, "done", view{Title: "Disconnected", Person: p.Name, Server: s.Name})
	case len(s.Secrets) > 0:
		a.takeSecrets(w, r, p, s)
	default:
		a.begin(w, r, p, s, hash)
	}
}

// takeSecrets stores the secrets that a person entered.
func (a *Service) takeSecrets(w http.ResponseWriter, r *http.Request, p *upstream.Person, s Server) {
	values := make(map[string]string)
	for _, name := range s.Secrets {
		v := strings.TrimSpace(r.PostForm.Get("secret-" + name))
		if v == "" || len(v) > maxSecret || strings.ContainsAny(v, "\x00\r\n") {
			a.fail(w, http.StatusBadRequest, "Not connected", errors.New(name+" is empty, too long or of several lines"))
			return
		}
		values[name] = v
	}
	if err := a.storeSecrets(r.Context(), p, s, values); err != nil {
		a.fail(w, http.StatusBadGateway, "Not connected", err)
		return
	}
	a.writePage(w, http.StatusOK, "done", view{Title: "Connected", Person: p.Name, Server: s.Name, row: row{Connected: true}})
}

// begin sends a person to the sign-in page of a server. The person sees its address and follows a
// link: a policy for forms would have to name it in advance.
func (a *Service) begin(w http.ResponseWriter, r *http.Request, p *upstream.Person, s Server, browser string) {
	to, err := s.OAuth()
	if err != nil {
		a.fail(w, http.StatusBadGateway, "Not connected", err)
		return
	}
	// The state is the token of the waiting sign-in, which is known before it begins.
	state, err := a.wait(r.Context(), pendingEntry{Kind: kindSignIn, Person: personOf(p), Server: s.Name, Browser: browser}, signInTime)
	if err != nil {
		a.fail(w, http.StatusBadGateway, "Not connected", err)
		return
	}
	page, begun, err := a.signIns(p).Begin(r.Context(), to, a.base().JoinPath(callback).String(), state)
	if err == nil {
		err = a.complete(r.Context(), state, begun)
	}
	if err != nil {
		a.fail(w, http.StatusBadGateway, "Not connected", err)
		return
	}
	host := ""
	if u, err := url.Parse(page.URL); err == nil {
		host = u.Host
	}
	a.writePage(w, http.StatusOK, "go", view{Title: "Sign in to " + s.Name, Person: p.Name, Server: s.Name, Page: page.URL, Host: host, Issuer: page.Issuer})
}

// callback handles the answer of a sign-in page, from the browser that was sent there.
func (a *Service) callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	browser := hashed(a.cookieOf(r, kindBrowser))
	flow, err := a.take(r.Context(), q.Get("state"), kindSignIn, func(w pendingEntry) bool { return w.Browser == browser && len(w.Begun) > 0 })
	if err != nil {
		a.fail(w, http.StatusBadRequest, "Not connected", errors.New("this browser has no such sign-in in progress, or it took too long"))
		return
	}
	p, _ := a.browser(r, flow.Server)
	s, ok := a.server(flow.Server)
	if p == nil || !ok || personOf(p) != flow.Person {
		a.fail(w, http.StatusForbidden, "Not connected", errors.New("it took too long: start again"))
		return
	}
	to, err := s.OAuth()
	if err == nil {
		_, err = a.signIns(p).Finish(r.Context(), to, flow.Begun, q)
	}
	if err != nil {
		a.fail(w, http.StatusBadGateway, "Not connected", err)
		return
	}
	a.connected(r.Context(), p, s)
	a.writePage(w, http.StatusOK, "done", view{Title: "Connected", Person: p.Name, Server: s.Name, row: row{Connected: true}})
}

// fail shows an error, whose text may come from others.
func (a *Service) fail(w http.ResponseWriter, status int, title string, err error) {
	a.failed(w, status, view{Title: title}, err)
}

func (a *Service) failed(w http.ResponseWriter, status int, v view, err error) {
	v.Problem = gate.Cut(gate.Line(err.Error()), 500)
	a.writePage(w, status, "failed", v)
}
