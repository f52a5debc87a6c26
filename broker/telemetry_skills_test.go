//go:build unix

package broker_test

import (
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/skills"
)

// What is done with skills has spans within the request; sessions with both sides,
// and what was kept from the model, are counted.
func TestSkillsSessionsAndRedactionsAreMeasured(t *testing.T) {
	needPython(t)
	const internal, server = 1, 2
	c := &collector{}
	receiver := httptest.NewServer(c)
	defer receiver.Close()
	at, err := url.Parse(receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Options{Endpoint: at, Page: true})
	if err != nil {
		t.Fatal(err)
	}
	dir, registry := newTools(t)
	writeSkill(t, dir, "tools", "Fails. Use for tests.", "Run scripts/fail.py.", map[string]string{"scripts/fail.py": "raise SystemExit(3)\n"})
	approve(t, registry, dir+".state.json", "tools")
	v := vault.New("", nil, slog.New(slog.DiscardHandler))
	v.Count = tel.Redacted
	b := newBroker(t, broker.Deps{Observer: tel, Observe: tel.Middleware, Vault: v}, broker.Settings{
		Servers: []upstream.Config{upstreamConfig(t, "files")},
		Skills:  registry,
		Scripts: broker.Scripts{Mode: broker.ScriptsHost, Approvals: skills.SwitchFile(dir + ".state.json")},
		Redact:  vault.Settings{Personal: true},
	})
	ended := connect(t, b, "2025-06-18", nil)
	call(t, ended, "activate_skill", map[string]any{"name": "tools"})
	call(t, ended, "execute_code", map[string]any{"language": "javascript", "code": `await callMCPTool('files__read_file', { path: 'a' }); return ['kim', 'acme-mail.com'].join('@')`})
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	cs := connect(t, b, "2025-06-18", nil) // is there until the end
	runTool(t, cs, "tools", "scripts/count.py", nil)
	if got := runTool(t, cs, "tools", "scripts/fail.py", nil); got.ExitCode != 3 && !got.isError {
		t.Fatalf("%+v", got)
	}
	page := httptest.NewRecorder()
	tel.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(page.Body.String(), `broker_redactions_total{type="email"} 1`) {
		t.Errorf("/metrics:\n%s", page.Body)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tel.Close(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	activated, run := c.span(t, internal, "activate_skill tools"), c.span(t, internal, "skill_script tools")
	if activated.Parent != c.span(t, server, "tools/call activate_skill").SpanID || activated.attribute("broker.skill") != "tools" || activated.Status.Code != 0 {
		t.Errorf("activation: %+v", activated)
	}
	if run.Parent != c.span(t, server, "tools/call call_skill_tool").SpanID || run.attribute("broker.skill.script") != "scripts/count.py" || run.Status.Code != 0 {
		t.Errorf("script: %+v", run)
	}
	if i := slices.IndexFunc(c.spans, func(s collected) bool { return s.attribute("broker.skill.script") == "scripts/fail.py" }); i < 0 || c.spans[i].Status.Code != 2 {
		t.Error("the script that fails has no span that says so")
	}
	for _, want := range []string{"mcp.server.session.duration", "mcp.client.session.duration", "broker_redactions_total"} {
		if !slices.Contains(c.metrics, want) {
			t.Errorf("no metric %s in %q", want, c.metrics)
		}
	}
}
