package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The cause in a process's output comes first in its error, in the status and in the
// error of a call, and the hint is about that cause.
func TestErrorOfAProcessBeginsWithItsCause(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell: ", err)
	}
	for name, c := range map[string]struct{ script, cause, hint string }{
		"python": {`echo 'Traceback (most recent call last):
  File "server.py", line 1, in <module>
ModuleNotFoundError: No module named '"'mcp'"'' >&2; exit 1`, "ModuleNotFoundError: No module named 'mcp' (the server process ended: exit status 1)", "broker servers logs s shows all of its output"},
		"library":          {`echo './x: error while loading shared libraries: libssl.so.1.1: cannot open shared object file' >&2; exit 127`, "./x: error while loading shared libraries: libssl.so.1.1", "install the library"},
		"variable":         {`echo 'starting' >&2; echo 'Please set ACME_TOKEN' >&2; exit 1`, "Please set ACME_TOKEN (", `set ACME_TOKEN under "env"`},
		"usage on stdout":  {`echo 'usage: server [--db FILE]'; exit 2`, "usage: server [--db FILE] (", `correct "args"`},
		"missing program":  {`no-such-program-here`, "sh: ", "install the program"},
		"a secret":         {`echo "Error: cannot use $KEY" >&2; exit 1`, "Error: cannot use ${KEY} (", ""},
		"a foreign secret": {`echo 'Error: https://ada:hunter22222@registry.example denied' >&2; exit 1`, "Error: https://", ""},
		"one line":         {`echo 'no idea' >&2; exit 7`, "the server process ended: exit status 7: no idea", ""},
		"nothing":          {`exit 7`, "the server process ended: exit status 7", `it wrote nothing: check "command" and "args"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewPool([]Config{{Name: "s", Command: sh, Args: []string{"-c", c.script}, Env: map[string]string{"KEY": "${KEY}"}, StartTimeout: 20 * time.Second}},
				&Options{Expand: func(s string) (string, error) { return strings.ReplaceAll(s, "${KEY}", "topsecretvalue"), nil }})
			defer p.Close()
			st := p.Refresh(t.Context(), "s")[0]
			if st.Err == nil || !strings.Contains(strings.ReplaceAll(st.Err.Error(), sh, "sh"), c.cause) || name != "missing program" && !strings.HasPrefix(st.Err.Error(), c.cause) {
				t.Fatalf("error %v, want %s", st.Err, c.cause)
			}
			if (c.hint == "") != (st.Hint == "") || !strings.Contains(st.Hint, c.hint) {
				t.Errorf("hint %q, want %q", st.Hint, c.hint)
			}
			_, err := p.Call(t.Context(), "s", "tool", nil, nil)
			if err == nil || !strings.Contains(err.Error(), st.Err.Error()) {
				t.Errorf("the call fails with %v, want %v", err, st.Err)
			}
			if all := st.Err.Error() + st.Hint; strings.Contains(all, "topsecretvalue") || strings.Contains(all, "hunter22222") {
				t.Errorf("a secret is shown: %s", all)
			}
		})
	}
}

// An uninformative package runner does not replace the reason its package could not be
// installed.
func TestSilentRunnerFailsWithTheErrorOfTheInstallation(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell: ", err)
	}
	for name, c := range map[string]struct{ report, cause string }{
		"no package":  {"npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x", "npm error E404: Not Found - GET https://registry.example/x ("},
		"no version":  {"npm error code ETARGET\nnpm error notarget No matching version found for x@9.", "npm error ETARGET: No matching version found for x@9. ("},
		"no platform": {"npm error code EBADPLATFORM\nnpm error notsup Unsupported platform for x@1.0.0", "npm error EBADPLATFORM: Unsupported platform for x@1.0.0 ("},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			for program, script := range map[string]string{"npx": "exec sleep 60", "node": "echo 20-linux-x64", "npm": "cat >&2 <<'E'\n" + c.report + "\nE\nexit 1"} {
				if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p := NewPool([]Config{{Name: "s", Command: "npx", Args: []string{"-y", "x"}, StartTimeout: 300 * time.Millisecond,
				Env: map[string]string{"PATH": bin + string(filepath.ListSeparator) + os.Getenv("PATH")}}}, &Options{PackageDir: t.TempDir()})
			defer p.Close()
			st := p.Refresh(t.Context(), "s")[0]
			if st.Err == nil || !strings.HasPrefix(st.Err.Error(), c.cause) || st.Hint == "" || strings.Contains(st.Hint, "by hand") {
				t.Errorf("error %v, hint %q, want %s", st.Err, st.Hint, c.cause)
			}
		})
	}
}
