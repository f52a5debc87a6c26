package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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
		text, err := json.Marshal(map[string]any{"broker": c.broker, "mcpServers": map[string]any{}})
		if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		before := children(t)
		o := OpenOptions{Setup: testSetup(file, state), HTTPAddr: c.http, Spares: 1}
		o.LookupEnv = func(name string) (string, bool) { return c.env, name == "OTEL_EXPORTER_OTLP_ENDPOINT" }
		s, err := Open(t.Context(), o)
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
