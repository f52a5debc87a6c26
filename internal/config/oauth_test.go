package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOAuthOfAServer(t *testing.T) {
	cfg := parse(t, `{"mcpServers": {
	"a": {"url": "https://example.com/mcp", "oauth": {
		"clientId": "${ID}", "clientSecret": "${keyring:a}", "scopes": ["read", "write issues"],
		"callbackPort": 8123, "clientMetadataUrl": "https://example.com/client.json"}},
	"b": {"url": "https://example.com/mcp", "oauth": {"clientId": "x", "clientSecret": "plain", "scope": "read"}},
	"d": {"url": "https://example.com/mcp", "oauth": {"issuer": "https://id.example.com", "callbackHost": "localhost", "resource": "none"}},
	"c": {"url": "https://example.com/mcp", "headers": {"authorization": "Bearer ${T}"}, "oauth": {"scopes": "read write"}},
}}`)
	want := []OAuth{
		{ClientID: "${ID}", ClientSecret: "${keyring:a}", Scopes: []string{"read", "write", "issues"}, CallbackPort: 8123, ClientMetadataURL: "https://example.com/client.json"},
		{ClientID: "x", ClientSecret: "plain"},
		{Issuer: "https://id.example.com", CallbackHost: "localhost", Resource: "none"},
		{Scopes: []string{"read", "write"}},
	}
	for i, s := range cfg.Servers {
		if diff := cmp.Diff(want[i], s.OAuth); diff != "" {
			t.Errorf("oauth of %s (-want +got):\n%s", s.Name, diff)
		}
	}
	notes := strings.Join(cfg.Notes, "\n")
	for _, part := range []string{
		`"oauth.clientSecret" of server "b" is a secret in a file`,
		`unknown key "scope" in "oauth" of server "b" is ignored; did you mean "scopes"?`,
		`"oauth" of server "c" is not used, since "headers" have an Authorization`,
	} {
		if !strings.Contains(notes, part) {
			t.Errorf("notes have no %q:\n%s", part, notes)
		}
	}
}

func TestWrongOAuth(t *testing.T) {
	tests := map[string]string{
		`{"url": "https://x/", "oauth": {"callbackHost": "evil.example"}}`:        `"localhost"`,
		`{"url": "https://x/", "oauth": {"resource": " "}}`:                       "is empty",
		`{"url": "https://x/", "oauth": true}`:                                    "must be an object",
		`{"url": "https://x/", "oauth": {"clientId": ""}}`:                        "is empty",
		`{"url": "https://x/", "oauth": {"clientSecret": "${S}"}}`:                `without the "clientId"`,
		`{"url": "https://x/", "oauth": {"callbackPort": 70000}}`:                 "from 1 to 65535",
		`{"url": "https://x/", "oauth": {"clientMetadataUrl": "http://x/a"}}`:     "must be the address of a document",
		`{"url": "https://x/", "oauth": {"clientMetadataUrl": "https://x/"}}`:     "must be the address of a document",
		`{"url": "https://x/", "oauth": {"scopes": ["a\"b"]}}`:                    "is not a scope",
		`{"url": "https://x/", "oauth": {"clientId": "x", "clientSecret": "${"}}`: "never closed",
		`{"command": "x", "oauth": {}}`:                                           `only servers with a "url" are signed in to`,
	}
	for server, want := range tests {
		_, err := Parse("servers.json", []byte(`{"mcpServers": {"a": `+server+`}}`))
		report, ok := errors.AsType[*Report](err)
		if !ok || !strings.Contains(report.Error(), want) {
			t.Errorf("%s: %v, want %q", server, err, want)
		}
	}
}

func TestKeyringReferences(t *testing.T) {
	from := Sources{
		Env: func(string) (string, bool) { return "env", true },
		Keyring: func(name string) (string, error) {
			if name != "github token" {
				return "", errors.New("nothing is there: broker auth set-secret")
			}
			return "s3cret", nil
		},
	}
	if got, err := from.Expand("Bearer ${keyring:github token} ${X}"); got != "Bearer s3cret env" || err != nil {
		t.Errorf("Expand = %q, %v", got, err)
	}
	if got, err := from.Expand("${keyring:other}"); got != "" || err == nil || !strings.Contains(err.Error(), "${keyring:other}: nothing is there: broker auth set-secret") {
		t.Errorf("Expand = %q, %v", got, err)
	}
}
