package upstream

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// TestCallsAllocateLittle holds that the SDK's decoder, which allocates 64 KiB for each
// result, does not see the results of calls.
func TestCallsAllocateLittle(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Good))
	p.Refresh(t.Context())
	for _, args := range []string{`{"message":"hello"}`, `{"message":""}`, `{"message":"a \"quoted\" text"}`} {
		call := func() {
			raw, err := p.Call(t.Context(), "s", "echo", json.RawMessage(args), nil)
			if err != nil || !json.Valid(raw) {
				t.Fatal(string(raw), err)
			}
		}
		call()
		const calls = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			call()
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > 32<<10 {
			t.Errorf("%s: %d bytes for each call", args, each)
		}
	}
}
