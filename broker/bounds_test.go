package broker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/audit"
	"github.com/mcpbroker/mcpbroker/internal/results"
)

// TestLongNamesCostNothing names things of hundreds of kilobytes wherever a
// script and a client can: each is refused at once, in few words, and little of
// it is recorded.
func TestLongNamesCostNothing(t *testing.T) {
	state := t.TempDir()
	store, err := audit.Open(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, skills := withSupport(t)
	b := newBroker(t, broker.Options{Audit: store, Skills: skills, Results: results.Open(t.TempDir(), nil)})
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
