package jsrun

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func nodeScripts(t *testing.T) []string {
	files, err := filepath.Glob("testdata/node/*.js")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	return files
}

// Each testdata/node/NAME.js is a program as models write it; NAME.out is what
// Node 20 prints.
func TestScriptsPrintWhatNodePrints(t *testing.T) {
	for _, file := range nodeScripts(t) {
		for _, lang := range []sandbox.Language{sandbox.JavaScript, sandbox.TypeScript} {
			name := strings.TrimSuffix(filepath.Base(file), ".js")
			if lang == sandbox.TypeScript && name == "locales" {
				continue // the same code, and a large one
			}
			t.Run(name+"/"+string(lang), func(t *testing.T) {
				t.Parallel()
				code, want := readFile(t, file), readFile(t, strings.TrimSuffix(file, ".js")+".out")
				out, h := run(t, lang, code)
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(h.stdout.String(), "\n")); diff != "" || out.ExitCode != 0 {
					t.Errorf("exit %d %s (-node +here):\n%s", out.ExitCode, out.Error, diff)
				}
			})
		}
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Node itself, where there is a Node 20, prints what the files say.
func TestNodePrintsWhatTheFilesSay(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	if v, err := exec.Command(node, "-p", "process.version+' '+process.versions.icu").Output(); err != nil || string(v) != "v20.20.2 78.2\n" {
		t.Skipf("the files are of Node 20.20.2 with ICU 78.2, not %s", v)
	}
	for _, file := range nodeScripts(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, node, "--input-type=module")
			c.Stdin = strings.NewReader(readFile(t, file))
			c.Env = append(os.Environ(), "TZ=UTC")
			got, err := c.Output()
			if diff := cmp.Diff(readFile(t, strings.TrimSuffix(file, ".js")+".out"), string(got)); diff != "" || err != nil {
				t.Errorf("%v (-file +node):\n%s", err, diff)
			}
		})
	}
}
