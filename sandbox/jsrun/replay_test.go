package jsrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// A server answers the calls of a script with what it has counted, after a
// random while, and keeps a journal of them. After so many answers everything
// breaks down, as when the broker is killed.
type server struct {
	mu       sync.Mutex
	rows     []sandbox.Recorded
	answered int
	n        int
	die      func()
	dieAt    int // answers until then; 0 never
	sent     int // in this run
}

func (s *server) journal() *sandbox.Journal {
	return &sandbox.Journal{Seed: []byte("seed"), Epoch: 1_800_000_000_000_000, Calls: append([]sandbox.Recorded(nil), s.rows...), Made: s.made}
}

func (s *server) made(c sandbox.Call) func(json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Seq > len(s.rows) {
		s.rows = append(s.rows, sandbox.Recorded{Func: c.Func, Target: c.Target, Args: sandbox.HashArgs(c.Args), Steps: c.Steps})
	}
	return func(value json.RawMessage, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil || s.dieAt > 0 && s.answered >= s.dieAt {
			return
		}
		s.answered++
		r := &s.rows[c.Seq-1]
		r.Answered, r.Value = s.answered, value
		if s.answered == s.dieAt {
			s.die()
		}
	}
}

func (s *server) call(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	wait := time.Duration(rand.IntN(300)) * time.Microsecond
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.n++
	s.sent++
	return json.RawMessage(fmt.Sprint(s.n)), nil
}

// run runs code, until so many answers have come in all.
func (s *server) run(t *testing.T, code string, until int) sandbox.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.die, s.dieAt, s.sent = cancel, until, 0
	r := inproc.New()
	defer r.Close()
	res, err := r.Run(ctx, sandbox.Request{Code: code, Call: s.call, Journal: s.journal()})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Whatever a script sees of the outside comes again, so that it makes the same
// calls after a crash at any point, and none of them twice.
func TestReplayIsTheSame(t *testing.T) {
	const call = "const c = (t, a) => callMCPTool('t__' + t, a);\n"
	scripts := map[string]string{
		"one after the other":        `for (let i = 0; i < 5; i++) await c('write', { n: i })`,
		"a race decides":             `await Promise.race([c('read', { k: 1 }), c('read', { k: 2 })]).then(v => c('write', { v }))`,
		"who comes first":            `const got = []; await Promise.all([1, 2, 3, 4].map(async k => { got.push(await c('read', { k })); await c('write', { k, got: got.length, first: got[0] }) })); await c('write', { got })`,
		"timers, clock, random":      `await Promise.all([1, 2, 3].map(async k => { await new Promise(r => setTimeout(r, Math.random() * 2)); await c('write', { k, at: Date.now(), p: performance.now(), id: crypto.randomUUID(), r: Math.random() }); await c('write', { k, at: new Date().toISOString() }) }))`,
		"an interval":                `let n = 0; await new Promise(done => { const t = setInterval(async () => { if (++n > 3) { clearInterval(t); done() } else await c('write', { n, at: Date.now() }) }, 1) }); await c('write', { n })`,
		"a timeout in a race":        `for (let i = 0; i < 4; i++) { const v = await Promise.race([c('read', { i }), new Promise(r => setTimeout(r, 0.15, 'late'))]); await c('write', { i, v }) }`,
		"a clock that is read often": `let s = 0; for (let i = 0; i < 20000; i++) s = Date.now() + performance.now(); await c('write', { s }); await c('write', { t: Date.now() })`,
	}
	trials := 150
	if testing.Short() {
		trials = 10
	}
	for name, code := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for trial := range trials {
				s := &server{}
				if first := s.run(t, call+code, 1+trial%7); first.ExitCode == sandbox.ExitOK {
					continue // it was faster
				}
				answered := s.answered
				res := s.run(t, call+code, 0)
				if res.Diverged || res.ExitCode != sandbox.ExitOK {
					t.Fatalf("trial %d: code %d: %s\n%+v", trial, res.ExitCode, res.Error, s.rows)
				}
				if s.sent > len(s.rows)-answered {
					t.Fatalf("trial %d: %d calls were sent to answer %d", trial, s.sent, len(s.rows)-answered)
				}
			}
		})
	}
}

