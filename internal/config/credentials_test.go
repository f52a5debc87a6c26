package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	cfg := parse(t, `{"mcpServers": {
	"a": {"url": "https://x/", "credentials": "user"},
	"b": {"command": "x", "env": {"B": "${person:two} ${person:one}", "A": "${person:one}"}, "credentials": "user"},
	"c": {"url": "https://x/", "credentials": "exchange", "oauth": {"clientId": "x", "clientSecret": "${S}", "tokenEndpoint": "https://id/token", "audience": "c"}},
	"d": {"url": "https://x/", "headers": {"Authorization": "Bearer ${person:key}"}, "credentials": "user"}}}`)
	for i, want := range []string{"user ", "user one two", "exchange ", "user key"} {
		s := cfg.Servers[i]
		if got := s.Credentials + " " + strings.Join(s.PersonalSecrets(), " "); got != want {
			t.Errorf("server %s has %q, want %q", s.Name, got, want)
		}
	}
	if o := cfg.Servers[2].OAuth; o.TokenEndpoint != "https://id/token" || o.Audience != "c" {
		t.Errorf("the exchange is %+v", o)
	}
	if _, withheld := cfg.Servers[1].Restricted(nil); !slices.Equal(withheld, []string{"person:one", "person:two"}) {
		t.Errorf("withheld = %q", withheld)
	}
	from := Sources{Env: func(string) (string, bool) { return "", false }}
	if _, err := from.Expand("${person:x}"); err == nil {
		t.Error("a secret of nobody was found")
	}
	from.Person = func(name string) (string, error) { return "secret " + name, nil }
	if got, err := from.Expand("a ${person:x}"); got != "a secret x" || err != nil {
		t.Errorf("Expand = %q, %v", got, err)
	}
}

func TestWrongCredentials(t *testing.T) {
	for server, want := range map[string]string{
		`{"url": "https://x/", "credentials": "users"}`:                                                       `servers.json:1:59: unknown credentials "users"; did you mean "user"?`,
		`{"url": "https://x/", "headers": {"X": "${person:a}"}}`:                                              `so it needs "credentials": "user"`,
		`{"url": "https://x/${person:a}", "credentials": "user"}`:                                             `can only be in "env" and "headers"`,
		`{"url": "https://x/", "headers": {"X": "${person:}"}, "credentials": "user"}`:                        "no valid name",
		`{"command": "x", "credentials": "user"}`:                                                             `servers.json:1:39: server "a" has "credentials": "user", so its "env" must say`,
		`{"command": "x", "credentials": "exchange"}`:                                                         `only servers with a "url" get exchanged tokens`,
		`{"url": "https://x/", "credentials": "exchange"}`:                                                    `needs a "tokenEndpoint" and a "clientId"`,
		`{"url": "https://x/", "oauth": {"clientId": "x", "audience": "a"}}`:                                  `are for "credentials": "exchange"`,
		`{"url": "https://x/", "credentials": "user", "oauth": {"clientId": "x", "clientSecret": "${S}"}}`:    `needs the "issuer"`,
		`{"url": "https://x/", "credentials": "user", "headers": {"authorization": "Bearer ${T}"}}`:           "all people would share",
		`{"url": "https://x/", "credentials": "user", "oauth": {"tokenEndpoint": "http://id.example/token"}}`: "must be an address of https",
	} {
		_, err := Parse("servers.json", []byte(`{"mcpServers": {"a": `+server+`}}`))
		report, ok := errors.AsType[*Report](err)
		if !ok || !strings.Contains(report.Error(), want) {
			t.Errorf("%s: %v, want %q", server, err, want)
		}
	}
}
