package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/state/postgres"
)

// noDatabase is the address of a database that counts connections and never answers.
func noDatabase(t *testing.T) (address string, came *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	came = &atomic.Int64{}
	go func() { // it ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			_ = c.Close()
		}
	}()
	return "postgres://u:p@" + l.Addr().String() + "/db?sslmode=disable", came
}

// aPlugin returns a folder with a plugin that has one server.
func aPlugin(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "kit")
	if err := os.MkdirAll(filepath.Join(dir, ".claude-plugin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".claude-plugin", "plugin.json"), []byte(`{"name":"kit"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	writeConfig(t, filepath.Join(dir, ".mcp.json"), map[string]any{"mcpServers": map[string]any{
		"tool": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)},
	}})
	return dir
}

// Loading a config connects to nothing. With the servers of plugins, it reads which are
// enabled from a database, if there are plugins, and creates no tables.
func TestLoadingAConfigOpensNothing(t *testing.T) {
	t.Parallel()
	address, came := noDatabase(t)
	for name, broker := range map[string]map[string]any{
		"a database":              {"state": address},
		"with a key":              {"state": address, "stateKey": []string{strings.Repeat("ab", 32)}},
		"plugins without servers": {"state": address, "plugins": map[string]any{"autoMergeMcp": false}},
	} {
		file := filepath.Join(t.TempDir(), "servers.json")
		writeConfig(t, file, map[string]any{"broker": broker, "mcpServers": map[string]any{}})
		if strings.HasPrefix(name, "plugins") {
			if err := os.CopyFS(filepath.Join(filepath.Dir(file), "plugins", "kit"), os.DirFS(aPlugin(t))); err != nil {
				t.Fatal(err)
			}
		}
		a := &env{IO: cli.IO{Out: io.Discard, Err: io.Discard}, configPath: file, stateDir: t.TempDir()}
		for _, load := range []func() (*config.Config, error){a.load, a.loadServers} {
			if _, err := load(); err != nil || came.Load() != 0 {
				t.Errorf("%s: %d connections, %v", name, came.Load(), err)
			}
		}
	}
	// If it is unknown whether an existing plugin is on, its servers are left out, and a
	// reload fails.
	unknown := filepath.Join(t.TempDir(), "servers.json")
	writeConfig(t, unknown, map[string]any{"broker": map[string]any{"state": address}, "mcpServers": map[string]any{}})
	if err := os.CopyFS(filepath.Join(filepath.Dir(unknown), "plugins", "kit"), os.DirFS(aPlugin(t))); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	away := &env{IO: cli.IO{Out: io.Discard, Err: &said}, configPath: unknown, stateDir: t.TempDir()}
	if _, err := away.load(); err != nil || came.Load() != 0 {
		t.Errorf("with a plugin: %d connections, %v", came.Load(), err)
	}
	cfg, err := away.loadServers()
	if err != nil || !strings.Contains(said.String(), "the servers of plugins are left out") {
		t.Errorf("%v; it says %s", err, &said)
	}
	where := away.setup()
	switches, closes, err := where.OpenSwitches(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closes()
	if _, err := application.WithPlugins(application.NewHome(cfg, switches)); err == nil {
		t.Error("a reload would take the plugin's servers away")
	}
	if _, err := application.PluginState(application.NewHome(cfg, switches)); err == nil {
		t.Error("the plugins look as if they had changed")
	}

	with := sharedDatabase(t).Address()
	file := filepath.Join(t.TempDir(), "servers.json")
	writeConfig(t, file, map[string]any{"broker": map[string]any{"state": with}, "mcpServers": map[string]any{}})
	if err := os.CopyFS(filepath.Join(filepath.Dir(file), "plugins", "kit"), os.DirFS(aPlugin(t))); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	a := &env{IO: cli.IO{Out: io.Discard, Err: &notes}, configPath: file, stateDir: t.TempDir()}
	if _, err := a.loadServers(); err != nil || !strings.Contains(notes.String(), "they are not approved") {
		t.Errorf("%v; it says %s", err, &notes)
	}
	in, err := postgres.Connect(with, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if version, _, err := in.Schema(t.Context()); version != 0 || err != nil {
		t.Errorf("loading the config has made tables: schema %d, %v", version, err)
	}
}

// A reload does not change the database, and while that is unreachable the servers of
// plugins stay.
func TestReloadsLeaveDatabasesAlone(t *testing.T) {
	t.Parallel()
	plugins := filepath.Join(t.TempDir(), "plugins")
	r, db, cs, file := startAway(t, map[string]any{"plugins": map[string]any{"path": plugins}})
	output(t, brokerCommand(t, "plugins", "install", aPlugin(t), "--yes", "--config", file, "--state-dir", r.dir))
	works := func() bool {
		return runs(t.Context(), cs, "return await callMCPTool('kit:tool.echo', {a: 1})", "a") == nil
	}
	eventually.True(t, "the plugin's server is there", works)
	write := func(state, description string) {
		t.Helper()
		writeConfig(t, file, map[string]any{
			"broker": map[string]any{"state": state, "plugins": map[string]any{"path": plugins}, "http": map[string]any{"tokens": map[string]string{"me": fleetToken}}},
			"mcpServers": map[string]any{
				"good": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good), "description": description},
			}})
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var first struct{ Broker struct{ State string } }
	if err := json.Unmarshal(text, &first); err != nil {
		t.Fatal(err)
	}
	started := first.Broker.State
	other, came := noDatabase(t)
	write(other, "one")
	eventually.True(t, "the reload says that another state is not in force", func() bool { return strings.Contains(r.log(), "but for state") })
	if came.Load() != 0 || !works() {
		t.Errorf("%d connections to a database that is not in force; the plugin works: %t\n%s", came.Load(), works(), r.log())
	}
	if err := db.Kill(); err != nil {
		t.Fatal(err)
	}
	before := strings.Count(r.log(), "is in force")
	write(started, "two, while the database is away")
	eventually.True(t, "the config is in force", func() bool { return strings.Count(r.log(), "is in force") > before })
	if !works() {
		t.Errorf("the plugin's server is gone\n%s", r.log())
	}
}
