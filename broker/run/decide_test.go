package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func TestWaitsForApproval(t *testing.T) {
	const code = `const got = []; console.log('hello');
		const r = await Promise.all(['a', 'b'].map(async k => { try { return await callMCPTool('t__ask', { k }) } catch (e) { return e.code } }).concat(callMCPTool('t__write', { z: 1 })));
		return r`
	begin := func(t *testing.T) (*world, run.Answer) {
		w := newWorld(t)
		a := w.execute(t, run.Request{Code: code})
		if a.ExitCode != sandbox.ExitApproval || len(a.Pending) != 2 || !strings.HasPrefix(a.RunID, "r_") || a.Expires == "" || a.IsError() || len(a.ToolsCalled) != 1 {
			t.Fatalf("%+v", a)
		}
		if string(a.Pending[0].Args) != `{"k":"a"}` || a.Pending[0].Tool != "t__ask" || a.Pending[0].Why != "it needs a look" || a.Pending[0].N != 1 {
			t.Errorf("pending %+v", a.Pending)
		}
		return w, a
	}
	t.Run("before a decision nothing happens", func(t *testing.T) {
		w, a := begin(t)
		again := w.execute(t, run.Request{Resume: a.RunID})
		a.DurationMS, again.DurationMS, a.ToolsCalled = 0, 0, again.ToolsCalled
		if got, want := fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", a); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if _, all := w.most("ask"); all > 0 {
			t.Errorf("%d calls were made", all)
		}
	})
	t.Run("approved", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		b := w.execute(t, run.Request{Resume: a.RunID})
		if b.ExitCode != 0 || b.RunID != "" || b.Stdout != "hello\n" || b.Replayed != 1 || len(b.ToolsCalled) != 1 || b.ToolsCalled[0].N != 2 {
			t.Errorf("%+v", b)
		}
		if most, all := w.most("ask"); most != 1 || all != 2 {
			t.Errorf("calls %v", w.calls)
		}
		if _, all := w.most("write"); all != 1 {
			t.Errorf("calls %v", w.calls)
		}
		if c := w.execute(t, run.Request{Resume: a.RunID}); c.ExitCode != sandbox.ExitRefused {
			t.Errorf("resumed when it was done: %+v", c)
		}
	})
	t.Run("one denied, one approved", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Only: []int{2}})
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		b := w.execute(t, run.Request{Resume: a.RunID})
		if b.ExitCode != 0 || !strings.Contains(string(b.Result), `"denied"`) || w.calls[`ask{"k":"a"}`] != 1 || w.calls[`ask{"k":"b"}`] != 0 {
			t.Errorf("%+v\n%v", b, w.calls)
		}
	})
	t.Run("some of them, then the rest", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Approve: true, Only: []int{1}})
		b := w.execute(t, run.Request{Resume: a.RunID})
		if b.ExitCode != sandbox.ExitApproval || len(b.Pending) != 1 || b.Pending[0].N != 2 || w.calls[`ask{"k":"a"}`] != 1 {
			t.Fatalf("%+v\n%v", b, w.calls)
		}
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		if c := w.execute(t, run.Request{Resume: a.RunID}); c.ExitCode != 0 || w.calls[`ask{"k":"a"}`] != 1 || w.calls[`ask{"k":"b"}`] != 1 {
			t.Errorf("%+v\n%v", c, w.calls)
		}
	})
	t.Run("two resumes at once make the calls once", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { w.execute(t, run.Request{Resume: a.RunID}) })
		}
		wg.Wait()
		if most, all := w.most("ask"); most != 1 || all != 2 {
			t.Errorf("calls %v", w.calls)
		}
	})
	t.Run("an approval that is over", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		err := w.runs.Change(t.Context(), a.RunID, func(_ *state.Run, calls []state.RunCall) error {
			calls[0].Expires = time.Now().Add(-time.Second)
			return nil
		})
		if b := w.execute(t, run.Request{Resume: a.RunID}); err != nil || b.ExitCode != sandbox.ExitApproval || len(b.Pending) != 1 || w.calls[`ask{"k":"b"}`] != 1 || len(w.calls) != 2 {
			t.Errorf("%+v, %v\n%v", b, err, w.calls)
		}
	})
	t.Run("the clock was set back since", func(t *testing.T) {
		w, a := begin(t)
		later := time.Now().Add(time.Hour)
		err := w.runs.Change(t.Context(), a.RunID, func(r *state.Run, calls []state.RunCall) error {
			r.Expires = r.Expires.Add(time.Hour)
			if err := (state.Verdict{Approve: true, Denied: approve.Denied}).Decide(r, calls, time.Now()); err == nil {
				t.Error("decided about before it waited")
			}
			return state.Verdict{Approve: true, Denied: approve.Denied}.Decide(r, calls, later)
		})
		if b := w.execute(t, run.Request{Resume: a.RunID}); err != nil || b.ExitCode != sandbox.ExitApproval || len(b.Pending) != 2 {
			t.Errorf("%+v, %v", b, err)
		}
	})
	t.Run("the tool is another one than was approved", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		err := w.runs.Change(t.Context(), a.RunID, func(_ *state.Run, calls []state.RunCall) error {
			calls[0].Pin, calls[0].By = "that of before", "changed"
			return nil
		})
		if b := w.execute(t, run.Request{Resume: a.RunID}); err != nil || b.ExitCode != sandbox.ExitApproval || len(b.Pending) != 1 || w.calls[`ask{"k":"a"}`] != 0 || w.calls[`ask{"k":"b"}`] != 1 {
			t.Errorf("%+v, %v\n%v", b, err, w.calls)
		}
	})
	t.Run("the policy is another one", func(t *testing.T) {
		w, a := begin(t)
		w.decide(t, a.RunID, state.Verdict{Approve: true, Only: []int{1}})
		w.o.Policy = nil // a call that nobody has approved waits all the same
		w.Configure(w.o)
		b := w.execute(t, run.Request{Resume: a.RunID})
		if b.ExitCode != sandbox.ExitApproval || len(b.Pending) != 1 || w.calls[`ask{"k":"a"}`] != 1 || w.calls[`ask{"k":"b"}`] != 0 {
			t.Errorf("%+v\n%v", b, w.calls)
		}
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		w.o.Policy = policy.List{denies{}} // and one that is approved is denied
		w.Configure(w.o)
		if b := w.execute(t, run.Request{Resume: a.RunID}); b.ExitCode != 0 || !strings.Contains(string(b.Result), `"denied"`) || w.calls[`ask{"k":"b"}`] != 0 {
			t.Errorf("%+v\n%v", b, w.calls)
		}
	})
	t.Run("nobody decided", func(t *testing.T) {
		w, a := begin(t)
		err := w.runs.Change(t.Context(), a.RunID, func(r *state.Run, _ []state.RunCall) error {
			r.Expires = time.Now().Add(-time.Second)
			return nil
		})
		if b := w.execute(t, run.Request{Resume: a.RunID}); err != nil || b.ExitCode != 1 || !strings.Contains(b.Stderr, "written: 3 t__write; not written: 1 t__ask, 2 t__ask") {
			t.Errorf("%+v, %v", b, err)
		}
	})
	t.Run("granted for the run", func(t *testing.T) {
		w := newWorld(t)
		a := w.execute(t, run.Request{Code: "for (let i = 0; i < 3; i++) await callMCPTool('t__ask', { i })"})
		w.decide(t, a.RunID, state.Verdict{Approve: true, ForRun: true})
		if b := w.execute(t, run.Request{Resume: a.RunID}); b.ExitCode != 0 || len(w.calls) != 3 {
			t.Errorf("%+v\n%v", b, w.calls)
		}
	})
	t.Run("another principal", func(t *testing.T) {
		w, a := begin(t)
		other := w.execute(t, run.Request{Resume: a.RunID, Owner: "ci"})
		unknown := w.execute(t, run.Request{Resume: state.NewRunID(), Owner: "ci"})
		if fmt.Sprintf("%+v", other) != fmt.Sprintf("%+v", unknown) || other.ExitCode != sandbox.ExitRefused {
			t.Errorf("%+v\n%+v", other, unknown)
		}
	})
}

