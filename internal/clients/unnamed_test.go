package clients

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A variable that is added to the config after the broker was installed is missing from
// the entries of Codex, Gemini CLI and Cursor, until it is installed again. Clients that
// pass on all variables need no names.
func TestUnnamedVariables(t *testing.T) {
	for id, want := range map[string][]string{"codex": {"LATER", "MORE"}, "gemini": {"LATER", "MORE"}, "cursor": {"LATER", "MORE"}, "claude-code": nil} {
		t.Run(id, func(t *testing.T) {
			r, path := testRequest(t, id)
			r.Launch.Args = []string{"serve", "--config", r.Config}
			unnamed := func(want ...string) {
				t.Helper()
				got, err := Unnamed(r)
				if diff := cmp.Diff(strings.Join(want, " "), strings.Join(got, " ")); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			}
			writeFile(t, r.Config, `{"mcpServers": {"a": {"command": "a", "env": {"K": "${API_KEY}"}}}}`)
			unnamed() // not installed
			if _, err := Install(r); err != nil {
				t.Fatal(err)
			}
			unnamed()
			writeFile(t, r.Config, `{"mcpServers": {"a": {"command": "a", "args": ["${LATER}"], "env": {"K": "${API_KEY}", "M": "${MORE:-x}", "S": "${keyring:TOKEN}"}}}}`)
			unnamed(want...)
			other := r
			other.Config += ".other"
			writeFile(t, other.Config, `{"mcpServers": {"a": {"command": "a", "args": ["${LATER}"]}}}`)
			if got, err := Unnamed(other); len(got) > 0 || err != nil {
				t.Errorf("of a config that the client does not use: %v, %v", got, err)
			}
			if _, err := Install(r); err != nil {
				t.Fatal(err)
			}
			unnamed()
			if _, err := Uninstall(r); err != nil {
				t.Fatal(err)
			}
			unnamed()
			writeFile(t, path, "{[")
			_, _ = Unnamed(r) // it must not panic
		})
	}
}
