package jsrun

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// endless are programs that only their context ends.
var endless = map[string]string{
	"loop":               "while (true) {}",
	"microtasks":         "while (true) await null",
	"promise chain":      "const f = () => Promise.resolve().then(f); await f()",
	"timer chain":        "const f = () => setTimeout(f, 0); f(); await new Promise(() => {})",
	"call without end":   "await callMCPTool('slow__never')",
	"catch that goes on": "while (true) try { while (true) {} } catch {} finally { while (true) {} }",
	"sleep":              "await new Promise((r) => setTimeout(r, 1e9))",
	"loop in a timer":    "setTimeout(() => { while (true) {} }, 1); return 1",
	"loop in a getter":   "throw Object.defineProperty(new Error('x'), 'message', { get() { while (true) {} } })",
	"loop in toJSON":     "return { toJSON() { while (true) {} } }",
}

func TestEndlessProgramEndsWithItsDeadline(t *testing.T) {
	for name, code := range endless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			out := Run(ctx, Program{Code: code, Limits: sandbox.Limits{Grace: time.Minute}}, &memHost{})
			if out.ExitCode != sandbox.ExitTimeout || !strings.HasPrefix(out.Error, "time limit of 0.") {
				t.Errorf("Run = %d %q, want %d and the limit", out.ExitCode, out.Error, sandbox.ExitTimeout)
			}
		})
	}
}

func TestTimeoutSaysWhatTheProgramWasDoing(t *testing.T) {
	for code, want := range map[string]string{
		"const a = 1;\nwhile (a) {}":                   "at agent.ts:2:",
		"await callMCPTool('slow__never')":             "while waiting for slow__never",
		"await new Promise((r) => setTimeout(r, 1e9))": "while waiting for a timer",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if out := Run(ctx, Program{Code: code}, &memHost{}); !strings.Contains(out.Error, want) {
				t.Errorf("Run(%q).Error = %q, want %q in it", code, out.Error, want)
			}
		})
	}
}

func TestCancelledProgramEnds(t *testing.T) {
	for _, code := range []string{"while (true) {}", "await callMCPTool('slow__never')", "callMCPTool('slow__never')"} {
		ctx, cancel := context.WithCancel(context.Background())
		stop := time.AfterFunc(50*time.Millisecond, cancel)
		out := Run(ctx, Program{Code: code, Limits: sandbox.Limits{Grace: time.Minute}}, &memHost{})
		stop.Stop()
		cancel()
		if out.ExitCode != sandbox.ExitCanceled || !strings.HasPrefix(out.Error, "the execution was cancelled") {
			t.Errorf("Run(%q) = %d %q, want %d", code, out.ExitCode, out.Error, sandbox.ExitCanceled)
		}
	}
}

func TestDeadlineBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if out := Run(ctx, Program{Code: "return 1"}, &memHost{}); out.ExitCode != sandbox.ExitTimeout {
		t.Errorf("Run = %+v, want exit %d", out, sandbox.ExitTimeout)
	}
}

func TestCallLeftBehindIsCancelledAfterTheGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, 20 * time.Millisecond} {
		out := Run(t.Context(), Program{Code: "callMCPTool('slow__never'); return 1", Limits: sandbox.Limits{Grace: grace}}, &memHost{})
		want := "call to slow__never was still running when the script ended; it was cancelled, but may have run"
		if out.ExitCode != 0 || string(out.Value) != "1" || len(out.Notes) != 1 || out.Notes[0] != want {
			t.Errorf("grace %v: Run = %+v, want value 1 and note %q", grace, out, want)
		}
	}
}

func TestCallsLeftBehindAreNotedOncePerFate(t *testing.T) {
	const many = "for (let i = 0; i < 100; i++) callMCPTool('slow__never', { i });"
	out := Run(t.Context(), Program{Code: many + "return 1"}, &memHost{})
	want := "100 calls to slow__never were still running when the script ended; they were cancelled, but may have run"
	if len(out.Notes) != 1 || out.Notes[0] != want {
		t.Errorf("notes %q, want %q alone", out.Notes, want)
	}
	out = Run(t.Context(), Program{Code: many + "await callMCPTool('x__y', {})"}, &memHost{})
	if out.ExitCode != sandbox.ExitThrew || len(out.Notes) != 0 {
		t.Errorf("a failed call: exit %d, notes %q; want its error alone", out.ExitCode, out.Notes)
	}
	out = Run(t.Context(), Program{Code: many + "throw new Error('own')"}, &memHost{})
	if out.ExitCode != sandbox.ExitThrew || len(out.Notes) != 1 {
		t.Errorf("an error of the script's own: exit %d, notes %q; want the note", out.ExitCode, out.Notes)
	}
}

