package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// made are the calls that the server got, sorted.
func (w *world) made() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for call, n := range w.calls {
		list = append(list, strings.Repeat(call, n))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

const planned = `const n = await callMCPTool('t__read', { k: 1 });
const [m] = await Promise.all([callMCPTool('t__make', { n, at: Date.now() }), callMCPTool('t__write', { first: Math.random() })]);
const again = await callMCPTool('t__read', { k: 2 });
const seen = await callMCPTool('t__read', { of: m.id });
await callMCPTool('t__write', { title: 'about ' + m.of.name, id: m.id, again });
await callMCPTool('t__purge', { seen });
return m.id;`

// The writes of a script are listed, with what they have of each other's results, and
// made when that is approved: these, and no others.
func TestPlan(t *testing.T) {
	w := newWorld(t)
	a := w.execute(t, run.Request{Code: planned, Plan: true})
	if a.ExitCode != sandbox.ExitApproval || len(a.Pending) != 4 || w.made() != `read{"k":1} read{"k":2}` {
		t.Fatalf("%+v\n%s", a, w.made())
	}
	last, purge := a.Pending[2], a.Pending[3]
	if last.DependsOn != 2 || string(last.Args) != `{"title":"about «2.of.name»","id":900002000,"again":2}` || last.Why != "it writes" {
		t.Errorf("%+v: %s", last, last.Args)
	}
	if purge.Tool != "t__purge" || purge.Why != "it is destructive" || purge.DependsOn != 5 {
		t.Errorf("%+v", purge)
	}
	if again := w.execute(t, run.Request{Resume: a.RunID}); again.ExitCode != sandbox.ExitApproval || len(again.Pending) != 4 {
		t.Errorf("before a decision: %+v", again)
	}
	w.decide(t, a.RunID, state.Verdict{Approve: true})
	b := w.execute(t, run.Request{Resume: a.RunID})
	if b.ExitCode != 0 || b.Replayed != 2 || b.Hint != "" || len(b.Reused) != 0 {
		t.Errorf("%+v", b)
	}
	made := w.made()
	for _, want := range []string{`make{"at":`, `purge{"seen":5}`, fmt.Sprintf(`"title":"about thing %s"`, b.Result), fmt.Sprintf(`read{"of":%s}`, b.Result)} {
		if !strings.Contains(made, want) {
			t.Errorf("%s is not among the calls %s", want, made)
		}
	}
	if len(w.calls) != 7 || w.n != 7 {
		t.Errorf("calls %s", made)
	}
}

// The person at the client approves all of a plan before any of it is made, however
// many questions that takes.
func TestPlanIsApprovedAtTheClient(t *testing.T) {
	const code = `for (let i = 0; i < 4; i++) await callMCPTool('t__write', { i, text: 'so '.repeat(500) })`
	for _, tt := range []struct {
		answers []string
		exit    int
		made    func(first int) int // of those that the first question shows
	}{
		{[]string{"approve once", "approve once"}, 0, func(int) int { return 4 }},
		{[]string{"approve once"}, 3, func(int) int { return 0 }},
		{[]string{"approve once", "deny"}, 1, func(first int) int { return first }},
		{[]string{"approve once", "stop"}, 1, func(int) int { return 0 }},
	} {
		w, p := newWorld(t), &person{answers: tt.answers}
		a := w.execute(t, run.Request{Code: code, Plan: true, Talker: p})
		first := strings.Count(p.asked[0], "t__write")
		if a.ExitCode != tt.exit || first == 0 || first == 4 || w.n != tt.made(first) || len(p.asked) != 2 || len(a.Reused) > 0 {
			t.Errorf("%v: %d forms, %d calls, %+v", tt.answers, len(p.asked), w.n, a)
		}
	}
}

// What is not in the plan is asked about, even if the policy allows it.
func TestPlanAndNothingElse(t *testing.T) {
	for name, tt := range map[string]struct {
		code, pending string
		exit, planned int
	}{
		"other arguments": {`const m = await callMCPTool('t__make', {}); await callMCPTool('t__write', { text: m.of.name.toUpperCase().slice(0, 5) })`,
			`t__write {"text":"THING"}`, 3, 2},
		"more calls": {`const m = await callMCPTool('t__make', {}); if (m.id < 900000000) await callMCPTool('t__write', { extra: 1 }); await callMCPTool('t__write', { id: m.id })`,
			`t__write {"extra":1}`, 3, 2},
		"fewer calls": {`const m = await callMCPTool('t__make', {}); if (m.id > 900000000) await callMCPTool('t__write', { extra: 1 })`, ``, 0, 2},
		"the plan broke off": {`const m = await callMCPTool('t__write', {}); if (m.toFixed) await callMCPTool('t__write', { m }); else throw new Error('no number')`,
			`t__write {"m":1}`, 3, 1},
	} {
		w := newWorld(t)
		a := w.execute(t, run.Request{Code: tt.code, Plan: true})
		if a.ExitCode != sandbox.ExitApproval || len(a.Pending) != tt.planned || w.n != 0 || (a.Stderr != "") != (name == "the plan broke off") {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		b := w.execute(t, run.Request{Resume: a.RunID})
		var got strings.Builder
		for _, p := range b.Pending {
			got.WriteString(fmt.Sprintf("%s %s", p.Tool, p.Args))
		}
		if b.ExitCode != tt.exit || got.String() != tt.pending || w.n != 1 || (tt.exit == 0) != strings.Contains(b.Hint, "calls of the plan that were not made: 1") {
			t.Errorf("%s: %+v\n%s", name, b, w.made())
		}
	}
}

// A plan that is carried out is broken off after each of its records, and goes on
// without repeating or losing a write.
func TestPlanKilledAnywhere(t *testing.T) {
	w, deaths, unknown := newWorld(t), 0, 0
	for trial := 2; trial < 42; trial++ {
		n, after := trial/2, trial%2 == 1
		w.mu.Lock()
		w.calls, w.n = map[string]int{}, 0
		w.mu.Unlock()
		a := w.execute(t, run.Request{Code: planned, Plan: true})
		w.decide(t, a.RunID, state.Verdict{Approve: true})
		b, died := w.resumeAndDie(t, a.RunID, n, after)
		deaths += map[bool]int{true: 1}[died]
		for range 10 {
			if !died && b.ExitCode != sandbox.ExitApproval {
				break
			}
			if died || len(b.Pending) > 0 && b.Pending[0].State == state.RunUnknown {
				for _, p := range b.Pending {
					unknown++
					_ = w.runs.Change(t.Context(), a.RunID, func(r *state.Run, calls []state.RunCall) error { return state.Settle(r, calls, p.N, true) })
				}
			} else {
				w.decide(t, a.RunID, state.Verdict{Approve: true})
			}
			b, died = w.execute(t, run.Request{Resume: a.RunID}), false
		}
		for _, tool := range []string{"make", "purge"} {
			if _, all := w.most(tool); all > 1 {
				t.Errorf("killed at record %d: %s", n, w.made())
			}
		}
		if most, all := w.most("write"); most > 1 || all > 2 {
			t.Errorf("killed at record %d: %s", n, w.made())
		}
		if b.ExitCode == 1 && !strings.Contains(b.Stderr, "null") || b.ExitCode > 1 {
			t.Errorf("killed at record %d: %+v", n, b)
		}
	}
	if deaths == 0 || unknown == 0 {
		t.Errorf("%d deaths, %d unknown outcomes: the trials show nothing", deaths, unknown)
	}
	t.Logf("%d deaths, %d unknown outcomes", deaths, unknown)
}

// resumeAndDie resumes a run in a process that dies at its nth record, before or after
// the record is stored.
func (w *world) resumeAndDie(t *testing.T, id string, n int, after bool) (run.Answer, bool) {
	d := &dying{Runs: w.runs, left: n, after: after, die: func() {}}
	o := w.o
	o.Runs = d
	w.Configure(o)
	a := w.execute(t, run.Request{Resume: id})
	w.Configure(w.o)
	if d.dead {
		if err := d.last.End(state.Run{Status: state.StatusInterrupted, Plan: state.PlanMade}); err != nil {
			t.Error(err)
		}
	}
	return a, d.dead
}

func TestNoPlan(t *testing.T) {
	w := newWorld(t)
	a := w.execute(t, run.Request{Code: `return callMCPTool('t__read', {})`, Plan: true})
	if a.ExitCode != 0 || string(a.Result) != "1" || a.Hint != "there is nothing to plan: the script wrote nothing" {
		t.Errorf("%+v", a)
	}
	for _, req := range []run.Request{{Code: "1", Plan: true, Isolation: "container", AnyIsolation: true}, {Code: "1", Plan: true, Resume: "r_1"}} {
		if a := w.execute(t, req); a.ExitCode != sandbox.ExitRefused || !strings.Contains(a.Stderr, "plan") {
			t.Errorf("%+v: %+v", req, a)
		}
	}
	// A plan whose approval is over is asked about again.
	a = w.execute(t, run.Request{Code: `const m = await callMCPTool('t__make', {}); await callMCPTool('t__write', { id: m.id })`, Plan: true})
	w.decide(t, a.RunID, state.Verdict{Approve: true})
	err := w.runs.Change(t.Context(), a.RunID, func(_ *state.Run, calls []state.RunCall) error {
		for i := range calls {
			calls[i].Expires = time.Now().Add(-time.Second)
		}
		return nil
	})
	if b := w.execute(t, run.Request{Resume: a.RunID}); err != nil || b.ExitCode != sandbox.ExitApproval || w.n != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}
