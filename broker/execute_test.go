package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

func execute(t testing.TB, b *broker.Broker, code string) broker.ExecuteAnswer {
	t.Helper()
	return b.Execute(t.Context(), broker.ExecuteRequest{Code: code})
}

func TestScriptMovesDataBetweenServers(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	a := execute(t, b, `
		import { readFile, listRows } from './servers/files';
		const text: string = await readFile({ path: 'a.txt' });
		const rows = await listRows({ n: 3 });
		await Promise.all(rows.alpha.map(r => notes.createNote({ title: r.title })));
		console.log(text.length, rows.zeta, Object.keys(rows).join());
		const last = await callMCPTool('notes.create_note', { title: text });
		return { count: last.count };
	`)
	if a.ExitCode != 0 || string(a.Result) != `{"count":4}` || a.Stdout != "13 9007199254740993 zeta,alpha\n" {
		t.Errorf("answer %+v", a)
	}
	want := []string{"files__read_file", "files__list_rows", "notes__create_note"}
	if len(a.ToolsCalled) != 3 || a.ToolsCalled[2].N != 4 {
		t.Fatalf("tools_called %+v, want %v and the last four times", a.ToolsCalled, want)
	}
	for i, r := range a.ToolsCalled {
		if r.Tool != want[i] || r.Status != bridge.StatusOK {
			t.Errorf("tools_called[%d] = %+v, want %s ok", i, r, want[i])
		}
	}
}

