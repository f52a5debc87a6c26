package api

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// hostPath is in the path of every folder of these tests.
const hostPath = "secret-place"

const (
	admin  = "admin-token"
	reader = "reader-token"
)

// A bench is a handler with a library behind it.
type bench struct {
	t       *testing.T
	doc     *document
	handler http.Handler
	dir     string

	mu      sync.Mutex
	changed int
	read    []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, doc: readDocument(t), dir: filepath.Join(t.TempDir(), hostPath)}
	b.skill("user/notes", "Writes notes. Use for notes.", "metadata:\n  version: \"1.2\"\n")
	b.write("user/notes/references/style.md", strings.Repeat("Short.\n", 10))
	b.write("user/notes/logo.png", "\x89PNG\r\n\x1a\n\x00")
	b.skill("user/group/team%2Fodd", "Is odd. Use never.", "")
	b.write("user/hopeless/SKILL.md", "no header")
	b.write("user/lower/skill.md", strings.Replace(newSkill, "fresh", "lower", 1))
	b.skill("custom/notes", "Is shadowed. Use never.", "")
	b.skill("custom/mine", "Is mine. Use it.", "")
	b.write("custom/mine/workflow.json", `{"start": "a", "params": {"type": "object"}, "steps": {"a": {"prompt": "Say it.", "answer": {"type": "object"}}}}`)
	b.plugin("plugins/sales", "sales")
	b.handler = New(Options{Library: b.library(), Tokens: map[string]string{"alice": reader}, AdminToken: admin, Owner: ownerOf,
		Changed: func() { b.mu.Lock(); defer b.mu.Unlock(); b.changed++ },
		FileRead: func(k *skills.Skill, client, path string, err error) {
			b.read = append(b.read, fmt.Sprintf("%s %s by %s: %v", k.Ref, path, client, err == nil))
		}})
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) skill(at, description, more string) {
	name := strings.ReplaceAll(filepath.Base(at), "%2F", "/")
	b.write(at+"/SKILL.md", "---\nname: "+name+"\ndescription: "+description+"\n"+more+"---\n\nDo it.\n")
}

func (b *bench) plugin(at, name string) {
	b.write(at+"/.claude-plugin/plugin.json", `{"name": "`+name+`", "version": "1", "description": "Sells."}`)
	b.write(at+"/.mcp.json", `{"mcpServers": {"crm": {"url": "https://crm.example.com/mcp", "headers": {"X-Key": "${KEY}"}}, "local": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}, "old": {"url": ""}}}`)
	b.write(at+"/commands/call.md", "---\ndescription: Prepares a call\nargument-hint: company\n---\nPrepare $ARGUMENTS.\n")
	b.skill(at+"/skills/forecast", "Forecasts sales. Use for numbers.", "")
}

func (b *bench) library() func() *library.Library {
	o := library.Options{Custom: filepath.Join(b.dir, "custom"), Plugins: filepath.Join(b.dir, "plugins"), Switches: skills.SwitchFile(filepath.Join(b.dir, "servers.state.json"))}
	o.Taken = func(server string) bool { return server == "sales:local" }
	o.Describe = func(s plugin.Server) (library.Run, error) {
		return library.Run{Name: s.Name, Runs: string(s.Config), Reads: []string{"KEY"}}, nil
	}
	o.Skills = skills.NewRegistry(&skills.Options{Switches: o.Switches, Roots: func() ([]skills.Root, []skills.Problem) {
		roots := []skills.Root{{Path: filepath.Join(b.dir, "user"), Scope: skills.ScopeConfigured}, {Path: o.Custom, Scope: skills.ScopeCustom}}
		list, problems, _ := library.EnabledPlugins(o.Plugins, o.Switches, nil)
		for _, p := range list {
			roots = append(roots, p.Roots()...)
		}
		return roots, problems
	}})
	if err := o.Skills.Register(skills.Virtual{Name: "dice", Description: "Throws dice. Use for chance.", Tools: []skills.Tool{{Name: "roll", Description: "Throws.",
		InputSchema: json.RawMessage(`{"type": "object"}`), Handler: func(context.Context, json.RawMessage) (any, error) { return 4, nil }}}}); err != nil {
		b.t.Fatal(err)
	}
	l := library.New(o)
	return func() *library.Library { return l }
}

