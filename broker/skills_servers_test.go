package broker_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/skills"
)

// skillUpstream is a real server with skills, over HTTP.
func skillUpstream(t *testing.T, name string, k *fakeupstream.Skills, silent bool) (upstream.Config, *httptest.Server) {
	t.Helper()
	srv := k.Server(silent)
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return upstream.Config{Name: name, URL: ts.URL, StartTimeout: 30 * time.Second, CallTimeout: 30 * time.Second}, ts
}

const refunds = "skill://acme/refunds"

func newServerSkills() *fakeupstream.Skills {
	k := &fakeupstream.Skills{}
	k.Add(refunds, "Handle refunds. Use for a refund.", map[string]string{
		"references/policy.md": "Refund within 14 days.\n", "scripts/run.ts": "export const x = 1;\n", "workflow.json": triage,
	})
	return k
}

// ready waits until a client is offered so many skills.
func ready(t *testing.T, cs *mcp.ClientSession, n int) {
	t.Helper()
	eventually(t, "the skills of the servers are offered", func() bool {
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(res.Tools, func(tool *mcp.Tool) bool { return tool.Name == "activate_skill" })
		return i >= 0 && len(res.Tools[i].InputSchema.(map[string]any)["properties"].(map[string]any)["name"].(map[string]any)["enum"].([]any)) == n
	})
}

// expect calls a tool and looks for texts in the answer; those after "!" must
// not be there.
func expect(t *testing.T, cs *mcp.ClientSession, tool string, args map[string]any, isError bool, want ...string) {
	t.Helper()
	text, failed := call(t, cs, tool, args)
	if failed != isError {
		t.Errorf("%s %v: error %v: %.300s", tool, args, failed, text)
	}
	for _, w := range want {
		if not, ok := strings.CutPrefix(w, "!"); ok == strings.Contains(text, strings.TrimPrefix(not, "!")) {
			t.Errorf("%s %v answers %.500s; want %s", tool, args, text, w)
		}
	}
}

func TestSkillsOfServersAreUsed(t *testing.T) {
	k := newServerSkills()
	docs, _ := skillUpstream(t, "docs", k, false)
	dir := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "refunds", "Is the user's own.", "Local text.", nil)
	r := skillRegistry(dir)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Servers: []upstream.Config{docs}})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			cs := connect(t, b, version, nil)
			ready(t, cs, 2)
			k.Asked()
			expect(t, cs, "list_servers", nil, false, `"skills":1}`, `"skills":{"local:user":1}`)
			expect(t, cs, "search_tools", map[string]any{"query": "handle refunds"}, false, `"kind":"skill","name":"docs:refunds","server":"docs"`)
			expect(t, cs, "search_tools", map[string]any{"query": "handle refunds", "detail": "full"}, false, `"name":"docs:refunds"`, "!Tools: start")
			if got := k.Asked(); len(got) > 0 {
				t.Errorf("asked ahead of need: %v", got)
			}
			expect(t, cs, "activate_skill", map[string]any{"name": "docs:refunds", "force": true}, false,
				`<skill_content name="docs:refunds" origin="server:docs">`, "<file>references/policy.md</file>", "!workflow. call_skill_tool")
			expect(t, cs, "activate_skill", map[string]any{"name": "refunds", "force": true}, false, `origin="local:user"`, "Local text.")
			expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, false, "within 14 days")
			expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "unlisted.md"}, true, "not_found: ")
			expect(t, cs, "call_skill_tool", map[string]any{"skill": "docs:refunds", "tool": "start"}, true, "not_local: ")
			expect(t, cs, "execute_code", map[string]any{"code": "return await skills.read('docs:refunds', 'references/policy.md')"}, false, "within 14 days")
			expect(t, cs, "execute_code", map[string]any{"code": "import { x } from './skills/docs:refunds/scripts/run.ts'; return x"}, true)
			expect(t, cs, "execute_code", map[string]any{"code": "return await skills.call('docs:refunds', 'start', {})"}, true, "from a server")
			for _, asked := range k.Asked() {
				if !strings.HasPrefix(asked, "resources/read "+refunds+"/") || strings.Contains(asked, "run.ts") || strings.Contains(asked, "workflow") {
					t.Errorf("asked for %s", asked)
				}
			}
			p, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "docs:refunds"})
			if err != nil || !strings.Contains(p.Messages[0].Content.(*mcp.TextContent).Text, `origin="server:docs"`) {
				t.Errorf("prompt: %+v, %v", p, err)
			}
		})
	}
}

