package typecheck

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the launcher, and a compiler that misbehaves.
func TestMain(m *testing.M) {
	if IsLauncher() {
		Launch()
		return
	}
	if fake := filepath.Base(os.Args[0]); strings.HasPrefix(fake, "fake-") {
		misbehave(strings.TrimPrefix(fake, "fake-"))
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

// misbehave is a compiler that answers for its version and then does what its
// name says. It ends with syscall.Exit, since os.Exit sleeps for a second with the race detector.
func misbehave(how string) {
	if how == "old" {
		os.Stdout.WriteString("Version 5.9.3\n")
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		os.Stdout.WriteString("Version 7.9.0\n")
		return
	}
	switch how {
	case "crash":
		os.Stderr.WriteString("panic: fell over\n")
		syscall.Exit(42)
	case "hang":
		r, w, err := os.Pipe() // an empty select would count as a deadlock
		if err != nil {
			panic(err)
		}
		defer w.Close()
		_, _ = r.Read(make([]byte, 1))
	case "flood":
		for {
			os.Stdout.WriteString(strings.Repeat("x", 1<<16) + "\n")
		}
	case "babble":
		os.Stdout.WriteString("error TS5033: Could not write file\n")
		syscall.Exit(1)
	case "environment":
		os.Stdout.WriteString("agent.ts(1,1): error TS1005: " + strings.Join(os.Environ(), " ") + ".\n")
		syscall.Exit(2)
	case "hungry":
		var kept [][]byte
		for range 1 << 12 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			kept = append(kept, b)
		}
		os.Stdout.WriteString("ate all\n")
		_ = kept
	}
}

// fake returns a checker whose compiler misbehaves.
func fake(t *testing.T, how string, o Options) *Checker {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fake-"+how)
	if err := os.Link(exe, path); err != nil {
		data, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o.Compiler = path
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	return New(o)
}

// real returns a checker with a real compiler, and skips the test without one.
func real(t testing.TB) *Checker {
	t.Helper()
	c := New(Options{Compiler: os.Getenv("BROKER_TSC"), Timeout: 30 * time.Second})
	if _, err := c.Compiler(t.Context()); err != nil {
		if os.Getenv("BROKER_CI") != "" {
			t.Fatalf("no native TypeScript compiler: %v", err)
		}
		t.Skipf("needs a native TypeScript compiler in PATH, or its path in BROKER_TSC: %v", err)
	}
	return c
}

var tree = map[string][]byte{
	"globals.d.ts": []byte("declare function $keep(main: () => Promise<unknown>): void;\ndeclare const console: { log(...data: unknown[]): void };\n"),
	"servers/github/listIssues.ts": []byte("import { callMCPTool } from '../../helpers/callMCPTool';\n" +
		"export type Input = { owner: string; repo: string; state?: \"OPEN\" | \"CLOSED\"; perPage?: number };\n" +
		"export function listIssues(input: Input): Promise<any> { return callMCPTool('github__list_issues', input); }\n"),
	"servers/github/index.ts": []byte("export { listIssues } from './listIssues';\nexport { forecast } from './forecast';\n"),
	"servers/github/forecast.ts": []byte("import { callMCPTool } from '../../helpers/callMCPTool';\n" +
		"export type Input = { location: \"Chicago\" | \"New York\"; days?: number; ids?: number[]; since?: string };\nexport type Output = { high: number; rows: { day: string }[] };\n" +
		"export function forecast(input: Input): Promise<Output> { return callMCPTool('github__forecast', input); }\n"),
	"helpers/callMCPTool.ts": []byte("export declare function callMCPTool<T = any>(tool: string, input?: object): Promise<T>;\n"),
}

func check(t testing.TB, c *Checker, code string) []Diagnostic {
	t.Helper()
	found, err := c.Check(t.Context(), Program{Files: tree, Source: "$keep(async function(){" + code + "\n});\nimport { listIssues, forecast } from './servers/github';\nimport * as github from './servers/github/index.ts';\n"})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMistakesAreFoundWithTheirPlace(t *testing.T) {
	c := real(t)
	for _, tt := range []struct {
		name, code, at string
		code2          int
		says           string
	}{
		{"a misspelt member", "await github.lstIssues({});", "lstIssues", 2551, "Did you mean 'listIssues'?"},
		{"a missing key", "await listIssues({ owner: 'o' });", "{ owner", 2741, "Property 'repo' is missing"},
		{"a value of no enum", "const 🙂x = 0; await listIssues({ owner: 'o', repo: 'r', state: 'open' });", "state", 2820, `Did you mean '"OPEN"'?`},
		{"an unknown key", "\nawait listIssues({ owner: 'o', repo: 'r', per_page: 5 });", "per_page", 2561, "perPage"},
		{"a wrong type", "await listIssues({ owner: 'o', repo: 'r', perPage: '5' });", "perPage", 2322, "'string' is not assignable to type 'number'"},
		{"a forgotten await", "const r = listIssues({ owner: 'o', repo: 'r' });\nconsole.log(r.length);", "length", 2339, "did you forget await?"},
		{"a loop over a promise", "const r = listIssues({ owner: 'o', repo: 'r' });\nfor (const i of r) console.log(i);", "r) console", 2488, "did you forget await?"},
		{"a name that is not there", "await listIsues({ owner: 'o', repo: 'r' });", "listIsues", 2552, "Did you mean 'listIssues'?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := strings.ReplaceAll(tt.code, "🙂x", "s = '🙂'; const x")
			found := check(t, c, code)
			if len(found) != 1 {
				t.Fatalf("diagnostics %+v, want one", found)
			}
			d := found[0]
			at := d.Offset - len("$keep(async function(){")
			if d.Code != tt.code2 || !d.Blocks || !strings.Contains(d.Message, tt.says) || !strings.HasPrefix(code[max(0, min(at, len(code))):], tt.at) {
				t.Errorf("%+v at %.20q, want TS%d at %q with %q", d, code[max(0, min(at, len(code))):], tt.code2, tt.at, tt.says)
			}
		})
	}
}

func TestWhatRunsPasses(t *testing.T) {
	c := real(t)
	for _, code := range []string{
		"const r = await listIssues({ owner: 'o', repo: 'r', state: 'OPEN' }); return r.issues.map(i => i.title);",
		"const out = {}; out.total = 5; return out;",
		"const names = ['a']; const first: string = names.find(n => n === 'b'); return first;",
		"try { await listIssues({ owner: 'o', repo: 'r' }) } catch (e) { return e.message }",
		"function f(x) { return x.y } return f({ y: 1 });",
	} {
		for _, d := range check(t, c, code) {
			if d.Blocks {
				t.Errorf("%s: %+v", code, d)
			}
		}
	}
}

// A type can name any file, and the compiler would print what is in it.
func TestFilesOutsideOfTheTreeAreNotRead(t *testing.T) {
	c := real(t)
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"password":{"hunter2":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{
		"let x: typeof import('" + secret + "') = 5 as any; x.foo; x.password.foo;",
		"/// <reference path='" + secret + "' />\nlet y: typeof import('../../../../../../.." + secret + "') = 5; y.foo;",
	} {
		for _, d := range check(t, c, code) {
			if strings.Contains(d.Message, "hunter2") || strings.Contains(d.Message, "password:") {
				t.Errorf("the compiler read the file: %s", d.Message)
			}
		}
	}
	found := check(t, c, "const g: string = github;")
	if len(found) != 1 || strings.Contains(found[0].Message, "broker-typecheck") || !strings.Contains(found[0].Message, `import("./servers/github/index")`) {
		t.Errorf("diagnostics %+v, want one that does not name the scratch tree", found)
	}
}

func TestACompilerThatMisbehavesIsAnError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links programs by names without .exe")
	}
	ctx := t.Context()
	p := Program{Source: "const a = 1", Files: tree}
	for _, tt := range []struct {
		how, says string
		o         Options
	}{
		{"crash", "fell over", Options{}},
		{"hang", "no answer from fake-hang within 500ms", Options{Timeout: 500 * time.Millisecond}},
		{"flood", "no answer from fake-flood", Options{Timeout: time.Second}},
		{"babble", "TS5033", Options{}},
		{"hungry", "fake-hungry ended", Options{MemoryBytes: 256 << 20}},
	} {
		t.Run(tt.how, func(t *testing.T) {
			if tt.how == "hungry" && runtime.GOOS != "linux" {
				t.Skip("memory is limited on Linux only")
			}
			c := fake(t, tt.how, tt.o)
			// The version is asked for with time and memory enough, whatever the
			// check has.
			c.o.Timeout, c.o.MemoryBytes = 20*time.Second, 1<<40
			if _, err := c.Compiler(ctx); err != nil {
				t.Fatal(err)
			}
			if tt.o.Timeout > 0 {
				c.o.Timeout = tt.o.Timeout
			}
			if tt.o.MemoryBytes > 0 {
				c.o.MemoryBytes = tt.o.MemoryBytes
			}
			found, err := c.Check(ctx, p)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v, error %v; want one that says %q", found, err, tt.says)
			}
		})
	}
	t.Setenv("BROKER_TEST_SECRET", "hunter2")
	found, err := fake(t, "environment", Options{}).Check(ctx, p)
	if err != nil || len(found) != 1 || found[0].Message != "." {
		t.Errorf("the compiler's environment: %+v, %v; want none", found, err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "broker-typecheck-*", "agent.ts")); len(left) > 0 {
		t.Logf("scratch trees that are there now, perhaps of another run: %v", left)
	}
}

func TestNoCompilerSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []*Checker{New(Options{}), New(Options{Compiler: "/nowhere/tsc"}), fake(t, "old", Options{})} {
		_, err := c.Check(t.Context(), Program{})
		if !errors.Is(err, ErrNoCompiler) {
			t.Errorf("error %v, want ErrNoCompiler", err)
		}
	}
}

func TestACompilerThatComesLaterIsFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links programs by names without .exe")
	}
	ctx := t.Context()
	c := fake(t, "crash", Options{})
	path := c.o.Compiler
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compiler(ctx); !errors.Is(err, ErrNoCompiler) {
		t.Fatalf("error %v, want ErrNoCompiler", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compiler(ctx); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("error %v; want what was found a moment ago", err)
	}
	c.retryAt = time.Now().Add(-time.Second)
	if _, err := c.Compiler(ctx); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestWaitingForOthersIsNoTimeOfTheCompiler(t *testing.T) {
	c := fake(t, "environment", Options{})
	if _, err := c.Compiler(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range maxConcurrent {
		if err := c.slot.Acquire(t.Context(), "another"); err != nil {
			t.Fatal(err)
		}
	}
	c.o.Timeout = time.Nanosecond
	gone := errors.New("the caller went away")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, gone)
	defer cancel()
	if _, err := c.Check(ctx, Program{}); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
}

func TestLinesEndAsInJavaScript(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n", "\u2028", "\u2029"} {
		if text := "é" + end + "abc"; offset(text, 2, 2) != len(text)-2 {
			t.Errorf("line 2, column 2 of %q is %d", text, offset(text, 2, 2))
		}
	}
}

