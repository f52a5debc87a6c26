package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// npmFor writes a node that runs the fake servers for the versions of the package "x",
// and an npm that installs any version of it.
func npmFor(t *testing.T, modes map[string]fakeupstream.Mode) (env map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell: ", err)
	}
	bin, node := t.TempDir(), `case "$1" in -p) echo 20-linux-x64; exit;; esac`+"\ncase \"$1\" in\n"
	for version, mode := range modes {
		node += "*/x@" + version + "-*) exec " + fakeupstream.Command() + " " + strings.Join(fakeupstream.Args(mode), " ") + ";;\n"
	}
	for program, script := range map[string]string{"npx": "exit 1", "node": node + "esac", "npm": `mkdir -p "$3/node_modules/x"; cd "$3/node_modules/x"
for last; do :; done
echo "{\"version\": \"${last#x@}\", \"bin\": \"x.js\"}" >package.json
echo '#!/usr/bin/env node' >x.js`} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"PATH": bin + string(filepath.ListSeparator) + os.Getenv("PATH")}
}

// A newer version of a package is started and listed beside the one in use, and its
// listing is reviewed under its version.
func TestNewVersionIsListedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next fakeupstream.Mode
		held []discovery.Held
		want string // in the error
	}{
		"the same":          {fakeupstream.Good, nil, ""},
		"other tools":       {fakeupstream.OddSchemas, []discovery.Held{{Kind: "tool", Name: "echo", State: "changed"}}, "the pins would hold back echo (changed)"},
		"instructions":      {fakeupstream.Legacy, []discovery.Held{{Kind: "instructions", State: "changed"}, {Kind: "prompt", Name: "p", State: "new"}}, "the pins would hold back instructions (changed), prompt p (new)"},
		"many":              {fakeupstream.Pages, make([]discovery.Held, 7), "and 2 more"},
		"it does not start": {fakeupstream.Exits, nil, "it does not start: "},
		"no list":           {fakeupstream.SilentList, nil, "its tools cannot be listed: no answer to tools/list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := npmFor(t, map[string]fakeupstream.Mode{"1.0.0": fakeupstream.Good, "2.0.0": c.next})
			var seen []discovery.Listing
			p := NewPool([]Config{{Name: "s", Command: "npx", Args: []string{"-y", "x@1.0.0"}, Env: env, StartTimeout: time.Second}, {Name: "next", Command: "npx", Args: []string{"x@2.0.0"}, Env: env}},
				&Options{PackageDir: t.TempDir(), Review: func(l discovery.Listing) []discovery.Held { seen = append(seen, l); return c.held }})
			defer p.Close()
			if st := p.Refresh(t.Context(), "s")[0]; st.State != StateReady { // npx would fail
				t.Fatalf("status %+v", st)
			}
			next, err := p.roster.Load().byName["next"].cfg.resolveIn(p.opts.Expand, p.opts.Environ())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.programs.Packages.Command(t.Context(), next.Command); err != nil { // installed beside it
				t.Fatal(err)
			}
			before := p.Listings()[0]
			err = reviewer{p.common, p.server("s").cfg, t.Context()}.review(t.Context(), packages.Update{Package: "x", Old: "1.0.0", New: "2.0.0"})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("review = %v, want %q", err, c.want)
			}
			if starts := c.next != fakeupstream.Exits && c.next != fakeupstream.SilentList; starts != (len(seen) == 1) || starts && (seen[0].Server != "s" || seen[0].Origin.Package != "2.0.0" || len(seen[0].Tools) == 0) {
				t.Errorf("reviewed: %+v", seen)
			}
			if after := p.Listings()[0]; len(after.Tools) != len(before.Tools) || p.Status()[0].State != StateReady {
				t.Errorf("the server in use has changed: %+v", p.Status()[0])
			}
		})
	}
}
