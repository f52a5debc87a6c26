package sandboxtest

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// checkCode calls one tool and prints, so that it shows whether it ran.
const checkCode = "console.log('ran');\nreturn await callMCPTool('a__b', { state: 'open' })"

// testCheckRefuses requires that the check gets the call, and that its problem keeps
// the program from running.
func testCheckRefuses(t *testing.T, r *runnerTest) {
	var told sandbox.Parsed
	calls := 0
	got := r.do(t.Context(), sandbox.Request{
		Code: checkCode,
		Check: func(_ context.Context, p sandbox.Parsed) sandbox.Verdict {
			told = p
			return sandbox.Verdict{Problems: []sandbox.Problem{{Offset: strings.Index(checkCode, "'open'"), Message: "no such state"}}}
		},
		Call: func(context.Context, sandbox.Call) (raw, error) { calls++; return nil, nil },
	})
	got.want(t, sandbox.ExitRefused, "", "agent.ts:2:43: no such state", "0 tools called")
	if calls > 0 || got.stdout != "" {
		t.Errorf("%d calls, printed %q: it ran", calls, got.stdout)
	}
	if len(told.Calls) != 1 || told.Calls[0].Target != "a__b" || string(told.Calls[0].Input.Fields[0].Value.Value) != `"open"` {
		t.Errorf("the check was told %+v", told)
	}
	if told.Source != "" {
		t.Error("the check was told the source, which nobody asked for")
	}
}

// testCheckPasses wants a program without problems to run as it would, with
// what the check has to say.
func testCheckPasses(t *testing.T, r *runnerTest) {
	checks := 0
	check := func(_ context.Context, p sandbox.Parsed) sandbox.Verdict {
		checks++
		return sandbox.Verdict{Notes: []string{"looked at it"}, Hints: map[string]string{"gone": "it is elsewhere"}}
	}
	got := r.do(t.Context(), sandbox.Request{Code: checkCode, Check: check, Call: echo})
	got.want(t, sandbox.ExitOK, `{"state":"open"}`)
	if got.stdout != "ran\n" || len(got.Notes) != 1 {
		t.Errorf("printed %q, notes %q", got.stdout, got.Notes)
	}
	if len(got.Reads) != 0 {
		t.Errorf("reads %q", got.Reads)
	}
	shaped := func(context.Context, sandbox.Parsed) sandbox.Verdict {
		return sandbox.Verdict{Shapes: map[string]*sandbox.Shape{"a__b": {Props: map[string]*sandbox.Shape{"state": {}}}}}
	}
	got = r.do(t.Context(), sandbox.Request{Code: "return (await callMCPTool('a__b', { state: 1 })).sate", Check: shaped, Call: echo})
	got.want(t, sandbox.ExitOK, "")
	if len(got.Reads) != 1 || got.Reads[0] != "line 1: sate is undefined; did you mean state?" {
		t.Errorf("reads %q, want the misspelt one", got.Reads)
	}
	r.do(t.Context(), sandbox.Request{Code: "gone()", Check: check}).want(t, sandbox.ExitThrew, "", "hint: it is elsewhere")
	r.do(t.Context(), sandbox.Request{Code: "return 2", Check: check}).want(t, sandbox.ExitOK, "2")
	if checks != 2 {
		t.Errorf("%d checks, want 2: the last program has nothing to check", checks)
	}
	r.do(t.Context(), sandbox.Request{Code: "return 2", Check: check, CheckSource: true}).want(t, sandbox.ExitOK, "2")
	if checks != 3 {
		t.Error("a program was not checked though its source was asked for")
	}
}

// testCheckEnds wants a check that takes long to end with the run's time.
func testCheckEnds(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{
		Code: checkCode, Limits: short,
		Check: func(ctx context.Context, _ sandbox.Parsed) sandbox.Verdict {
			<-ctx.Done()
			return sandbox.Verdict{}
		},
	})
	got.want(t, sandbox.ExitTimeout, "", "time limit of 0.3 s")
}