func TestFailuresTellWhatToDo(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	for _, c := range []struct {
		name, code string
		exit       int
		stderr     []string
	}{
		{"a tool that fails", `await files.readFile({ path: 'missing' })`, 1, []string{"ToolError", "no such file: missing", "agent.ts:1"}},
		{"an unknown tool", `await callMCPTool('files__raed_file', {})`, 1, []string{`unknown tool "files__raed_file"`, "files__read_file"}},
		{"an unknown server's tool", `await callMCPTool('fils__read_file', {path:'a'})`, 1, []string{"did you mean files__read_file?"}},
		{"a wrong argument", `const args = { pth: 'a' }; await files.readFile(args)`, 1, []string{`missing parameter "path"`, `"pth" was given`}},
		{"a wrong argument in the text", `await files.readFile({ pth: 'a' })`, 2, []string{`unknown parameter "pth", did you mean "path"?`, "signature: files.readFile(", "0 tools called"}},
		{"a misspelt import", `import { raedFile } from './servers/files'; await raedFile({})`, 2, []string{"readFile", "0 tools called"}},
		{"an unknown module", `import { x } from './servers/fils'; await x({})`, 2, []string{"./servers/files", "0 tools called"}},
		{"a syntax error", "const a = 1;\nlet = ;", 2, []string{"agent.ts:2:", "0 tools called"}},
		{"no code", "  ", 2, []string{"no code"}},
		{"an endless loop", "while (true) {}", 124, []string{"time limit of 1 s"}},
		{"a promise that cannot settle", "await new Promise(() => {})", 13, []string{"never settles"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := b.Execute(t.Context(), broker.ExecuteRequest{Code: c.code, Timeout: time.Second * time.Duration(1+9*boolInt(c.exit != 124))})
			if a.ExitCode != c.exit || !a.IsError() {
				t.Errorf("exit code %d, want %d\n%s", a.ExitCode, c.exit, a.Stderr)
			}
			for _, want := range c.stderr {
				if !strings.Contains(a.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, a.Stderr)
				}
			}
		})
	}
	if a := execute(t, b, "return 1 + 1"); string(a.Result) != "2" {
		t.Errorf("after all that, 1+1 is %s", a.Result)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestToolErrorCanBeCaught(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	a := execute(t, b, `
		try { await files.readFile({ path: 'missing' }); }
		catch (e) { return [e instanceof ToolError, e.name, e.server, e.tool, e.code, e.message, e.retryable]; }
	`)
	want := `[true,"ToolError","files","read_file","tool_error","no such file: missing",false]`
	if string(a.Result) != want {
		t.Errorf("caught %s, want %s\n%s", a.Result, want, a.Stderr)
	}
	if len(a.ToolsCalled) != 1 || a.ToolsCalled[0].Status != bridge.StatusError || a.ToolsCalled[0].Error == "" {
		t.Errorf("tools_called %+v, want one error with its message", a.ToolsCalled)
	}
}

func TestWhatIsTooLongIsCutVisibly(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	a := execute(t, b, `for (let i = 0; i < 5000; i++) console.log('line ' + i); return await files.listRows({ n: 2000 })`)
	if !a.Truncated || len([]rune(a.Stdout))+len([]rune(string(a.Result))) > 10_100 {
		t.Errorf("truncated %v, %d + %d characters", a.Truncated, len(a.Stdout), len(a.Result))
	}
	for _, want := range []string{"line 0\n", "line 4999", "… [truncated: ", " of 48,890 characters] …"} {
		if !strings.Contains(a.Stdout, want) {
			t.Errorf("stdout lacks %q", want)
		}
	}
	var result struct {
		Zeta  json.Number
		Alpha []json.RawMessage
	}
	if err := json.Unmarshal(a.Result, &result); err != nil || result.Zeta != "9007199254740993" || len(result.Alpha) < 50 || string(result.Alpha[0]) != `{"id":0,"title":"row 0"}` {
		t.Errorf("result %.80s, %v; want all keys and the first rows", a.Result, err)
	}
	if missing := 2000 - len(result.Alpha) + 1; !strings.Contains(string(a.Result), fmt.Sprintf(`"… [truncated: 1,%03d of 2,000 items`, missing-1000)) || !strings.HasSuffix(string(a.Result), `{"id":1999,"title":"row 1999"}]}`) {
		t.Errorf("%d rows are missing from %.80s … %s", missing, a.Result, a.Result[len(a.Result)-200:])
	}
	for line := range strings.Lines(a.Stdout) {
		if !strings.HasPrefix(line, "line ") && !strings.HasPrefix(line, "… [truncated: ") {
			t.Errorf("stdout is cut within a line: %q", line)
		}
	}
	if want := "(config: maxOutputChars)"; !strings.Contains(a.Hint, want) {
		t.Errorf("hint %q does not name %s", a.Hint, want)
	}
	if want := "{zeta: number, alpha: 2000 × {id: number, title: string}}"; !strings.Contains(a.Hint, want) {
		t.Errorf("hint %q lacks the shape %q", a.Hint, want)
	}
	small := execute(t, b, `console.log('a'); console.error('b'); return { c: 1 }`)
	if small.Truncated || small.Stdout != "a\n" || small.Stderr != "b\n" || string(small.Result) != `{"c":1}` {
		t.Errorf("small answer %+v", small)
	}
}

func TestTimeoutAboveTheMaximumIsClamped(t *testing.T) {
	t.Parallel()
	b := newBroker(t, broker.Deps{}, broker.Settings{MaxTimeout: time.Second})
	a := b.Execute(t.Context(), broker.ExecuteRequest{Code: "for (;;) {}", Timeout: time.Hour})
	if a.ExitCode != 124 || !strings.Contains(a.Hint, "at most 1 s") {
		t.Errorf("code %d, hint %q; want 124 and a note", a.ExitCode, a.Hint)
	}
}

func TestReadOnlyLeavesWritersOut(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{ReadOnly: true})
	a := execute(t, b, `return await callMCPTool('files__delete_file', { path: 'a' })`)
	if a.ExitCode != 1 || !strings.Contains(a.Stderr, "read-only") || a.ToolsCalled[0].Status != bridge.StatusDenied {
		t.Errorf("answer %+v, want it denied", a)
	}
	if a := execute(t, b, `return typeof files.deleteFile`); a.ExitCode != 2 && string(a.Result) != `"undefined"` {
		t.Errorf("deleteFile is in scope: %+v", a)
	}
	for _, code := range []string{
		`return await files.deleteFile({ path: 'a' })`,
		`import { deleteFile } from './servers/files'; return await deleteFile({ path: 'a' })`,
	} {
		if a := execute(t, b, code); a.ExitCode == 0 || !strings.Contains(a.Stderr, "files__delete_file is not marked read-only") {
			t.Errorf("%s: %+v, want why it is not there", code, a)
		}
	}
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "delete a file", Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Tools {
		if h.Name == "files__delete_file" {
			t.Error("delete_file is found in read-only mode")
		}
	}
}

