package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// script is a server that runs a script of the shell, and appends a line to a file each
// time it starts.
func script(t *testing.T, name, text string) (c Config, starts func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "starts")
	c = Config{Name: name, Command: "sh", Args: []string{"-c", "echo >>'" + log + "'; " + text}, StartTimeout: 30 * time.Second}
	return c, func() int {
		b, _ := os.ReadFile(log) // empty before the first
		return strings.Count(string(b), "\n")
	}
}

// Pools that share a directory share failures, with cause and time, and do not start a
// server that failed recently; a call of it fails at once. Refresh starts it, and a
// server that works has no failure any more.
func TestFailuresAreRemembered(t *testing.T) {
	t.Parallel()
	dir, broken := t.TempDir(), filepath.Join(t.TempDir(), "broken")
	good := fakeupstream.Command() + " " + strings.Join(fakeupstream.Args(fakeupstream.Good), " ")
	for _, tt := range []struct{ name, text, cause string }{
		{"exits", "echo KeyError: TOKEN >&2; exit 1", "KeyError: TOKEN"},
		{"killed", "kill -9 $$", "killed"},
		{"talks", "echo hello; exit 0", "ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flag := broken + tt.name
			if err := os.WriteFile(flag, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, starts := script(t, tt.name, fmt.Sprintf("if [ -e '%s' ]; then %s; fi; exec %s", flag, tt.text, good))
			p := newPool(t, &Options{CacheDir: dir}, cfg)
			first := p.Refresh(t.Context())[0]
			p.Close()
			before := starts()

			p = newPool(t, &Options{CacheDir: dir}, cfg)
			st := p.Status()[0]
			if st.State != StateFailed || st.Err == nil || !strings.Contains(st.Err.Error(), tt.cause) || st.Err.Error() != first.Err.Error() ||
				!st.FailedAt.Equal(first.FailedAt) || st.Failures != first.Failures || !st.RetryAt.After(st.FailedAt.Add(firstRest/2)) {
				t.Errorf("another pool knows %+v, after %+v", st, first)
			}
			p.Learn(t.Context())
			_, err := p.Call(t.Context(), tt.name, "echo", nil, nil)
			if e, ok := errors.AsType[*ConnectError](err); !ok || !strings.Contains(e.Error(), tt.cause) || e.RetryIn <= 0 {
				t.Errorf("a call: %v", err)
			}
			if err := p.Wait(t.Context(), tt.name); err == nil || !strings.Contains(err.Error(), tt.cause) {
				t.Errorf("Wait: %v", err)
			}
			if n := starts(); n != before {
				t.Errorf("it was started %d times more", n-before)
			}
			if err := os.Remove(flag); err != nil {
				t.Fatal(err)
			}
			if st := p.Refresh(t.Context())[0]; st.Err != nil || st.Failures != 0 {
				t.Fatalf("when it works: %+v", st)
			}
			p.Close()
			p = newPool(t, &Options{CacheDir: dir}, cfg)
			if st := p.Status()[0]; st.State != StateCached || st.Err != nil || cache.Dir(dir).Failed(cfg.key()) {
				t.Errorf("afterwards: %+v", st)
			}
		})
	}
}

