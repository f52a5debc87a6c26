package broker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A rawResult is the answer to a method that the SDK does not know.
type rawResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	TTLMs      *int   `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
	NextCursor string `json:"nextCursor"`
	Skills     []struct {
		URI         string          `json:"uri"`
		Frontmatter json.RawMessage `json:"frontmatter"`
		Resources   json.RawMessage `json:"resources"`
	} `json:"skills"`
	Skill struct {
		URI       string          `json:"uri"`
		Resources json.RawMessage `json:"resources"`
	} `json:"skill"`
	Resources []*mcp.Resource `json:"resources"`
}

type rawParams struct {
	mcp.ParamsBase
	URI    string `json:"uri,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// ask calls such a method.
func ask(t testing.TB, cs *mcp.ClientSession, method string, p rawParams) (*rawResult, error) {
	t.Helper()
	return mcp.CallCustomMethod[*rawParams, *rawResult](t.Context(), cs, method, &p)
}

func mustAsk(t testing.TB, cs *mcp.ClientSession, method string, p rawParams) *rawResult {
	t.Helper()
	res, err := ask(t, cs, method, p)
	if err != nil {
		t.Fatalf("%s %+v: %v", method, p, err)
	}
	return res
}

// skillsClient connects a client that knows the methods, in memory or over HTTP.
func skillsClient(t testing.TB, b *broker.Broker, version string, overHTTP bool, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		if err := mcp.AddSendingCustomMethod[*rawParams, *rawResult](c, method); err != nil {
			t.Fatal(err)
		}
	}
	var transport mcp.Transport
	if overHTTP {
		h, err := b.Handler(broker.HTTPOptions{Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		ts := httptest.NewServer(h)
		t.Cleanup(ts.Close)
		transport = &mcp.StreamableClientTransport{Endpoint: ts.URL + "/mcp"}
	} else {
		ct, st := mcp.NewInMemoryTransports()
		if _, err := b.Server("test").Connect(t.Context(), st, nil); err != nil {
			t.Fatal(err)
		}
		transport = ct
	}
	cs, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func errorCode(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

// eachWay runs f for both eras of the protocol, in memory and over HTTP.
func eachWay(t *testing.T, b *broker.Broker, f func(t *testing.T, cs *mcp.ClientSession, modern bool)) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, overHTTP := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s http=%v", version, overHTTP), func(t *testing.T) {
				f(t, skillsClient(t, b, version, overHTTP, nil), version >= "2026")
			})
		}
	}
}

func TestSkillsAreServedOverMCP(t *testing.T) {
	dir, r := newSkills(t)
	writeSkill(t, dir, "発表", "Write slides. Use for a talk.", "Read one.", map[string]string{"notes/a b.md": "a", "notes/inner/SKILL.md": "---\nname: inner\ndescription: Is nested.\n---\n"})
	writeSkill(t, dir, "loose", "Loads, but is not what the standard says.\nversion: 1", "Loose.", nil)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r})
	eachWay(t, b, func(t *testing.T, cs *mcp.ClientSession, modern bool) {
		can := cs.InitializeResult().Capabilities
		if diff := cmp.Diff(map[string]any{"io.modelcontextprotocol/skills": map[string]any{"directoryRead": true}}, can.Extensions); diff != "" || can.Resources == nil {
			t.Fatalf("capabilities (-want +got):\n%s", diff)
		}
		list := mustAsk(t, cs, "skills/list", rawParams{})
		if cached := list.TTLMs != nil && list.CacheScope == "private"; list.ResultType != "complete" || cached != modern || (!modern && list.CacheScope != "") {
			t.Errorf("result %q, ttl %v, scope %q", list.ResultType, list.TTLMs, list.CacheScope)
		}
		var uris []string
		for _, s := range list.Skills {
			uris = append(uris, s.URI)
			checkEntry(t, cs, s.URI, s.Frontmatter, s.Resources)
		}
		want := []string{"skill://local/user/release-notes/SKILL.md", "skill://local/user/triage/SKILL.md", "skill://local/user/%E7%99%BA%E8%A1%A8/SKILL.md",
			"skill://virtual/dice/SKILL.md", "skill://broker/use-broker/SKILL.md"}
		if diff := cmp.Diff(want, uris); diff != "" {
			t.Errorf("skills (-want +got):\n%s", diff)
		}
		checkListedResources(t, cs, want)
		checkDirectories(t, cs)
		checkUnknown(t, cs)
	})
}

