package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// evil has what a terminal obeys, what a reader does not see, and a line that
// looks like one of the broker's.
const evil = "ev\x1b[2Jil\u009b31m\u202ex\u2066\x07\u200b\x7f\r\nFORGED\u2028FORGED\vFORGED\u0085FORGED"

// serveEvil is an MCP server that says nothing but that.
func serveEvil() {
	fmt.Fprintln(os.Stderr, evil)
	fmt.Println(evil)
	s := mcp.NewServer(&mcp.Implementation{Name: evil, Version: evil}, &mcp.ServerOptions{Instructions: evil})
	tool := func(name string, fail bool) {
		s.AddTool(&mcp.Tool{Name: name, Title: evil, Description: evil, InputSchema: json.RawMessage(mustJSON(map[string]any{
			"type": "object", "properties": map[string]any{evil: map[string]any{"type": "string", "description": evil, "default": evil, "enum": []string{evil}}},
		}))}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: fail, Content: []mcp.Content{&mcp.TextContent{Text: evil}}}, nil
		})
	}
	tool("fail", true)
	tool("read", false)
	tool("b\x1b[2Jad\nFORGED", false)
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // it ends with its client
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made here
	}
	return string(text)
}

// writeEvil makes a config whose servers, skills, plugins and marketplaces, and a
// client's config whose servers, have evil in each of their texts.
func writeEvil(t *testing.T, dir string) {
	t.Helper()
	quoted := strings.ReplaceAll(mustJSON(evil), `\u007f`, `\x7f`) // JSON is YAML
	name := strings.ReplaceAll(evil, "/", "")
	server := map[string]any{"command": "evil", "description": evil, evil: evil}
	skill := "---\nname: notes\ndescription: " + quoted + "\nlicense: " + quoted + "\ncompatibility: " + quoted + "\nversion: " + quoted + "\nmetadata: {version: " + quoted + "}\n" + evil[:2] + ": x\n---\n" + evil + "\n"
	for path, text := range map[string]string{
		"servers.json": mustJSON(map[string]any{evil: evil, "mcpServers": map[string]any{"evil": server,
			evil: map[string]any{"command": evil, "args": []string{evil}}, "far" + evil: map[string]any{"url": "http://127.0.0.1:1/x", "headers": map[string]string{"X": evil}}, "off" + evil: map[string]any{"command": "x", "disabled": true}},
			"broker": map[string]any{"audit": map[string]any{"payloads": true}, "pins": "off"}}),
		"wrong.json":                   mustJSON(map[string]any{"mcpServers": map[string]any{evil: map[string]any{"command": 1, evil: evil, "url": evil}}}),
		"client.json":                  mustJSON(map[string]any{"mcpServers": map[string]any{evil: map[string]any{"command": evil, "env": map[string]string{"A": "${" + evil + "}"}}, "ok" + evil: server}}),
		"skills/custom/notes/SKILL.md": skill,
		"skills/custom/notes/scripts/" + name + ".py": "print()",
		"skills/custom/broken" + name + "/SKILL.md":   evil,
		"p/.claude-plugin/plugin.json":                mustJSON(map[string]any{"name": "p", "version": evil, "description": evil, "author": evil, "skills": evil, "commands": evil}),
		"p/.mcp.json":                                 mustJSON(map[string]any{evil: map[string]any{"command": evil, "args": []string{evil}}, "none" + evil: map[string]any{"url": ""}, "odd" + evil: map[string]any{"command": 1}}),
		"p/commands/" + name + ".md":                  "---\ndescription: " + quoted + "\nargument-hint: " + quoted + "\n---\nx",
		"p/skills/notes/SKILL.md":                     skill,
		"bad" + name + "/.claude-plugin/plugin.json":  mustJSON(map[string]any{"name": evil}),
		"market/.claude-plugin/marketplace.json":      mustJSON(map[string]any{"name": "m", "plugins": []any{map[string]any{"name": evil, "description": evil, "version": evil, "source": map[string]string{"source": "url", "url": evil}}}}),
		"fail.js":                                     "try { await callMCPTool('evil__fail') } catch {}\nconsole.error(" + mustJSON(evil) + "); throw new Error(" + mustJSON(evil) + ") // \u202e\x1b[2J",
		"read.js":                                     "await store.set(" + mustJSON(name) + ", " + mustJSON(evil) + "); return await callMCPTool('evil__read')",
	} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// steers finds what must not reach a terminal: what it obeys, what hides from the
// reader, and lines that only seem to be the broker's.
var steers = regexp.MustCompile(`[^\PC\n\t]|[\x{2028}\x{2029}]|(?m:^FORGED)`)

// Whatever servers, skills, plugins and files say, no command prints it so that
// a terminal obeys it, a reader does not see it, or it begins a line.
func TestNothingSteersTheTerminal(t *testing.T) {
	if !steers.MatchString("\x1b") || !steers.MatchString("\u202e") || !steers.MatchString("x\nFORGED") || steers.MatchString("a\tb·…\n  FORGED é 日本\n") {
		t.Fatal("the pattern is wrong")
	}
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("HOME", dir)
	t.Setenv("BROKER_KEYRING", "off")
	t.Chdir(dir)
	writeEvil(t, dir)
	said := 0
	run := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		runArgs(t.Context(), &env{IO: cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs}}, args)
		for _, text := range []string{out.String(), errs.String()} {
			if at := steers.FindStringIndex(text); at != nil {
				t.Errorf("broker %q prints %q", args, text[max(0, at[0]-80):min(len(text), at[1]+40)])
			}
			if strings.Contains(text, "FORGED") {
				said++
			}
		}
		return out.String()
	}
	// What scripts print is passed on as it is, unless to a terminal.
	for _, script := range []string{"fail.js", "read.js"} {
		if out, _ := brokerCommand(t, "exec", "--config", "servers.json", script).CombinedOutput(); !strings.Contains(string(out), "\x1b") {
			t.Errorf("%s: %q", script, out)
		}
	}
	for _, line := range []string{
		"exec fail.js --json", "exec " + evil, "plugins install p --yes", "plugins install p", "plugins install bad" + evil, "plugins add market", "plugins list", "plugins list --offers", "plugins show p",
		"plugins show " + evil, "plugins install " + evil, "plugins approve p",
		"index", "index --json", "servers list", "servers list --tools", "servers list --json", "servers test evil", "servers logs evil", "servers test " + evil, "doctor", "doctor --json",
		"call evil.fail", "call evil.fail --json", "call evil.read --json", "call evil.nope", "call evil.nope a=b", "tools list", "tools list --json", "tools show evil.read", "tools show evil.read --json", "tools show " + evil, "__complete call e", "__complete call evil.read e", "__complete servers test e", "call " + evil,
		"search read", "search read --detail full", "search zzz --json", "search read --detail full --json", "types --out types", "types learned list", "types learned show evil",
		"skills list", "skills list --diagnostics", "skills list --json", "skills show notes", "skills show notes --json", "skills approve notes", "skills search ev",
		"skills validate skills/custom/notes", "skills lint skills/custom/notes", "skills validate skills/custom/broken" + evil, "skills install p/skills/notes", "skills call notes x",
		"audit list", "audit events", "audit stats", "audit export", "audit list --json", "store list", "store list --json", "import client.json --dry-run", "import client.json --dry-run --json",
		"auth status", "auth login " + evil, "servers list --config wrong.json", evil, "--" + evil, "help " + evil,
	} {
		words := strings.Split(line, " ")
		run(words...)
	}
	list := run("audit", "list", "--json")
	var rows struct {
		Executions []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(list), &rows); err != nil || len(rows.Executions) < 2 {
		t.Fatalf("audit list: %v, %s", err, list)
	}
	for _, e := range rows.Executions {
		run("audit", "show", e.ID)
		run("audit", "show", e.ID, "--json")
	}
	if said < 30 {
		t.Errorf("only %d of these said anything of others", said)
	}
}