// A person is a client that shows forms.
type person struct {
	answers []string // in turn; then the form is closed
	asked   []string
	except  string
}

func (*person) Capabilities() questions.Capabilities { return questions.Capabilities{Form: true} }
func (*person) PageDone(string)                      {}
func (p *person) Answer(_ context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	p.asked = append(p.asked, q.(*mcp.ElicitParams).Message)
	if len(p.answers) == 0 {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	if answer == "decline" || answer == "cancel" {
		return &mcp.ElicitResult{Action: answer}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": answer, "except": p.except}}, nil
}

func TestPersonAtTheClient(t *testing.T) {
	const code = `const w = callMCPTool('t__write', { n: 1 }); const a = await Promise.all([1, 2].map(k => callMCPTool('t__ask', { k }))); await w; await callMCPTool('t__ask', { k: 3 }); console.log('end')`
	for _, tt := range []struct {
		answers []string
		exit    int
		asks    int // made
		forms   int
		stderr  string
	}{
		{[]string{"approve once", "approve once"}, 0, 3, 2, ""},
		{[]string{"approve for this run"}, 0, 3, 1, ""},
		{[]string{"approve once", "deny"}, 1, 2, 2, "t__ask was denied by the user"},
		{[]string{"stop"}, 1, 0, 1, "the user stopped the run: written: 1 t__write; not written: 2 t__ask, 3 t__ask"},
		{nil, 3, 0, 1, ""},
		{[]string{"approve once"}, 3, 2, 2, ""},
		{[]string{"approve once", "decline"}, 1, 2, 2, "t__ask was denied by the user"},
		{[]string{"decline"}, 1, 0, 1, "t__ask was denied by the user"},
		{[]string{"cancel"}, 3, 0, 1, ""},
		{[]string{"maybe"}, 3, 0, 1, ""},
	} {
		t.Run(strings.Join(tt.answers, ", "), func(t *testing.T) {
			w, p := newWorld(t), &person{answers: tt.answers}
			var printed strings.Builder
			a := w.execute(t, run.Request{Code: code, Talker: p, Stdout: &printed})
			most, all := w.most("ask")
			if a.ExitCode != tt.exit || all != tt.asks || most > 1 || len(p.asked) != tt.forms || !strings.Contains(a.Stderr, tt.stderr) || w.calls[`write{"n":1}`] != 1 {
				t.Errorf("%+v\n%v\nasked %q", a, w.calls, p.asked)
			}
			if want := map[int]string{0: "end\n"}[tt.exit]; printed.String() != want {
				t.Errorf("printed %q, want %q", printed.String(), want)
			}
			if len(p.asked) == 0 || !strings.Contains(p.asked[0], "2. t__ask (it needs a look)\n   {\"k\":1}") {
				t.Errorf("asked %q", p.asked)
			}
		})
	}
}

// Some calls are denied although the others are approved; a number that is none of
// theirs decides nothing.
func TestExcept(t *testing.T) {
	for except, want := range map[string]string{"2": `[1,"denied",3]`, "1, 3": `["denied",2,"denied"]`, "1,2,3": `["denied","denied","denied"]`, "4": "", "two": ""} {
		w, p := newWorld(t), &person{answers: []string{"approve once"}, except: except}
		a := w.execute(t, run.Request{Code: `return Promise.all([1, 2, 3].map(k => callMCPTool('t__ask', { k }).then(() => k, e => e.code)))`, Talker: p})
		if string(a.Result) != want || (a.ExitCode == 3) != (want == "") || w.n != strings.Count(want, ",")+1-strings.Count(want, "denied") && want != "" {
			t.Errorf("except %q: %+v\n%v", except, a, w.calls)
		}
	}
}

// What is approved always goes into the policy, if that would stop it asking.
func TestApproveAlways(t *testing.T) {
	for _, tt := range []struct {
		policy  policy.Policy
		owner   string
		offered bool
	}{{presetAsks{}, state.Local, true}, {asks{"ask"}, state.Local, false}, {presetAsks{}, "ci", false}} {
		w, p := newWorld(t), &person{answers: []string{"approve always"}}
		var always []string
		w.o.Policy, w.o.Always = policy.List{tt.policy}, func(tools []string) error { always = append(always, tools...); return nil }
		w.Configure(w.o)
		a := w.execute(t, run.Request{Code: `for (const k of [1, 2]) await callMCPTool('t__ask', { k })`, Talker: p, Owner: tt.owner})
		want, exit := "[]", 3
		if tt.offered {
			want, exit = "[t__ask]", 0
		}
		if fmt.Sprint(always) != want || a.ExitCode != exit || len(p.asked) != 1 {
			t.Errorf("%+v: always %v, %+v", tt, always, a)
		}
	}
}

// A person sees the full arguments before approving, in several forms if needed, and
// can only deny a call that does not fit in the forms.
func TestLongCallsAtTheClient(t *testing.T) {
	long := func(n int) string {
		return fmt.Sprintf(`const go = (s) => callMCPTool('t__ask', { s }).then(() => 'made', (e) => e.code); return Promise.all([go('x'.repeat(%d) + 'THE END'), go('short')])`, n)
	}
	for _, tt := range []struct {
		name    string
		size    int
		answers []string
		forms   int
		exit    int
		result  string
		shown   bool // its end is shown
	}{
		{"in two forms", 2_500, []string{"show the rest", "approve once", "approve once"}, 3, 0, `["made","made"]`, true},
		{"in five", 9_900, []string{"show the rest", "show the rest", "show the rest", "show the rest", "approve once", "approve once"}, 6, 0, `["made","made"]`, true},
		{"approved before the rest", 2_500, []string{"approve once", "approve once"}, 1, 3, "", false},
		{"denied before the rest", 9_900, []string{"deny", "approve once"}, 2, 0, `["denied","made"]`, false},
		{"too long and approved", 10_100, []string{"approve once", "approve once"}, 1, 3, "", false},
		{"too long and approved for the run", 50_000, []string{"approve for this run"}, 1, 3, "", false},
		{"too long and denied", 10_100, []string{"deny", "approve once"}, 2, 0, `["denied","made"]`, false},
		{"too long and declined", 10_100, []string{"decline", "approve once"}, 2, 0, `["denied","made"]`, false},
		{"declined before the rest", 9_900, []string{"show the rest", "decline", "approve once"}, 3, 0, `["denied","made"]`, false},
		{"closed before the rest", 9_900, []string{"show the rest", "cancel"}, 2, 3, "", false},
		{"too long and closed", 10_100, nil, 1, 3, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, p := newWorld(t), &person{answers: tt.answers}
			a := w.execute(t, run.Request{Code: long(tt.size), Talker: p})
			seen := strings.Join(p.asked, "")
			if a.ExitCode != tt.exit || string(a.Result) != tt.result || len(p.asked) != tt.forms || strings.Contains(seen, "THE END") != tt.shown {
				t.Errorf("%+v\n%d forms", a, len(p.asked))
			}
			if tt.shown && strings.Count(seen, "x") < tt.size {
				t.Errorf("of %d characters %d were shown", tt.size, strings.Count(seen, "x"))
			}
			if tt.size > 10_000 && !strings.Contains(p.asked[0], "cannot be approved here") {
				t.Errorf("asked %.300q", p.asked[0])
			}
		})
	}
	t.Run("a call that cannot wait", func(t *testing.T) {
		w, p := newWorld(t), &person{answers: []string{"approve once"}}
		args := json.RawMessage(`{"s":"` + strings.Repeat("x", 20_000) + `"}`)
		_, _, err := w.Call(t.Context(), run.CallRequest{Tool: "t__ask", Arguments: args, Talker: p})
		if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Code != bridge.CodeApproval || !strings.Contains(e.Message, "too long for a form") || w.n != 0 {
			t.Errorf("%v; %d calls", err, w.n)
		}
		p.answers = []string{"show the rest", "approve once"}
		p.answers = []string{"show the rest", "approve once"}
		args = json.RawMessage(`{"password":"` + strings.Repeat("x", 3_000) + `THE END"}`)
		if _, _, err := w.Call(t.Context(), run.CallRequest{Tool: "t__ask", Arguments: args, Talker: p}); err != nil || !strings.Contains(p.asked[len(p.asked)-1], "THE END") {
			t.Errorf("%v; asked %q", err, p.asked[len(p.asked)-1])
		}
	})
}

// A waiting call names its line of the script and its client.
func TestWaitingCallsHaveTheirLine(t *testing.T) {
	for _, tt := range []struct {
		code string
		want []int
	}{
		{"const a = 1\n\nawait callMCPTool('t__ask', { k: a })", []int{3}},
		{"// one\n/* two\n three */ const k = { k: 'a' };\nconst f = (x) => callMCPTool('t__ask', x);\nawait f(k)", []int{4}},
		{"await Promise.all([1, 2].map((k) =>\n  callMCPTool('t__ask', { k })).concat(\n  callMCPTool('t__ask', { k: 3 })))", []int{2, 2, 3}},
		{"async function go() {\n  return await callMCPTool('t__ask', {})\n}\nawait go()", []int{2}},
	} {
		w := newWorld(t)
		a := w.execute(t, run.Request{Code: tt.code, ClientInfo: "claude-code"})
		again := w.execute(t, run.Request{Resume: a.RunID})
		r, calls, err := w.runs.Run(t.Context(), a.RunID)
		var got []int
		for _, c := range calls {
			got = append(got, c.Line)
		}
		if err != nil || again.RunID != a.RunID || fmt.Sprint(got) != fmt.Sprint(tt.want) || r.ClientInfo != "claude-code" {
			t.Errorf("%s: lines %v, client %q, %v; want lines %v", tt.code, got, r.ClientInfo, err, tt.want)
		}
	}
}

// With payloads, and only then, the record contains the model's answer, byte for byte
// except for secrets.
func TestAnswersAreRecorded(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		payloads   bool
	}{
		{"a result", `return { n: 1, s: "<b>é" }`, true},
		{"an error", `throw new Error("no")`, true},
		{"output", `console.log("hello"); return null`, true},
		{"a call that waits", `await callMCPTool('t__ask', { k: 1 })`, true},
		{"without payloads", `return 1`, false},
	} {
		w, dir := newWorld(t), t.TempDir()
		store, err := sqlite.Open(dir, &sqlite.Options{Payloads: tt.payloads})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		w.o.Audit = store
		w.Configure(w.o)
		answer := gate.Compact(w.execute(t, run.Request{Code: tt.code}))
		list, err := store.List(t.Context(), state.Filter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", tt.name, list, err)
		}
		e, _, err := store.Show(t.Context(), list[0].ID)
		want := string(answer)
		if !tt.payloads {
			want = ""
		}
		if err != nil || string(e.Answer) != want || e.BytesOut != int64(len(answer)) {
			t.Errorf("%s: %v, %d bytes, recorded %s; want %s", tt.name, err, e.BytesOut, e.Answer, want)
		}
	}
}
