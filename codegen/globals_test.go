package codegen_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun"
)

// A silentHost answers every call with its arguments.
type silentHost struct{}

func (silentHost) Call(c sandbox.Call, done func(json.RawMessage, error)) { done(c.Args, nil) }
func (silentHost) Output(int, []byte)                                     {}

// What an editor is told to be there is there when the script runs.
func TestDeclaredGlobalsExist(t *testing.T) {
	f, ok := new(codegen.Generator).File(discovery.NewCatalog(nil), "globals.d.ts")
	if !ok {
		t.Fatal("no globals.d.ts")
	}
	var names []string
	object := ""
	for line := range strings.Lines(string(f.Data)) {
		if m := regexp.MustCompile(`^declare (const|function|class|namespace) (\w+)(.*)`).FindStringSubmatch(line); m != nil {
			object = m[2]
			if !strings.HasSuffix(m[3], "{") || m[1] == "class" {
				names = append(names, m[2])
			}
			if m[1] == "class" {
				object += ".prototype"
			}
		} else if m := regexp.MustCompile(`^  (static |function )?(\w+)[<(]`).FindStringSubmatch(line); m != nil && m[2] != "constructor" {
			owner := object
			if m[1] == "static " {
				owner = strings.TrimSuffix(object, ".prototype")
			}
			names = append(names, owner+"."+m[2])
		}
	}
	if len(names) < 30 {
		t.Fatalf("found only %v", names)
	}
	var code strings.Builder
	code.WriteString("const missing = [];\n")
	for _, n := range names {
		fmt.Fprintf(&code, "if (typeof %s !== 'function') missing.push(%q);\n", n, n)
	}
	out := jsrun.Run(t.Context(), jsrun.Program{Language: sandbox.TypeScript, Code: code.String() + "return missing"}, silentHost{})
	if string(out.Value) != "[]" {
		t.Errorf("declared and not there: %s %s", out.Value, out.Error)
	}
}
