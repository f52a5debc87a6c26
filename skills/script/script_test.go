//go:build unix

package script_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/script"
)

func TestScriptCases(t *testing.T) {
	skillcases.Run(t, "script", func(t *testing.T, dir string, in skillcases.ScriptCase, want skillcases.ScriptWant) {
		for i, w := range want.Results {
			r := in.Requests[i]
			got := script.Run(t.Context(), script.Request{
				Dir: filepath.Join(dir, in.Skill), Script: r.Script, Args: r.Args, Timeout: r.Timeout(), MaxOutput: r.MaxOutput,
			})
			if p := w.Problem(skillcases.ScriptGot{OK: got.Success, ExitCode: got.ExitCode, Code: string(got.Code), Stdout: got.Stdout, Stderr: got.Stderr}); p != "" {
				t.Errorf("%s: %s; %s", r.Script, p, got.Error)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", "PWNED*")); len(left) > 0 {
			t.Errorf("a shell has run: %v", left)
		}
	})
}

func TestTheWholeGroupEndsWithTheScript(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh, which the scripts are written for")
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "alive")
	// The child keeps writing its mark as long as it lives.
	skillcases.Write(t, dir, []skillcases.Entry{
		{Path: "s/a.sh", Text: "#!/bin/sh\n(while :; do echo x >>" + fifo + "; sleep 0.05; done) &\nwait\n", Mode: "0755"},
		{Path: "s/b.sh", Text: "#!/bin/sh\nsleep 60 >/dev/null 2>&1 &\necho $!\n"},
		{Path: "s/c.sh", Text: "#!/bin/sh\necho \"$SECRET|$GIVEN|$SKILL_DIR\"\n"},
		{Path: "s/d.xyz", Text: "x"},
	})
	t.Setenv("SECRET", "swordfish")
	skill := filepath.Join(dir, "s")
	if r := script.Run(t.Context(), script.Request{Dir: skill, Script: "a.sh", Timeout: 300 * time.Millisecond}); r.Code != script.Timeout {
		t.Errorf("endless: %+v", r)
	}
	// Not executable: its interpreter is known. What it leaves behind is killed.
	r := script.Run(t.Context(), script.Request{Dir: skill, Script: "b.sh"})
	pid := strings.TrimSpace(r.Stdout)
	if !r.Success || pid == "" {
		t.Fatalf("background: %+v", r)
	}
	// SIGKILL is sent, but who reads may be faster than it is carried out.
	eventually.True(t, "what it left behind has ended", func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
	})
	if r := script.Run(t.Context(), script.Request{Dir: skill, Script: "c.sh", Env: []string{"GIVEN=yes"}}); r.Stdout != "|yes|"+skill+"\n" {
		t.Errorf("environment: %+v", r)
	}
	if r := script.Run(t.Context(), script.Request{Dir: skill, Script: "d.xyz"}); r.Code != script.NotAllowed {
		t.Errorf("unknown kind: %+v", r)
	}
	if r := script.Run(t.Context(), script.Request{Dir: skill, Script: "cc.sh"}); r.Code != script.NotFound || !strings.Contains(r.Error, "did you mean") {
		t.Errorf("unknown name: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := script.Run(ctx, script.Request{Dir: skill, Script: "c.sh"}); r.Success || r.Code == "" {
		t.Errorf("cancelled: %+v", r)
	}
}

// Programs come from the given PATH: for scripts with an extension, with a first line
// that names a program, and for programs that a script calls.
func TestProgramsAreThoseOfThePath(t *testing.T) {
	folders := map[string]string{"one": t.TempDir(), "two": t.TempDir(), "none": t.TempDir()}
	for name, dir := range folders {
		if name == "none" {
			continue
		}
		for _, program := range []string{"python3", "ruby", "perl", "node", "our-tool"} {
			if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\necho "+name+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	skill := t.TempDir()
	for name, text := range map[string]string{
		"a.py": "", "a.rb": "", "a.pl": "", "a.js": "", "first": "#!/usr/bin/env our-tool\n", "calls.sh": "our-tool\n",
	} {
		if err := os.WriteFile(filepath.Join(skill, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"one", "two", "none"} {
			environ := func() []string { return []string{"OTHER=x", "PATH=" + folders[path] + ":relative:/usr/bin:/bin"} }
			if path == "none" {
				environ = func() []string { return []string{"PATH=" + folders[path]} }
			}
			got := script.Run(t.Context(), script.Request{Dir: skill, Script: name, Environ: environ})
			if want := path + "\n"; path == "none" && got.Success || path != "none" && got.Stdout != want {
				t.Errorf("%s with the PATH of %s: %+v", name, path, got)
			}
		}
	}
}
