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
