package broker_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// BenchmarkActivateSkill measures activate_skill as a client sees it, by its
// whole text, with the audit record, among so many skills. The baseline is a
// call of the broker that looks at nothing, list_servers, in the same session.
func BenchmarkActivateSkill(b *testing.B) {
	for _, n := range []int{5, 212, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "skills")
			for i := range n {
				writeSkill(b, dir, fmt.Sprintf("skill-%d", i), "Does one of many things. Use it for that.", strings.Repeat("Do this, then that.\n", 370), map[string]string{"references/a.md": "A.\n"})
			}
			store, err := sqlite.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = store.Close() })
			cs := connect(b, newBroker(b, broker.Deps{Audit: store}, broker.Settings{Skills: skillRegistry(dir)}), "2025-11-25", nil)
			measure := func(name string, arguments map[string]any, took *[]time.Duration) {
				started := time.Now()
				res, err := cs.CallTool(b.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
				*took = append(*took, time.Since(started))
				if err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
			var ours, base []time.Duration
			for b.Loop() {
				measure("activate_skill", map[string]any{"name": fmt.Sprintf("skill-%d", n/2), "force": true}, &ours)
				measure("list_servers", nil, &base)
			}
			percentiles(b, ours)
			var sum time.Duration
			for _, d := range base {
				sum += d
			}
			b.ReportMetric(float64((sum/time.Duration(len(base))).Microseconds())/1000, "list-servers-ms")
		})
	}
}

// The description of activate_skill is paid for in every turn. With 212 skills of
// usual names it keeps to 1,500 tokens as models count them, not as it estimates.
func TestCatalogueOfManySkillsKeepsToItsBudget(t *testing.T) {
	r := skills.NewRegistry(nil)
	subjects := []string{"account", "brand", "contract", "customer", "design", "financial", "incident", "market", "meeting", "pipeline", "product", "release", "sales", "vendor"}
	kinds := []string{"analysis", "audit", "brief", "calendar", "checklist", "comparison", "dashboard", "enforcement", "forecast", "metrics", "planning", "reconciliation", "research", "review", "summary", "triage"}
	for i := range 212 {
		name := subjects[i%len(subjects)] + "-" + kinds[i/len(subjects)]
		if err := r.Register(skills.Virtual{Name: name, Description: "Does one of the many things that teams do. Use it when that is wanted, and not otherwise."}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range newBroker(t, broker.Deps{}, broker.Settings{Skills: r}).Surface().Tools {
		if tool.Name != "activate_skill" {
			continue
		}
		n, err := tokens.Count(tool.Description)
		if err != nil || n > 1500 || !strings.Contains(tool.Description, "vendor-research") {
			t.Errorf("%d tokens (%v), want at most 1500 and all names", n, err)
		}
		t.Logf("212 skills: %d tokens", n)
		return
	}
	t.Error("there is no activate_skill")
}
