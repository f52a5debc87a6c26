package host

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// A client with another PATH than the daemon's has a tenant of its own if the PATH matters.
func TestTenantsOfClientsWithAnotherPath(t *testing.T) {
	own := os.Getenv("PATH")
	for name, c := range map[string]struct {
		config, path string
		apart        bool
	}{
		"scripts on the host":         {`{"mcpServers": {}, "broker": {"skills": {"scripts": "host"}}}`, "/opt/other" + string(os.PathListSeparator) + own, true},
		"a server with a command":     {`{"mcpServers": {"s": {"command": "x"}}}`, "/opt/other" + string(os.PathListSeparator) + own, true},
		"the same folders":            {`{"mcpServers": {}, "broker": {"skills": {"scripts": "host"}}}`, own + string(os.PathListSeparator), false},
		"scripts in the sandbox":      {`{"mcpServers": {}, "broker": {"skills": {"scripts": "sandbox"}}}`, "/opt/other", false},
		"no scripts, a remote server": {`{"mcpServers": {"s": {"url": "https://example.com/mcp"}}}`, "/opt/other", false},
	} {
		cfg, err := config.Parse("servers.json", []byte(c.config))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h := &tenantHost{app: &app.App{State: &app.State{Dir: t.TempDir()}}, variables: NewVariables(os.LookupEnv), current: func() *config.Config { return cfg }}
		at := h.locate(daemon.Hello{Env: map[string]string{"PATH": c.path}})
		if got := h.key(&at) != ""; got != c.apart {
			t.Errorf("%s: a tenant of its own: %v, want %v", name, got, c.apart)
		}
	}
}
