package jsrun

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"

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

// The namespace of a server that the program only nearly names is suggested,
// although its module is not at hand.
func TestMisspeltNamespaceIsSuggested(t *testing.T) {
	o := Run(t.Context(), Program{Code: "await googleDrve.list()", ModuleNames: []string{"helpers/callMCPTool", "servers/google-drive"}}, &memHost{})
	if want := "did you mean googleDrive?"; o.ExitCode != 1 || !strings.Contains(o.Error, want) {
		t.Errorf("outcome %+v, want %q in it", o, want)
	}
}

// BenchmarkSetup is what a runtime costs before its program is known, beside
// the bare engine's.
func BenchmarkSetup(b *testing.B) {
	b.Run("jsrun", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if NewSpare() == nil {
				b.Fatal("no spare")
			}
		}
	})
	b.Run("goja", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			goja.New()
		}
	})
}
