package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// A broker that fails to open leaves nothing open, whichever step fails.
func TestFailedOpenLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		broker map[string]any
		env    string
		http   string
		says   string
	}{
		"telemetry":                {broker: map[string]any{}, env: "nowhere", says: "OpenTelemetry endpoint"},
		"telemetry of the config":  {broker: map[string]any{"telemetry": map[string]any{"endpoint": "ftp://x"}}, says: "endpoint"},
		"sign-in without a secret": {broker: map[string]any{"http": map[string]any{"signIn": map[string]any{"issuer": "https://id.example", "resource": "https://b.example", "clientId": "b", "clientSecret": "${NOT_SET_ANYWHERE}"}}}, http: "127.0.0.1:0", says: "NOT_SET_ANYWHERE"},
	} {
		dir := t.TempDir()
		file, state := filepath.Join(dir, "servers.json"), filepath.Join(dir, "state")
		writeConfig(t, file, map[string]any{"broker": c.broker, "mcpServers": map[string]any{}})
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.env)
		before := children(t)
		a := &app{IO: cli.IO{Out: io.Discard, Err: io.Discard}, configPath: file, stateDir: state, httpAddr: c.http}
		s, err := a.open(1)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, state) {
				t.Errorf("%s: %s is open still", name, to)
			}
		}
		if after := children(t); after > before {
			t.Errorf("%s: %d processes are left, before there were %d", name, after, before)
		}
	}
}

// children returns the number of child processes of this process.
func children(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}