func TestReplayDiverges(t *testing.T) {
	const code = "await callMCPTool('t__read', { a: 1 }); await callMCPTool('t__write', { b: 1 }); await callMCPTool('t__read', { c: 1 })"
	for _, tt := range []struct{ name, old, new, want string }{
		{"arguments", "b: 1", "b: 2", `call 2, of t__write, has other arguments than it had: {"b":2}`},
		{"tool", "t__write", "t__delete", "call 2 was t__write, and is t__delete now"},
		{"another order", "await callMCPTool('t__read', { c: 1 })", "", "call 3 was t__read, and is t__new now"},
		{"fewer", "await callMCPTool('t__read', { c: 1 })", "return 1", "call 3, of t__read, is not made any more"},
		{"earlier", "await callMCPTool('t__read', { a: 1 });", "", "call 1 was t__read, and is t__write now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &server{}
			s.run(t, code+"; await callMCPTool('t__read', { d: 1 })", 3)
			res := s.run(t, strings.Replace(code, tt.old, tt.new, 1)+"; await callMCPTool('t__new')", 0)
			if !res.Diverged || res.ExitCode != sandbox.ExitThrew || !strings.Contains(res.Error, tt.want) || s.sent > 0 {
				t.Errorf("diverged %v, code %d, %d calls sent: %s", res.Diverged, res.ExitCode, s.sent, res.Error)
			}
		})
	}
}

// A program that is another one goes its own way from where it differs.
func TestLenientReplay(t *testing.T) {
	s := &server{}
	s.run(t, "for (let i = 0; i < 4; i++) await callMCPTool('t__write', { i })", 3)
	j := s.journal()
	replayed := -1
	j.Lenient, j.Replayed = true, func(n int) { replayed = n; s.rows = s.rows[:n] }
	r := inproc.New()
	defer r.Close()
	s.sent = 0
	res, err := r.Run(t.Context(), sandbox.Request{Code: "for (const i of [0, 1, 7, 8]) await callMCPTool('t__write', { i })", Call: s.call, Journal: j})
	if err != nil || res.ExitCode != sandbox.ExitOK || replayed != 2 || s.sent != 2 {
		t.Errorf("code %d, %d replayed, %d sent: %s, %v", res.ExitCode, replayed, s.sent, res.Error, err)
	}
}

// A program whose calls are withheld goes on until it has nothing else to wait for.
func TestWithheldCalls(t *testing.T) {
	var mu sync.Mutex
	made := map[string]int{}
	call := func(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		made[c.Target]++
		if c.Target == "t__ask" {
			return nil, fmt.Errorf("policy: %w", sandbox.ErrWithheld)
		}
		return json.RawMessage(`1`), nil
	}
	nothing := func(sandbox.Call) func(json.RawMessage, error) { return func(json.RawMessage, error) {} }
	for _, tt := range []struct{ name, code string }{
		{"all at once", "await Promise.all(['a','b'].map(k => callMCPTool('t__ask', { k })))"},
		{"beside others", "const one = callMCPTool('t__ask'); for (let i = 0; i < 3; i++) await callMCPTool('t__read'); await Promise.all([one, new Promise(r => setTimeout(r, 20)).then(() => callMCPTool('t__ask'))])"},
		{"in a race with a timeout", "callMCPTool('t__ask').catch(() => {}); await Promise.race([callMCPTool('t__ask'), new Promise((_, no) => setTimeout(no, 20000))])"},
		{"left behind", "callMCPTool('t__ask'); callMCPTool('t__ask')"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clear(made)
			r := inproc.New()
			defer r.Close()
			res, err := r.Run(t.Context(), sandbox.Request{Code: tt.code, Call: call, Journal: &sandbox.Journal{Made: nothing}})
			if err != nil || res.ExitCode != sandbox.ExitApproval || made["t__ask"] != 2 {
				t.Errorf("code %d, %v: %s, %v", res.ExitCode, made, res.Error, errors.Join(err))
			}
		})
	}
}

func BenchmarkReplay500(b *testing.B) {
	const n = 500
	rows := make([]sandbox.Recorded, n)
	for i := range rows {
		rows[i] = sandbox.Recorded{Func: "call", Target: "t__write", Args: sandbox.HashArgs(fmt.Appendf(nil, `{"i":%d}`, i)), Answered: i + 1, Value: json.RawMessage(`{"ok":true,"id":123}`)}
		if i > 0 {
			rows[i].Steps = []byte{1, byte(2*i&0x7f | 0x80*min(1, 2*i>>7)), byte(2 * i >> 7)}[:2+min(1, 2*i>>7)]
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as in the worker
	r := inproc.New()
	defer r.Close()
	answer := func(context.Context, sandbox.Call) (json.RawMessage, error) { return rows[0].Value, nil }
	for name, j := range map[string]*sandbox.Journal{"replayed": {Calls: rows}, "made": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				res, err := r.Run(b.Context(), sandbox.Request{Code: fmt.Sprintf("for (let i = 0; i < %d; i++) await callMCPTool('t__write', { i })", n), Call: answer, Journal: j})
				if err != nil || res.ExitCode != 0 {
					b.Fatal(res.Error, err)
				}
			}
		})
	}
}