func ownerOf(tokens map[string]string, token string) (name string) {
	for n, t := range tokens {
		if t == token {
			name = n
		}
	}
	return name
}

// An ask is a request, and what has to come of it.
type ask struct {
	method, url string
	body        string
	contentType string
	token       string
	status      int
	want        []string // in the answer
}

// pattern is the route that a request takes, or its path.
func pattern(method, url string) string {
	path, _, _ := strings.Cut(url, "?")
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	best := path
	for _, r := range routes {
		parts := strings.Split(strings.TrimPrefix(r.path, "/"), "/")
		fits := r.method == method && (len(parts) == len(segments) || strings.HasSuffix(r.path, "...}") && len(segments) > len(parts)-1)
		for i := range min(len(parts), len(segments)) {
			fits = fits && (parts[i] == segments[i] || strings.HasPrefix(parts[i], "{"))
		}
		if fits && (best == path || !strings.Contains(r.path, "{")) {
			best = r.path
		}
	}
	return best
}

func (b *bench) do(a ask) string {
	b.t.Helper()
	req := httptest.NewRequest(a.method, a.url, strings.NewReader(a.body))
	if a.token != "" {
		req.Header.Set("Authorization", "bearer "+a.token) // the scheme has no case
	}
	if a.contentType == "" && a.body != "" {
		a.contentType = "application/json"
	}
	req.Header.Set("Content-Type", a.contentType)
	res := httptest.NewRecorder()
	b.handler.ServeHTTP(res, req)
	text := res.Body.String()
	if res.Code != a.status {
		b.t.Errorf("%s %s: %d, want %d: %s", a.method, a.url, res.Code, a.status, text)
	}
	for _, w := range a.want {
		if !strings.Contains(text, w) {
			b.t.Errorf("%s %s: %s has not %q", a.method, a.url, text, w)
		}
	}
	b.doc.check(b.t, a.method, pattern(a.method, a.url), res)
	return text
}

// archive is a zip of files by name.
func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const newSkill = "---\nname: fresh\ndescription: Is fresh. Use it.\n---\n\nDo it.\n"

