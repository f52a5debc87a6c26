package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// TestLongNamesCostNothing names things of hundreds of kilobytes wherever a
// script and a client can: each is refused at once, in few words, and little of
// it is recorded.
func TestLongNamesCostNothing(t *testing.T) {
	state := t.TempDir()
	store, err := sqlite.Open(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, r := withSupport(t)
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Audit: store, Results: kept, Values: kept}, broker.Settings{Skills: r})
	b.Refresh(t.Context())
	start := time.Now()
	a := execute(t, b, `
		const long = 'files__.:/'.repeat(40_000);
		const tries = {
			call: () => callMCPTool(long), tool: () => callMCPTool('files', long), search: () => tools.search(long), option: () => tools.search({ query: long }),
			describe: () => tools.describe(long), get: () => results.get(long), path: () => results.get('r_', { path: long }),
			value: () => store.get(long), set: () => store.set(long, 1), drop: () => store.delete(long),
			skill: () => skills.read(long, 'x'), file: () => skills.read('support', long), run: () => skills.call(long, 'start'), step: () => skills.call('support', long),
		};
		const bad = [];
		for (const name in tries) {
			const all = await Promise.allSettled(Array.from({ length: 16 }, tries[name]));
			const said = all.map(r => r.reason?.message ?? 'nothing');
			if (said.some(s => !s.includes('fixed') || s.length > 300)) bad.push(name + ': ' + said[0].slice(0, 100));
		}
		return bad`)
	if string(a.Result) != "[]" {
		t.Errorf("%s %s", a.Result, a.Stderr)
	}
	long := strings.Repeat("files__.:/", 400_000)
	res := b.CallTool(t.Context(), broker.CallRequest{Tool: long, Arguments: json.RawMessage(`{"arguments":{}}`)})
	if text := res.Content[0].(*mcp.TextContent).Text; !res.IsError || len(text) > 300 {
		t.Errorf("call_tool: %.300s", text)
	}
	if _, _, err := b.CallSkillTool(t.Context(), "support", long, nil, broker.ExecuteRequest{}); err == nil || len(err.Error()) > 300 {
		t.Errorf("call_skill_tool: %.300v", err)
	}
	if s := b.ListServers(long); len(s.Note) > 300 {
		t.Errorf("list_servers: %.300s", s.Note)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("all that took %v", took)
	}
	files, _ := filepath.Glob(filepath.Join(state, "*"))
	total := int64(0)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			total += info.Size()
		}
	}
	if total > 4<<20 {
		t.Errorf("the audit log has %d bytes", total)
	}
}

const loop = `{"start": "write", "steps": {"write": {"action": {"tool": "notes__create_note", "input": {"title": "x"}}, "maxVisits": 60, "onMaxVisits": "done", "next": "write"}}}`

// TestAllCallsOfAnExecutionAreCounted makes calls from wherever an execution can:
// no more are made than one script may.
func TestAllCallsOfAnExecutionAreCounted(t *testing.T) {
	t.Parallel()
	const most = 5
	dir, r := newSkills(t)
	writeSkill(t, dir, "loop", "Loops. Use it.", "Go.", map[string]string{"workflow.json": loop})
	var b *broker.Broker
	many := func(call func(ctx context.Context)) func(context.Context, json.RawMessage) (any, error) {
		return func(ctx context.Context, _ json.RawMessage) (any, error) {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { call(ctx) })
			}
			wg.Wait()
			return "done", nil
		}
	}
	write := broker.CallRequest{Tool: "notes__create_note", Arguments: json.RawMessage(`{"title":"x"}`)}
	err := r.Register(skills.Virtual{Name: "handlers", Description: "Handlers. Use them.", Body: "Go.", Tools: []skills.Tool{
		{Name: "tools", Handler: many(func(ctx context.Context) { b.CallTool(ctx, write) })},
		{Name: "scripts", Handler: many(func(ctx context.Context) {
			b.Execute(ctx, broker.ExecuteRequest{Code: `await callMCPTool('notes__create_note', { title: 'x' })`})
		})},
		{Name: "skills", Handler: many(func(ctx context.Context) {
			_, _, _ = b.CallSkillTool(ctx, "loop", "start", nil, broker.ExecuteRequest{})
		})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b = newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Limits: sandbox.Limits{Calls: most}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	script := func(tool, skill string) func() {
		return func() {
			a := execute(t, b, `for (let i = 0; i < 4; i++) try { await skills.call('`+skill+`', '`+tool+`') } catch {}
				try { await callMCPTool('notes__create_note', { title: 'x' }) } catch (e) { return e.code }`)
			if string(a.Result) != `"call_limit"` {
				t.Errorf("%s of %s: a call over the limit ends with %s %s", tool, skill, a.Result, a.Stderr)
			}
			n := 0
			for _, row := range a.ToolsCalled {
				n += max(row.N, 1)
			}
			if tool != "scripts" && tool != "skills" && n != most {
				t.Errorf("%s of %s: tools_called has %d calls: %+v", tool, skill, n, a.ToolsCalled)
			}
		}
	}
	client := func(tool, skill string) func() {
		return func() { call(t, cs, "call_skill_tool", map[string]any{"skill": skill, "tool": tool}) }
	}
	written := 0
	for name, run := range map[string]func(){
		"a workflow in a script": script("start", "loop"), "a workflow by itself": client("start", "loop"),
		"a handler in a script": script("tools", "handlers"), "a handler by itself": client("tools", "handlers"),
		"scripts of a handler": script("scripts", "handlers"), "skills of a handler": client("skills", "handlers"),
	} {
		run()
		before := written
		a := execute(t, b, `return (await callMCPTool('notes__create_note', { title: 'x' })).count`)
		if err := json.Unmarshal(a.Result, &written); err != nil {
			t.Fatalf("%s: %s %s", name, a.Result, a.Stderr)
		}
		if got := written - before - 1; got != most {
			t.Errorf("%s made %d calls, want the %d that are allowed", name, got, most)
		}
	}
}

// A search renders nothing any more when nobody waits for it.
func TestSearchEndsWithItsContext(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	b.Refresh(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, query := range []string{"", "read a file"} {
		a, err := b.Search(ctx, broker.SearchRequest{Query: query, Detail: broker.DetailFull})
		if !errors.Is(err, context.Canceled) || len(a.Tools) > 0 {
			t.Errorf("%q: %d tools, %v", query, len(a.Tools), err)
		}
	}
}
