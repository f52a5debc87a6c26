package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The whole example on a repository whose report is known: real broker, real
// servers, real git.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the broker: left out by -short")
	}
	for _, program := range []string{"go", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, repo := t.TempDir(), sampleRepo(t)
	var built bytes.Buffer
	if err := build(t.Context(), root, dir, &built); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(built.String(), "\nbuilt in ") {
		t.Errorf("progress = %q", &built)
	}

	t.Run("report joins both servers", func(t *testing.T) {
		var out, stderr bytes.Buffer
		code, err := report(t.Context(), dir, repo, "report.ts", &out, &stderr)
		if err != nil || code != 0 {
			t.Fatalf("exit code %d, error %v, stderr:\n%s", code, err, &stderr)
		}
		const want = `
The last 3 commits by 1 author, 2026-01-01 to 2026-01-03
changes  code  file      longest function (lines)
      3     8  busy.go   two (3)
      1     1  quiet.go

one script, 9 tool calls, N ms:
      1 × history__list_commits
      1 × source__list_files
      3 × history__changed_files
      2 × source__count_lines
      2 × source__list_functions
`
		// Parallel calls may be recorded in any order, and times differ.
		got, saved, _ := strings.Cut(regexp.MustCompile(`, [\d,]+ ms`).ReplaceAllString(out.String(), ", N ms"), "tool results:")
		if diff := cmp.Diff(sortCalls(want), sortCalls(got)); diff != "" {
			t.Errorf("report, -want +got:\n%s", diff)
		}
		for _, re := range []string{`[1-9][\d,]* bytes came into the sandbox, [1-9][\d,]* went to the model`, `[1-9][\d,]* bytes for the 10 tools, [1-9][\d,]* with the broker`} {
			if !regexp.MustCompile(re).MatchString(saved) {
				t.Errorf("what was saved does not match %q:\n%s", re, saved)
			}
		}
	})

	t.Run("exit code of the script passes through", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "throws.ts")
		if err := os.WriteFile(script, []byte("throw new Error('on purpose');\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, stderr bytes.Buffer
		code, err := report(t.Context(), dir, repo, script, &out, &stderr)
		if err != nil || code != 1 || !strings.Contains(stderr.String(), "on purpose") {
			t.Errorf("exit code %d, error %v, stderr %q; want 1, none and the thrown message", code, err, &stderr)
		}
	})
}

// sortCalls sorts the lines that count calls.
func sortCalls(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		for j := i; j > 0 && strings.Contains(lines[j-1], " × ") && strings.Contains(lines[j], " × ") && lines[j] < lines[j-1]; j-- {
			lines[j], lines[j-1] = lines[j-1], lines[j]
		}
	}
	return strings.Join(lines, "\n")
}

// sampleRepo makes a repository of three commits: busy.go changes in each,
// quiet.go comes with the first.
func sampleRepo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(date string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "commit.gpgSign=false"}, args...)...)
		cmd.Env = append(os.Environ(),
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE="+date,
			"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE="+date)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	const one, two, three = "package sample\n\nfunc one() {}\n", "\nfunc two() {\n\tone()\n}\n", "\nfunc three() {\n\ttwo()\n}\n"
	steps := []struct{ date, busy string }{
		{"2026-01-01T12:00:00+00:00", one},
		{"2026-01-02T12:00:00+00:00", one + two},
		{"2026-01-03T12:00:00+00:00", one + two + three},
	}
	git(steps[0].date, "init", "-q")
	for i, s := range steps {
		files := map[string]string{"busy.go": s.busy, "quiet.go": "package sample\n", "busy_test.go": "package sample\n"}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(s.date, "add", ".")
		git(s.date, "commit", "-q", "-m", "step", "-m", string(rune('1'+i)))
	}
	return dir
}

// A compiler error is shown and not counted as a package.
func TestBuildShowsErrorsAndCountsPackages(t *testing.T) {
	p := progress{w: io.Discard, start: time.Now()}
	const failure = "# example.com/a\na.go:1:2: undefined: x"
	if got := p.follow(strings.NewReader("internal/cpu\nruntime\n" + failure + "\nexample.com/b\n")); got != failure || p.compiled != 3 {
		t.Errorf("%d packages and %q, want 3 and %q", p.compiled, got, failure)
	}
}
