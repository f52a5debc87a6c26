package sandboxtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A jsCase is a program of which only the end matters.
type jsCase struct {
	name   string
	code   string
	limits sandbox.Limits
	exit   int // want
	value  string
	says   []string
}

// short is a time limit for programs that run into it.
var short = sandbox.Limits{Timeout: 300 * time.Millisecond}

var jsCases = []jsCase{
	{name: "types are taken away", code: "const n: number = 20; enum E { A = 1 }\nreturn n + (E.A as number)", value: "21"},
	{name: "a generator with a name is a statement", code: "function* g() { yield 21 }\nfor (const x of g()) { console.log(x); }\nreturn [...g()][0]", value: "21"},
	{name: "a generator with a name can be all there is in front of a block", code: "function* g() { yield 21 } for (const x of g()) {}", value: ""},
	{name: "a syntax error is refused with its place", code: "const x = 1;\nconst = 2", exit: sandbox.ExitRefused, says: []string{"agent.ts:2:"}},
	{name: "an unknown import is refused", code: "import fs from 'fs'; return fs", exit: sandbox.ExitRefused, says: []string{"fs"}},
	{name: "a promise that never settles is told at once", code: "await new Promise(() => {})", exit: sandbox.ExitStuck, says: []string{"never settles"}},
	{name: "an unhandled rejection is a failure", code: "Promise.reject(new Error('nobody caught me')); await null", exit: sandbox.ExitThrew, says: []string{"nobody caught me"}},
	{name: "a thrown value need not be an error", code: "throw {a: 1}", exit: sandbox.ExitThrew},
	{name: "getters of a thrown value cannot hold the run", code: "throw {get message() { for (;;); }, toString() { for (;;); }}", limits: short, exit: -1},
	{name: "an endless loop ends with the time limit", code: "for (;;);", limits: short, exit: sandbox.ExitTimeout, says: []string{"time limit of 0.3 s"}},
	{name: "an endless loop of promises ends with the time limit", code: "for (;;) await null", limits: short, exit: sandbox.ExitTimeout, says: []string{"time limit of 0.3 s"}},
	{name: "an endless chain of timers ends with the time limit", code: "await new Promise(() => { const f = () => setTimeout(f, 0); f() })", limits: short, exit: sandbox.ExitTimeout, says: []string{"time limit of 0.3 s"}},
	{name: "a signal's timeout is waited for", code: "const s = AbortSignal.timeout(3); await new Promise((r) => s.addEventListener('abort', r)); return s.reason.name", value: `"TimeoutError"`},
	{name: "but not when the program has ended", code: "AbortSignal.timeout(100).addEventListener('abort', () => { for (;;); }); return 1", limits: sandbox.Limits{Timeout: 2 * time.Second}, value: "1"},
	{name: "endless recursion is an error", code: "const f = () => f() + 1; f()", exit: sandbox.ExitThrew},
	{name: "time zones and random numbers need no files", code: "return [new Date(0).toLocaleString('en-US', { timeZone: 'Asia/Tokyo' }), crypto.randomUUID().length]", value: `["1/1/1970, 9:00:00 AM",36]`},
	{name: "patched built-ins do not reach the bridge", code: "JSON.stringify = JSON.parse = () => { throw 1 }; Promise.prototype.then = null; globalThis.Promise = null; return 7", value: "7"},
}

func runJavaScript(t *testing.T, new func(*testing.T) sandbox.Runner, fakeTime bool) {
	for _, c := range jsCases {
		t.Run(c.name, func(t *testing.T) {
			got := start(t, new).do(t.Context(), sandbox.Request{Code: c.code, Limits: c.limits})
			if c.exit >= 0 {
				got.want(t, c.exit, c.value, c.says...)
			}
		})
	}
	runCases(t, new, []suiteCase{
		{"what was printed before an endless loop is there", testPrintThenLoop, false},
		{"an endless loop says its line", testLoopLine, false},
		{"cancelling ends an endless loop", testCancelLoop, false},
		{"200 KiB of brackets end with a reason", testBrackets, false},
		{"modules can be imported and are in scope", testModules, false},
		{"a call that is not awaited is awaited and told", testFloating, false},
		{"a call that outlives the grace is cancelled and told", testGrace, true},
		{"a call that has lost a race is cancelled at once", testLostRace, true},
		{"what a statement starts outlives the grace", testFloatingFunctions, true},
		{"runs share nothing", testNothingShared, false},
		{"a check refuses before the program runs", testCheckRefuses, false},
		{"a check without problems changes nothing", testCheckPasses, false},
		{"a check ends with the run", testCheckEnds, true},
	}, fakeTime)
}

func testPrintThenLoop(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: `console.log("before"); for (;;);`, Limits: short})
	got.want(t, sandbox.ExitTimeout, "")
	if got.stdout != "before\n" {
		t.Errorf("stdout %q", got.stdout)
	}
}

