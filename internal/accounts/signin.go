package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

// An Issuer is an authorization server at which people sign in with a browser.
type Issuer struct {
	URL       string
	Client    oauth.Client // the broker's registration, and the scopes that it requests
	Endpoints func(ctx context.Context) (Endpoints, error)
}

// Endpoints are the sign-in page for browsers and the token endpoint.
type Endpoints struct {
	Authorize, Token string
	// SaysIssuer is set if the responses of the sign-in page name the issuer (RFC
	// 9207).
	SaysIssuer bool
}

// A SignIn is the sign-in of people who connect accounts: at the authorization server that issues
// the tokens of their agents, for the same resource, so that both have the same name.
type SignIn struct {
	Issuer
	Resource string
	// Verify returns the person of an access token.
	Verify func(ctx context.Context, token string) (*upstream.Person, error)
}

const (
	browserTime = 15 * time.Minute
	signInTime  = 10 * time.Minute
	signedIn    = "connect/signed-in" // the issuer's redirect address
)

// cookie returns a cookie that no other host can set, and that is sent only to this host.
func (a *Service) cookie(kind, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{Name: "broker-" + kind, Value: value, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if a.base().Scheme == "https" {
		c.Name, c.Secure = "__Host-"+c.Name, true
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	return c
}

func (a *Service) cookieOf(r *http.Request, kind string) string {
	c, err := r.Cookie(a.cookie(kind, "", 0).Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// startBrowserSession assigns a browser to a person, for a server or, if that is "", for all
// servers.
func (a *Service) startBrowserSession(ctx context.Context, w http.ResponseWriter, p person, server string) error {
	token, err := a.wait(ctx, pendingEntry{Kind: kindBrowser, Person: p, Server: server}, browserTime)
	if err == nil {
		http.SetCookie(w, a.cookie(kindBrowser, token, browserTime))
	}
	return err
}

// browser returns the person of the browser of a request, and the hash of its token.
func (a *Service) browser(r *http.Request, server string) (p *upstream.Person, hash string) {
	w, err := a.lookUp(r.Context(), a.cookieOf(r, kindBrowser), kindBrowser, func(w pendingEntry) bool { return w.Server == "" || w.Server == server })
	if err != nil {
		return nil, ""
	}
	return w.Person.upstream(), w.Hash
}

// redirectToIssuer redirects a browser to an issuer, which answers at the page at. The data in kept is
// available there, for this browser only.
func (a *Service) redirectToIssuer(w http.ResponseWriter, r *http.Request, to Issuer, kind, at string, more, kept url.Values) {
	e, err := to.Endpoints(r.Context())
	var page *url.URL
	if err == nil {
		page, err = url.Parse(e.Authorize)
	}
	if err != nil {
		a.fail(w, http.StatusBadGateway, "The sign-in is not there", err)
		return
	}
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	q := page.Query()
	maps.Copy(q, more)
	for k, v := range map[string]string{
		"response_type": "code", "client_id": to.Client.ID, "redirect_uri": a.base().JoinPath(at).String(), "state": state,
		"scope": strings.Join(to.Client.Scopes, " "), "code_challenge": oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method": "S256",
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	page.RawQuery = q.Encode()
	kept.Set("state", state)
	kept.Set("verifier", verifier)
	http.SetCookie(w, a.cookie(kind, kept.Encode(), signInTime))
	http.Redirect(w, r, page.String(), http.StatusSeeOther)
}

// issuerAnswer handles the answer of an issuer, once, and redeems its code.
func (a *Service) issuerAnswer(w http.ResponseWriter, r *http.Request, from Issuer, kind, at string, more url.Values) (access, id string, kept url.Values, err error) {
	kept, _ = url.ParseQuery(a.cookieOf(r, kind))
	http.SetCookie(w, a.cookie(kind, "", 0))
	q := r.URL.Query()
	switch iss := q.Get("iss"); {
	case kept.Get("state") == "" || subtle.ConstantTimeCompare([]byte(kept.Get("state")), []byte(q.Get("state"))) != 1:
		return "", "", nil, errors.New("this browser has no such sign-in in progress: it was used already, or is older than " + strconv.Itoa(int(signInTime.Minutes())) + " minutes")
	case iss != "" && strings.TrimSuffix(iss, "/") != strings.TrimSuffix(from.URL, "/"): // RFC 9207
		return "", "", nil, errors.New("the answer is from another authorization server, " + iss)
	case q.Get("code") == "":
		return "", "", nil, errors.New("the authorization server has not signed you in: " + cmp.Or(q.Get("error"), "it sent no code"))
	}
	e, err := from.Endpoints(r.Context())
	if err != nil {
		return "", "", nil, err
	}
	if e.SaysIssuer && !q.Has("iss") {
		return "", "", nil, errors.New("the response does not name its authorization server, but " + from.URL + " announces that its responses do")
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {a.base().JoinPath(at).String()}, "code_verifier": {kept.Get("verifier")}}
	maps.Copy(form, more)
	access, id, err = a.exchange.Redeem(r.Context(), e.Token, from.Client, form)
	return access, id, kept, err
}

func (s *SignIn) resource() url.Values { return url.Values{"resource": {s.Resource}} }

// signIn redirects a browser to the issuer, and back to the page of a server.
func (a *Service) signIn(w http.ResponseWriter, r *http.Request, server string) {
	a.redirectToIssuer(w, r, a.o.SignIn.Issuer, kindSignIn, signedIn, a.o.SignIn.resource(), url.Values{"server": {server}})
}

// signedIn handles the answer of the issuer.
func (a *Service) signedIn(w http.ResponseWriter, r *http.Request) {
	if a.o.SignIn == nil {
		http.NotFound(w, r)
		return
	}
	access, _, kept, err := a.issuerAnswer(w, r, a.o.SignIn.Issuer, kindSignIn, signedIn, a.o.SignIn.resource())
	var p *upstream.Person
	if err == nil {
		p, err = a.o.SignIn.Verify(r.Context(), access)
	}
	if err == nil {
		err = a.startBrowserSession(r.Context(), w, personOf(p), "")
	}
	if err != nil {
		a.fail(w, http.StatusForbidden, "Not signed in", err)
		return
	}
	server := kept.Get("server")
	if _, ok := a.server(server); !ok {
		server = ""
	}
	a.redirect(w, r, server)
}
