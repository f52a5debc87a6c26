package connect

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

// A SignIn is how people sign in with a browser: to the authorization server that
// issues the tokens of their agents, for the same resource, so that both are known by
// the same name.
type SignIn struct {
	Issuer   string
	Resource string
	Scopes   []string
	Client   oauth.Client // what the broker is there
	// Endpoints are where people sign in and where codes become tokens.
	Endpoints func(ctx context.Context) (authorize, token string, err error)
	// Verify returns who bears an access token.
	Verify func(ctx context.Context, token string) (*upstream.Person, error)
}

const (
	browserTime = 15 * time.Minute
	signInTime  = 10 * time.Minute
	signedIn    = "connect/signed-in" // where the issuer sends browsers back to
)

// cookie is one that no other host can set, and that goes nowhere but to this one.
func (d *Desk) cookie(kind, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{Name: "broker-" + kind, Value: value, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if d.base().Scheme == "https" {
		c.Name, c.Secure = "__Host-"+c.Name, true
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	return c
}

func (d *Desk) cookieOf(r *http.Request, kind string) string {
	c, err := r.Cookie(d.cookie(kind, "", 0).Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// open makes a browser that of a person, for a server or, if that is "", for all.
func (d *Desk) open(ctx context.Context, w http.ResponseWriter, p person, server string) error {
	token, err := d.wait(ctx, waiting{Kind: kindBrowser, Person: p, Server: server}, browserTime)
	if err == nil {
		http.SetCookie(w, d.cookie(kindBrowser, token, browserTime))
	}
	return err
}

// browser is whose the browser of a request is, and the hash of its token.
func (d *Desk) browser(r *http.Request, server string) (p *upstream.Person, hash string) {
	token := d.cookieOf(r, kindBrowser)
	w, err := d.take(r.Context(), token, kindBrowser, true, func(w waiting) bool { return w.Server == "" || w.Server == server })
	if err != nil {
		return nil, ""
	}
	return w.Person.upstream(), w.Hash
}

// signIn sends a browser to the issuer, and back to the page of a server.
func (d *Desk) signIn(w http.ResponseWriter, r *http.Request, server string) {
	authorize, _, err := d.o.SignIn.Endpoints(r.Context())
	var page *url.URL
	if err == nil {
		page, err = url.Parse(authorize)
	}
	if err != nil {
		d.fail(w, http.StatusBadGateway, "The sign-in is not there", err)
		return
	}
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	q := page.Query()
	for k, v := range map[string]string{
		"response_type": "code", "client_id": d.o.SignIn.Client.ID, "redirect_uri": d.base().JoinPath(signedIn).String(), "state": state,
		"resource": d.o.SignIn.Resource, "scope": strings.Join(d.o.SignIn.Scopes, " "),
		"code_challenge": oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method": "S256",
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	page.RawQuery = q.Encode()
	// What belongs to this browser alone may be in it: another one has no use for it.
	http.SetCookie(w, d.cookie(kindSignIn, url.Values{"state": {state}, "verifier": {verifier}, "server": {server}}.Encode(), signInTime))
	http.Redirect(w, r, page.String(), http.StatusSeeOther)
}

// signedIn takes the answer of the issuer.
func (d *Desk) signedIn(w http.ResponseWriter, r *http.Request) {
	kept, _ := url.ParseQuery(d.cookieOf(r, kindSignIn))
	http.SetCookie(w, d.cookie(kindSignIn, "", 0))
	q := r.URL.Query()
	if d.o.SignIn == nil || kept.Get("state") == "" || subtle.ConstantTimeCompare([]byte(kept.Get("state")), []byte(q.Get("state"))) != 1 {
		d.fail(w, http.StatusBadRequest, "Not signed in", errors.New("this answer is to no sign-in of this browser"))
		return
	}
	p, err := d.redeem(r.Context(), q, kept.Get("verifier"))
	if err == nil {
		err = d.open(r.Context(), w, personOf(p), "")
	}
	if err != nil {
		d.fail(w, http.StatusForbidden, "Not signed in", err)
		return
	}
	at := d.base().JoinPath("connect")
	if _, ok := d.server(kept.Get("server")); ok {
		at = at.JoinPath(url.PathEscape(kept.Get("server")))
	}
	http.Redirect(w, r, at.String(), http.StatusSeeOther)
}

// redeem finds out who has signed in.
func (d *Desk) redeem(ctx context.Context, q url.Values, verifier string) (*upstream.Person, error) {
	s := d.o.SignIn
	if iss := q.Get("iss"); iss != "" && iss != s.Issuer { // RFC 9207
		return nil, errors.New("the answer is of another authorization server")
	}
	if q.Get("code") == "" {
		return nil, errors.New("the authorization server has not signed you in")
	}
	_, endpoint, err := s.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	token, err := d.exchange.Redeem(ctx, endpoint, s.Client, url.Values{
		"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {d.base().JoinPath(signedIn).String()},
		"code_verifier": {verifier}, "resource": {s.Resource},
	})
	if err != nil {
		return nil, err
	}
	return s.Verify(ctx, token)
}