// testLoopLine tries more than once: where a kill ends what cannot be
// interrupted, it comes first on a machine that is busy enough.
func testLoopLine(t *testing.T, r *runnerTest) {
	var got ended
	for range 10 {
		got = r.do(t.Context(), sandbox.Request{Code: "let n = 0\n\nwhile (true) {\n  n++\n}", Limits: short})
		got.want(t, sandbox.ExitTimeout, "", "time limit of 0.3 s")
		if strings.Contains(got.Error, "agent.ts:3") || strings.Contains(got.Error, "agent.ts:4") {
			return
		}
	}
	t.Errorf("error %q does not say agent.ts:3 or 4", got.Error)
}

// testCancelLoop cancels when the program has said that it is about to loop.
func testCancelLoop(t *testing.T, r *runnerTest) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := r.do(ctx, sandbox.Request{
		Code: `await callMCPTool("demo__echo", {}); for (;;);`,
		Call: func(_ context.Context, c sandbox.Call) (raw, error) {
			time.AfterFunc(10*time.Millisecond, cancel)
			return c.Args, nil
		},
	})
	got.want(t, sandbox.ExitCanceled, "", "cancelled")
}

func testBrackets(t *testing.T, r *runnerTest) {
	for _, bracket := range []string{"(", "{", "!"} {
		got := r.do(t.Context(), sandbox.Request{Code: strings.Repeat(bracket, 200<<10/len(bracket)), Limits: sandbox.Limits{Timeout: 2 * time.Second}})
		if got.ExitCode == sandbox.ExitOK {
			t.Errorf("200 KiB of %q ran", bracket)
		}
		if n := len(got.Error); n > 10_000 {
			t.Errorf("200 KiB of %q: a reason of %d bytes", bracket, n)
		}
	}
	r.do(t.Context(), sandbox.Request{Code: codeAdd}).want(t, sandbox.ExitOK, "2")
}

var demoModule = sandbox.Module{
	Path:    "servers/demo",
	Source:  "import { callMCPTool } from './helpers/callMCPTool';\nexport const echo = (input) => callMCPTool('demo__echo', input);\n",
	Exports: []string{"echo"},
	Global:  "demo",
}

func testModules(t *testing.T, r *runnerTest) {
	for _, code := range []string{
		"import { echo } from './servers/demo';\nreturn await echo({n: 1})",
		"return await demo.echo({n: 1})",
	} {
		got := r.do(t.Context(), sandbox.Request{
			Code: code, Call: echo,
			Modules: []sandbox.Module{demoModule}, ModuleNames: []string{demoModule.Path},
		})
		got.want(t, sandbox.ExitOK, `{"n":1}`)
	}
	got := r.do(t.Context(), sandbox.Request{
		Code:    "import { echo } from './servers/dmo';\nreturn await echo({n: 1})",
		Modules: []sandbox.Module{demoModule}, ModuleNames: []string{demoModule.Path},
	})
	got.want(t, sandbox.ExitRefused, "", "servers/demo")
}

func testFloating(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: `callMCPTool("demo__echo", {n: 1}); return 5`, Call: echo})
	got.want(t, sandbox.ExitOK, "5")
	if got.Calls != 1 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "demo__echo") {
		t.Errorf("%d calls, notes %q; want one of each", got.Calls, got.Notes)
	}
}

func testGrace(t *testing.T, r *runnerTest) {
	calling, callEnded := make(chan struct{}), make(chan struct{})
	got := r.do(t.Context(), sandbox.Request{
		Code:   `callMCPTool("demo__echo", {n: 1}); return 5`,
		Limits: sandbox.Limits{Grace: 50 * time.Millisecond},
		Call:   hang(calling, callEnded),
	})
	got.want(t, sandbox.ExitOK, "5")
	<-callEnded
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "demo__echo") {
		t.Errorf("notes %q, want one", got.Notes)
	}
}

// testLostRace checks that a lost call is not waited for, and that a call that was
// never awaited is. The grace periods are longer than a test may take, and too short to
// be missed.
func testLostRace(t *testing.T, r *runnerTest) {
	const timeout = "new Promise((_, no) => setTimeout(() => no(new Error('late')), 5))"
	for code, grace := range map[string]time.Duration{
		"await Promise.race([callMCPTool('demo__echo'), " + timeout + "]).catch(() => {}); return 5":                                                                      time.Hour,
		"await Promise.race([callMCPTool('demo__echo').then((x) => x.items).catch(() => []), " + timeout + "]).catch(() => {}); return 5":                                 time.Hour,
		"const load = async () => (await callMCPTool('demo__echo')).x; try { await Promise.race([load(), " + timeout + "]) } catch { return 5 }":                          time.Hour,
		"return await Promise.any([callMCPTool('demo__echo'), Promise.resolve(5)])":                                                                                       time.Hour,
		"const p = callMCPTool('demo__echo'); return await Promise.race([5, new Promise((done) => setTimeout(done, 3600000))])":                                           50 * time.Millisecond,
		"callMCPTool('demo__echo'); const f = async () => { await 0; await new Promise(() => {}) }; await Promise.race([f(), " + timeout + "]).catch(() => {}); return 5": 50 * time.Millisecond,
	} {
		calling, callEnded := make(chan struct{}), make(chan struct{})
		began := time.Now()
		got := r.do(t.Context(), sandbox.Request{
			Code: code, Call: hang(calling, callEnded), Limits: sandbox.Limits{Grace: grace, Timeout: time.Hour},
		})
		got.want(t, sandbox.ExitOK, "5")
		<-callEnded
		if waited := time.Since(began) >= grace; waited != (grace < time.Hour) {
			t.Errorf("%s: took %s, with a grace period of %s", code, time.Since(began), grace)
		}
		if len(got.Notes) != 1 || !strings.HasSuffix(got.Notes[0], "demo__echo was still running when the script ended; it was cancelled, but may have run") {
			t.Errorf("%s: notes %q, want one about the call", code, got.Notes)
		}
	}
}

