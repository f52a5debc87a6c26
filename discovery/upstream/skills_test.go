package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// skillServer serves skills over HTTP, in the old or the new protocol.
func skillServer(t *testing.T, k *fakeupstream.Skills, stateless, silent bool) (url string, srv *mcp.Server) {
	t.Helper()
	srv = k.Server(silent)
	return serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: stateless})), srv
}

func skillURIs(p *Pool) []string {
	var uris []string
	for _, l := range p.Listings() {
		for _, k := range l.Skills {
			uris = append(uris, k.URI)
		}
	}
	return uris
}

func TestSkillsAreListedWithTheTools(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		var k fakeupstream.Skills
		for _, name := range []string{"a", "b", "c"} {
			k.Add("skill://"+name, "Is "+name+".", map[string]string{"x.md": "x"})
		}
		k.Paged(2)
		url, srv := skillServer(t, &k, stateless, false)
		dir := t.TempDir()
		p := newPool(t, &Options{CacheDir: dir}, remoteConfig(url))
		p.Refresh(t.Context())
		all := []string{"skill://a/SKILL.md", "skill://b/SKILL.md", "skill://c/SKILL.md"}
		if diff := cmp.Diff(all, skillURIs(p)); diff != "" {
			t.Fatalf("stateless %v (-want +got):\n%s", stateless, diff)
		}
		// Nothing is read ahead of need, and what was listed is known without the server.
		if got := k.Asked(); slices.ContainsFunc(got, func(s string) bool { return s != "skills/list" }) {
			t.Errorf("asked for %v", got)
		}
		cached := newPool(t, &Options{CacheDir: dir}, remoteConfig(url))
		if diff := cmp.Diff(all, skillURIs(cached)); diff != "" || len(k.Asked()) > 0 {
			t.Errorf("from the cache (-want +got):\n%s", diff)
		}
		k.Add("skill://d", "Is new.", nil)
		k.Changed(srv)
		if !stateless { // nobody listens to a server without sessions and streams
			eventually.True(t, "the new skill is listed", func() bool { return len(skillURIs(p)) == 4 })
		}
		data, err := p.ReadResource(t.Context(), "s", "skill://a/x.md")
		if string(data) != "x" || err != nil {
			t.Errorf("read %q, %v", data, err)
		}
	}
}

// What is learnt of tools and of skills at the same time is not lost.
func TestToolsAndSkillsAreLearntAtOnce(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	url, srv := skillServer(t, &k, true, false)
	p := newPool(t, &Options{CacheDir: t.TempDir()}, remoteConfig(url))
	s := p.roster.Load().byName["s"]
	s.lister.relist.list = func(*session, func()) bool { return false } // only the test lists: an older answer than its own must not come after it
	p.Refresh(t.Context())
	sess, err := s.acquire(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(sess)
	for i := range 50 {
		name := fmt.Sprintf("tool%d", i)
		srv.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		skill := discovery.ListedSkill{URI: "skill://" + name + "/SKILL.md"}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.lister.list(t.Context(), sess, s.cfg.StartTimeout); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for range 20 { // until the listing is there, too
				s.inventory.change(sess, func(l *discovery.Listing) { l.Skills = nil })
				s.inventory.change(sess, func(l *discovery.Listing) { l.Skills = []discovery.ListedSkill{skill} })
			}
		})
		wg.Wait()
		l := p.Listings()[0]
		if !slices.ContainsFunc(l.Tools, func(tool discovery.ListedTool) bool { return tool.Name == name }) || !slices.Equal(skillURIs(p), []string{skill.URI}) {
			t.Fatalf("round %d: %d tools, skills %v", i, len(l.Tools), skillURIs(p))
		}
	}
}

func TestSkillsOfAServerThatDoesNotDeclareThem(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	url, _ := skillServer(t, &k, true, true)
	p := newPool(t, nil, remoteConfig(url))
	p.Refresh(t.Context())
	if got := skillURIs(p); len(got) > 0 {
		t.Errorf("listed: %v", got)
	}
	_, err := p.Skill(t.Context(), "s", "skill://a/SKILL.md")
	if asked := k.Asked(); err == nil || len(asked) > 0 {
		t.Errorf("%v, asked for %v", err, asked)
	}
}

func TestListsOfSkillsThatDoNotEnd(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	k.Paged(-1)
	url, _ := skillServer(t, &k, true, false)
	p := newPool(t, nil, remoteConfig(url))
	p.Refresh(t.Context())
	l := p.Listings()[0]
	if len(l.Skills) != 2 || len(l.SkillProblems) != 1 || !strings.Contains(l.SkillProblems[0], "does not end") || len(l.Tools) != 1 {
		t.Errorf("%d skills, problems %q, %d tools", len(l.Skills), l.SkillProblems, len(l.Tools))
	}
}

