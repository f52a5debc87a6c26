package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newRepo makes a repository with three commits: two files, a change to one
// of them, and a merge that brings a third, with a name beyond ASCII.
func newRepo(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := func(date string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "commit.gpgSign=false"}, args...)...)
		cmd.Env = append(os.Environ(),
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE="+date+"T12:00:00+00:00",
			"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE="+date+"T12:00:00+00:00")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("2026-01-01", "init", "-q", "-b", "main")
	write("a.txt", "one\ntwo\n")
	write("b.bin", "\x00\x01")
	git("2026-01-01", "add", ".")
	git("2026-01-01", "commit", "-q", "-m", "first")
	git("2026-01-02", "checkout", "-q", "-b", "side")
	write("café.txt", "x\n")
	git("2026-01-02", "add", ".")
	git("2026-01-02", "commit", "-q", "-m", "side", "--author=Bob <bob@example.com>")
	git("2026-01-03", "checkout", "-q", "main")
	write("a.txt", "one\n2\n3\n")
	git("2026-01-03", "commit", "-q", "-a", "-m", "second")
	git("2026-01-04", "merge", "-q", "--no-ff", "-m", "merge side", "side")
	return dir
}

// connect returns a client session with the server, over in-memory transports.
func connect(t *testing.T, s *mcp.Server) *mcp.ClientSession {
	t.Helper()
	ct, st := mcp.NewInMemoryTransports()
	ss, err := s.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		ss.Wait()
	})
	return cs
}

// call calls a tool and decodes its structured answer. A tool error comes back
// as its text.
func call[Out any](t *testing.T, cs *mcp.ClientSession, tool string, args map[string]any) (out Out, toolErr string) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.IsError {
		return out, res.Content[0].(*mcp.TextContent).Text
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out, ""
}

func session(t *testing.T) *mcp.ClientSession {
	t.Helper()
	r, err := openRepo(t.Context(), newRepo(t))
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, newServer(r))
}

func TestToolsAreDescribedAndReadOnly(t *testing.T) {
	res, err := session(t).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Tools) != 5 {
		t.Errorf("%d tools, want 5", len(res.Tools))
	}
	for _, tool := range res.Tools {
		if tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s lacks a description, a schema or readOnlyHint", tool.Name)
		}
	}
}

func TestCommits(t *testing.T) {
	cs := session(t)
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"newest first", map[string]any{}, "merge side,second,side,first"},
		{"limit", map[string]any{"limit": 1}, "merge side"},
		{"path", map[string]any{"path": "a.txt"}, "second,first"},
		{"since", map[string]any{"since": "2026-01-03T00:00:00+00:00"}, "merge side,second"},
		{"unknown path", map[string]any{"path": "nowhere"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, msg := call[listCommitsOut](t, cs, "list_commits", tt.args)
			var subjects []string
			for _, c := range out.Commits {
				subjects = append(subjects, c.Subject)
			}
			if got := strings.Join(subjects, ","); got != tt.want || msg != "" {
				t.Errorf("subjects = %q (error %q), want %q", got, msg, tt.want)
			}
		})
	}
}

func TestChangedFiles(t *testing.T) {
	cs := session(t)
	tests := []struct {
		sha  string
		want []fileChange
	}{
		{"main~2", []fileChange{{Path: "a.txt", Added: 2}, {Path: "b.bin", Binary: true}}}, // the root commit
		{"main~1", []fileChange{{Path: "a.txt", Added: 2, Deleted: 1}}},
		{"main", []fileChange{{Path: "café.txt", Added: 1}}}, // a merge, against its first parent
	}
	for _, tt := range tests {
		out, msg := call[changedFilesOut](t, cs, "changed_files", map[string]any{"sha": tt.sha})
		if diff := cmp.Diff(tt.want, out.Files); diff != "" || msg != "" {
			t.Errorf("changed_files of %s (error %q), -want +got:\n%s", tt.sha, msg, diff)
		}
		if len(out.SHA) != 40 {
			t.Errorf("changed_files of %s: sha = %q", tt.sha, out.SHA)
		}
	}
}

func TestDiffAndFileAtCommit(t *testing.T) {
	cs := session(t)
	diff, msg := call[textOut](t, cs, "show_diff", map[string]any{"sha": "main~1", "path": "a.txt"})
	if !strings.Contains(diff.Text, "\n-two\n+2\n+3\n") {
		t.Errorf("show_diff = %q (error %q)", diff.Text, msg)
	}
	old, msg := call[textOut](t, cs, "file_at_commit", map[string]any{"sha": "main~2", "path": "a.txt"})
	if old.Text != "one\ntwo\n" {
		t.Errorf("file_at_commit = %q (error %q)", old.Text, msg)
	}
}

func TestContributors(t *testing.T) {
	out, _ := call[listContributorsOut](t, session(t), "list_contributors", nil)
	var got []string
	for _, c := range out.Contributors {
		got = append(got, c.Name, c.First[:10], c.Last[:10])
	}
	want := []string{"Ada", "2026-01-01", "2026-01-04", "Bob", "2026-01-02", "2026-01-02"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list_contributors, -want +got:\n%s", diff)
	}
}

func TestMistakesAreExplained(t *testing.T) {
	cs := session(t)
	tests := []struct {
		tool string
		args map[string]any
		want string
	}{
		{"changed_files", map[string]any{"sha": "nope"}, "list_commits"},
		{"changed_files", map[string]any{"sha": "--output=pwned"}, "list_commits"},
		{"changed_files", map[string]any{"sha": ""}, "list_commits"},
		{"file_at_commit", map[string]any{"sha": "main", "path": "gone"}, "changed_files"},
		{"list_commits", map[string]any{"limit": -1}, "positive"},
	}
	for _, tt := range tests {
		if _, msg := call[any](t, cs, tt.tool, tt.args); !strings.Contains(msg, tt.want) {
			t.Errorf("%s %v: error %q, want one with %q", tt.tool, tt.args, msg, tt.want)
		}
	}
}

func TestNoHistoryIsAnError(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	if _, err := openRepo(t.Context(), dir); err == nil {
		t.Error("a directory without a repository was opened")
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if _, err := openRepo(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "no commits yet") {
		t.Errorf("error of an empty repository = %v", err)
	}
}

func FuzzParseNumstat(f *testing.F) {
	f.Add("1\t2\ta\x00-\t-\tb\x00")
	f.Add("\n1\t0\tx\ty\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range parseNumstat(text) {
			if c.Path == "" || strings.Contains(c.Path, "\x00") {
				t.Errorf("parseNumstat(%q) has path %q", text, c.Path)
			}
		}
	})
}
