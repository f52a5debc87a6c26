package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
)

// testSetup is a setup without an environment.
func testSetup(file, dir string) Setup {
	none := func(string) (string, bool) { return "", false }
	return Setup{Process: Process{
		Version: "1", Sources: config.Sources{Env: none}, LookupEnv: none, Environ: func() []string { return nil },
		Keyring: func() oauth.Keyring { return oauth.NoKeyring{} }, Print: func(string) {}, Logger: slog.New(slog.DiscardHandler),
	}, ConfigPath: file, StateDir: dir}
}

// setupOf is a setup of a config with this text; it returns what is printed.
func setupOf(t *testing.T, text string) (s Setup, printed func() string) {
	t.Helper()
	dir := t.TempDir()
	s = testSetup(filepath.Join(dir, "servers.json"), filepath.Join(dir, "state"))
	if err := os.WriteFile(s.ConfigPath, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	s.Print = func(line string) { lines = append(lines, line) }
	return s, func() string { return strings.Join(lines, "\n") }
}

// A mistake of the user is wrong usage, with a hint where one helps.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		with  func(*OpenOptions)
		says  string
		usage bool
	}{
		"a profile that does not exist": {text: `{"mcpServers": {}, "broker": {"profiles": {"work": {}}}}`, with: func(o *OpenOptions) { o.Profile = "wrok" },
			says: `there is no profile "wrok"`, usage: true},
		"a skills folder that does not exist": {text: `{"mcpServers": {}}`, with: func(o *OpenOptions) { o.SkillsPath = "/nowhere/at/all" }, says: "--skills: /nowhere/at/all is not a directory", usage: true},
		"a key that is none":                  {text: `{"mcpServers": {}, "broker": {"stateKey": "short"}}`, says: `"stateKey"`, usage: true},
		"a collector that is none":            {text: `{"mcpServers": {}, "broker": {"telemetry": {"endpoint": "ftp://x"}}}`, says: "hint: such as http://localhost:4318", usage: true},
		"a database that does not answer":     {text: `{"mcpServers": {}, "broker": {"state": "postgres://u:p@127.0.0.1:1/db"}}`, says: `hint: "state" of the config names the database`},
	} {
		s, _ := setupOf(t, c.text)
		o := OpenOptions{Setup: s, Spares: -1, IgnoreProject: true}
		if c.with != nil {
			c.with(&o)
		}
		a, err := Open(t.Context(), o)
		if err == nil {
			t.Errorf("%s: it opens: %v", name, a.Close())
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Usage != c.usage || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Open ends with its context.
func TestOpenEndsWithItsContext(t *testing.T) {
	s, _ := setupOf(t, `{"mcpServers": {}, "broker": {"state": "postgres://u:p@127.0.0.1:1/db"}}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if _, err := Open(ctx, OpenOptions{Setup: s, Spares: -1}); err == nil {
		t.Error("it opens")
	}
}

// Reload puts in force what is right, and leaves the config before it in force otherwise.
// What it says has the mistakes, and what waits for a restart.
func TestReload(t *testing.T) {
	s, printed := setupOf(t, `{"mcpServers": {}, "broker": {"profiles": {"a": {}}}}`)
	a, err := Open(t.Context(), OpenOptions{Setup: s, Spares: -1, IgnoreProject: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	started := a.Live()
	for _, c := range []struct {
		text, says string
		profiles   []string
		wrong      bool
	}{
		{`{"mcpServers": {}, "broker": {"profiles": {"a": {}, "b": {}}}}`, "is in force", []string{"a", "b"}, false},
		{`{"mcpServers": {}, "broker": {"profiles": 1}}`, "the config is wrong; the one before it stays in force", []string{"a", "b"}, true},
		{`{`, "the one before it stays in force", []string{"a", "b"}, true},
		{`{"mcpServers": {}, "broker": {"sandbox": {"maxExecutions": 3}}}`, "but for sandbox.maxExecutions: start the broker again", nil, false},
	} {
		if err := os.WriteFile(s.ConfigPath, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(printed())
		cfg, err := a.Reload()
		said := printed()[before:]
		if (err != nil) != c.wrong || (cfg == nil) != c.wrong || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v; it says %s", c.text, err, said)
		}
		var names []string
		for name := range a.Live().Broker.Profiles {
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, c.profiles) || !c.wrong && a.Live() != cfg {
			t.Errorf("%s: in force are the profiles %q", c.text, names)
		}
	}
	if a.Config != started {
		t.Error("the config that it was opened with has changed")
	}
}
