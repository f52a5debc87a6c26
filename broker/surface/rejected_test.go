package surface

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// The answer to a request that cannot be read has its id, if the id can be read.
func TestRequestsThatCannotBeReadAreAnswered(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, c := range map[string]struct{ line, want string }{
		"deep":               {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":` + deep + `}}`, `7`},
		"id behind its text": {`{"method":"ping","params":{"a":` + deep + `},"jsonrpc":"2.0","id":"a-1"}`, `"a-1"`},
		"too long":           {`{"jsonrpc":"2.0","id":"long","method":"ping","params":{"a":"` + strings.Repeat("x", maxLineBytes) + `"}}`, `"long"`},
		"not JSON":           {`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping","params":{"a":NaN}}`, `12345678901234567890`},
		"an answer":          {`{"jsonrpc":"2.0","id":7,"result":{"a":` + deep + `}}`, `null`},
		"a notification":     {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"a":` + deep + `}}`, `null`},
		"an odd id":          {`{"jsonrpc":"2.0","id":{"a":1},"method":"ping","params":{"a":` + deep + `}}`, `null`},
		"a long id":          {`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 5000) + `","method":"ping","params":{"a":` + deep + `}}`, `null`},
		"no message":         {"nonsense", `null`},
	} {
		s := New(Options{Mode: ModeCode}, slog.New(slog.DiscardHandler))
		var out bytes.Buffer
		_ = ServeLines(context.Background(), s.Server("test"), Peer{}, strings.NewReader(c.line+"\n"), &out) // ends with its input
		var m struct {
			ID    json.RawMessage
			Error *struct{ Message string }
		}
		if err := json.Unmarshal(out.Bytes(), &m); err != nil || m.Error == nil || string(m.ID) != c.want {
			t.Errorf("%s: %.300s, want the id %s", name, out.Bytes(), c.want)
		}
	}
}
