package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// The name of a server may contain anything but the character that joins it to a tool.
func TestNamesOfServers(t *testing.T) {
	for name, ok := range map[string]bool{
		"a__b": true, "a.b/c:d": true, "my server": true, "été": true, "日本": true,
		"a\x1fb": false, "\x1f": false, "a\x1f": false, "a\nb": true, "a\tb": true, "\x1b[31mred": true, "a\u202eb": true,
	} {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = config.Parse("servers.json", []byte(`{"mcpServers": {`+string(key)+`: {"command": "x"}}}`))
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "U+001F") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