// A stored failure is ignored if it belongs to another configuration.
func TestOtherFailuresAreNotTaken(t *testing.T) {
	now := time.Now()
	cfg, c := Config{Name: "s", Command: "x", Env: map[string]string{"TOKEN": "one"}}.withDefaults(), cache.Dir(t.TempDir())
	if err := c.KeepFailure(cfg.key(), &cache.Failure{State: cache.StateFailed, Err: "no", At: now, Count: 1, Next: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if r, ok := c.Failure(cfg.key(), now); !ok || r.Err != "no" {
		t.Fatalf("got %+v, %v", r, ok)
	}
	for name, change := range map[string]func(*Config){
		"value":   func(c *Config) { c.Env = map[string]string{"TOKEN": "two"} },
		"header":  func(c *Config) { c.Headers = map[string]string{"A": "b"} },
		"timeout": func(c *Config) { c.StartTimeout = time.Hour },
		"args":    func(c *Config) { c.Args = []string{"y"} },
	} {
		other := cfg
		if change(&other); other.Name == "" {
			t.Fatal(name)
		}
		if r, ok := c.Failure(other.key(), now); ok {
			t.Errorf("with another %s: %+v", name, r)
		}
	}
}

// The time for which other pools leave a server alone grows with its failures, up to an
// hour.
func TestRestGrows(t *testing.T) {
	want := []time.Duration{time.Minute, time.Minute, 2 * time.Minute, 4 * time.Minute}
	for n, d := range want {
		if got := rest(n); got != d {
			t.Errorf("rest(%d) = %s, want %s", n, got, d)
		}
	}
	for _, n := range []int{7, 100, 1 << 40} {
		if got := rest(n); got != time.Hour {
			t.Errorf("rest(%d) = %s", n, got)
		}
	}
}

// A failure without a process is remembered and does not delay the next attempt, since
// the cause may be gone.
func TestCheapFailuresDelayNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	expand := func(s string) (string, error) {
		if strings.Contains(s, "${") {
			return "", errors.New("the variable TOKEN is not set")
		}
		return s, nil
	}
	for _, cfg := range []Config{
		{Name: "missing", Command: "/no/such/program"},
		{Name: "path", Command: "no-such-program-here"},
		{Name: "reference", Command: "sh", Env: map[string]string{"TOKEN": "${TOKEN}"}},
	} {
		p := newPool(t, &Options{CacheDir: dir, Expand: expand}, cfg)
		p.Refresh(t.Context())
		p.Close()
		p = newPool(t, &Options{CacheDir: dir, Expand: expand}, cfg)
		st := p.Status()[0]
		if st.State != StateFailed || st.RetryAt.After(time.Now()) {
			t.Errorf("%s: %+v", cfg.Name, st)
		}
		p.Learn(t.Context())
		if again := p.Status()[0]; again.Failures != st.Failures+1 {
			t.Errorf("%s was not tried again: %+v", cfg.Name, again)
		}
	}
}

// A server that a pool did not wait for has not failed: the next Learn leaves it alone,
// and a call of it waits.
func TestUnfinishedStartsAreRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := fake("s", fakeupstream.Good)
	s := newServer(newPool(t, &Options{CacheDir: dir}).common, cfg, cache.Entry{}, false, func(*server) {})
	s.state, s.since = StateStarting, time.Now().Add(-time.Second)
	if s.giveUp(false) {
		t.Error("one second counts")
	}
	s.since = time.Now().Add(-12 * time.Second)
	if !s.giveUp(false) {
		t.Fatal("twelve seconds do not count")
	}
	s.remember()
	p := newPool(t, &Options{CacheDir: dir}, cfg)
	if st := p.Status()[0]; st.State != StateIdle || st.Err == nil || !strings.Contains(st.Err.Error(), "still starting after 12 s") || !st.FailedAt.IsZero() {
		t.Errorf("status %+v", st)
	}
	if due := p.Due(); len(due) > 0 {
		t.Errorf("%q are due", due)
	}
	p.Learn(t.Context())
	if st := p.Status()[0]; st.State != StateIdle || len(p.Starting()) > 0 {
		t.Errorf("Learn has started it: %+v", st)
	}
	if err := p.Wait(t.Context(), "s"); err != nil {
		t.Errorf("Wait: %v", err)
	}
	p.Close()
	if cache.Dir(dir).Failed(s.cfg.key()) {
		t.Error("it is still remembered")
	}
}

// A call of a failed server that is tried again gets the cause after a moment, however
// long the attempt takes.
func TestCallsOfAFailedServerDoNotWait(t *testing.T) {
	t.Parallel()
	cfg, starts := script(t, "s", "sleep 60")
	c := cache.Dir(t.TempDir())
	r := cache.Failure{State: cache.StateFailed, Err: "no database", At: time.Now().Add(-time.Hour), Count: 3, Next: time.Now().Add(-time.Minute)}
	if err := c.KeepFailure(cfg.withDefaults().key(), &r); err != nil {
		t.Fatal(err)
	}
	p := newPool(t, &Options{CacheDir: string(c)}, cfg)
	p.grace = 50 * time.Millisecond
	for _, try := range []func() error{
		func() error { _, err := p.Call(t.Context(), "s", "x", nil, nil); return err },
		func() error { return p.Wait(t.Context(), "s") },
	} {
		began := time.Now()
		err := try()
		if e, ok := errors.AsType[*ConnectError](err); !ok || !e.Retrying || !strings.Contains(e.Error(), "no database (it is being tried again)") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 20*time.Second { // the attempt takes 60 s
			t.Errorf("it took %s", took)
		}
	}
	if n := starts(); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	if st := p.Status()[0]; st.State != StateStarting || st.Err == nil {
		t.Errorf("status %+v", st)
	}
}

