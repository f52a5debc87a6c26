package jsrun

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A runtime that waited for its program behaves like a new one: its clock
// starts with the program, and nothing of another program is in it.
func TestSpareRunsLikeANewRuntime(t *testing.T) {
	for _, s := range []*Spare{NewSpare(), NewSpare(), nil} {
		host := &memHost{}
		started := time.Now()
		o := s.Run(t.Context(), Program{Language: sandbox.JavaScript, Code: `
			const seen = typeof globalThis.mark;
			globalThis.mark = 1;
			console.log('hello');
			return { seen, origin: performance.timeOrigin };
		`}, host)
		var got struct {
			Seen   string
			Origin float64 // milliseconds since 1970
		}
		if err := json.Unmarshal(o.Value, &got); err != nil || o.ExitCode != 0 || host.stdout.String() != "hello\n" {
			t.Fatalf("outcome %+v, printed %q", o, host.stdout.String())
		}
		if got.Seen != "undefined" || got.Origin < float64(started.UnixMilli()) {
			t.Errorf("the program sees %+v, want nothing of another's and a clock that began with it", got)
		}
	}
}
