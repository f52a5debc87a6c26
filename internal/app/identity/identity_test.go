package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// expand replaces ${NAME} by "name's", and knows no ${MISSING}.
func expand(s string) (string, error) {
	if strings.Contains(s, "${MISSING}") {
		return "", errors.New("MISSING is not set")
	}
	if name, ok := strings.CutPrefix(s, "${"); ok {
		return strings.ToLower(strings.TrimSuffix(name, "}")) + "'s", nil
	}
	return s, nil
}

// says checks that err is an Error that has all words, in its text or its hint.
func says(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	wrong, ok := errors.AsType[*Error](err)
	if !ok {
		t.Errorf("%s: %v is not about a setting", what, err)
		return
	}
	for _, w := range words {
		if !strings.Contains(wrong.Error()+"\n"+wrong.Hint, w) {
			t.Errorf("%s: %q with the hint %q has no %q", what, wrong, wrong.Hint, w)
		}
	}
}

// Servers that get credentials of people are refused where those are not available, each
// with what to do.
func TestCheckPeople(t *testing.T) {
	server := func(name, credentials string) []config.Server {
		return []config.Server{{Name: "plain"}, {Name: "off", Credentials: "user", Disabled: true}, {Name: name, Credentials: credentials}}
	}
	signIn := config.SignIn{Issuer: "https://issuer", Resource: "https://broker.example/mcp"}
	for _, tt := range []struct {
		name    string
		servers []config.Server
		broker  config.Broker
		addr    string
		words   []string // none if all is well
	}{
		{"no servers of people", server("s", ""), config.Broker{}, "", nil},
		{"stdio", server("s", "user"), config.Broker{}, "", []string{`"s"`, "stdio", "broker serve --http"}},
		{"nobody signs in", server("s", "user"), config.Broker{}, ":1", []string{"nobody signs in", `"signIn"`}},
		{"exchange without tokens", server("s", "exchange"), config.Broker{HTTP: config.HTTP{Tokens: map[string]config.Token{"a": {}}}}, ":1", []string{"exchange"}},
		{"no key", server("s", "user"), config.Broker{HTTP: config.HTTP{SignIn: signIn}}, ":1", []string{"sealed", "openssl"}},
		{"no address", server("s", "user"), config.Broker{StateKey: []string{"k"}, HTTP: config.HTTP{SignIn: config.SignIn{Issuer: "i"}}}, "0.0.0.0:1", []string{"open a page", `"url"`}},
		{"its own page", server("callback", "user"), config.Broker{StateKey: []string{"k"}, HTTP: config.HTTP{SignIn: signIn}}, ":1", []string{"another name"}},
		{"all is well", server("s", "user"), config.Broker{StateKey: []string{"k"}, HTTP: config.HTTP{SignIn: signIn}}, ":1", nil},
		{"at home", server("s", "user"), config.Broker{StateKey: []string{"k"}, HTTP: config.HTTP{SignIn: config.SignIn{Issuer: "i"}}}, "127.0.0.1:1", nil},
	} {
		err := CheckPeople(&config.Config{Servers: tt.servers, Broker: tt.broker}, tt.addr)
		if len(tt.words) > 0 {
			says(t, tt.name, err, tt.words...)
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestPublicURL(t *testing.T) {
	for want, c := range map[string]config.HTTP{
		"":                   {},
		"https://a":          {URL: "https://a", SignIn: config.SignIn{Resource: "https://b/mcp"}},
		"https://b":          {SignIn: config.SignIn{Resource: "https://b/mcp"}},
		"https://b/mcp/team": {SignIn: config.SignIn{Resource: "https://b/mcp/team/"}},
	} {
		if got := PublicURL(c); got != want {
			t.Errorf("PublicURL(%+v) = %q, want %q", c, got, want)
		}
	}
}

// Tokens have their values and limits. One with limits owns nothing that others manage.
func TestTokens(t *testing.T) {
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	values, limits, err := Tokens(config.HTTP{Tokens: map[string]config.Token{
		"all": {Value: "${ALL}"}, "one": {Value: "1", Profile: "p"}, "old": {Value: "2", Expires: before}, "team": {Value: "3", Team: "t", Expires: later},
	}}, expand)
	if err != nil || values["all"] != "all's" || len(values) != 4 || len(limits) != 3 || limits["one"] != (broker.TokenLimits{Profile: "p"}) {
		t.Fatalf("%v, %v, %v", values, limits, err)
	}
	owner := OwnerOf(values, limits)
	for token, want := range map[string]string{"all's": "all", "1": "", "2": "", "3": "team", "4": "", "": ""} {
		if got := owner(values, token); got != want {
			t.Errorf("the owner of %q is %q, want %q", token, got, want)
		}
	}
	_, _, err = Tokens(config.HTTP{Tokens: map[string]config.Token{"x": {Value: "${MISSING}"}}}, expand)
	says(t, "a token without its variable", err, `"x"`, "MISSING")
}

// References in a client and its server are resolved; the error names the key, and never
// a value.
func TestServer(t *testing.T) {
	good := config.Server{Name: "s", URL: "${URL}", Headers: map[string]string{"A": "${A}"}, OAuth: config.OAuth{ClientID: "${ID}", ClientSecret: "${SECRET}", Issuer: "i", Resource: "r"}}
	s, err := Server(&good, expand)
	if err != nil || s.URL != "url's" || s.Headers["A"] != "a's" || s.Client.ID != "id's" || s.Client.Secret != "secret's" || s.Client.Issuer != "i" {
		t.Errorf("Server = %+v, %v", s, err)
	}
	for key, change := range map[string]func(*config.Server){
		"url":                func(s *config.Server) { s.URL = "${MISSING}" },
		"headers.B":          func(s *config.Server) { s.Headers = map[string]string{"B": "${MISSING}"} },
		"oauth.clientId":     func(s *config.Server) { s.OAuth.ClientID = "${MISSING}" },
		"oauth.clientSecret": func(s *config.Server) { s.OAuth.ClientSecret = "${MISSING}" },
		"oauth.issuer":       func(s *config.Server) { s.OAuth.Issuer = "${MISSING}" },
		"oauth.resource":     func(s *config.Server) { s.OAuth.Resource = "${MISSING}" },
	} {
		bad := good
		change(&bad)
		if _, err := Server(&bad, expand); err == nil || !strings.HasPrefix(err.Error(), key) || strings.Contains(fmt.Sprint(err), "secret's") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// A config that says nothing about people has no sign-in. One that is wrong is refused.
func TestSignInsOfAConfig(t *testing.T) {
	if s, err := SignIn(config.SignIn{}); s != nil || err != nil {
		t.Errorf("SignIn = %v, %v", s, err)
	}
	if s, err := BrowserSignIn(config.SignIn{Issuer: "https://issuer"}, expand); s != nil || err != nil {
		t.Errorf("BrowserSignIn = %v, %v", s, err)
	}
	if s, err := ConsoleSignIn(config.HTTP{}, expand); s != nil || err != nil {
		t.Errorf("ConsoleSignIn = %v, %v", s, err)
	}
	issuer := config.SignIn{Issuer: "https://issuer", Resource: "https://b/mcp", ClientID: "c", ClientSecret: "${MISSING}"}
	_, err := BrowserSignIn(issuer, expand)
	says(t, "a secret that is missing", err, "http.signIn.clientSecret", "MISSING")
	console := &config.ConsoleSignIn{}
	_, err = ConsoleSignIn(config.HTTP{SignIn: issuer, Console: console}, expand)
	says(t, "its secret for the console", err, "http.signIn.clientSecret")
	_, err = ConsoleSignIn(config.HTTP{URL: "https://b/path", SignIn: issuer, Console: console}, expand)
	says(t, "a console with a path", err, "https://b/path/console", "without a path")
}
