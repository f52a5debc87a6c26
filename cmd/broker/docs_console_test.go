package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"
)

// pages are the README and the pages of docs, by their names without ".md".
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no docs", err)
	}
	found := make(map[string]string)
	for _, file := range append(files, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if filepath.Base(filepath.Dir(file)) == "docs" && name == "README" {
			name = "docs" // the index
		}
		found[name] = string(text)
	}
	return found
}

// fence is a block of a page: its language, and its text.
var fence = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")

// Blocks marked as console do what they show: "$ " begins a command of the shell,
// the lines after it are all that it prints, "…" is anything, and "$ echo $?"
// shows its exit code. The blocks of a page run in turn, in one home directory, with
// the files of testdata/docs/all.txtar and those of the page, PAGE.txtar. With -update
// the pages get what the commands print.
func TestConsoleBlocksOfDocs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("they are commands of a Unix shell")
	}
	all, err := txtar.ParseFile("testdata/docs/all.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for page, text := range pages(t) {
		script := &txtar.Archive{Files: slices.Clone(all.Files)}
		own, err := txtar.ParseFile("testdata/docs/" + page + ".txtar")
		if err == nil {
			script.Comment, script.Files = slices.Clone(own.Comment), slices.Concat(all.Files, own.Files)
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		blocks := 0
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "console" {
				continue
			}
			blocks++
			name := "block-" + strconv.Itoa(blocks)
			script.Comment = append(script.Comment, "shown "+name+"\n"...)
			script.Files = append(script.Files, txtar.File{Name: name, Data: []byte(m[2])})
		}
		if blocks == 0 {
			if own != nil {
				t.Errorf("testdata/docs/%s.txtar is of a page without console blocks", page)
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, page+".txtar"), txtar.Format(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	params := scriptParams(t)
	setup := params.Setup
	params.Dir, params.Setup = dir, func(e *testscript.Env) error {
		err := setup(e)
		e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/.config")
		e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.local/state")
		return err
	}
	var mu sync.Mutex
	changed := make(map[string]string) // blocks of pages that print something else
	params.Cmds["shown"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: shown FILE")
		}
		before := ts.ReadFile(args[0])
		after := showBlock(ts, before)
		if after == before {
			return
		}
		if !*update {
			ts.Fatalf("the page has:\n%s\nand the commands print:\n%s", before, after)
		}
		mu.Lock()
		defer mu.Unlock()
		changed[before] = after
	}
	t.Cleanup(func() {
		for before, after := range changed {
			replaceBlock(t, before, after)
		}
	})
	testscript.Run(t, params)
}

// replaceBlock writes what commands print now into the page that has the block.
func replaceBlock(t *testing.T, before, after string) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Error(err)
	}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if block := "```console\n" + before + "```"; strings.Contains(string(text), block) {
			text = []byte(strings.ReplaceAll(string(text), block, "```console\n"+after+"```"))
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

// showBlock runs the commands of a block. It returns the block with what they print,
// where that is not what stands below them.
func showBlock(ts *testscript.TestScript, block string) string {
	var out strings.Builder
	code := 0
	for i, part := range strings.Split("\n"+strings.TrimSuffix(block, "\n"), "\n$ ") {
		line, want, _ := strings.Cut(part, "\n")
		if i == 0 {
			if line+want != "" {
				ts.Fatalf("a block begins without a command: %s", line)
			}
			continue
		}
		for strings.HasSuffix(line, "\\") { // goes on in the next line
			var more string
			more, want, _ = strings.Cut(want, "\n")
			line += "\n" + more
		}
		got := strconv.Itoa(code)
		if line != "echo $?" {
			if code != 0 {
				out.WriteString("$ echo $?\n" + got + "\n") // or nobody knows that the command failed
			}
			err := ts.Exec("sh", "-c", "{ "+line+"\n} 2>&1")
			exit, failed := errors.AsType[*exec.ExitError](err)
			if !failed {
				ts.Check(err)
			}
			if code = 0; failed {
				code = exit.ExitCode()
			}
			bin, _, _ := strings.Cut(ts.Getenv("PATH"), string(os.PathListSeparator))
			got = strings.NewReplacer(ts.Getenv("WORK"), "/home/me", bin, "/home/me/go/bin").Replace(ts.ReadFile("stdout"))
		} else {
			code = 0
		}
		if regexp.MustCompile("^" + pattern(plainly(want)) + "$").MatchString(plainly(got)) {
			got = want
		}
		out.WriteString("$ " + line + "\n" + strings.TrimSuffix(got, "\n"))
		if got != "" {
			out.WriteString("\n")
		}
	}
	if code != 0 {
		out.WriteString("$ echo $?\n" + strconv.Itoa(code) + "\n")
	}
	return out.String()
}

// plainly is output without what differs each time: times, ids, and the width of
// columns.
func plainly(text string) string {
	for _, r := range []struct{ from, to string }{
		{`\b([er])_[0-9a-z]{6,}`, "${1}_id"},
		{`\d+(\.\d+)? ?(µs|ms|s|min|KiB|MiB)\b`, "0 $2"},
		{`\b\d+\.\d\b`, "0"},
		{`\d{4}-\d\d-\d\d`, "DATE"},
		{`\d\d:\d\d(:\d\d(\.\d+)?)?Z?`, "TIME"},
		{` +`, " "},
		{`(?m) +$`, ""},
	} {
		text = regexp.MustCompile(r.from).ReplaceAllString(text, r.to)
	}
	return strings.TrimSpace(text)
}

// pattern is a regular expression for text in which "…" is anything in a line, or,
// alone, any lines.
func pattern(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "…" {
			b.WriteString("(\n.*)*")
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return b.String()
}

// What "…" stands for, and that nothing else is passed over.
func TestConsolePattern(t *testing.T) {
	for _, tt := range []struct {
		page, got string
		want      bool
	}{
		{"a\n…\nz", "a\nb\nc\nz", true}, {"a\n…\nz", "a\nz", true}, {"a … z", "a b z", true},
		{"a", "a\nb", false}, {"…\nz", "y", false}, {"a … z", "a b\nz", false}, {"a.c", "abc", false},
	} {
		if got := regexp.MustCompile("^" + pattern(tt.page) + "$").MatchString(tt.got); got != tt.want {
			t.Errorf("%q shows %q: %t, want %t", tt.page, tt.got, got, tt.want)
		}
	}
}

// serveGitHub has some of the tools of GitHub's server, for the commands in docs.
func serveGitHub() {
	s := mcp.NewServer(&mcp.Implementation{Name: "github", Version: "1"}, nil)
	type repository struct {
		Owner string `json:"owner" jsonschema:"owner of the repository"`
		Repo  string `json:"repo" jsonschema:"name of the repository"`
		State string `json:"state,omitempty" jsonschema:"open or closed"`
	}
	type issue struct {
		Number int    `json:"number"`
		Title  string `json:"title"`
		State  string `json:"state"`
	}
	type issues struct {
		Issues []issue `json:"issues"`
	}
	type draft struct {
		Owner string `json:"owner"`
		Repo  string `json:"repo"`
		Title string `json:"title" jsonschema:"title of the issue"`
		Body  string `json:"body,omitempty"`
	}
	type file struct {
		Owner string `json:"owner"`
		Repo  string `json:"repo"`
		Path  string `json:"path"`
	}
	issueList := json.RawMessage(`{"type": "object", "required": ["issues"], "properties": {"issues": {"type": "array", "items": {"type": "object", "required": ["number", "title", "state"],
		"properties": {"number": {"type": "integer"}, "title": {"type": "string"}, "state": {"type": "string"}}}}}}`)
	mcp.AddTool(s, &mcp.Tool{Name: "list_issues", Description: "List issues of a repository.", OutputSchema: issueList, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, repository) (*mcp.CallToolResult, issues, error) {
			return nil, issues{[]issue{{7, "Crash on start", "open"}, {9, "Typo in the manual", "open"}, {4, "Add a dark theme", "closed"}}}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "create_issue", Description: "Create a new issue in a repository."},
		func(_ context.Context, _ *mcp.CallToolRequest, d draft) (*mcp.CallToolResult, issue, error) {
			return nil, issue{12, d.Title, "open"}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "delete_file", Description: "Delete a file from a repository."},
		func(context.Context, *mcp.CallToolRequest, file) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	serveForDocs(s)
}

// serveSlack has some of the tools of a Slack server, for the commands in docs.
func serveSlack() {
	s := mcp.NewServer(&mcp.Implementation{Name: "slack", Version: "1"}, nil)
	type message struct {
		Channel string `json:"channel" jsonschema:"name of the channel"`
		Text    string `json:"text"`
	}
	type posted struct {
		TS string `json:"ts"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "post_message", Description: "Post a message to a channel."},
		func(context.Context, *mcp.CallToolRequest, message) (*mcp.CallToolResult, posted, error) {
			return nil, posted{"1700000000.1"}, nil
		})
	serveForDocs(s)
}

func serveForDocs(s *mcp.Server) {
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
