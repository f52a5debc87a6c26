package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// served is an MCP client of a broker that serves a config with two servers and
// a skill.
func served(t *testing.T) *mcp.ClientSession {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for path, text := range map[string]string{
		"servers.json":                         `{"mcpServers": {"shelf": {"command": "shelf"}, "diary": {"command": "diary"}}, "broker": {"skills": {"scan": false}}}`,
		"skills/custom/shout/SKILL.md":         "---\nname: shout\ndescription: Says things aloud. Use when asked to shout.\n---\n\nImport scripts/shout.ts.\n",
		"skills/custom/shout/scripts/shout.ts": "import { upper } from './lib';\nexport const shout = (s: string): string => upper(s) + '!';\n",
		"skills/custom/shout/scripts/lib.ts":   "export function upper(s: string): string { return s.toUpperCase(); }\n",
		"skills/custom/shout/scripts/shout.py": "from .lib import upper\n\n\ndef shout(s):\n    return upper(s) + '!'\n",
		"skills/custom/shout/scripts/lib.py":   "def upper(s):\n    return s.upper()\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: brokerCommand(t, "serve", "--config", filepath.Join(dir, "servers.json"))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// An executed is an answer of execute_code without what differs from run to run.
type executed struct {
	ExitCode    int             `json:"exit_code"`
	Result      json.RawMessage `json:"result"`
	Stderr      string          `json:"stderr"`
	ToolsCalled []struct {
		Tool, Status string
		N            int
	} `json:"tools_called"`
}

func executeOver(t *testing.T, cs *mcp.ClientSession, language, code string) executed {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": language, "code": code, "timeout": 100}})
	if err != nil {
		t.Fatal(err)
	}
	var got executed
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// What a skill brings as code and what a server answers are joined in a script.
func TestAScriptJoinsASkillWithAServer(t *testing.T) {
	got := executeOver(t, served(t), "typescript", `
import { shout } from './skills/shout/scripts/shout.ts';
import { listBooks } from './servers/shelf';

return shout((await listBooks()).books[0].title);`)
	if got.ExitCode != 0 || string(got.Result) != `"EMMA!"` || len(got.ToolsCalled) != 1 || got.ToolsCalled[0].Tool != "shelf__list_books" {
		t.Errorf("%+v", got)
	}
}

func TestTheSameJobInBothLanguages(t *testing.T) {
	needPython(t)
	cs := served(t)
	ts := executeOver(t, cs, "typescript", `
import { listBooks } from './servers/shelf';
import { readDay } from './servers/diary';
import { shout } from './skills/shout/scripts/shout.ts';

const { books } = await listBooks();
const days = [];
for (const day of [1, 2]) days.push((await readDay({ day })).day);
return { first: shout(books[0].title), days };`)
	py := executeOver(t, cs, "python", `
from servers.shelf import list_books
from servers.diary import read_day
from skills.shout.scripts.shout import shout

books = (await list_books())["books"]
days = []
for day in (1, 2):
    days.append((await read_day(day=day))["day"])
return {"first": shout(books[0]["title"]), "days": days}`)
	if diff := cmp.Diff(ts, py); diff != "" || ts.ExitCode != 0 || string(ts.Result) != `{"first":"EMMA!","days":[1,2]}` || len(ts.ToolsCalled) != 2 {
		t.Errorf("typescript: %+v\npython: %+v\n(-typescript +python):\n%s", ts, py, diff)
	}
}
