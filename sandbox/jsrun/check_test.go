package jsrun

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// checked runs a program with a check that gives verdict, and returns what the
// check was told; nil if it was not asked.
func checked(t *testing.T, lang sandbox.Language, code string, source bool, verdict sandbox.Verdict) (Outcome, *memHost, *sandbox.Parsed) {
	t.Helper()
	h := &memHost{}
	var told *sandbox.Parsed
	out := Run(t.Context(), Program{
		Language: lang, Code: code, Modules: testModules, Limits: sandbox.Limits{Grace: 5 * time.Second},
		CheckSource: source,
		Check: func(_ context.Context, p sandbox.Parsed) sandbox.Verdict {
			told = &p
			return verdict
		},
	}, h)
	return out, h, told
}

func TestCheckRefusesBeforeTheProgramRuns(t *testing.T) {
	code := "console.log('ran');\nawait github.listIssues({ state: 'open' })"
	out, h, _ := checked(t, "", code, false, sandbox.Verdict{Notes: []string{"looked"}, Problems: []sandbox.Problem{
		{Offset: strings.Index(code, "'open'"), Message: "wrong", Hint: "signature"},
		{Offset: strings.Index(code, "'open'"), Message: "wrong", Hint: "signature"},
		{Offset: -3, Message: "first"}, {Offset: 1 << 40, Message: "last"},
	}})
	if out.ExitCode != sandbox.ExitRefused || len(h.calls) > 0 || h.stdout.Len() > 0 {
		t.Errorf("outcome %+v, calls %v, printed %q; want it refused", out, h.calls, h.stdout.String())
	}
	want := "agent.ts:2:34: wrong\n  await github.listIssues({ state: 'open' })\n                                   ^\nsignature\n"
	if !strings.HasPrefix(out.Error, want) || strings.Count(out.Error, "wrong") != 1 || !strings.HasSuffix(out.Error, "\n0 tools called") {
		t.Errorf("error\n%s\nwant it to begin with\n%s", out.Error, want)
	}
	if diff := cmp.Diff([]string{"looked"}, out.Notes); diff != "" {
		t.Errorf("notes %v", out.Notes)
	}
}

func TestCheckLetsPass(t *testing.T) {
	out, h, told := checked(t, "", "await github.listIssues({}); return nowhere", false,
		sandbox.Verdict{Notes: []string{"looked"}, Hints: map[string]string{"nowhere": "import it"}})
	if told == nil || out.ExitCode != sandbox.ExitThrew || len(h.calls) != 1 || !strings.Contains(out.Error, "hint: import it") || len(out.Notes) != 1 {
		t.Errorf("outcome %+v after %d calls; want a ReferenceError with the hint, and the note", out, len(h.calls))
	}
	if _, _, told := checked(t, "", "return 1 + 1", false, sandbox.Verdict{}); told != nil {
		t.Errorf("a program without calls is checked: %+v", told)
	}
}

// A refusal lists all mistakes of a program: failed imports, missing names of modules,
// and those that the check finds.
func TestAllMistakesAtOnce(t *testing.T) {
	for _, lang := range []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript} {
		for code, want := range map[string][]string{
			"import { x } from './servers/nope';\nimport { y } from './servers/github';\nreturn github.listIssues({}) + x(y)": {":1:19: cannot find module", ":2:10: servers/github has no export \"y\"", ":3:1: checked"},
			"import a from 'left-pad';\nimport b from 'right-pad';\nreturn github.listIssues(a(b))":                           {":1:15: cannot find module", ":2:15: cannot find module", ":3:1: checked"},
			"const z = github.nothing({}); return github.listIssues({})":                                                      {`:1:18: servers/github has no export "nothing"`, ":1:1: checked"},
			"import { x } from './servers/nope';\nconst = 1":                                                                  {":2:7: "},
		} {
			var at int
			out := Run(t.Context(), Program{Language: lang, Code: code, Modules: testModules, Check: func(_ context.Context, p sandbox.Parsed) sandbox.Verdict {
				at = strings.LastIndex(code, "\n") + 1
				return sandbox.Verdict{Problems: []sandbox.Problem{{Offset: at, Message: "checked"}}}
			}}, &memHost{})
			for _, w := range want {
				if !strings.Contains(out.Error, w) {
					t.Errorf("%s: %s\n%s\nwant %s", lang, code, out.Error, w)
				}
			}
			if out.ExitCode != sandbox.ExitRefused || strings.Count(out.Error, "0 tools called") != 1 {
				t.Errorf("%s: %+v", code, out)
			}
		}
	}
}