// The whole interface, each answer judged by the document.
func TestEveryOperation(t *testing.T) {
	b := newBench(t)
	b.write("fresh/SKILL.md", newSkill)
	b.plugin("elsewhere/tools", "tools")
	here := filepath.ToSlash(b.dir)
	tools := b.approved(`"path": "` + here + `/elsewhere/tools"`)
	b.changed = 0
	zipped := archive(t, map[string]string{"fresh/SKILL.md": newSkill})
	on, off := `{"enabled": true}`, `{"enabled": false}`
	tried := 0
	for _, a := range []ask{
		{"GET", "/api/openapi.json", "", "", reader, 200, []string{`"openapi": "3.1.0"`}},
		{"GET", "/api/skills", "", "", reader, 200, []string{`"name":"notes"`, `"version":"1.2"`, `"category":"virtual"`, `"at":"hopeless"`, `"code":"shadowed"`, `"location":"/api/skills/team%2Fodd/files/SKILL.md"`}},
		{"GET", "/api/skills/dice", "", "", reader, 200, []string{`"input_schema":{"type":"object"}`, `"digest":"sha256:`}},
		{"GET", "/api/skills/notes", "", "", admin, 200, []string{`{"path":"references/style.md","size":70}`}},
		{"GET", "/api/skills/mine", "", "", reader, 200, []string{`"tools":[{"name":"start","description":"Begin the workflow.","input_schema":{"type":"object"}},{"name":"advance",`}},
		{"GET", "/api/skills/lower", "", "", reader, 200, []string{`"location":"/api/skills/lower/files/skill.md"`, `"digest":"sha256:`}},
		{"GET", "/api/skills/team%2Fodd", "", "", reader, 200, []string{`"name":"team/odd"`}},
		{"GET", "/api/skills/sales:forecast", "", "", reader, 200, []string{`"plugin":"sales"`}},
		{"GET", "/api/skills/note", "", "", reader, 404, []string{"skill_not_found", "did you mean notes"}},
		{"GET", "/api/skills/notes/files/references/style.md?offset=7&limit=5", "", "", reader, 200, []string{`"text":"Short","offset":7`}},
		{"GET", "/api/skills/lower/files/skill.md", "", "", reader, 200, []string{`"text":"---\nname: lower`}},
		{"GET", "/api/skills/notes/files/references/stile.md", "", "", reader, 404, []string{"did you mean references/style.md"}},
		{"GET", "/api/skills/nots/files/SKILL.md", "", "", reader, 404, []string{"did you mean notes"}},
		{"GET", "/api/skills/notes/files/..%2F..%2Fcustom%2Fmine%2FSKILL.md", "", "", reader, 422, []string{"path_escape"}},
		{"GET", "/api/skills/notes/files/references", "", "", reader, 422, []string{"is_directory", "style.md"}},
		{"GET", "/api/skills/notes/files/logo.png", "", "", reader, 422, []string{"binary_file"}},
		{"GET", "/api/skills/notes/files/SKILL.md?offset=x", "", "", reader, 422, []string{"bad_query"}},

		{"PUT", "/api/skills/notes", off, "", admin, 200, []string{`"state":"disabled","enabled":false`}},
		{"PUT", "/api/skills/notes", on, "", admin, 200, []string{`"enabled":true`}},
		{"PUT", "/api/skills/notes", `{}`, "", admin, 422, []string{"bad_body"}},
		{"PUT", "/api/skills/notes", `{"enabled": "no"}`, "", admin, 422, []string{`\"enabled\" is a string and has to be true or false`}},
		{"PUT", "/api/skills/notes", `{"enabled": true, "mcpServers": {}}`, "", admin, 422, []string{"mcpServers"}},
		{"PUT", "/api/skills/notes", on + on, "", admin, 422, []string{"more than one"}},
		{"PUT", "/api/skills/notes", on + "]", "", admin, 422, []string{"more than one"}},
		{"PUT", "/api/skills/notes", on, "text/plain", admin, 415, []string{"text/plain"}},
		{"PUT", "/api/skills/notes", `{"enabled": true` + strings.Repeat(" ", maxJSONBytes) + `}`, "", admin, 413, []string{"too_large"}},
		{"PUT", "/api/skills/nots", on, "", admin, 404, []string{"did you mean notes"}},

		{"POST", "/api/skills/install", `{"path": "` + here + `/fresh"}`, "", admin, 201, []string{`"name":"fresh"`, `"category":"custom"`}},
		{"POST", "/api/skills/install", `{"path": "` + here + `/fresh"}`, "", admin, 409, []string{"already_exists", "force"}},
		{"POST", "/api/skills/install?force=true", zipped, "application/zip", admin, 200, []string{`"replaced":true`}},
		{"POST", "/api/skills/install?force=maybe", zipped, "application/zip", admin, 422, []string{"bad_query"}},
		{"POST", "/api/skills/install", zipped, "application/octet-stream", admin, 409, nil},
		{"POST", "/api/skills/install", "no archive", "application/gzip", admin, 422, []string{"archive_bad_format"}},
		{"POST", "/api/skills/install", "", "application/zip", admin, 422, []string{"empty"}},
		{"POST", "/api/skills/install", "x", "multipart/form-data", admin, 415, []string{"application/zip"}},
		{"POST", "/api/skills/install", strings.Repeat("x", skills.MaxTotalBytes*17/16+1), "application/zip", admin, 413, nil},
		{"POST", "/api/skills/install", archive(t, map[string]string{"SKILL.md": "---\nname: Bad_Name\n---\n"}), "application/zip", admin, 422, []string{"invalid_skill", `"diagnostics":[{`}},
		{"POST", "/api/skills/install", archive(t, map[string]string{"../x": "x"}), "application/zip", admin, 422, []string{"archive_path_escape"}},
		{"POST", "/api/skills/install", `{"path": "` + here + `/nowhere"}`, "", admin, 422, []string{"source_not_found"}},
		{"POST", "/api/skills/install", `{"path": "fresh"}`, "", admin, 422, []string{"relative"}},
		{"POST", "/api/skills/install", `{}`, "", admin, 422, []string{"path"}},
		{"POST", "/api/skills/install", `{"path": "/x", "thread_id": "y"}`, "", admin, 422, []string{"thread_id"}},
		{"POST", "/api/skills/install", `{"repository": "https://x/y"}`, "", admin, 422, []string{"path"}},

		{"DELETE", "/api/skills/fresh", "", "", admin, 200, []string{`{"removed":"fresh"}`}},
		{"DELETE", "/api/skills/fresh", "", "", admin, 404, []string{"skill_not_found"}},
		{"DELETE", "/api/skills/dice", "", "", admin, 409, []string{"not_installed", "switch it off"}},

		{"GET", "/api/plugins", "", "", reader, 200, []string{`{"name":"sales:crm","transport":"http"}`, `{"name":"sales:local","transport":"stdio"}`, `"skipped_servers":["sales:old"],"overridden_servers":["sales:local"]`, `"at":".mcp.json"`, `"skills":["sales:forecast"]`}},
		{"GET", "/api/plugins/sales", "", "", reader, 200, []string{`"source":null`}},
		{"GET", "/api/plugins/sale", "", "", reader, 404, []string{"did you mean sales"}},
		{"GET", "/api/plugins/sales/commands", "", "", reader, 200, []string{`{"name":"sales:call","description":"Prepares a call","argument_hint":"company"}`}},
		{"GET", "/api/plugins/sale/commands", "", "", reader, 404, nil},
		{"PUT", "/api/plugins/sales", off, "", admin, 200, []string{`"enabled":false`}},
		{"GET", "/api/skills/forecast", "", "", reader, 404, nil},
		{"PUT", "/api/plugins/sales", on, "", admin, 200, []string{`"enabled":true`}},
		{"PUT", "/api/plugins/sale", on, "", admin, 404, nil},
		{"PUT", "/api/plugins/sales", `[]`, "", admin, 422, []string{"it is a list and has to be an object"}},
		{"POST", "/api/plugins/install", `{"path": "` + here + `/elsewhere/tools"}`, "", admin, 409, []string{"approval_needed", `"changed":false`, `"reads":["KEY"]`, `https://crm.example.com/mcp`, `plugins/tools/run`}},
		{"GET", "/api/plugins/tools", "", "", reader, 404, nil},
		{"POST", "/api/plugins/install", tools, "", admin, 201, []string{`"name":"tools"`, `"notes":[]`, `"env":["KEY"]`}},
		{"POST", "/api/plugins/install", `{"path": "` + here + `/elsewhere/tools"}`, "", admin, 409, []string{"already_exists"}},
		{"POST", "/api/plugins/install?force=1", archive(t, map[string]string{".claude-plugin/plugin.json": `{"name": "tools"}`}), "application/zip", admin, 200, nil},
		{"POST", "/api/plugins/install", archive(t, map[string]string{"x": "x"}), "application/zip", admin, 422, []string{"missing_manifest"}},
		{"POST", "/api/plugins/install", `{"path": "/x", "repository": "https://x/y"}`, "", admin, 422, []string{"one of"}},
		{"POST", "/api/plugins/install", `{"path": "/x", "ref": "v1"}`, "", admin, 422, []string{"ref"}},
		{"POST", "/api/plugins/install", `{"repository": "ext::sh -c x"}`, "", admin, 422, []string{"bad_repository"}},
		{"POST", "/api/plugins/install", `{"offer": "nothing"}`, "", admin, 404, []string{"plugin_not_found"}},
		{"DELETE", "/api/plugins/tools", "", "", admin, 200, nil},
		{"DELETE", "/api/plugins/tools", "", "", admin, 404, nil},

		{"GET", "/api/nothing", "", "", "", 404, []string{"/api/openapi.json"}},
		{"PATCH", "/api/skills/notes", on, "", admin, 405, []string{"use GET, PUT, DELETE"}},
		{"POST", "/api/skills", on, "", admin, 405, []string{"use GET"}},
	} {
		if slices.ContainsFunc(routes, func(r route) bool { return r.changes && r.method == a.method && r.path == pattern(a.method, a.url) }) {
			tried++
		}
		b.do(a)
	}
	for _, r := range routes {
		at := r.method + " " + documented(r.path)
		if !b.doc.seen[at+" 200"] && !b.doc.seen[at+" 201"] {
			t.Errorf("%s was never seen to work", at)
		}
	}
	if b.changed != tried || tried == 0 { // one that fails may have changed something
		t.Errorf("%d changes were told of, want %d", b.changed, tried)
	}
	if want := "notes references/style.md by alice: true"; len(b.read) == 0 || b.read[0] != want {
		t.Errorf("files that were read: %q, want first %q", b.read, want)
	}
}

