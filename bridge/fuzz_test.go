package bridge_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
)

// What a script gets of any answer is JSON, or an error that says why not.
func FuzzValue(f *testing.F) {
	for _, raw := range []string{
		`{"structuredContent":{"b":1,"a":9007199254740993}}`,
		`{"content":[{"type":"text","text":" [1, 2] "}]}`,
		`{"content":[{"type":"image","mimeType":"image/png","data":"aGVsbG8="},{"type":"new","x":[null]}]}`,
		`{"structuredContent":{"a":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"},{"blob":"aGVsbA==","mimeType":"a/b","uri":"x:y"}]}}`,
		`{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"x":1}}`,
		`{"content":[null,1,"x",{}]}`, `{"content":{}}`, `[]`, `null`, `"\ud800"`,
		`{"structuredContent":{"result":1e999},"content":[{"type":"text","text":"{\"result\":"}]}`,
	} {
		f.Add(raw, "shop__open")
		f.Add(raw, "shop__wrapped")
	}
	f.Fuzz(func(t *testing.T, raw, id string) {
		if !json.Valid([]byte(raw)) {
			return // such an answer does not get through the transport
		}
		tool, ok := catalog.Tool(id)
		if !ok {
			return
		}
		kept := 0
		value, err := bridge.Value(tool, json.RawMessage(raw), func(_ string, data []byte) string { kept += len(data); return "r" })
		var refused *bridge.Error
		switch {
		case err == nil && !json.Valid(value):
			t.Errorf("%q gives %q, which is not JSON", raw, value)
		case err != nil && (!errors.As(err, &refused) || refused.Message == ""):
			t.Errorf("%q gives the error %v without words", raw, err)
		case kept > len(raw):
			t.Errorf("%q: %d bytes are kept of %d", raw, kept, len(raw))
		}
	})
}
