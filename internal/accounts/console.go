package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Console is the sign-in to the console by OpenID Connect.
type Console struct {
	Issuer
	// Verify returns the person of the ID token that answers a sign-in with nonce, and the values
	// of the claim that determines the person's rights.
	Verify func(ctx context.Context, token, nonce string) (p *upstream.Person, values []string, err error)
	// May returns the current rights for these values; an error is shown to the person.
	May func(p *upstream.Person, values []string) (changes bool, err error)
}

const (
	consoleSignIn = "console-sign-in"  // the cookie of a browser during a sign-in
	consoleBack   = "console/callback" // the issuer's redirect address
	// consoleTime is the lifetime of a session.
	consoleTime = 12 * time.Hour
)

// ConsoleHandler adds the addresses for signing in and out to the console, whose files are public
// and whose data needs a session.
func (a *Service) ConsoleHandler(console http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/console", console)
	mux.Handle("/console/", console)
	mux.HandleFunc("GET /console/session", a.showSession)
	mux.HandleFunc("GET /console/sign-in", a.enterConsole)
	mux.HandleFunc("GET /console/callback", a.enteredConsole)
	mux.HandleFunc("POST /console/sign-out", a.leaveConsole)
	return mux
}

// A Session is a session of a person at the console.
type Session struct {
	Person  *upstream.Person // nil if the browser has no valid session
	Changes bool             // the person may make changes
	Denied  error            // why the person has no rights any more
}

// keyHeader is the header with the session key of a console page. Browsers send the
// cookie to every port of its host, so the cookie is not enough.
const keyHeader = "Broker-Console-Key"

// hasKey returns a function that reports whether a request has the key of a session.
func hasKey(r *http.Request) func(pendingEntry) bool {
	key := r.Header.Get(keyHeader)
	return func(w pendingEntry) bool {
		return key != "" && subtle.ConstantTimeCompare([]byte(w.Browser), []byte(hashed(key))) == 1
	}
}

// Session returns the session of the browser of a request. An error means that it cannot be
// determined now.
func (a *Service) Session(r *http.Request) (v Session, err error) {
	token := a.cookieOf(r, kindConsole)
	if a.o.Console == nil || token == "" {
		return v, nil
	}
	w, err := a.lookUp(r.Context(), token, kindConsole, hasKey(r))
	if errors.Is(err, errGone) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Person = w.Person.upstream()
	v.Changes, v.Denied = a.o.Console.May(v.Person, w.Values)
	return v, nil
}

// showSession tells the page who is signed in and where to sign in.
func (a *Service) showSession(w http.ResponseWriter, r *http.Request) {
	var answer struct {
		SignIn  bool   `json:"sign_in"`
		Name    string `json:"name,omitempty"`
		Changes bool   `json:"changes"`
	}
	answer.SignIn = true
	if v, err := a.Session(r); err == nil && v.Person != nil && v.Denied == nil {
		answer.Name, answer.Changes = v.Person.Name, v.Changes
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(answer) // the page may be gone
}

// enterConsole sends a browser to the issuer.
func (a *Service) enterConsole(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Host, a.base().Host) { // otherwise the cookies would not be sent back
		http.Redirect(w, r, a.base().JoinPath("console/sign-in").String(), http.StatusSeeOther)
		return
	}
	nonce := rand.Text()
	a.redirectToIssuer(w, r, a.o.Console.Issuer, consoleSignIn, consoleBack, url.Values{"nonce": {nonce}}, url.Values{"nonce": {nonce}})
}

// enteredConsole handles the answer of the issuer. The browser does not send the session's cookie
// with the next page, since another site links to it; the page does not need it, and its own
// requests send it.
func (a *Service) enteredConsole(w http.ResponseWriter, r *http.Request) {
	_, id, kept, err := a.issuerAnswer(w, r, a.o.Console.Issuer, consoleSignIn, consoleBack, nil)
	if err == nil && id == "" {
		err = errors.New("the authorization server has sent no ID token")
	}
	var p *upstream.Person
	var values []string
	if err == nil {
		p, values, err = a.o.Console.Verify(r.Context(), id, kept.Get("nonce"))
	}
	changes, token, key := false, "", rand.Text()
	if err == nil {
		if changes, err = a.o.Console.May(p, values); err != nil {
			a.o.Note(state.Event{Kind: state.EventLogin, Client: p.Name, Failed: true, Detail: "not admitted to the console: " + err.Error()})
		}
	}
	if err == nil {
		token, err = a.wait(r.Context(), pendingEntry{Kind: kindConsole, Person: personOf(p), Values: values, Browser: hashed(key)}, consoleTime)
	}
	if err != nil {
		a.failed(w, http.StatusForbidden, view{Title: "Not signed in", Again: a.base().JoinPath("console/sign-in").String()}, err)
		return
	}
	detail := "signed in to the console, to look"
	if changes {
		detail = "signed in to the console, for changes too"
	}
	a.o.Note(state.Event{Kind: state.EventLogin, Client: p.Name, Detail: detail})
	http.SetCookie(w, strict(a.cookie(kindConsole, token, consoleTime)))
	page := a.base().JoinPath("console/")
	page.Fragment = "key=" + key // browsers do not send fragments
	http.Redirect(w, r, page.String(), http.StatusSeeOther)
}

func strict(c *http.Cookie) *http.Cookie {
	c.SameSite = http.SameSiteStrictMode
	return c
}

// leaveConsole ends the session of a browser, at all brokers.
func (a *Service) leaveConsole(w http.ResponseWriter, r *http.Request) {
	gone, err := a.take(r.Context(), a.cookieOf(r, kindConsole), kindConsole, hasKey(r))
	if err != nil && !errors.Is(err, errGone) {
		http.Error(w, "the session cannot be ended: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if err == nil {
		a.o.Note(state.Event{Kind: state.EventLogout, Client: gone.Person.Name, Detail: "signed out of the console"})
	}
	http.SetCookie(w, strict(a.cookie(kindConsole, "", 0)))
	w.WriteHeader(http.StatusNoContent)
}
