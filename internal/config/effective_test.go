package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values in force say where they are from, and nothing that is a credential.
func TestSettings(t *testing.T) {
	const file = `{
  "mcpServers": {
    "github": {"url": "https://me:hunter2@example.com/?key=hunter2", "headers": {"Authorization": "Bearer ${TOKEN:-hunter2}", "X-Key": "hunter2"}},
    "files": {"command": "npx", "args": ["--token", "hunter2", "${keyring:files}"], "env": {"KEY": "${KEY}"}, "callTimeout": "5s", "learn": null}
  },
  "broker": {
    "readOnly": true, // as it is
    "state": "postgres://me:hunter2@db/broker",
    "stateKey": "command://pass show hunter2",
    "policy": {"preset": "careful", "rules": [{"tools": ["github.*"], "effect": "ask"}]},
    "http": {"tokens": {"ann": "hunter2", "ci": {"value": "${CI}", "profile": "p"}}, "adminToken": "${ADMIN}"},
    "metrics": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
  }
}`
	list, err := Settings("dir/servers.json", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, s := range list {
		got[s.Key] = s.Value + " " + s.From
		if strings.Contains(s.Value, "hunter2") || strings.Contains(s.Value, "ghp_") {
			t.Errorf("a secret in %+v", s)
		}
	}
	want := map[string]string{
		"mcpServers.github.url":                   "(set) servers.json:3",
		"mcpServers.github.headers.Authorization": "${TOKEN} servers.json:3",
		"mcpServers.files.args":                   "${keyring:files} servers.json:4",
		"mcpServers.files.callTimeout":            "5s servers.json:4",
		"broker.readOnly":                         "true servers.json:7",
		"broker.stateKey":                         "(of a program) servers.json:9",
		"broker.policy.rules":                     `[{"tools":["github.*"],"effect":"ask"}] servers.json:10`,
		"broker.http.tokens.ann":                  "(set) servers.json:11",
		"broker.http.tokens.ci.value":             "${CI} servers.json:11",
		"broker.metrics":                          "[redacted] servers.json:12",
		"broker.mode":                             "code default",
		"broker.sandbox.memory":                   "256MiB default",
		"broker.audit.days":                       "30 default",
		"mcpServers.files.learn":                  "",
	}
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if _, err := Settings("servers.json", []byte(`{"mcpServers": 1}`)); err == nil {
		t.Error("a wrong file has settings")
	}
}
