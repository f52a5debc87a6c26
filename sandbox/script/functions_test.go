package script

import "testing"

// Every row can be read by every runtime, and shows how it is used.
func TestFunctionsAreWhole(t *testing.T) {
	ways := map[Takes]bool{TakesTool: true, TakesText: true, TakesKey: true, TakesTexts: true, TakesNothing: true}
	for _, f := range Functions {
		name := f.Name
		if f.Object != "" {
			name = f.Object + "." + f.Name
		}
		if !ways[f.Takes] || f.Call == "" || len(f.Example) <= len(name) || f.Example[:len(name)] != name {
			t.Errorf("%+v: no way to read it, or an example of something else", f)
		}
		if f.Object != "" && f.Call != name {
			t.Errorf("%s asks for %s", name, f.Call)
		}
	}
}
