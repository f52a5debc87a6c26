package upstream

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// What a server was given and says again is hidden wherever it says so, but not
// in what its tools return.
func TestServersCannotRepeatTheirSecrets(t *testing.T) {
	const secret = `pa"ss/wörd 12`
	for _, tt := range []struct{ name, configured, shown string }{
		{"a reference", "${TOKEN}", "${TOKEN}"},
		{"a plain value", secret, "[env.FAKE_SECRET]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := fake("s", fakeupstream.Leaks)
			cfg.Env = map[string]string{"FAKE_SECRET": tt.configured}
			dir := t.TempDir()
			p := newPool(t, &Options{CacheDir: dir, Expand: func(s string) (string, error) { return strings.ReplaceAll(s, "${TOKEN}", secret), nil }}, cfg)
			if st := p.Refresh(t.Context())[0]; st.State != StateReady {
				t.Fatalf("status = %+v", st)
			}
			check := func(where, text string) {
				t.Helper()
				if strings.Contains(text, secret) || !strings.Contains(text, tt.shown) {
					t.Errorf("%s: %s", where, text)
				}
			}
			_, err := p.Call(t.Context(), "s", "refuse", nil, nil)
			rpc, ok := errors.AsType[*RPCError](err)
			if !ok {
				t.Fatal(err)
			}
			check("a protocol error", rpc.Message)
			result, err := p.Call(t.Context(), "s", "fail", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			check("a failed tool", textOf(t, result))
			result, err = p.Call(t.Context(), "s", "echo", []byte(`{"a":"pa\"ss/wörd 12"}`), nil)
			if err != nil || !strings.Contains(textOf(t, result), `pa\"ss/wörd 12`) {
				t.Errorf("a result was changed: %s, %v", result, err)
			}
			log := func() string { return strings.Join(p.Status()[0].Stderr, "\n") }
			eventually.True(t, "the server's log is there", func() bool { return strings.Contains(log(), "[error] tried "+tt.shown) })
			check("stderr", log())
			check("stdout", strings.Join(p.Status()[0].Dropped, "\n"))
			_, err = p.Call(t.Context(), "s", "die", nil, nil)
			check("the end of the process", err.Error())
			known := gate.Compact(p.Listings())
			if check("what is listed", string(known)); strings.Contains(string(known), "ss/w") || strings.Contains(string(known), `"as_`) || !strings.Contains(string(known), `"told"`) {
				t.Errorf("listed: %s", known)
			}
			kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil || len(kept) != 1 {
				t.Errorf("kept: %q, %v; want the listing", kept, err)
			}
			for _, name := range kept {
				if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "ss/w") {
					t.Errorf("%s: %s, %v", filepath.Base(name), text, err)
				}
			}
			eventually.True(t, "the end is noticed", func() bool { return p.Status()[0].Err != nil })
			check("status", p.Status()[0].Err.Error())
		})
	}
}

func TestWhatIsHidden(t *testing.T) {
	cfg := Config{
		Command: "run", Args: []string{"--token", "arg-token", "--key=x", "--api-key=arg-apikey", "--header", "Authorization: Bearer arg-bearer", "--dir", "some-directory"},
		URL:     "https://user:url-password@h.example/mcp?api_key=url-apikey&page=first-one",
		Env:     map[string]string{"MODE": "production", "HOME_DIR": "/home/someone", "PORT": "8080", "API": "https://api.example/v1", "PAT": "github_pat_12", "DB": "postgres://u:p@h/db", "SHORT": "a1b2", "PEM": "-----BEGIN-----\n0123456789abcdef0123\n-----END-----"},
		Headers: map[string]string{"Authorization": "Bearer header-bearer", "X-Api-Key": "headerkey", "Accept": "application/json"},
	}
	to, err := cfg.resolve(func(s string) (string, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"arg-token", "arg-apikey", "arg-bearer", "url-password", "url-apikey", "github_pat_12", "postgres://u:p@h/db",
		"postgres%3A%2F%2Fu%3Ap%40h%2Fdb", "0123456789abcdef0123", "header-bearer", "headerkey"} {
		if got := to.Hide.In("at " + hidden + "."); strings.Contains(got, hidden) || !strings.HasPrefix(got, "at [") {
			t.Errorf("%q is not hidden: %s", hidden, got)
		}
	}
	for _, shown := range []string{"some-directory", "first-one", "production", "/home/someone", "8080", "https://api.example/v1", "a1b2", "application/json", "-----END-----"} {
		if got := to.Hide.In(shown); got != shown {
			t.Errorf("%q is hidden as %q", shown, got)
		}
	}
	err = to.Hide.InErr(io.ErrUnexpectedEOF)
	if err != io.ErrUnexpectedEOF {
		t.Errorf("an error without secrets is changed to %#v", err)
	}
}

func TestCutLinesHideWhatTheyCut(t *testing.T) {
	const maxLine = 2 << 10
	r := lines.NewRing()
	r.SetHide(hide.New(map[string]string{"secret-of-some-length": "${S}"}).In)
	line := strings.Repeat("x", maxLine-10) + "secret-of-some-length" + strings.Repeat("y", 5000)
	r.CopyFrom(strings.NewReader(line + "\n"))
	if got := r.Lines()[0]; strings.Contains(got, "secret") || !strings.HasSuffix(got, " …") || len(got) > maxLine+8 {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-40:])
	}
}