func TestSkillsOfServersCostOneWord(t *testing.T) {
	k := newServerSkills()
	docs, _ := skillUpstream(t, "docs", k, false)
	r := skills.NewRegistry(nil)
	cs := connect(t, newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Servers: []upstream.Config{docs}}), "2026-07-28", nil)
	ready(t, cs, 1)
	eventually(t, "activate_skill names the skill", func() bool {
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(res.Tools, func(tool *mcp.Tool) bool {
			return tool.Name == "activate_skill" && strings.Contains(tool.Description, "- docs:refunds [server]: Handle refunds.")
		})
	})
}

func TestSkillsOfServersThatLie(t *testing.T) {
	k := newServerSkills()
	k.Add("skill://big", "Is too large.", map[string]string{"a.md": "x"})
	k.Add("skill://moving", "Changes by itself.", nil)
	k.Edit(func(e map[string]any) {
		switch e["uri"] {
		case "skill://big/SKILL.md":
			e["resources"].([]any)[1].(map[string]any)["size"] = 17 << 20
		case "skill://moving/SKILL.md":
			e["resources"] = "dynamic"
		}
	})
	docs, _ := skillUpstream(t, "docs", k, false)
	silent, _ := skillUpstream(t, "silent", newServerSkills(), true)
	r := skills.NewRegistry(nil)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Servers: []upstream.Config{docs, silent}})
	cs := connect(t, b, "2026-07-28", nil)
	ready(t, cs, 1)
	var problems []string
	for _, p := range r.Refresh().Problems {
		problems = append(problems, p.Path+": "+p.Message)
	}
	if got := strings.Join(problems, "\n"); len(problems) != 2 || !strings.Contains(got, "more than 16 MiB") || !strings.Contains(got, "change by themselves") {
		t.Errorf("problems: %s", got)
	}
	k.Lie(refunds+"/references/policy.md", "Refund within 99 days.\n") // as long as the real one
	k.Asked()
	expect(t, cs, "activate_skill", map[string]any{"name": "docs:refunds"}, false, `origin="server:docs"`)
	expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, true, "verification_failed: ", "its digest is another", "!99 days")
	expect(t, cs, "execute_code", map[string]any{"code": "try { await skills.read('docs:refunds', 'references/policy.md') } catch (e) { return e.code }"}, false, "verification_failed")
	k.Lie(refunds+"/references/policy.md", strings.Repeat("x", 1<<20))
	expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, true, "verification_failed: ", "it has 1048576 bytes, not 23")
}

func TestASkillThatChangesOnItsServer(t *testing.T) {
	k := newServerSkills()
	docs, _ := skillUpstream(t, "docs", k, false)
	r := skills.NewRegistry(nil)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Servers: []upstream.Config{docs}})
	cs := connect(t, b, "2025-11-25", nil)
	ready(t, cs, 1)
	expect(t, cs, "activate_skill", map[string]any{"name": "docs:refunds"}, false, "# refunds")
	k.Add(refunds, "Handle refunds anew.", map[string]string{"references/policy.md": "Refund within 30 days.\n", "new.md": "new"})
	// What was activated is what is read: nothing else belongs to it.
	expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, true, "verification_failed: ", "activate it again")
	expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "new.md"}, true, "not_found: ")
	b2 := newBroker(t, broker.Deps{}, broker.Settings{Skills: skills.NewRegistry(nil), Servers: []upstream.Config{docs}})
	fresh := connect(t, b2, "2025-11-25", nil)
	ready(t, fresh, 1)
	k.Add(refunds, "Handle refunds once more.", map[string]string{"references/policy.md": "Refund within 60 days.\n"})
	k.Asked()
	expect(t, fresh, "activate_skill", map[string]any{"name": "docs:refunds"}, false, "<file>references/policy.md</file>", "!new.md")
	expect(t, fresh, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, false, "60 days")
	want := []string{"resources/read " + refunds + "/SKILL.md", "skills/get " + refunds + "/SKILL.md", "resources/read " + refunds + "/SKILL.md", "resources/read " + refunds + "/references/policy.md"}
	if diff := cmp.Diff(want, k.Asked()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestSkillsAreLoadedByTheirAddress(t *testing.T) {
	k := newServerSkills()
	k.Hide(refunds + "/SKILL.md")
	docs, _ := skillUpstream(t, "docs", k, false)
	other := newServerSkills()
	shop, _ := skillUpstream(t, "shop", other, false)
	dir := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "mine", "Is the user's own.", "Local text.", nil)
	r := skillRegistry(dir)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Servers: []upstream.Config{docs, shop}})
	cs := connect(t, b, "2026-07-28", nil)
	ready(t, cs, 2) // that of shop
	name := "docs:" + refunds + "/SKILL.md"
	other.Asked()
	expect(t, cs, "read_skill_file", map[string]any{"skill": name, "path": "references/policy.md"}, true, "skill_not_found: ")
	expect(t, cs, "activate_skill", map[string]any{"name": name}, false, `origin="server:docs"`)
	expect(t, cs, "read_skill_file", map[string]any{"skill": name, "path": "references/policy.md"}, false, "within 14 days")
	expect(t, cs, "activate_skill", map[string]any{"name": "docs:skill://nobody/SKILL.md"}, true, "server_failed: ", "-32602")
	expect(t, cs, "activate_skill", map[string]any{"name": "nobody:" + refunds + "/SKILL.md"}, true, "skill_not_found: ")
	if got := other.Asked(); len(got) > 0 {
		t.Errorf("a skill of docs has made the other server be asked: %v", got)
	}
}

