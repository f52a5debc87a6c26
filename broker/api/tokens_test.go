package api

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/state"
)

// The console and the commands describe the tokens in a waiting call as the forms of a
// client do. The approved call still has the tokens.
func TestTokensOfWaitingCallsAreDescribed(t *testing.T) {
	v := vault.New("", nil, slog.New(slog.DiscardHandler))
	for _, c := range []struct{ text, want, not string }{
		{"password=drop/table/users", "(16 characters: drop/table/users)", ""},
		{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "(40 characters)", "abcdef"},
		{"write to ann@acme.example", "(16 characters)", "ann@"},
	} {
		args, err := json.Marshal(map[string]string{"a": c.text})
		if err != nil {
			t.Fatal(err)
		}
		call := state.RunCall{Ordinal: 1, Tool: "db__run", State: state.RunAsked, Args: json.RawMessage(v.Hide("ann", string(args), vault.Settings{Secrets: true, Personal: true}))}
		shown := RunCallOf(call, "ann", v, true)
		if text := string(shown.Args); !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) || !json.Valid(shown.Args) {
			t.Errorf("%s is shown as %s, want %s", c.text, text, c.want)
		}
		if shown.Digest != ShownDigest(call) {
			t.Errorf("%s: another call would be approved", c.text)
		}
		if other := RunCallOf(call, "bob", v, true); strings.Contains(string(other.Args), " characters") {
			t.Errorf("%s: the token of another client is described: %s", c.text, other.Args)
		}
	}
}
