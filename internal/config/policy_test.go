package config

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/policy"
)

// Profiles stand under "profiles" or in the policy, and both are profiles of both.
func TestProfilesAndPolicy(t *testing.T) {
	for _, text := range []string{
		`"profiles": {"ci": {"servers": ["wiki"], "readOnly": true, "rules": [{"effect": "deny", "tools": ["wiki.get_secret"]}]}}`,
		`"policy": {"profiles": {"ci": {"servers": ["wiki"], "readOnly": true, "rules": [{"effect": "deny", "tools": ["wiki.get_secret"]}]}}}`,
	} {
		cfg, err := Parse("servers.json", []byte(`{"mcpServers": {}, "broker": {`+text+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		p := cfg.Broker.Profiles["ci"]
		if len(cfg.Notes) > 0 || len(p.Servers) != 1 || p.Servers[0] != "wiki" || !p.ReadOnly || len(p.Allow) != 1 {
			t.Errorf("%s: %+v, %v", text, p, cfg.Notes)
		}
		if !cfg.Rules().HasProfile("ci") {
			t.Errorf("%s: the policy has no such profile", text)
		}
	}
	for text, want := range map[string]int{
		`"profiles": {"ci": {"servers": 5, "rules": [{"effect": "dney"}]}}`:           2,
		`"profiles": {"ci": {}}, "policy": {"preset": "opn", "profiles": {"ci": {}}}`: 2,
		`"profiles": {"ci": 5}`: 1,
	} {
		_, err := Parse("servers.json", []byte(`{"mcpServers": {}, "broker": {`+text+`}}`))
		if r, ok := err.(*Report); !ok || len(r.Mistakes) != want {
			t.Errorf("%s: %v, want %d mistakes", text, err, want)
		}
	}
	if policy.Default() == nil {
		t.Error("no default policy")
	}
}