// approved is the body that installs a plugin as its servers are now.
func (b *bench) approved(source string) string {
	b.t.Helper()
	var p Problem
	if err := json.Unmarshal([]byte(b.do(ask{"POST", "/api/plugins/install", "{" + source + "}", "", admin, 409, []string{"approval_needed"}})), &p); err != nil {
		b.t.Fatal(err)
	}
	text, err := json.Marshal(Approval{Digest: p.Approval.Digest, Servers: p.Approval.Names(), Env: []string{"KEY"}})
	if err != nil {
		b.t.Fatal(err)
	}
	return "{" + source + `, "approve": ` + string(text) + "}"
}

// What is approved over HTTP is what was shown, and nothing else.
func TestInstallationsOverHTTPAreApproved(t *testing.T) {
	b := newBench(t)
	b.plugin("elsewhere/tools", "tools")
	here := `"path": "` + filepath.ToSlash(b.dir) + `/elsewhere/tools"`
	install := func(body string, status int, want ...string) {
		t.Helper()
		b.do(ask{"POST", "/api/plugins/install", body, "", admin, status, want})
	}
	yes := b.approved(here)
	install(strings.Replace(yes, `"tools:crm",`, "", 1), 409, "approval_needed")
	install(strings.Replace(yes, `"KEY"`, `"HOME"`, 1), 422, "bad_variable", "they read KEY")
	b.write("elsewhere/tools/run", "#!/bin/sh\n")
	install(yes, 409, "approval_needed")
	install(b.approved(here), 201)
	install(strings.Replace("{"+here+"}", "{", `{"force": true, `, 1), 200, `"approved":{"digest"`) // as it was approved
	b.write("elsewhere/tools/run", "#!/bin/sh\nmore\n")
	install(strings.Replace("{"+here+"}", "{", `{"force": true, `, 1), 409, `"changed":true`)
	b.write("plugins/tools/run", "edited")
	b.do(ask{"GET", "/api/plugins/tools", "", "", reader, 200, []string{`"approved":null`}})

	sent := archive(t, map[string]string{".claude-plugin/plugin.json": `{"name": "boxed"}`, ".mcp.json": `{"one": {"url": "https://x.example"}}`})
	var p Problem
	if err := json.Unmarshal([]byte(b.do(ask{"POST", "/api/plugins/install", sent, "application/zip", admin, 409, []string{"approval_needed"}})), &p); err != nil {
		t.Fatal(err)
	}
	b.do(ask{"POST", "/api/plugins/install?server=boxed:one&approve=" + p.Approval.Digest, sent, "application/zip", admin, 201, []string{`"servers":["boxed:one"],"env":[]`}})
}

func TestPluginFromARepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	b := newBench(t)
	b.plugin("elsewhere/far", "far")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(b.dir, "elsewhere", "far")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	told := []string{`"source":{"repository":"file:///far"`, `"commit":"`}
	b.do(ask{"POST", "/api/plugins/install", b.approved(`"repository": "file://` + filepath.ToSlash(b.dir) + `/elsewhere/far"`), "", admin, 201, told})
	b.do(ask{"GET", "/api/plugins/far", "", "", reader, 200, told})
	b.do(ask{"GET", "/api/plugins", "", "", reader, 200, told})
	b.do(ask{"POST", "/api/plugins/install", `{"repository": "file:///nowhere/at/all"}`, "", admin, 502, []string{"fetch_failed"}})
}

func TestWhoMayDoWhat(t *testing.T) {
	b := newBench(t)
	with := func(tokens map[string]string, adminToken string) http.Handler {
		return New(Options{Library: b.library(), Tokens: tokens, AdminToken: adminToken, Owner: ownerOf})
	}
	clients := map[string]string{"alice": reader}
	tests := []struct {
		name         string
		handler      http.Handler
		token        string
		reads, edits int
		want         string // of the refused change
	}{
		{"nothing configured", with(nil, ""), "", 200, 403, "adminToken"},
		{"a token where none is", with(nil, ""), "x", 200, 403, "no_admin_token"},
		{"client", with(clients, admin), reader, 200, 403, "not_admin"},
		{"admin", with(clients, admin), admin, 200, 200, ""},
		{"admin alone", with(nil, admin), admin, 200, 200, ""},
		{"nobody", with(clients, admin), "", 401, 401, "unauthorized"},
		{"stranger", with(clients, admin), "admin-toke", 401, 401, "unauthorized"},
		{"nobody, without clients", with(nil, admin), "", 200, 401, "unauthorized"},
		{"client, no admin", with(clients, ""), reader, 200, 403, "no_admin_token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			one := &bench{t: t, doc: b.doc, handler: tt.handler, dir: b.dir}
			one.do(ask{"GET", "/api/skills", "", "", tt.token, tt.reads, nil})
			one.do(ask{"PUT", "/api/skills/notes", `{"enabled": true}`, "", tt.token, tt.edits, []string{tt.want}})
			one.do(ask{"POST", "/api/skills/install", `{"path": "/nowhere"}`, "", tt.token, map[int]int{200: 422}[tt.edits] + map[bool]int{true: tt.edits}[tt.edits != 200], nil})
		})
	}
}