// A pool shows the states of an observed pool, does not start servers that it is
// starting, and takes over their tools once they are listed.
func TestObserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow, starts := script(t, "slow", "sleep 60")
	bad, badStarts := script(t, "bad", "exit 7")
	good := fake("good", fakeupstream.Good)
	there := newPool(t, &Options{CacheDir: dir}, slow, bad, good)
	p := newPool(t, &Options{CacheDir: dir}, slow, bad, good)
	there.Start(t.Context())
	eventually.True(t, "two have answered", func() bool {
		st := there.Status()
		return starts() == 1 && st[1].Err != nil && st[2].State == StateReady
	})
	before := badStarts()
	p.Observe(there.Report())
	p.Learn(t.Context())
	st := p.Status()
	if st[0].State != StateStarting || st[0].Doing != ActivityStarting || st[1].Err == nil || !strings.Contains(st[1].Err.Error(), "exit status 7") || st[2].State != StateReady || st[2].Tools == 0 {
		t.Errorf("observed %+v", st)
	}
	if list := p.Starting(); len(list) != 1 || list[0].Name != "slow" {
		t.Errorf("starting are %v", list)
	}
	if starts() != 1 || badStarts() > before+1 {
		t.Errorf("slow was started %d times", starts())
	}
	other := slow
	other.Env = map[string]string{"A": "b"}
	o := newPool(t, &Options{CacheDir: dir}, other)
	o.Observe(there.Report())
	if st := o.Status()[0]; st.State != StateIdle {
		t.Errorf("one that is configured otherwise is %+v", st)
	}
	p.Observe(nil)
	if st := p.Status()[0]; st.State != StateIdle {
		t.Errorf("afterwards %+v", st)
	}
}

// A server that failed here and works for another pool becomes known and is not failed
// any more.
func TestRecheck(t *testing.T) {
	t.Parallel()
	dir, broken := t.TempDir(), filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := fakeupstream.Command() + " " + strings.Join(fakeupstream.Args(fakeupstream.Good), " ")
	cfg, _ := script(t, "s", fmt.Sprintf("[ -e '%s' ] && exit 1; exec %s", broken, good))
	p := newPool(t, &Options{CacheDir: dir}, cfg)
	p.Refresh(t.Context())
	eventually.True(t, "the failure is kept", func() bool { return cache.Dir(dir).Failed(p.roster.Load().servers[0].cfg.key()) })
	p.Recheck()
	if st := p.Status()[0]; st.State != StateFailed {
		t.Errorf("without news: %+v", st)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	other := newPool(t, &Options{CacheDir: dir}, cfg)
	other.Refresh(t.Context())
	other.Close()
	p.Recheck()
	if st := p.Status()[0]; st.State != StateCached || st.Err != nil || st.Tools == 0 {
		t.Errorf("afterwards: %+v", st)
	}
	if _, err := p.Call(t.Context(), "s", "echo", []byte(`{"text":"a"}`), nil); err != nil {
		t.Errorf("call: %v", err)
	}
}

// After ForgetFailure, a pool that serves tries the server again, even if it was never
// listed.
func TestForgetFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg, starts := script(t, "s", "exit 1")
	p := newPool(t, &Options{CacheDir: dir}, cfg)
	p.Start(t.Context())
	kept := cache.Dir(dir)
	eventually.True(t, "it is given up", func() bool {
		st := p.Status()[0]
		return st.State == StateFailed && st.Failures >= 1 && kept.Failed(cfg.key())
	})
	for range 3 {
		before := starts()
		eventually.True(t, "it is tried again", func() bool { // an attempt in progress keeps its failure
			if err := ForgetFailure(dir, cfg); err != nil {
				t.Error(err)
			}
			p.Recheck()
			return starts() > before
		})
	}
}
