package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

// A client that has sent fifty scripts, none of which ends, does not keep a small
// one of another client waiting: who bears another token is another client, and
// without tokens who has another session is.
func TestFiftyScriptsOfOneClientDoNotKeepOutAnother(t *testing.T) {
	for name, tokens := range map[string]map[string]string{
		"tokens":   {"ann": "secret-a", "bob": "secret-b"},
		"sessions": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var running, asked atomic.Int32
			b := newBroker(t, broker.Deps{Runner: sandbox.NewQueue(sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
				if e.Request.Code == "return 1" {
					return json.RawMessage("1"), nil
				}
				running.Add(1)
				<-ctx.Done()
				return nil, ctx.Err()
			}), 2)}, broker.Settings{Servers: []upstream.Config{}})
			url := serveHTTP(t, b, tokens).URL
			as := func(token string) map[string]string {
				h := map[string]string{}
				if tokens != nil {
					h["Authorization"] = "Bearer " + token
				}
				_, h["Mcp-Session-Id"], _ = post(t, t.Context(), url, initialize, h)
				return h
			}
			ann, bob := as("secret-a"), as("secret-b")
			script := func(ctx context.Context, code string, headers map[string]string) string {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":%q,"timeout":60}}}`, asked.Add(1), code)
				_, _, answer := post(t, ctx, url, body, headers)
				return answer
			}
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() { script(ctx, "long", ann) })
			}
			eventually(t, "all places are taken", func() bool { return running.Load() == 2 })
			soon, end := context.WithTimeout(t.Context(), 30*time.Second)
			defer end()
			for range 3 {
				if answer := script(soon, "return 1", bob); !strings.Contains(answer, `\"result\":1`) {
					t.Errorf("the other client's script: %s", answer)
				}
			}
			cancel()
			all.Wait()
		})
	}
}