// checkEntry reads every file of an entry and compares it with what the entry
// says, as a host does.
func checkEntry(t *testing.T, cs *mcp.ClientSession, uri string, frontmatter, resources json.RawMessage) {
	t.Helper()
	type file struct {
		URI, Digest string
		Size        int
	}
	var files []file
	if err := json.Unmarshal(resources, &files); err != nil {
		t.Fatalf("resources of %s are %s", uri, resources)
	}
	for _, f := range files {
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: f.URI})
		if err != nil || len(res.Contents) != 1 {
			t.Errorf("read %s: %v", f.URI, err)
			continue
		}
		c := res.Contents[0]
		data := append([]byte(c.Text), c.Blob...)
		sum := sha256.Sum256(data)
		if len(data) != f.Size || f.Digest != "sha256:"+hex.EncodeToString(sum[:]) || c.URI != f.URI {
			t.Errorf("%s has %d bytes, digest %x, URI %s; the entry says %+v", f.URI, len(data), sum, c.URI, f)
		}
		if png := strings.HasSuffix(f.URI, ".png"); png != (c.Blob != nil) || png != (c.MIMEType == "image/png") {
			t.Errorf("%s is %s, text %q, blob %x", f.URI, c.MIMEType, c.Text, c.Blob)
		}
	}
	if !slices.ContainsFunc(files, func(f file) bool { return f.URI == uri }) {
		t.Errorf("%s does not list itself: %+v", uri, files)
	}
	one := mustAsk(t, cs, "skills/get", rawParams{URI: uri})
	if one.Skill.URI != uri || string(one.Skill.Resources) != string(resources) || !strings.Contains(string(frontmatter), `"description":`) {
		t.Errorf("skills/get %s answers %+v, and the list %s, %s", uri, one.Skill, frontmatter, resources)
	}
}

func checkListedResources(t *testing.T, cs *mcp.ClientSession, want []string) {
	t.Helper()
	var listed []string
	for r, err := range cs.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(r.URI, "skill:") {
			listed = append(listed, r.URI)
			if r.MIMEType != "text/markdown" || r.Name == "" || r.Description == "" || r.Size == 0 {
				t.Errorf("listed as %+v", r)
			}
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

func checkDirectories(t *testing.T, cs *mcp.ClientSession) {
	t.Helper()
	for uri, want := range map[string][]string{
		"skill://local/user/release-notes": {"skill://local/user/release-notes/SKILL.md text/markdown", "skill://local/user/release-notes/assets inode/directory",
			"skill://local/user/release-notes/references inode/directory", "skill://local/user/release-notes/scripts inode/directory"},
		"skill://local/user/%E7%99%BA%E8%A1%A8/notes": {"skill://local/user/%E7%99%BA%E8%A1%A8/notes/a%20b.md text/markdown", "skill://local/user/%E7%99%BA%E8%A1%A8/notes/inner inode/directory"},
		"skill://local": {"skill://local/user inode/directory"},
	} {
		var got []string
		for _, r := range mustAsk(t, cs, "resources/directory/read", rawParams{URI: uri}).Resources {
			got = append(got, r.URI+" "+r.MIMEType)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", uri, diff)
		}
	}
}

func checkUnknown(t *testing.T, cs *mcp.ClientSession) {
	t.Helper()
	const release = "skill://local/user/release-notes"
	for _, c := range []struct{ method, uri string }{
		{"skills/get", ""},
		{"skills/get", "skill://nobody/SKILL.md"},
		{"skills/get", release},
		{"skills/get", release + "/references/style.md"},
		{"skills/get", "skill://local/user/loose/SKILL.md"},
		{"skills/get", "skill://local/user/deploy/SKILL.md"},
		{"skills/get", "file:///etc/passwd"},
		{"resources/directory/read", release + "/SKILL.md"},
		{"resources/directory/read", release + "/"},
		{"resources/directory/read", release + "/../triage"},
		{"resources/directory/read", "skill://nobody"},
	} {
		if _, err := ask(t, cs, c.method, rawParams{URI: c.uri}); errorCode(err) != jsonrpc.CodeInvalidParams {
			t.Errorf("%s %s: %v", c.method, c.uri, err)
		}
	}
	for _, uri := range []string{release, release + "/nothing.md", release + "/../../../../etc/passwd", release + "/%2e%2e/triage/SKILL.md", "skill://local/user/loose/SKILL.md"} {
		if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); errorCode(err) != jsonrpc.CodeInvalidParams {
			t.Errorf("read %s: %v", uri, err)
		}
	}
	if _, err := ask(t, cs, "skills/list", rawParams{Cursor: "no cursor"}); errorCode(err) != jsonrpc.CodeInvalidParams {
		t.Errorf("a wrong cursor: %v", err)
	}
}

// A read of a skill's file is recorded, also one in vain.
func TestReadsInVainAreRecorded(t *testing.T) {
	store, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	dir := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "release", "Write notes. Use for a release.", "Do it.", nil)
	b := newBroker(t, broker.Deps{Audit: store}, broker.Settings{Skills: skillRegistry(dir)})
	cs := skillsClient(t, b, "2025-11-25", false, nil)
	for path, ok := range map[string]bool{"SKILL.md": true, "nothing.md": false} {
		_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://local/user/release/" + path})
		if (err == nil) != ok {
			t.Errorf("read %s: %v", path, err)
		}
		eventually(t, "the record of "+path, func() bool {
			events, err := store.Events(t.Context(), time.Time{}, 10)
			return err == nil && slices.ContainsFunc(events, func(e state.Event) bool {
				return e.Kind == state.EventSkillFileRead && e.Failed != ok && strings.Contains(e.Detail, path)
			})
		})
	}
}

