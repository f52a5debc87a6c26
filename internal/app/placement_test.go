package app

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
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
		p := &Placement{Settings: config.Sandbox{Require: []string{tt.require}, Runner: tt.runner}}
		if err := p.lacks(tt.at); (err != nil) != tt.lacks || err != nil && !strings.Contains(err.Error(), tt.require) {
			t.Errorf("require %s, runner %s, %v: %v", tt.require, tt.runner, tt.at, err)
		}
	}
}

// startEngine starts an engine that has no images, and has the broker find it.
func startEngine(t *testing.T) {
	t.Helper()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		if !strings.HasSuffix(r.URL.Path, "/_ping") {
			http.Error(w, `{"message": "no such image"}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(engine.Close)
	t.Setenv("DOCKER_HOST", "tcp://"+engine.Listener.Addr().String())
}

// What containers cannot run is shown to nobody, and refused with what to do.
func TestContainersThatCannotRunTheBinaryAreNotOffered(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a binary for Linux that needs a dynamic linker")
	}
	startEngine(t)
	set := config.Sandbox{Runner: "goja", PerCall: true, Languages: map[string]string{"javascript": "container"}}
	p := NewPlacement(set, "/bin/sh")
	runs, reasons := p.Languages()
	if got := p.Isolations(); got != nil || slices.Contains(runs, sandbox.JavaScript) {
		t.Errorf("offered are isolations %q, and %q run", got, runs)
	}
	if got := reasons[sandbox.JavaScript]; !strings.Contains(got, "CGO_ENABLED=0 go install ./cmd/broker ./cmd/broker-worker") {
		t.Errorf("JavaScript does not run because %q, want what to do", got)
	}
	// Node has no need of the binary in its containers.
	set.Runner = "node"
	_, reasons = NewPlacement(set, "/bin/sh").Languages()
	if got := reasons[sandbox.JavaScript]; !strings.Contains(got, "broker sandbox build node") {
		t.Errorf("in Node, JavaScript does not run because %q, want what to do", got)
	}
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	set.Runner = "goja"
	_, reasons = NewPlacement(set, "/bin/sh").Languages()
	if got := reasons[sandbox.JavaScript]; !strings.Contains(got, "none answers") {
		t.Errorf("without an engine, JavaScript does not run because %q", got)
	}
}
