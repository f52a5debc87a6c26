package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A server that names the folder of a project runs in that of each client, lists
// its tools in some project, and waits while there is none.
func TestServerInTheFolderOfItsClient(t *testing.T) {
	var folder atomic.Pointer[string]
	folder.Store(new(""))
	c := fake("s", fakeupstream.Stateful)
	c.Dir = "${workspaceFolder}/sub"
	p := newPool(t, &Options{Folder: func() string { return *folder.Load() }}, c)
	st := p.Refresh(t.Context())
	if len(st) != 1 || st[0].Err == nil || !strings.Contains(st[0].Err.Error(), "it waits for a project") || st[0].Sharing != sharing.PerProject {
		t.Fatalf("without a project: %+v", st)
	}
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	folder.Store(&a)
	if st := p.Refresh(t.Context()); st[0].Err != nil {
		t.Fatal(st[0].Err)
	}
	l := &lab{Pool: p, server: p.roster.Load().servers[0]}
	ofB, _ := talk(t, "one", b)
	if got := l.ask(t, ofB, "where"); !strings.HasSuffix(got, filepath.Join(filepath.Base(b), "sub")) {
		t.Errorf("for a client in %s it is in %s", b, got)
	}
	nowhere, _ := talk(t, "two")
	if _, err := l.Call(nowhere, "s", "where", nil, nil); err == nil || !strings.Contains(err.Error(), "it waits for a project") {
		t.Errorf("a client without a project: %v", err)
	}
}

func TestInFolder(t *testing.T) {
	c := Config{Command: "x", Args: []string{"${workspaceFolder}/a", "$${workspaceFolder}", "${workspaceFolderBasename}"}, Env: map[string]string{"A": "${B}"}}
	got := c.inFolder("/w/${evil}")
	if want := "/w/$${evil}/a $${workspaceFolder} $${evil}"; strings.Join(got.Args, " ") != want || got.Env["A"] != "${B}" {
		t.Errorf("args %q, want %q; env %v", got.Args, want, got.Env)
	}
	c.Args = c.Args[1:2]
	if c.usesFolder() {
		t.Error("plain text is taken for the folder")
	}
}