func TestNothingIsServedWithoutASkill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "loose", "Loads only.\nversion: 1", "Loose.", nil)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir)})
	eachWay(t, b, func(t *testing.T, cs *mcp.ClientSession, _ bool) {
		if e := cs.InitializeResult().Capabilities.Extensions; len(e) > 0 {
			t.Errorf("declared: %v", e)
		}
		if _, err := ask(t, cs, "skills/list", rawParams{}); errorCode(err) != jsonrpc.CodeMethodNotFound {
			t.Errorf("skills/list: %v", err)
		}
		checkListedResources(t, cs, nil)
	})
}

func TestListsOfSkillsHavePages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	const n = 120
	for i := range n {
		writeSkill(t, dir, fmt.Sprintf("skill-%03d", i), "Is one of many.", "Do it.", nil)
	}
	cs := skillsClient(t, newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir)}), "2026-07-28", false, nil)
	seen := map[string]bool{}
	pages := 0
	for cursor := ""; pages < 10; pages++ {
		res := mustAsk(t, cs, "skills/list", rawParams{Cursor: cursor})
		for _, s := range res.Skills {
			if seen[s.URI] {
				t.Errorf("%s is listed twice", s.URI)
			}
			seen[s.URI] = true
		}
		if pages == 0 { // the list goes on behind what is gone by then
			if err := os.RemoveAll(filepath.Join(dir, "skill-050")); err != nil {
				t.Fatal(err)
			}
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != n || pages != 2 { // one is gone, and use-broker is there
		t.Errorf("%d skills on %d pages", len(seen), pages+1)
	}
}

func TestASkillWhoseFileIsGoneIsNotListed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	for _, name := range []string{"gone", "notes"} {
		writeSkill(t, dir, name, "Write notes.", "Do it.", map[string]string{"other.md": "More."})
	}
	cs := skillsClient(t, newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir)}), "2026-07-28", false, nil)
	if err := os.Remove(filepath.Join(dir, "gone", "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	res, err := cs.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range res.Resources {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "notes use-broker" {
		t.Errorf("listed: %s", got)
	}
}

func TestChangesOfServedSkillsAreAnnounced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir)})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			changed := make(chan struct{}, 10)
			cs := skillsClient(t, b, version, false, &mcp.ClientOptions{ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed <- struct{}{} }})
			for _, change := range []func(){
				func() { writeSkill(t, dir, "notes", "Write notes.", "Do it.", nil) },
				func() { writeSkill(t, dir, "notes", "Write longer notes.", "Do it well.", nil) },
				func() {
					if err := os.RemoveAll(filepath.Join(dir, "notes")); err != nil {
						t.Fatal(err)
					}
				},
			} {
				change()
				b.RefreshSkills()
				select {
				case <-changed:
				case <-time.After(20 * time.Second):
					t.Fatal("nobody said that the resources have changed")
				}
			}
			checkListedResources(t, cs, nil)
		})
	}
}

func TestSkillsThatChangeAreDynamic(t *testing.T) {
	r := skills.NewRegistry(nil)
	if err := r.Register(skills.Virtual{Name: "report", Description: "Of today.", Changing: true}); err != nil {
		t.Fatal(err)
	}
	cs := skillsClient(t, newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Mode: broker.ModeTools}), "2026-07-28", false, nil)
	list := mustAsk(t, cs, "skills/list", rawParams{})
	if len(list.Skills) != 2 || string(list.Skills[0].Resources) != `"dynamic"` {
		t.Errorf("%+v", list)
	}
}
