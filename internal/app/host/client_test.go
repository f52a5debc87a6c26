package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

func TestSettingsThatAClientDoesNotShare(t *testing.T) {
	s := Settings{Flags: map[string]string{"config": "/c", "mode": "", "skills": "", "read-only": ""}, Env: map[string]string{"TOKEN_A": "one"}}
	hello := func(flags, env map[string]string) daemon.Hello { return daemon.Hello{Settings: flags, Env: env} }
	for _, c := range []struct {
		hello daemon.Hello
		want  string
	}{
		{hello(map[string]string{"config": "/c"}, map[string]string{"TOKEN_A": "one"}), ""},
		{hello(map[string]string{"config": "/other"}, map[string]string{"TOKEN_A": "one"}), "another config"},
		{hello(map[string]string{"config": "/c", "mode": "tools"}, map[string]string{"TOKEN_A": "one"}), "another mode"},
		{hello(map[string]string{"config": "/c", "read-only": "true"}, map[string]string{"TOKEN_A": "one"}), "another read-only"},
	} {
		got := s.differ(c.hello)
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "secret") {
			t.Errorf("differ(%+v) = %q, want %q", c.hello, got, c.want)
		}
	}
}

// A daemon that something else than a client has started gets the variables that
// the config names from the first client that has them.
func TestDaemonAdoptsVariables(t *testing.T) {
	for _, name := range []string{"ADOPTED_A", "ADOPTED_B"} {
		t.Setenv(name, "") // so that it is restored
		os.Unsetenv(name)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"x": {"command": "x", "env": {"A": "${ADOPTED_A}", "B": "${ADOPTED_B}"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{"config": path}
	adopted := 0
	v := NewVariables(os.LookupEnv)
	h := &tenantHost{variables: v, settings: Settings{Flags: flags, Env: map[string]string{}}, adopted: func() { adopted++ }}
	hello := func(config string, env map[string]string) daemon.Hello {
		return daemon.Hello{Settings: map[string]string{"config": config}, Env: env}
	}
	for _, c := range []struct {
		hello daemon.Hello
		want  string
	}{
		{hello("/other", map[string]string{"ADOPTED_A": "theirs"}), "the daemon runs with another config"},
		{hello(path, map[string]string{"ADOPTED_A": "one"}), ""},
		{hello(path, map[string]string{"ADOPTED_A": "one", "ADOPTED_B": "two"}), ""},
		{hello(path, map[string]string{"ADOPTED_A": "three"}), ""}, // it is served apart
	} {
		if got := h.Accepts(c.hello); got != c.want {
			t.Errorf("Accepts(%+v) = %q, want %q", c.hello, got, c.want)
		}
		h.adopting.Wait()
	}
	one, _ := v.Lookup("ADOPTED_A")
	two, _ := v.Lookup("ADOPTED_B")
	if adopted != 2 || one != "one" || two != "two" {
		t.Errorf("adopted %d times: %q, %q", adopted, one, two)
	}
	if text, err := v.sources(config.Sources{}).Expand("${ADOPTED_A} ${ADOPTED_B}"); err != nil || text != "one two" {
		t.Errorf("servers get %q, %v", text, err)
	}
	// The variables of the process, which all its children inherit, are unchanged.
	for _, name := range []string{"ADOPTED_A", "ADOPTED_B"} {
		if value, ok := os.LookupEnv(name); ok {
			t.Errorf("%s of the process is %q", name, value)
		}
	}
}

func TestDaemonGetsOnlyNamedVariables(t *testing.T) {
	t.Setenv("MY_TOKEN", "x")
	t.Setenv("OTHER_TOKEN", "y")
	c := &Client{}
	c.Environ = os.Environ
	env := c.environ(map[string]string{"MY_TOKEN": "x"})
	if !slices.Contains(env, "MY_TOKEN=x") || slices.Contains(env, "OTHER_TOKEN=y") {
		t.Errorf("the daemon's environment: %q", env)
	}
	names := config.Variables([]byte(`{"a": "${A}/${env:B}", "c": "${C:-x}", "k": "${keyring:D}", "e": "$${E} $F"}`))
	if want := []string{"A", "B", "C", "E"}; !slices.Equal(names, want) {
		t.Errorf("variables %q, want %q", names, want)
	}
}

func TestWhoSharesADaemon(t *testing.T) {
	confined := confinement()
	for _, c := range []struct {
		env  map[string]string
		want bool
		why  string
	}{
		{nil, confined == "", confined},
		{map[string]string{"CI": "false"}, confined == "", confined},
		{map[string]string{"CI": "true"}, false, ""},
		{map[string]string{"CI": "true", "BROKER_DAEMON": "on"}, true, ""},
		{map[string]string{"BROKER_DAEMON": "off"}, false, ""},
		{map[string]string{"BROKER_DAEMON": "yes"}, false, `BROKER_DAEMON is neither "on" nor "off"`},
		{map[string]string{"BROKER_DAEMON": "on", "CODEX_SANDBOX": "seatbelt"}, false, "this process is in a sandbox: CODEX_SANDBOX is set"},
	} {
		if got, why := SharesDaemon(func(name string) string { return c.env[name] }); got != c.want || why != c.why {
			t.Errorf("SharesDaemon with %v = %v, %q", c.env, got, why)
		}
	}
}
