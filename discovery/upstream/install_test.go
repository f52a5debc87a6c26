package upstream

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// Servers that may have to be downloaded start four at a time; one that hangs
// gives its place to the next after its turn, and all others never wait.
func TestInstallsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool([]Config{{Name: "npx", Command: "/usr/bin/npx"}, {Name: "own", Command: "/opt/server"}}, nil)
		defer p.Close()
		npx, own := p.roster.Load().byName["npx"], p.roster.Load().byName["own"]
		start := time.Now()
		for range maxInstalls {
			p.queueInstall(t.Context(), npx) // hangs: never leaves
		}
		p.queueInstall(t.Context(), own)()
		npx.known = true
		p.queueInstall(t.Context(), npx)()
		npx.known = false
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s while there was room or no need", waited)
		}
		leave := p.queueInstall(t.Context(), npx)
		if waited := time.Since(start); waited != installTurn {
			t.Errorf("the fifth waited %s, want %s", waited, installTurn)
		}
		leave()
		synctest.Wait()
		for range maxInstalls {
			defer p.queueInstall(t.Context(), npx)()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.queueInstall(ctx, npx)()
		if ctx.Err() == nil {
			t.Error("there was a fifth place")
		}
	})
}

func TestLastSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"npm's report", []string{
			"npm warn Unknown user config", "npm error code ENOENT", "npm error syscall open", "npm error path /x/package.json", "npm error errno -2",
			"npm error enoent Could not read package.json: Error: ENOENT: no such file", "npm error enoent This is related to npm not being able to find a file.",
			"npm error enoent", "npm error A complete log of this run can be found in: /x.log",
		}, "npm error enoent Could not read package.json: Error: ENOENT: no such file"},
		{"no such package", []string{
			"npm error code E404", "npm error 404 Not Found - GET https://registry.npmjs.org/nope - Not found", "npm error 404",
			"npm error 404  'nope@*' is not in this registry.", "npm error 404", "npm error 404 Note that you can also install from a",
			"npm error 404 tarball, folder, http url, or git folder.", "npm error A complete log of this run can be found in: /x.log",
		}, "npm error 404 Not Found - GET https://registry.npmjs.org/nope - Not found"},
		{"a script of a package", []string{
			"npm ERR! code 1", "npm ERR! path /x", "npm ERR! command failed", "npm ERR! command sh -c node install.js", "npm ERR! node:internal/modules:1228",
			"npm ERR! Error: Cannot find module 'y'", "npm ERR!     at f (a.js:1)", "npm ERR! A complete log of this run can be found in:", "npm ERR!     /x.log",
		}, "npm ERR! Error: Cannot find module 'y'"},
		{"only warnings", []string{"npm warn deprecated x", "npm notice y"}, ""},
		{"a stack trace", []string{"TypeError: x is not a function", "    at f (a.js:1)", "    at g (error.js:2)", "}"}, "TypeError: x is not a function"},
		{"the newest otherwise", []string{"starting", "port 80 is taken"}, "port 80 is taken"},
		{"nothing", nil, ""},
	} {
		r := newRing()
		for _, l := range c.lines {
			r.add([]byte(l))
		}
		if got := r.last(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCommandByHandIsQuoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("cmd.exe quotes otherwise")
	}
	d := dialer{cfg: Config{Command: "/opt/my server/run", Args: []string{"-y", "@a/b@1.2", "it's; rm", "", "*", "k=${TOKEN}$(x)", "s3cret value", "\"q\""}}}
	want := `'/opt/my server/run' -y @a/b@1.2 'it'\''s; rm' '' '*' "k=${TOKEN}\$(x)" '[args[6]]' '"q"'`
	if got := d.byHand(newHider(map[string]string{"s3cret value": "[args[6]]"})); got != want {
		t.Errorf("byHand = %s\nwant     %s", got, want)
	}
}

// A server that fails is tried twice, and what it wrote is there once.
func TestStderrOfTwoAttemptsIsKeptOnce(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Exits))
	if st := p.Refresh(t.Context())[0]; len(st.Stderr) != 1 || st.State != StateFailed {
		t.Errorf("status = %+v", st)
	}
}
