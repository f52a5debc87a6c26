package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

func TestCachedServerIsKnownAtOnceAndStartsWithItsFirstCall(t *testing.T) {
	cfg, dir := fake("s", fakeupstream.OddSchemas), t.TempDir()
	first := newPool(t, &Options{CacheDir: dir}, cfg)
	first.Refresh(t.Context())
	want := first.Listings()
	first.Close()

	heard := 0
	p := newPool(t, &Options{CacheDir: dir, OnListing: func(discovery.Listing) { heard++ }}, cfg)
	if diff := cmp.Diff(want, p.Listings()); diff != "" || heard != 1 {
		t.Errorf("heard %d, listings (-first +cached):\n%s", heard, diff)
	}
	p.Start(t.Context())
	if err := p.Wait(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	if st := p.Status()[0]; st.State != StateCached || st.PID != 0 || st.Tools != 9 || st.Transport != "stdio" {
		t.Errorf("status = %+v", st)
	}
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	if st := p.Refresh(t.Context())[0]; st.State != StateReady || st.PID == 0 {
		t.Errorf("status after a call = %+v", st)
	}
	if heard != 1 {
		t.Errorf("the same listing was announced %d times", heard)
	}
}

func TestCacheFollowsTheConfiguration(t *testing.T) {
	base := Config{Name: "s", Command: "c", Args: []string{"a"}, Env: map[string]string{"K": "${V}"}}
	same := base
	same.Env = map[string]string{"K": "another value"}
	same.Description = "x"
	if base.fingerprint() != same.fingerprint() {
		t.Error("a value of the environment, a description or a filter changed the fingerprint")
	}
	for name, change := range map[string]func(*Config){
		"name":    func(c *Config) { c.Name = "t" },
		"command": func(c *Config) { c.Command = "d" },
		"args":    func(c *Config) { c.Args = []string{"b"} },
		"env":     func(c *Config) { c.Env = map[string]string{"L": "${V}"} },
		"url":     func(c *Config) { c.URL = "http://x" },
	} {
		c := base
		change(&c)
		if c.fingerprint() == base.fingerprint() {
			t.Errorf("a change of %s did not change the fingerprint", name)
		}
	}
}

func TestCacheHoldsNoSecrets(t *testing.T) {
	cfg, dir := fake("s", fakeupstream.Good), filepath.Join(t.TempDir(), "new", "dir")
	cfg.Env = map[string]string{"KEY": "${TOKEN}"}
	p := newPool(t, &Options{CacheDir: dir, Expand: expandToken}, cfg)
	p.Refresh(t.Context())
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil || strings.Contains(string(b), "s3cr3t") {
			t.Errorf("%v, %s", err, b)
		}
	}
}

func TestUnwritableCacheDoesNotStopTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPool(t, &Options{CacheDir: filepath.Join(file, "sub")}, fake("s", fakeupstream.Good))
	if st := p.Refresh(t.Context())[0]; st.State != StateReady {
		t.Errorf("status = %+v", st)
	}
}