func TestReturnedFunctionIsNoted(t *testing.T) {
	for code, want := range map[string]int{
		"return Math.max": 1, "return await Math.max": 1, "return Math.max(1)": 0, "return undefined": 0,
		"const f = () => 1; f": 1, "console.log(1); globalThis.f = () => 1": 0,
	} {
		out := Run(t.Context(), Program{Code: code}, &memHost{})
		if len(out.Notes) != want || want == 1 && out.Notes[0] != "a function was returned: call it" {
			t.Errorf("Run(%q): notes %q, want %d", code, out.Notes, want)
		}
	}
}

func TestDeadlineInTheGraceKeepsTheResult(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	h := &memHost{answer: func(c sandbox.Call) (json.RawMessage, error) {
		// The answer comes only once main has ended; what it sets off is idle
		// long before the time is up.
		time.AfterFunc(200*time.Millisecond, func() { cancel(context.DeadlineExceeded) })
		return c.Args, nil
	}}
	out := Run(ctx, Program{
		Code:   "callMCPTool('echo__echo').then(() => callMCPTool('slow__never')); return 1",
		Limits: sandbox.Limits{Grace: time.Minute},
	}, h)
	if out.ExitCode != 0 || string(out.Value) != "1" || len(out.Notes) != 2 {
		t.Errorf("Run = %+v, want value 1 and two notes", out)
	}
}

func TestCallsRunAtTheSameTime(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	h := &memHost{answer: func(c sandbox.Call) (json.RawMessage, error) {
		all.Done()
		all.Wait() // answers only once every call has started
		return c.Args, nil
	}}
	code := fmt.Sprintf("const xs = await Promise.all(Array.from({ length: %d }, (_, i) => callMCPTool('a__b', { i })));\n"+
		"return xs.map((x) => x.i)", n)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if out := Run(ctx, Program{Code: code}, h); string(out.Value) != "[0,1,2,3,4,5,6,7]" {
		t.Errorf("Run = %+v", out)
	}
}

func TestCallArgumentsReachTheHostAsJSON(t *testing.T) {
	for code, want := range map[string]sandbox.Call{
		`await callMCPTool('a__b', { z: 1n, a: [9007199254740993n, "é"] })`: {Target: "a__b", Args: json.RawMessage(`{"z":1,"a":[9007199254740993,"é"]}`)},
		`await callMCPTool('a__b')`:                  {Target: "a__b"},
		`await callMCPTool('a__b', undefined)`:       {Target: "a__b"},
		`await callMCPTool('my server', 'tool', {})`: {Target: "my server\x1ftool", Args: json.RawMessage(`{}`)},
		`await callMCPTool('a__b', 'c')`:             {Target: "a__b\x1fc"},
		`await callMCPTool('a', 'b__c')`:             {Target: "a\x1fb__c"},
		`await callMCPTool('a.b', 'c/d:e', null)`:    {Target: "a.b\x1fc/d:e"},
	} {
		h := &memHost{answer: func(sandbox.Call) (json.RawMessage, error) { return nil, nil }}
		out := Run(t.Context(), Program{Code: code}, h)
		if out.ExitCode != 0 || len(h.calls) != 1 {
			t.Errorf("Run(%q) = %+v with %d calls", code, out, len(h.calls))
			continue
		}
		got := h.calls[0]
		if got.Func != "call" || got.Target != want.Target || string(got.Args) != string(want.Args) {
			t.Errorf("Run(%q) called %s %s %s, want %s %s", code, got.Func, got.Target, got.Args, want.Target, want.Args)
		}
	}
}

func TestAnswerCountsOnce(t *testing.T) {
	out := Run(t.Context(), Program{Code: "return await callMCPTool('a__b')"}, twiceHost{})
	if string(out.Value) != "1" {
		t.Errorf("Run = %+v, want value 1", out)
	}
}

type twiceHost struct{}

func (twiceHost) Output(int, []byte) {}
func (twiceHost) Call(_ sandbox.Call, done func(json.RawMessage, error)) {
	done(json.RawMessage("1"), nil)
	done(json.RawMessage("2"), nil)
}

func TestRunsDoNotShareState(t *testing.T) {
	Run(t.Context(), Program{Code: "Object.prototype.leak = 1; globalThis.leak = 2; Array.prototype.map = null"}, &memHost{})
	out := Run(t.Context(), Program{Code: "return [typeof leak, ({}).leak, typeof [].map]"}, &memHost{})
	if string(out.Value) != `["undefined",null,"function"]` {
		t.Errorf("Run = %+v", out)
	}
}

func TestSourceMapOfAProgramIsNotRead(t *testing.T) {
	for _, code := range []string{
		"return eval('1\\n//# sourceMappingURL=file:///dev/zero')",
		"return new Function('return 1\\n//# sourceMappingURL=file:///dev/zero')()",
		"return 1\n//# sourceMappingURL=file:///dev/zero",
	} {
		for _, lang := range []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript} {
			if out, _ := run(t, lang, code); string(out.Value) != "1" {
				t.Errorf("Run(%s, %q) = %+v, want 1", lang, code, out)
			}
		}
	}
}

