package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// bearing sends a token with each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// People sign in at an authorization server, find it by the metadata of the
// endpoint, get the profile of their group, and have values of their own.
func TestPeopleSignIn(t *testing.T) {
	t.Setenv("BOT_TOKEN", "bot-secret")
	issuer := fakeauth.NewIssuer(t)
	const resource = "https://broker.example.com/mcp"
	config := filepath.Join(t.TempDir(), "servers.json")
	text := fmt.Sprintf(`{
		"mcpServers": {
			"good": {"command": %[1]q, "args": %[2]s},
			"other": {"command": %[1]q, "args": %[2]s}
		},
		"broker": {
			"profiles": {"work": {"servers": ["good"]}, "ci": {"servers": ["other"]}},
			"http": {
				"tokens": {"bot": "${BOT_TOKEN}"},
				"signIn": {"issuer": %[3]q, "resource": %[4]q, "scopes": ["mcp"], "profileClaim": "groups", "profiles": {"platform": "work", "build": "ci"}}
			}
		}
	}`, fakeupstream.Command(), mustJSON(fakeupstream.Args(fakeupstream.Good)), issuer.URL, resource)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url := serveHTTP(t, config)
	base := strings.TrimSuffix(url, "/mcp")

	get := func(address, token string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	const metadata = "https://broker.example.com/.well-known/oauth-protected-resource/mcp"
	if resp := get(url, ""); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(resp.Header.Get("WWW-Authenticate"), `resource_metadata="`+metadata+`"`) {
		t.Errorf("without a token: %d %q", resp.StatusCode, resp.Header)
	}
	resp, err := http.Get(base + "/.well-known/oauth-protected-resource/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var m struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil || m.Resource != resource || len(m.Servers) != 1 || m.Servers[0] != issuer.URL {
		t.Errorf("metadata: %+v, %v", m, err)
	}

	person := func(name string, groups ...string) string {
		return issuer.Token(t, resource, name, map[string]any{"scope": "mcp", "groups": groups})
	}
	for what, c := range map[string]struct {
		address, token string
		status         int
		says           string
	}{
		"for somebody else":              {url, issuer.Token(t, "https://x.example", "ann", nil), 401, "not one that"},
		"without the scope":              {url, issuer.Token(t, resource, "ann", map[string]any{"groups": "platform"}), 403, "insufficient scope"},
		"of nobody's group":              {url, person("ann", "golf"), 403, "no profile here is for you"},
		"of two groups, without a name":  {url, person("ann", "platform", "build"), 403, "/mcp/NAME with one of ci, work"},
		"the profile of another group":   {url + "/ci", person("ann", "platform"), 404, "endpoint"},
		"named as clients without names": {url, person("http", "platform"), 401, "cannot be the name"},
		"with a name that is no text":    {url, person("a\x00b", "platform"), 401, "cannot be the name"},
		"named as a token of the config": {url, person("bot", "platform"), 401, "name of a token"},
	} {
		resp := get(c.address, c.token)
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %d %s", what, resp.StatusCode, body)
		}
	}
	for _, token := range []string{"", person("ann", "platform")} {
		if status, text := request(t, "GET", base+"/api/skills", token, ""); status != http.StatusUnauthorized {
			t.Errorf("/api with the token %q: %d %s", token, status, text)
		}
	}

	if got := runAs(t, url, person("ann", "platform"), `await store.set("mine", 7); return [typeof good, typeof other]`); !strings.Contains(got, `["object","undefined"]`) {
		t.Errorf("ann sees %s", got)
	}
	if got := runAs(t, url+"/ci", person("bob", "build", "platform"), `return [await store.get("mine") ?? null, typeof good, typeof other]`); !strings.Contains(got, `[null,"undefined","object"]`) {
		t.Errorf("bob sees %s", got)
	}
	if got := runAs(t, url, person("ann", "platform"), `return await store.get("mine")`); !strings.Contains(got, `7`) {
		t.Errorf("ann has %s of her own", got)
	}
}

// runAs runs a script at the endpoint address for the owner of token, and returns the
// answer.
func runAs(t *testing.T, address, token, code string) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearing(token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code, "language": "javascript"}})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}
