package config

import (
	"slices"
	"strings"
	"testing"
)

func TestIsolationOfLanguages(t *testing.T) {
	parse := func(sandbox string) *Config {
		t.Helper()
		c, err := Parse("servers.json", []byte(`{"mcpServers": {}, "broker": {"sandbox": `+sandbox+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tt := range []struct{ sandbox, typescript, javascript string }{
		{`{}`, "worker", "worker"},
		{`{"isolation": "auto"}`, "worker", "worker"},
		{`{"isolation": "container"}`, "container", "container"},
		{`{"isolation": "inprocess", "languages": {"javascript": "worker"}}`, "inprocess", "worker"},
		{`{"languages": {"typescript": "container", "python": "container"}}`, "container", "worker"},
		{`{"isolation": "container", "languages": {"typescript": "worker"}}`, "worker", "container"},
	} {
		s := parse(tt.sandbox).Broker.WithDefaults().Sandbox
		if ts, js, py := s.IsolationOf("typescript"), s.IsolationOf("javascript"), s.IsolationOf("python"); ts != tt.typescript || js != tt.javascript || py != "container" {
			t.Errorf("%s: typescript in %s, javascript in %s, python in %s; want %s, %s, container", tt.sandbox, ts, js, py, tt.typescript, tt.javascript)
		}
	}
	if got := parse(`{"require": ["memory", "seccomp"]}`).Broker.Sandbox.Require; !slices.Equal(got, []string{"memory", "seccomp"}) {
		t.Errorf("require %q", got)
	}
	notes := parse(`{"runner": "node"}`).Notes
	if len(notes) != 1 || !strings.Contains(notes[0], `servers.json:1:43: "runner" is for containers`) {
		t.Errorf("notes %q, want one about a runner that nothing uses", notes)
	}
	if notes := parse(`{"runner": "node", "perCall": true}`).Notes; len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
}
