package cache

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestUnreadableCacheIsIgnored(t *testing.T) {
	k := Key{Server: "s", ID: "1"}
	good := Entry{Listing: discovery.Listing{Server: "s", Tools: []discovery.ListedTool{}}}
	for name, content := range map[string]string{
		"empty": "", "cut": `{"version":1,"listing":{"ser`, "garbage": "\x00\xff", "other version": `{"version":999,"listing":{"server":"s"}}`,
		"other server": `{"version":1,"listing":{"server":"t"}}`, "other shape": `[1]`,
	} {
		t.Run(name, func(t *testing.T) {
			c := Dir(t.TempDir())
			if err := os.WriteFile(c.path(k), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, ok := c.Load(k); ok {
				t.Fatal("loaded")
			}
			if err := c.Store(k, good.Encode()); err != nil {
				t.Fatal(err)
			}
			if _, ok := c.Load(k); !ok {
				t.Error("not replaced by the next save")
			}
		})
	}
}
