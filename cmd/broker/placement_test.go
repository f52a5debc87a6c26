package main

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

func TestPlacesLackWhatTheyNeverHave(t *testing.T) {
	for _, tt := range []struct {
		require, runner string
		at              sandbox.Place
		lacks           bool
	}{
		// Whether memory is limited in containers depends on the engine, and
		// shows when one starts.
		{"memory", "goja", sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InWorker}, false},
		{"memory", "goja", sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InContainer}, false},
		{"memory", "node", sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InContainer}, false},
		{"memory", "goja", sandbox.Place{Language: sandbox.Python, Isolation: sandbox.InContainer}, false},
		{"container", "goja", sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InWorker}, true},
		{"container", "goja", sandbox.Place{Language: sandbox.Python, Isolation: sandbox.InContainer}, false},
		{"landlock", "goja", sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InContainer}, false},
		{"landlock", "node", sandbox.Place{Language: sandbox.TypeScript, Isolation: sandbox.InContainer}, true},
		{"landlock", "goja", sandbox.Place{Language: sandbox.Python, Isolation: sandbox.InContainer}, true},
	} {
		p := &placement{set: config.Sandbox{Require: []string{tt.require}, Runner: tt.runner}}
		if err := p.lacks(tt.at); (err != nil) != tt.lacks || err != nil && !strings.Contains(err.Error(), tt.require) {
			t.Errorf("require %s, runner %s, %v: %v", tt.require, tt.runner, tt.at, err)
		}
	}
}

// Who changes what is read once is told that it is not in force.
func TestWhatAReloadDoesNotChangeIsSaid(t *testing.T) {
	started := config.Broker{HTTP: config.HTTP{Tokens: map[string]string{"ann": "${ANN}"}, AdminToken: "${ADMIN}"}}
	if got := notInForce(started, started); got != "" {
		t.Errorf("nothing has changed: %q", got)
	}
	now := config.Broker{Sandbox: config.Sandbox{Runner: "node"}}
	if got, want := notInForce(started, now), ", but for sandbox.runner, http.tokens, http.adminToken: start the broker again for them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
