package app

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A changed setting that is read only once is reported as not in force.
func TestWhatAReloadDoesNotChangeIsSaid(t *testing.T) {
	started := config.Broker{HTTP: config.HTTP{Tokens: map[string]config.Token{"ann": {Value: "${ANN}"}}, AdminToken: "${ADMIN}"}}
	if got := notInForce(started, started); got != "" {
		t.Errorf("nothing has changed: %q", got)
	}
	now := config.Broker{Sandbox: config.Sandbox{Runner: "node"}}
	if got, want := notInForce(started, now), ", but for sandbox.runner, http.tokens, http.adminToken: start the broker again for them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
