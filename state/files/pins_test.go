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

// The first form was never released, and knew nothing but tools.
func TestPinsOfTheFirstFormAreWrittenAnew(t *testing.T) {
	p := OpenPins(t.TempDir())
	if err := os.WriteFile(p.path("s"), []byte(`{"version":1,"tools":{"a":{"tool":"a","state":"approved"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := p.Pins(t.Context(), "s"); m != nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
	name := state.PinName{Kind: state.PinTool, Name: "a"}
	if err := p.ChangePins(t.Context(), "s", func(m map[state.PinName]state.Pin) error { m[name] = state.Pin{Digest: "d"}; return nil }); err != nil {
		t.Fatal(err)
	}
	if m, err := p.Pins(t.Context(), "s"); m[name].Digest != "d" || err != nil {
		t.Errorf("%v, %v", m, err)
	}
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