func testFloatingFunctions(t *testing.T, r *runnerTest) {
	for _, c := range []struct{ code, stdout, value, note string }{
		{"async function main() { for (let i = 0; i < 3; i++) { await new Promise((r) => setTimeout(r, 30)); console.log(i) } }\nmain();\nconsole.log('a')", "a\n0\n1\n2\n", "", ""},
		{"void (async () => { await new Promise((r) => setTimeout(r, 60)); console.log('b') })();\nconst t = setTimeout(() => console.log('c'), 90);\nreturn 1", "b\nc\n", "1", ""},
		{"async function main() { let n = 0; await new Promise((r) => { const t = setInterval(() => { if (++n === 3) { clearInterval(t); r() } }, 20) }); console.log(n) }\nmain();\n1;", "3\n", "", ""},
		{"const late = (p, ms) => Promise.race([p, new Promise((_, no) => setTimeout(() => no(new Error('late')), ms))]);\nreturn await late(Promise.resolve(1), 3600000)", "", "1", ""},
		{"const late = (p, ms) => Promise.race([p, new Promise((_, no) => setTimeout(() => no(new Error('late')), ms))]);\nconst out = [];\nout.push(await late(Promise.resolve(1), 3600000));\nconsole.log(out.length)", "1\n", "", ""},
		{"async function main() { await new Promise(() => {}) }\nmain();\nreturn 1", "", "1", ""},
		{"const all = [];\nconst run = (f) => { const p = f(); all.push(p); return p };\nrun(async () => { await new Promise((r) => setTimeout(r, 10)); throw new Error('job') });\nrun(async () => 1);\nreturn (await Promise.allSettled(all)).map((x) => x.status).join()", "", `"rejected,fulfilled"`, ""},
		{"!function () { console.log('a') }();\n+(() => 1)();\ntypeof (() => 1)();\nvoid (() => 1)();\nreturn 1", "a\n", "1", ""},
		{"setInterval(() => {}, 3600000);\nreturn 1", "", "1", "a setInterval was still set"},
		{"setTimeout(() => {}, 3600000);\nreturn 1", "", "1", "1 setTimeout was still set"},
	} {
		got := r.do(t.Context(), sandbox.Request{Code: c.code, Limits: sandbox.Limits{Grace: time.Millisecond, Timeout: time.Minute}})
		got.want(t, sandbox.ExitOK, c.value)
		if notes := strings.Join(got.Notes, "\n"); got.stdout != c.stdout || !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: printed %q, notes %q; want %q, %q", c.code, got.stdout, notes, c.stdout, c.note)
		}
	}
	for _, c := range []struct {
		end  string
		code int
	}{{"console.log(1)", sandbox.ExitTimeout}, {"return 1", sandbox.ExitOK}} {
		code := "async function main() { await new Promise((r) => setTimeout(r, 3600000)) }\nmain();\n" + c.end
		got := r.do(t.Context(), sandbox.Request{Code: code, Limits: sandbox.Limits{Timeout: 500 * time.Millisecond, Grace: time.Millisecond}})
		if got.ExitCode != c.code {
			t.Errorf("%s: exit %d, %s; want %d", code, got.ExitCode, got.Error, c.code)
		}
	}
	r.do(t.Context(), sandbox.Request{
		Code:   "async function main() { await new Promise((r) => setTimeout(r, 30)); throw new Error('too late') }\nmain();\nconsole.log(1)",
		Limits: sandbox.Limits{Grace: time.Millisecond},
	}).want(t, sandbox.ExitThrew, "", "too late", "nobody caught it")
}

func testNothingShared(t *testing.T, r *runnerTest) {
	r.do(t.Context(), sandbox.Request{Code: `globalThis.leak = 1; Object.prototype.leak = 1; Array.prototype.map = null; return 0`}).
		want(t, sandbox.ExitOK, "0")
	r.do(t.Context(), sandbox.Request{Code: `return [typeof leak, typeof ({}).leak, typeof [].map].join()`}).
		want(t, sandbox.ExitOK, `"undefined,undefined,function"`)
}
