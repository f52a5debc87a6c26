package upstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
		}, "npm error enoent This is related to npm not being able to find a file."},
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
