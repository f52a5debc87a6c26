package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// Names of servers have no character that nobody sees.
func TestNamesOfServersAreSeen(t *testing.T) {
	for name, ok := range map[string]bool{
		"a__b": true, "a.b/c:d": true, "my server": true, "été": true, "日本": true,
		"a\x1fb": false, "a\nb": false, "a\tb": false, "\x1b[31mred": false, "a\u202eb": false, "a\u200bb": false,
	} {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = config.Parse("servers.json", []byte(`{"mcpServers": {`+string(key)+`: {"command": "x"}}}`))
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "characters that are not shown") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
