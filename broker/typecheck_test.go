package broker_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// brokenCompiler is the name under which the test binary is a compiler that
// says its version and nothing else.
const brokenCompiler = "broken-compiler"

func runBrokenCompiler() {
	if slices.Contains(os.Args, "--version") {
		os.Stdout.WriteString("Version 7.0.0\n")
		return
	}
	os.Stderr.WriteString("panic: fell over\n")
	os.Exit(2)
}

func compiler(t testing.TB, path string) *typecheck.Checker {
	t.Helper()
	return typecheck.New(typecheck.Options{Compiler: path, Timeout: 30 * time.Second})
}

// nativeCompiler skips the test where there is none.
func nativeCompiler(t testing.TB) *typecheck.Checker {
	t.Helper()
	c := compiler(t, os.Getenv("BROKER_TSC"))
	if _, err := c.Compiler(t.Context()); err != nil {
		if os.Getenv("BROKER_CI") != "" {
			t.Fatalf("no native TypeScript compiler: %v", err)
		}
		t.Skipf("needs a native TypeScript compiler in PATH, or its path in BROKER_TSC: %v", err)
	}
	return c
}

func github(t testing.TB, d broker.Deps, s broker.Settings) *broker.Broker {
	t.Helper()
	s.Servers = []upstream.Config{upstreamConfig(t, "github")}
	b := newBroker(t, d, s)
	b.Refresh(t.Context())
	return b
}

func TestMistakesAreRefusedWithACompiler(t *testing.T) {
	cs := connect(t, github(t, broker.Deps{}, broker.Settings{Typecheck: nativeCompiler(t)}), "2025-11-25", nil)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) { refusedThroughMCP(t, cs, m.code, m.says) })
	}
	for _, m := range []struct {
		name, code string
		says       []string
	}{
		{"a forgotten await", "import { createIssue } from './servers/github';\nawait createIssue({ title: 'x' });\nconst r = createIssue({ title: 'y' });\nreturn r.number;",
			[]string{"agent.ts:4:10", "'number' does not exist on type 'Promise<", "did you forget await?", "(TS2339)"}},
		{"a variable of the wrong type", "const perPage = 'five';\nawait github.listIssues({ owner: 'o', repo: 'r', perPage });",
			[]string{"agent.ts:2:50", "'string' is not assignable to type 'number'", "(TS2322)"}},
		{"a value that a variable takes from no enum", "const state = 'open';\nawait github.listIssues({ owner: 'o', repo: 'r', state });", []string{"agent.ts:2:50", "OPEN", "(TS2820)"}},
		{"a file outside", "let x: typeof import('/etc/passwd') = github.createIssue({ title: 'x' });", []string{"agent.ts:1:22", "cannot find module"}},
	} {
		t.Run(m.name, func(t *testing.T) { refusedThroughMCP(t, cs, m.code, m.says) })
	}
}

// What models write runs with a compiler as it does without one.
func TestScriptsThatRunPassACompiler(t *testing.T) {
	b := github(t, broker.Deps{}, broker.Settings{Typecheck: nativeCompiler(t), TypecheckStrict: true})
	for _, code := range []string{
		"import { listIssues } from './servers/github';\nconst r = await listIssues({ owner: 'o', repo: 'r', state: 'OPEN' });\nconst out = {};\nout.owner = r.owner;\nreturn out;",
		"import { createIssue } from './servers/github/createIssue';\nimport * as gh from '@/servers/github.ts';\nfor (const title of ['a', 'b']) await createIssue({ title });\nreturn await Promise.all([1, 2].map(n => gh.createIssue({ title: `t${n}` })));",
		"const groups = Object.groupBy(['a', 'bb'], s => s.length);\nconsole.log(groups, structuredClone([1]), new URL('https://example.com/').host, [3, 1].toSorted(), crypto.randomUUID?.().length);\nawait github.setFields({ id: 'x', more: new Date(0).toISOString() });",
		"try { await callMCPTool('github__create_issue', { title: 'x' }) } catch (e) { console.log(e.code, e instanceof ToolError) }",
		"export default async function main() { const { title } = await github.createIssue({ title: 'x' }); return title }",
		"async () => { return (await github.createIssue({ title: 'x' })).title }",
		"```ts\nconst m = new Map<string, number>(); m.set('a', 1);\nconst n: number = m.get('a');\nawait github.createIssue({ title: String(n) });\n```",
		"let last = null; for (const t of ['a']) { last = await github.createIssue({ title: t }); } return last.title",
		"const in_ = { title: 'x', body: null }; await github.createIssue(in_);\nconst state = null; await github.listIssues({ owner: 'o', repo: 'r', state, labels: null, perPage: [5][1] ?? null });",
		"return 1 + 1",
	} {
		if a := execute(t, b, code); a.ExitCode != 0 {
			t.Errorf("%s\nexit code %d: %s", code, a.ExitCode, a.Stderr)
		}
	}
}

func TestACompilerThatIsAbsentOrFailsStopsNothingUnlessStrict(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs a program without .exe")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	broken := copyOf(t, exe)
	t.Setenv("PATH", t.TempDir())
	const code = "return (await github.createIssue({ title: 'x' })).title"
	for _, tt := range []struct {
		name, path, says string
	}{
		{"absent", "", "no native TypeScript compiler was found"},
		{"misnamed", "/nowhere/tsc", "/nowhere/tsc"},
		{"broken", broken, "fell over"},
	} {
		a := execute(t, github(t, broker.Deps{}, broker.Settings{Typecheck: compiler(t, tt.path)}), code)
		if a.ExitCode != 0 || string(a.Result) != `"x"` || strings.Contains(a.Stderr, tt.says) == (tt.name == "absent") {
			t.Errorf("%s, auto: %+v; want it to run, with a note unless nobody asked for a compiler", tt.name, a)
		}
		a = execute(t, github(t, broker.Deps{}, broker.Settings{Typecheck: compiler(t, tt.path), TypecheckStrict: true}), code)
		if a.ExitCode != sandbox.ExitRefused || len(a.ToolsCalled) > 0 || !strings.Contains(a.Stderr, tt.says) || !strings.Contains(a.Stderr, `"strict"`) {
			t.Errorf("%s, strict: %+v; want it refused with %q", tt.name, a, tt.says)
		}
	}
}

// copyOf is a copy of a program under the name of the broken compiler: a link
// would be followed to the program's own name.
func copyOf(t *testing.T, program string) string {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), brokenCompiler)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
