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
