package files

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestPinsSuite(t *testing.T) {
	statetest.Pins{
		New:  func(t testing.TB) string { return t.TempDir() },
		Open: func(_ testing.TB, at string) state.Pins { return OpenPins(at) },
	}.Run(t)
}

// What cannot be read is not taken for a server without pins.
func TestDamagedPinsAreAnError(t *testing.T) {
	p := OpenPins(t.TempDir())
	for _, text := range []string{"", "{", `{"version":9}`} {
		if err := os.WriteFile(p.path("s"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := p.Pins(t.Context(), "s"); err == nil {
			t.Errorf("%q: %v", text, m)
		}
		if err := p.ChangePins(t.Context(), "s", func(map[state.PinName]state.Pin) error { return nil }); err == nil {
			t.Errorf("%q: changed", text)
		}
	}
}
