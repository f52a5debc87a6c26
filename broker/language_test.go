package broker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// Python is shown to clients only where it runs; elsewhere who asks for it is
// told what to do.
func TestPythonIsAdvertisedOnlyWhereItRuns(t *testing.T) {
	for _, runs := range []bool{false, true} {
		o := options{Deps: broker.Deps{Runner: inproc.New(), UnavailableLanguages: map[sandbox.Language]string{sandbox.Python: "its image is missing, run: build it"}}}
		if runs {
			o.Languages = []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript, sandbox.Python}
		}
		b, err := broker.New(o.Deps, o.Settings)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		text, err := json.Marshal(b.Surface())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "python"); got != runs {
			t.Errorf("python runs: %v, and is shown: %v", runs, got)
		}
		if !runs {
			a := b.Execute(t.Context(), broker.ExecuteRequest{Code: "1", Language: "PY"})
			if a.ExitCode != sandbox.ExitRefused || !strings.Contains(a.Stderr, "python does not run here: its image is missing, run: build it; or use typescript or javascript") {
				t.Errorf("refused with code %d: %s", a.ExitCode, a.Stderr)
			}
		}
	}
}