func TestDeepBracketsAreRefused(t *testing.T) {
	for _, char := range []string{"(", "[", "{", "`${"} {
		out, _ := run(t, sandbox.TypeScript, strings.Repeat(char, 100_000))
		if out.ExitCode != sandbox.ExitRefused || !strings.Contains(out.Error, "nested") {
			t.Errorf("Run(%q…) = %d %.80q, want %d", char, out.ExitCode, out.Error, sandbox.ExitRefused)
		}
	}
}

func TestUnknownLanguageIsRefused(t *testing.T) {
	if out, _ := run(t, sandbox.Python, "print(1)"); out.ExitCode != sandbox.ExitRefused {
		t.Errorf("Run = %+v, want exit %d", out, sandbox.ExitRefused)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	Warm()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			out, _ := run(t, sandbox.TypeScript, fmt.Sprintf("const r: any = await googleDrive.echo({ n: %d });\nreturn r.n", i))
			if string(out.Value) != fmt.Sprint(i) {
				t.Errorf("run %d = %+v", i, out)
			}
		})
	}
	wg.Wait()
}

func BenchmarkRun(b *testing.B) {
	for _, bm := range []struct {
		name string
		lang sandbox.Language
		code string
	}{
		{"js", sandbox.JavaScript, "return 1+1"},
		{"ts", sandbox.TypeScript, "const x: number = 1;\nreturn x+1"},
		{"ts-import", sandbox.TypeScript, "import { echo } from './servers/google-drive';\nreturn await echo({ a: 1 })"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			Warm()
			for b.Loop() {
				if out, _ := run(b, bm.lang, bm.code); out.ExitCode != 0 {
					b.Fatal(out.Error)
				}
			}
		})
	}
}

// A call with two names is the one of a journal that has them joined by a full stop.
func TestReplayOfTwoNames(t *testing.T) {
	for target, same := range map[string]bool{"t.write": true, sandbox.JoinTarget("t", "write"): true, "t__write": false, "t.writer": false, "twrite": false} {
		p := &replay{calls: []sandbox.Recorded{{Func: "call", Target: target, Args: sandbox.HashArgs(nil)}}}
		why := p.differs(1, sandbox.Call{Func: "call", Target: sandbox.JoinTarget("t", "write")})
		if (why == "") != same || strings.Contains(why, "\x1f") {
			t.Errorf("%q recorded: %q", target, why)
		}
	}
}

// What JSON does not have is null or nothing, and a note says so.
func TestResultsThatJSONDoesNotHave(t *testing.T) {
	for code, want := range map[string][2]string{
		"return null":                           {"null", ""},
		"return undefined":                      {"", ""},
		"return":                                {"", ""},
		"return NaN":                            {"null", "NaN was returned, which is null in JSON"},
		"return -1 / 0":                         {"null", "-Infinity was returned, which is null in JSON"},
		"return Promise.resolve(1e999)":         {"null", "Infinity was returned, which is null in JSON"},
		"0 / 0":                                 {"null", "NaN was returned, which is null in JSON"},
		"console.log(1); 0 / 0":                 {"", ""},
		"return new Date(NaN)":                  {"null", "an invalid date was returned, which is null in JSON"},
		"return new Date(0)":                    {`"1970-01-01T00:00:00.000Z"`, ""},
		"return Symbol('x')":                    {"", "a symbol was returned, which JSON does not have: return text"},
		"return () => 1":                        {"", "a function was returned: call it"},
		"return new Map([['a', new Set([1])]])": {`{"a":[1]}`, ""},
		"return 2n ** 64n":                      {"18446744073709551616", ""},
		"return 'NaN'":                          {`"NaN"`, ""},
		"return ''":                             {`""`, ""},
	} {
		out := Run(t.Context(), Program{Code: code}, &memHost{})
		if got := strings.Join(out.Notes, "; "); string(out.Value) != want[0] || got != want[1] || out.ExitCode != 0 {
			t.Errorf("%s: value %s, notes %q, code %d %s; want %q", code, out.Value, got, out.ExitCode, out.Error, want)
		}
	}
	for _, code := range []string{"const a = {}; a.a = a; return a", "const m = new Map(); m.set(1, m); return m", "const l = []; l.push([l]); return l"} {
		if out := Run(t.Context(), Program{Code: code}, &memHost{}); out.ExitCode != sandbox.ExitThrew || !strings.Contains(out.Error, "the returned value cannot be written as JSON") {
			t.Errorf("%s: %+v", code, out)
		}
	}
}
