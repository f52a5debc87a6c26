package launch

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpbroker/mcpbroker/internal/lines"
)

var update = flag.Bool("update", false, "rewrite the causes in testdata; read the diff before you commit it")

// Outputs of real programs give their cause, with the same cleaning as in a connection.
func TestCausesOfRealOutputs(t *testing.T) {
	file := filepath.Join("testdata", "causes.txtar")
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(ar.Files) < 50 {
		t.Errorf("only %d outputs", len(ar.Files))
	}
	for i, f := range ar.Files {
		output, want, _ := strings.Cut(string(f.Data), "=> ")
		ring := lines.NewRing()
		ring.CopyFrom(strings.NewReader(output))
		got := Explain(ring.Lines(), nil)
		text := got.Cause
		if !got.Known {
			text = strings.TrimSpace("? " + text)
		}
		if got.Hint != "" {
			text += "\ndo: " + got.Hint
		}
		if *update {
			ar.Files[i].Data = []byte(output + "=> " + text + "\n")
		} else if want = strings.TrimSpace(want); text != want {
			t.Errorf("%s:\n got %s\nwant %s", f.Name, text, want)
		}
		if out := Explain(nil, ring.Lines()); out != got {
			t.Errorf("%s: on stdout it is %+v, on stderr %+v", f.Name, out, got)
		}
	}
	if *update {
		if err := os.WriteFile(file, bytes.TrimSpace(txtar.Format(ar)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