func TestOneWrongSkillIsLeftOut(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	k.Add("skill://b", "Is b.", nil)
	k.Edit(func(e map[string]any) {
		if strings.Contains(e["uri"].(string), "//a/") {
			e["uri"] = "skill://a\u202e/SKILL.md"
		}
	})
	url, _ := skillServer(t, &k, true, false)
	p := newPool(t, nil, remoteConfig(url))
	p.Refresh(t.Context())
	if l := p.Listings()[0]; len(l.Skills) != 1 || len(l.SkillProblems) != 1 || l.Skills[0].URI != "skill://b/SKILL.md" {
		t.Errorf("%d skills, problems %q", len(l.Skills), l.SkillProblems)
	}
}

func TestSlowSkillsHoldUpNoTools(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	held := make(chan struct{})
	k.Wait(held)
	url, _ := skillServer(t, &k, true, false)
	p := newPool(t, nil, remoteConfig(url))
	p.Start(t.Context())
	if err := p.Wait(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	got, err := p.Call(t.Context(), "s", "ping", nil, nil)
	if err != nil || textOf(t, got) != "pong" {
		t.Errorf("a call meanwhile: %s, %v", got, err)
	}
	close(held)
	eventually.True(t, "the skills are listed", func() bool { return len(skillURIs(p)) == 1 })
}

func TestSkillsThatCannotBeListedStay(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	url, _ := skillServer(t, &k, true, false)
	cfg := remoteConfig(url)
	p := newPool(t, nil, cfg)
	p.Refresh(t.Context())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	k.Wait(never)
	s := p.roster.Load().byName["s"]
	s.cfg.StartTimeout = 100 * time.Millisecond
	p.Refresh(t.Context())
	l := p.Listings()[0]
	if len(l.Skills) != 1 || len(l.SkillProblems) != 1 || !strings.Contains(l.SkillProblems[0], "no answer to skills/list") {
		t.Errorf("%d skills, problems %q", len(l.Skills), l.SkillProblems)
	}
	s.cfg.CallTimeout = 100 * time.Millisecond
	_, err := p.ReadResource(t.Context(), "s", "skill://a/SKILL.md")
	if _, ok := errors.AsType[*TimeoutError](err); !ok {
		t.Errorf("a read that takes too long: %v", err)
	}
}

func TestASkillIsAskedForByItsAddress(t *testing.T) {
	var k fakeupstream.Skills
	k.Add("skill://a", "Is a.", nil)
	k.Add("skill://hidden", "Is not listed.", nil)
	k.Hide("skill://hidden/SKILL.md")
	url, _ := skillServer(t, &k, true, false)
	p := newPool(t, nil, remoteConfig(url))
	p.Refresh(t.Context())
	one, err := p.Skill(t.Context(), "s", "skill://hidden/SKILL.md")
	if err != nil || one.URI != "skill://hidden/SKILL.md" || len(skillURIs(p)) != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	_, err = p.Skill(t.Context(), "s", "skill://nobody/SKILL.md")
	if e, ok := errors.AsType[*RPCError](err); !ok || e.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("an unknown one: %v", err)
	}
	k.Add("skill://a", "Is another.", nil)
	if _, err := p.Skill(t.Context(), "s", "skill://a/SKILL.md"); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Listings()[0].Skills, func(k discovery.ListedSkill) bool { return k.URI == "skill://a/SKILL.md" })
	var header struct{ Description string }
	if err := json.Unmarshal(p.Listings()[0].Skills[i].Frontmatter, &header); err != nil || header.Description != "Is another." {
		t.Errorf("what is known is not replaced: %+v, %v", header, err)
	}
	if _, err := p.Skill(t.Context(), "nobody", "skill://a/SKILL.md"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("an unknown server: %v", err)
	}
}

// An error for one skill or file, whatever its code, answers its request. The SDK uses
// some of these codes for closed connections.
func TestErrorsForSkillsKeepTheSession(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		puppet := new(fakeupstream.Puppet)
		p := newPuppet(t, wire, puppet)
		p.Refresh(t.Context())
		refusals := map[int64]string{-32001: "rejected by transport", -32003: "client is closing", -32004: "server is closing", -32005: "rejected by transport", -32602: "no such skill"}
		for code, text := range refusals {
			for _, method := range []string{"resources/read", "skills/get"} {
				puppet.On(method, fakeupstream.Refusal(int(code), text))
			}
			_, read := p.ReadResource(t.Context(), "s", "skill://a/x")
			_, got := p.Skill(t.Context(), "s", "skill://a/SKILL.md")
			for method, err := range map[string]error{"resources/read": read, "skills/get": got} {
				if e, ok := errors.AsType[*RPCError](err); !ok || e.Code != code || e.Message != text {
					t.Errorf("%s: the error %d of %s became %T: %v", wire, code, method, err, err)
				}
			}
		}
		if n, reads := puppet.Seen("initialize"), puppet.Seen("resources/read"); n != 1 || reads != len(refusals) {
			t.Errorf("%s: %d sessions and %d reads, want 1 and %d", wire, n, reads, len(refusals))
		}
	}
}
