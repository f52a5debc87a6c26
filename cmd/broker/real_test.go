package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
)

// npmBin returns the directory of installed npm packages' programs, or skips:
// they are not needed to pass the tests on a machine with only Go and git.
func npmBin(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("BROKER_NPM"), "node_modules", ".bin")
	_, err := os.Stat(filepath.Join(dir, "mcp-inspector"))
	if os.Getenv("BROKER_NPM") == "" || err != nil {
		if os.Getenv("BROKER_CI") != "" {
			t.Fatalf("the npm packages are not below $BROKER_NPM: %v", err)
		}
		t.Skip("needs Node and the npm packages that .ci/run installs below $BROKER_NPM")
	}
	return dir
}

// realServers writes a config of the four official servers and returns it with
// the directory that the filesystem server may read.
func realServers(t *testing.T) (config, files string) {
	t.Helper()
	bin, dir, files := npmBin(t), t.TempDir(), t.TempDir()
	server := func(name string, args ...string) map[string]any {
		return map[string]any{"command": filepath.Join(bin, "mcp-server-"+name), "args": append([]string{}, args...)}
	}
	memory := server("memory")
	memory["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.json")}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": server("everything"), "filesystem": server("filesystem", files),
		"memory": memory, "sequential-thinking": server("sequential-thinking"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(dir, "servers.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return config, files
}

// brokerCommand is the broker, as the test binary plays it.
func brokerCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("broker")
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), path, args...)
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, &stderr)
	}
	return out
}

func TestRealServersAreIndexed(t *testing.T) {
	t.Parallel()
	config, _ := realServers(t)
	var r api.IndexReport
	if err := json.Unmarshal(output(t, brokerCommand(t, "index", "--config", config, "--json")), &r); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"everything": 16, "filesystem": 14, "memory": 9, "sequential-thinking": 1}
	for _, s := range r.Servers {
		if s.Tools != want[s.Name] || s.Error != "" {
			t.Errorf("%s: %d tools, error %q; want %d", s.Name, s.Tools, s.Error, want[s.Name])
		}
	}
	if r.Tools != 40 || r.TokensBefore < 4000 || r.TokensAfter > 600 {
		t.Errorf("%d tools, %d tokens before, %d after; want 40, more than 4000, at most 600", r.Tools, r.TokensBefore, r.TokensAfter)
	}
}

// The main job on real servers: a document goes from one to the other, and the
// model sees one line.
func TestRealServersWorkTogether(t *testing.T) {
	t.Parallel()
	config, files := realServers(t)
	long := strings.Repeat("Ada wrote the first program. Grace found the bug. Alan asked whether machines think.\n", 200)
	if err := os.WriteFile(filepath.Join(files, "people.txt"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script.ts")
	code := fmt.Sprintf(`
		import { readTextFile } from './servers/filesystem';
		import { createEntities, readGraph } from './servers/memory';
		const { content } = await readTextFile({ path: %q });
		const names = [...new Set([...content.matchAll(/(\w+) (?:wrote|found|asked)/g)].map(m => m[1]))];
		await createEntities({ entities: names.map(name => ({ name, entityType: 'person', observations: ['in people.txt'] })) });
		const graph = await readGraph();
		console.log('stored ' + graph.entities.map(e => e.name).join(', '));
	`, filepath.Join(files, "people.txt"))
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	out := output(t, brokerCommand(t, "exec", "--config", config, "--json", script))
	var a broker.ExecuteAnswer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	var called []string
	for _, c := range a.ToolsCalled {
		called = append(called, c.Tool)
	}
	want := []string{"filesystem__read_text_file", "memory__create_entities", "memory__read_graph"}
	if a.ExitCode != 0 || a.Stdout != "stored Ada, Grace, Alan\n" || !slices.Equal(called, want) {
		t.Errorf("answer %s", out)
	}
	if len(out) > 600 {
		t.Errorf("the answer has %d bytes, want fewer than 600 for %d bytes of document", len(out), len(long))
	}
}

// The Inspector is a client that we did not write.
func TestInspectorListsAndCalls(t *testing.T) {
	t.Parallel()
	config, files := realServers(t)
	if err := os.WriteFile(filepath.Join(files, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("broker")
	if err != nil {
		t.Fatal(err)
	}
	// The Inspector takes --config for its own, so the broker's is in a file.
	entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"broker": map[string]any{"command": path, "args": []string{"serve", "--config", config}, "env": map[string]string{"XDG_STATE_HOME": os.Getenv("XDG_STATE_HOME")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(t.TempDir(), "client.json")
	if err := os.WriteFile(client, entry, 0o600); err != nil {
		t.Fatal(err)
	}
	over := map[string][]string{
		"stdio": {"--config", client, "--server", "broker"},
		"http":  {serveHTTP(t, config), "--transport", "http"},
	}
	for name, target := range over {
		inspect := func(args ...string) string {
			cmd := exec.CommandContext(t.Context(), filepath.Join(npmBin(t), "mcp-inspector"), append(append([]string{"--cli"}, target...), args...)...)
			return string(output(t, cmd))
		}
		list := inspect("--method", "tools/list")
		for _, tool := range []string{"list_servers", "search_tools", "execute_code"} {
			if !strings.Contains(list, `"name": "`+tool+`"`) {
				t.Errorf("%s: tools/list lacks %s:\n%s", name, tool, list)
			}
		}
		for _, c := range []struct {
			want string
			args []string
		}{
			{`filesystem`, []string{"--tool-name", "list_servers"}},
			{`filesystem__read_text_file`, []string{"--tool-name", "search_tools", "--tool-arg", "query=read a text file"}},
			{`\"result\":\"hello\"`, []string{"--tool-name", "execute_code", "--tool-arg",
				fmt.Sprintf("code=return (await filesystem.readTextFile({ path: '%s' })).content", filepath.Join(files, "a.txt"))}},
		} {
			if got := inspect(append([]string{"--method", "tools/call"}, c.args...)...); !strings.Contains(got, c.want) {
				t.Errorf("%s: %v answers\n%s\nwant %s in it", name, c.args, got, c.want)
			}
		}
	}
}
