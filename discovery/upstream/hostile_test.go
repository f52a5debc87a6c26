package upstream

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// Each server that misbehaves but can be used is used.
func TestOddServersWork(t *testing.T) {
	t.Parallel()
	for _, mode := range []fakeupstream.Mode{
		fakeupstream.Legacy, fakeupstream.ExitsProbe, fakeupstream.Banner, fakeupstream.BOM, fakeupstream.BadAnnotation,
		fakeupstream.OddSchemas, fakeupstream.OddNames, fakeupstream.Hidden, fakeupstream.RepeatedPage, fakeupstream.BigResult,
		fakeupstream.Hangs, fakeupstream.Dies, fakeupstream.IgnoresTerm, fakeupstream.Storm,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, nil, fake("s", mode))
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Err != nil {
				t.Fatalf("status = %+v", st)
			}
			got, err := p.Call(t.Context(), "s", "echo", json.RawMessage(`{"n":1}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text := textOf(t, got); text != `{"n":1}` {
				t.Errorf("echo = %q", text)
			}
		})
	}
}

// A server that ignores the probe is sent initialize in the same process; one
// that the probe has spoilt gets a second one. Both are remembered.
func TestSilenceOnProbeIsOutlived(t *testing.T) {
	t.Parallel()
	for _, mode := range []fakeupstream.Mode{fakeupstream.SilentProbe, fakeupstream.StuckProbe} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			cfg, dir := fake("s", mode), t.TempDir()
			cfg.StartTimeout = 3 * time.Second // probed for 375 ms, given up after three seconds
			p := newPool(t, &Options{CacheDir: dir}, cfg)
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Protocol != legacyVersion {
				t.Fatalf("status = %+v", st)
			}
			p.Close()
			e, ok := cache.Dir(dir).Load(cfg.key())
			if !ok || e.Era != link.EraLegacy {
				t.Errorf("cached: %v, era %q; want %q", ok, e.Era, link.EraLegacy)
			}
		})
	}
}

// A server with an unknown era has the full time in its first process, and half of it
// in a second one if the first was silent or exited.
func TestStartTimeoutIsTheTimeOfAServer(t *testing.T) {
	t.Parallel()
	server := fakeupstream.Command() + " " + strings.Join(fakeupstream.Args(fakeupstream.Legacy), " ")
	for _, tt := range []struct {
		name, text string
		limit      time.Duration
		starts     int
		why        string
	}{
		{"three quarters", "sleep 0.7; exec " + server, time.Second, 1, ""},
		{"at once", "exec " + server, time.Second, 1, ""},
		{"in the second process", "[ -s LOG ] && exec " + server + "; echo x >LOG; while read -r line; do :; done", time.Second, 2, ""},
		{"ends first", "[ -s LOG ] && exec " + server + "; echo x >LOG; exit 1", time.Second, 2, ""},
		{"never", "while read -r line; do :; done", 300 * time.Millisecond, 2, "no answer to initialize for 0.3 s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, starts := script(t, "s", strings.ReplaceAll(tt.text, "LOG", filepath.Join(t.TempDir(), "log")))
			cfg.StartTimeout = tt.limit
			st := newPool(t, nil, cfg).Refresh(t.Context())[0]
			if (st.Err == nil) != (tt.why == "") || tt.why != "" && !strings.Contains(st.Err.Error(), tt.why) || starts() != tt.starts {
				t.Errorf("%d processes, %v", starts(), st.Err)
			}
		})
	}
}

// A default start timeout is shorter for an installed package; a configured timeout is
// not.
func TestConfiguredStartTimeoutIsKept(t *testing.T) {
	for _, tt := range []struct {
		limit time.Duration
		any   bool
	}{{0, true}, {defaultRunnerStartTimeout, false}, {time.Second, false}, {time.Hour, false}} {
		c := Config{Name: "s", Command: "npx", Args: []string{"-y", "x"}, StartTimeout: tt.limit}.withDefaults()
		if c.anyStart != tt.any || c.withDefaults().StartTimeout != c.StartTimeout {
			t.Errorf("%s: %+v", tt.limit, c)
		}
	}
}

// A server that is known to answer the probe may take longer for it than one that
// is not known: it refuses an initialize that follows the probe.
func TestKnownServersMayStartSlowly(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	cfg, dir := fake("s", fakeupstream.Good), t.TempDir()
	started := filepath.Join(dir, "started")
	cfg.Args = append([]string{"-c", `[ -e "$0" ] && sleep 1.5; : >"$0"; exec "$@"`, started, cfg.Command}, cfg.Args...)
	cfg.Command, cfg.StartTimeout = sh, 8*time.Second // not known, it is probed for a second
	for range 2 {
		p := newPool(t, &Options{CacheDir: dir}, cfg)
		if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Protocol < modernSince {
			t.Fatalf("status = %+v", st)
		}
		p.Close()
	}
}

func TestBrokenServersSayWhy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode  fakeupstream.Mode
		limit time.Duration
		want  []string // in the error
		hint  string
	}{
		{fakeupstream.Exits, 0, []string{"exit status 3", "API key is missing"}, `"env"`},
		{fakeupstream.SilentInit, time.Second, []string{"no answer to initialize for 1 s"}, "it wrote nothing"},
		{fakeupstream.SilentList, time.Second, []string{"no answer to tools/list for"}, ""},
		{fakeupstream.BadVersion, 0, []string{"unsupported protocol version", "2099-01-01"}, ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			cfg := fake("s", tt.mode)
			if tt.limit > 0 {
				cfg.StartTimeout = tt.limit
			}
			p := newPool(t, nil, cfg)
			st := p.Refresh(t.Context())[0]
			if st.State != StateFailed || st.Err == nil || st.PID != 0 {
				t.Fatalf("status = %+v", st)
			}
			for _, w := range tt.want {
				if !strings.Contains(st.Err.Error(), w) {
					t.Errorf("error %q does not say %q", st.Err, w)
				}
			}
			if !strings.Contains(st.Hint, tt.hint) {
				t.Errorf("hint %q does not say %q", st.Hint, tt.hint)
			}
			var ce *ConnectError
			if err := p.Wait(t.Context(), "s"); !errors.As(err, &ce) || ce.Server != "s" {
				t.Errorf("Wait = %v, want a ConnectError", err)
			}
			_, err := p.Call(t.Context(), "s", "echo", nil, nil)
			if err == nil && tt.mode == fakeupstream.SilentList {
				return // it was time to try again, and only listing fails
			}
			if !errors.As(err, &ce) || ce.RetryIn <= 0 {
				t.Errorf("Call = %v, want a ConnectError that says when to try again", err)
			}
		})
	}
}

func TestMissingCommandIsNamed(t *testing.T) {
	p := newPool(t, nil, Config{Name: "s", Command: "no-such-command-here"})
	st := p.Refresh(t.Context())[0]
	if st.State != StateFailed || !errors.Is(st.Err, exec.ErrNotFound) || !strings.Contains(st.Err.Error(), `"no-such-command-here"`) {
		t.Errorf("status = %+v", st)
	}
	if !strings.Contains(st.Hint, "install no-such-command-here") {
		t.Errorf("hint = %q", st.Hint)
	}
}

func TestServerWithoutToolsIsEmptyNotBroken(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.NoTools))
	if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != 0 {
		t.Errorf("status = %+v", st)
	}
	if problems := p.Listings()[0].Problems; len(problems) != 1 {
		t.Errorf("problems = %q", problems)
	}
}

func TestDroppedLinesAreKept(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Banner))
	st := p.Refresh(t.Context())[0]
	got := strings.Join(st.Dropped, "\n")
	for _, want := range []string{"Server listening on stdio", `{"level":30,"msg":"ready"}`, "[1,2]", "handling tools/list"} {
		if !strings.Contains(got, want) {
			t.Errorf("dropped lines lack %q:\n%s", want, got)
		}
	}
}

func TestListingsEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode    fakeupstream.Mode
		tools   int
		problem string
	}{
		{fakeupstream.RepeatedPage, 1, "listed twice"},
		{fakeupstream.EndlessPages, listing.MaxTools, "more than 20000 tools"},
		{fakeupstream.Pages, 6, ""},
		{fakeupstream.ManyTools, 5000, ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			cfg := fake("s", tt.mode)
			cfg.StartTimeout = 5 * time.Minute // twenty thousand tools, perhaps with the race detector beside other work
			p := newPool(t, nil, cfg)
			if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.Tools != tt.tools {
				t.Fatalf("status = %+v, want %d tools", st, tt.tools)
			}
			problems := strings.Join(p.Listings()[0].Problems, "\n")
			if !strings.Contains(problems, tt.problem) || (tt.problem == "") != (problems == "") {
				t.Errorf("problems = %q, want %q", problems, tt.problem)
			}
		})
	}
}

func TestResultsArriveAsSent(t *testing.T) {
	p := newPool(t, nil, fake("s", fakeupstream.Numbers))
	got, err := p.Call(t.Context(), "s", "echo", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != fakeupstream.NumbersResult {
		t.Errorf("got  %s\nwant %s", got, fakeupstream.NumbersResult)
	}
}

func TestBigResultArrives(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil, fake("s", fakeupstream.BigResult))
	got, err := p.Call(t.Context(), "s", "big", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got); n < 20<<20 {
		t.Errorf("%d bytes, want 20 MiB", n)
	}
}

// With all of them configured together, the good one is as quick as alone.
func TestBadServersDelayNobody(t *testing.T) {
	configs := []Config{fake("good", fakeupstream.Good)}
	for _, mode := range []fakeupstream.Mode{
		fakeupstream.Exits, fakeupstream.SilentInit, fakeupstream.SilentList, fakeupstream.StuckProbe, fakeupstream.Hangs,
	} {
		configs = append(configs, fake(string(mode), mode))
	}
	p := newPool(t, nil, configs...)
	p.Start(t.Context())
	if err := p.Wait(t.Context(), "good"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), "good", "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, st := range p.Status() {
		if st.Name == string(fakeupstream.SilentInit) && st.State != StateStarting {
			t.Errorf("the good server waited for %s, which is %s", st.Name, st.State)
		}
	}
}