// npm puts a script for Node where the compiler is expected.
func TestScriptsLeadToTheCompilerBesideThem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("makes links")
	}
	for name, file := range map[string]string{"typescript": "tsc", "native-preview": "tsgo"} {
		dir := t.TempDir()
		arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
		if arch == "" {
			arch = runtime.GOARCH
		}
		pkg := filepath.Join(dir, "lib", "node_modules", "@typescript", name+"-"+runtime.GOOS+"-"+arch, "lib")
		bin := filepath.Join(dir, "lib", "node_modules", "typescript", "bin")
		for _, d := range []string{pkg, bin, filepath.Join(dir, "bin")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			os.Symlink(exe, filepath.Join(pkg, file)),
			os.WriteFile(filepath.Join(bin, file), []byte("#!/usr/bin/env node\n"), 0o755),
			os.Symlink(filepath.Join(bin, file), filepath.Join(dir, "bin", file)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{filepath.Join(dir, "bin", file), filepath.Join(dir, "lib"), bin} {
			if got, err := native(path); err != nil || got != filepath.Join(pkg, file) {
				t.Errorf("native(%s) = %s, %v; want %s", path, got, err, filepath.Join(pkg, file))
			}
		}
		t.Setenv("PATH", filepath.Join(dir, "bin"))
		if got := New(Options{}).candidates(); len(got) != 1 {
			t.Errorf("candidates %v, want the one in PATH", got)
		}
	}
}

func TestParseKeepsWhatIsOfTheScript(t *testing.T) {
	out := "servers/x.ts(1,1): error TS2304: not ours\n  nor this\nagent.ts(2,3): error TS2345: Argument of type 'string | undefined' is wrong.\r\n  Type 'undefined' is not assignable to type 'string'.\n" +
		"agent.ts(9,9): error TS2307: Cannot find module\nnoise\n  more noise\nagent.ts(1,1): error TS1005: ';' expected.\n"
	got := parse(out, Program{Source: "ab\ncdé\n"}, "/scratch")
	want := []Diagnostic{
		{5, 2345, "Argument of type 'string | undefined' is wrong.\nType 'undefined' is not assignable to type 'string'.", false},
		{8, 2307, "Cannot find module", false}, {0, 1005, "';' expected.", false},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("agent.ts(1,2): error TS2322: x\n  y\n", "abc")
	f.Add("agent.ts(99999999999999999999,2): error TS2322: x", "a\nb")
	f.Fuzz(func(t *testing.T, out, text string) {
		for _, d := range parse(out, Program{Source: text}, "/scratch") {
			if d.Offset < 0 || d.Offset > len(text) {
				t.Errorf("offset %d outside of %d bytes", d.Offset, len(text))
			}
		}
	})
}

// BenchmarkCheck is one check beside the compiler by itself.
func BenchmarkCheck(b *testing.B) {
	c := real(b)
	compiler, err := c.Compiler(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	p := Program{Source: "$keep(async function(){ return await listIssues({ owner: 'o', repo: 'r' });\n});\nimport { listIssues } from './servers/github';\n", Files: tree}
	b.Run("checker", func(b *testing.B) {
		for b.Loop() {
			if found, err := c.Check(b.Context(), p); err != nil || len(found) > 0 {
				b.Fatal(found, err)
			}
		}
	})
	b.Run("compiler alone", func(b *testing.B) {
		dir, err := scratch(p)
		if err != nil {
			b.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for b.Loop() {
			if out, err := exec.CommandContext(context.Background(), compiler.Path, "-p", filepath.Join(dir, config)).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}
