package scan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What dull leaves out has nothing in it.
func TestDullTextsHaveNothingInThem(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/catalog/*.json")
	if len(files) == 0 {
		t.Skip("the recorded catalogues are not here")
	}
	var o Others
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Server string
			Tools  []json.RawMessage
		}
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		for _, tool := range s.Tools {
			Tool(s.Server, tool, &o)
		}
	}
	dull, size := 0, 0
	for k := range o.inert {
		w := walker{scope: scope{server: k.server, others: &o}}
		f := featuresOf(k.text)
		all, ok := w.dull(k.text, &f, k.place)
		if !ok {
			continue
		}
		dull, size = dull+1, size+len(k.text)
		found, x := w.signals(k.text, f, k.place, 0)
		if verdict(found, k.place, x) > Pass || x.all.worth(k.place) || x.all&^all&(chat|destroy) != 0 {
			t.Errorf("%q: %v", k.text, kinds(found))
		}
	}
	if t.Logf("%d texts of %d bytes are dull", dull, size); dull < 1000 {
		t.Error("too few")
	}
}