// waiting is a broker whose server says in two files when its tool "wait" was
// called and when that call was cancelled.
func waiting(t *testing.T) (b *broker.Broker, started, cancelled func() bool) {
	t.Helper()
	dir := t.TempDir()
	c := upstreamConfig(t, "files")
	c.Env = map[string]string{"STARTED_FILE": filepath.Join(dir, "started"), "CANCELLED_FILE": filepath.Join(dir, "cancelled")}
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	}
	return newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{c}}), exists("started"), exists("cancelled")
}

// A cancelled request must reach the upstream's call.
func TestCancelReachesTheServer(t *testing.T) {
	b, started, cancelled := waiting(t)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan broker.ExecuteAnswer)
	go func() { answer <- b.Execute(ctx, broker.ExecuteRequest{Code: `await files.wait({})`}) }()
	eventually(t, "the server is called", started)
	cancel()
	if a := <-answer; a.ExitCode != 130 || len(a.ToolsCalled) != 1 || a.ToolsCalled[0].Status != bridge.StatusCancelled {
		t.Errorf("answer %+v, want 130 and a cancelled call", a)
	}
	eventually(t, "the server hears of the cancellation", cancelled)
}

func TestTimeoutReachesTheServer(t *testing.T) {
	t.Parallel()
	b, _, cancelled := waiting(t)
	b.Refresh(t.Context())
	a := b.Execute(t.Context(), broker.ExecuteRequest{Code: `await files.wait({})`, Timeout: time.Second})
	if a.ExitCode != 124 || len(a.ToolsCalled) != 1 || a.ToolsCalled[0].Status == bridge.StatusOK {
		t.Errorf("answer %+v, want 124 and a call that was cut off", a)
	}
	eventually(t, "the server hears of the cancellation", cancelled)
}

func TestClientCancelsThroughMCP(t *testing.T) {
	b, started, cancelled := waiting(t)
	progress := make(chan string, 16)
	cs := connect(t, b, "2025-11-25", &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		progress <- r.Params.Message
	}})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		p := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": `await files.wait({})`}}
		p.SetProgressToken("t1")
		_, err := cs.CallTool(ctx, p)
		failed <- err
	}()
	if m := <-progress; m != "call 1: files__wait" {
		t.Errorf("progress says %q", m)
	}
	eventually(t, "the server is called", started)
	cancel()
	if err := <-failed; err == nil {
		t.Error("a cancelled call was answered")
	}
	eventually(t, "the server hears of the cancellation", cancelled)
}

// A hundred executions leave nothing behind: no goroutine, and no process but
// the servers and a spare.
func TestExecutionsLeaveNothing(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "files")}})
	run := func(n int) {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 8)
		for range n {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				a := b.Execute(t.Context(), broker.ExecuteRequest{Code: `console.log((await files.readFile({ path: 'a' })).length)`})
				if a.ExitCode != 0 {
					t.Errorf("%+v", a)
				}
			})
		}
		wg.Wait()
	}
	run(10)
	before := runtime.NumGoroutine()
	run(100)
	// A spare that is being started has goroutines of its own for a moment.
	const slack = 6
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before+slack })
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(children) == 0 {
		t.Skip("needs /proc to see processes")
	}
	eventually(t, "processes end", func() bool {
		n := 0
		for _, c := range children {
			text, _ := os.ReadFile(c) // the thread may have ended
			n += len(strings.Fields(string(text)))
		}
		return n <= 2
	})
}