// Two who change things at once do not lose each other's changes.
func TestChangesAtTheSameTime(t *testing.T) {
	b := newBench(t)
	const many = 8
	for i := range many {
		b.skill(fmt.Sprintf("user/s%d", i), "Is one of many. Use it.", "")
	}
	b.write("servers.state.json", `{"own": {"kept": true}}`)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			b.do(ask{"PUT", fmt.Sprintf("/api/skills/s%d", i), `{"enabled": false}`, "", admin, 200, nil})
		})
	}
	wg.Wait()
	text := b.do(ask{"GET", "/api/skills", "", "", reader, 200, nil})
	if n := strings.Count(text, `"state":"disabled"`); n != many {
		t.Errorf("%d skills are off, want %d", n, many)
	}
	if data, _ := os.ReadFile(filepath.Join(b.dir, "servers.state.json")); !bytes.Contains(data, []byte(`"kept": true`)) {
		t.Errorf("what else was in the file is lost: %s", data)
	}
}

// An answer describes errors that the user can fix, without paths of this host; other
// errors are only logged.
func TestFailureOfTheBroker(t *testing.T) {
	b := newBench(t)
	b.write("servers.state.json", `{"plugins": {"sales": {"enabled": "no"}}}`)
	why := []string{"bad_switches", "servers.state.json is broken", "fix it or delete it"}
	for _, a := range []ask{
		{"PUT", "/api/skills/notes", `{"enabled": true}`, "", admin, 500, why},
		{"PUT", "/api/plugins/sales", `{"enabled": true}`, "", admin, 500, why},
		{"DELETE", "/api/plugins/sales", "", "", admin, 500, why},
		{"GET", "/api/plugins", "", "", reader, 500, why},
		{"GET", "/api/plugins/sales", "", "", reader, 500, why},
		{"GET", "/api/skills", "", "", reader, 200, append(why, "until then every skill is off")},
	} {
		if text := b.do(a); strings.Contains(text, b.dir) {
			t.Errorf("%s %s tells where the file is: %s", a.method, a.url, text)
		}
	}
	for _, name := range []string{"servers.state.json", "custom"} {
		if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.write("custom", "no folder")
	b.do(ask{"POST", "/api/skills/install", archive(t, map[string]string{"fresh/SKILL.md": newSkill}), "application/zip", admin, 500, []string{"its log says why"}})
}