// What was activated by its address is not read any more once it is off.
func TestSkillsOfServersAreSwitchedOff(t *testing.T) {
	k := newServerSkills()
	k.Hide(refunds + "/SKILL.md")
	docs, _ := skillUpstream(t, "docs", k, false)
	other := newServerSkills()
	other.Add("skill://acme/more", "Is left. Use for more.", nil)
	shop, _ := skillUpstream(t, "shop", other, false)
	switches := filepath.Join(t.TempDir(), "servers.state.json")
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(switches)}), Servers: []upstream.Config{docs, shop}})
	cs := connect(t, b, "2026-07-28", nil)
	ready(t, cs, 2)
	for server, name := range map[string]string{"docs": "docs:" + refunds + "/SKILL.md", "shop": "shop:refunds"} {
		expect(t, cs, "activate_skill", map[string]any{"name": name}, false, `origin="server:`+server)
		expect(t, cs, "read_skill_file", map[string]any{"skill": name, "path": "references/policy.md"}, false, "within 14 days")
		if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, "server:"+server+":"+refunds+"/SKILL.md", false); err != nil {
			t.Fatal(err)
		}
		expect(t, cs, "activate_skill", map[string]any{"name": name}, true, "skill_not_found: ")
		expect(t, cs, "read_skill_file", map[string]any{"skill": name, "path": "references/policy.md"}, true, "skill_not_found: ")
	}
}

// A skill that its server has taken from models since it was listed is not given
// to one.
func TestSkillsOfServersAreNoMoreForModels(t *testing.T) {
	k := newServerSkills()
	docs, _ := skillUpstream(t, "docs", k, false)
	cs := connect(t, newBroker(t, broker.Deps{}, broker.Settings{Skills: skills.NewRegistry(nil), Servers: []upstream.Config{docs}}), "2025-11-25", nil)
	ready(t, cs, 1)
	k.Add(refunds, "Handle refunds.\ndisable-model-invocation: true", nil)
	k.Edit(func(e map[string]any) {
		e["frontmatter"] = map[string]any{"name": "refunds", "description": "Handle refunds.", "disable-model-invocation": true}
	})
	expect(t, cs, "activate_skill", map[string]any{"name": "docs:refunds"}, true, "verification_failed: ")
}

func TestSkillsOfServersThatAreSlowOrGone(t *testing.T) {
	cache, state := t.TempDir(), t.TempDir()
	k := newServerSkills()
	docs, ts := skillUpstream(t, "docs", k, false)
	docs.CallTimeout = 200 * time.Millisecond
	open := func() *broker.Broker {
		return newBroker(t, broker.Deps{CacheDir: state, SkillCacheDir: cache}, broker.Settings{Skills: skills.NewRegistry(nil), Servers: []upstream.Config{docs}})
	}
	b := open()
	cs := connect(t, b, "2026-07-28", nil)
	ready(t, cs, 1)
	expect(t, cs, "activate_skill", map[string]any{"name": "docs:refunds"}, false, `origin="server:docs"`)
	held := make(chan struct{})
	k.Wait(held)
	expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, true, "server_failed: ", "no answer for 0.2 s")
	close(held)
	ts.CloseClientConnections()
	ts.Close()
	// Another process, and the server is gone: what was read is still there.
	b2 := open()
	cs = connect(t, b2, "2026-07-28", nil)
	expect(t, cs, "activate_skill", map[string]any{"name": "docs:refunds"}, false, `origin="server:docs"`)
	expect(t, cs, "read_skill_file", map[string]any{"skill": "docs:refunds", "path": "references/policy.md"}, true, "server_failed: ")
}
