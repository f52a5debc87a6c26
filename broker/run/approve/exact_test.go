package approve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
)

// A person sees each character of the arguments, and its alphabet if that is ambiguous.
func TestArgumentsAreShownExactly(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"a:\n  b:\n      c", `a:\n  b:\n      c`},
		{"rm  -rf   /", "rm  -rf   /"},
		{"ok" + strings.Repeat(" ", 400) + "and all others", "ok⟨400 blanks⟩and all others"},
		{"drop t\u0430ble", `drop t\\u0430ble`},
		{"p\u0430yp\u0430l.example", `p\\u0430yp\\u0430l.example`},
		{"https://g\u03bfogle.example/\u043fривет", `https://g\\u03bfogle.example/привет`},
		{"\u0410dmin1", `\\u0410dmin1`},
		{"привет, мир", "привет, мир"}, {"Ελλάδα and α", "Ελλάδα and α"}, {"naïve Straße", "naïve Straße"}, {"日本語text", "日本語text"},
		{"line\nпривет", `line\nпривет`}, {"tab\tмир", `tab\tмир`},
		{"x\u200by", `x\\u200by`}, {`C:\new`, `C:\\new`},
	} {
		args, err := json.Marshal(map[string]string{"a": c.value})
		if err != nil {
			t.Fatal(err)
		}
		p := Asked(state.RunCall{Ordinal: 1, Tool: "t__x", Args: args})
		if want := `{"a":"` + c.want + `"}`; !strings.HasSuffix(p.String(), want) || !json.Valid(p.Args) {
			t.Errorf("%q is shown as %s, want %s", c.value, p, want)
		}
		x := new(Asker)
		if _, shown := x.shown(state.RunCall{Ordinal: 1, Tool: "t__x", Args: args}); !strings.Contains(shown, c.want) {
			t.Errorf("%q is in a question as %s", c.value, shown)
		}
	}
}
