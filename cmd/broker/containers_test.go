package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// executions is how many scripts run before it is looked at what is left.
var executions = flag.Int("executions", 24, "scripts that the test for leaks of serve runs, half of them in containers")

// python runs a script in Python and returns its result.
func (c *stdioClient) python(t *testing.T, id int, code string) string {
	t.Helper()
	b, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_code","arguments":{"language":"python","code":%s,"timeout":100}}}`, id, b))
	a := c.executed(t, id)
	if a.ExitCode != 0 {
		t.Errorf("%s: %+v", code, a)
	}
	return string(a.Result)
}

// containersOf are the containers of a process, also those that have ended.
func containersOf(t *testing.T, pid int) []string {
	t.Helper()
	list := output(t, exec.CommandContext(t.Context(), "docker", "ps", "-a", "--no-trunc", "--filter", "label=mcpbroker.sandbox", "--format", `{{.ID}} {{.Label "mcpbroker.owner"}}`))
	var ids []string
	for line := range strings.Lines(string(list)) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		if parts := strings.Split(owner, "/"); len(parts) == 3 && parts[1] == strconv.Itoa(pid) {
			ids = append(ids, id)
		}
	}
	return ids
}

// stateFiles are the files below a directory.
func stateFiles(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// residentBytes is the memory of a process.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// Many scripts, by turns in processes and in containers, leave nothing: no file
// in the state directory, no memory, and after the end of the broker no process
// and no container.
func TestManyExecutionsLeaveNothing(t *testing.T) {
	needPython(t)
	config := shelfConfig(t)
	c := startStdio(t, config)
	pid, state := c.cmd.Process.Pid, os.Getenv("XDG_STATE_HOME")
	var files []string
	var memory int64
	for id := 1; id <= *executions; id++ {
		if id%2 == 0 {
			c.execute(t, id, fmt.Sprintf("console.log('x'.repeat(100)); return (await shelf.listBooks()).books.length + %d", id))
			if a := c.executed(t, id); string(a.Result) != strconv.Itoa(id+2) {
				t.Errorf("script %d: %+v", id, a)
			}
		} else if got := c.python(t, id, fmt.Sprintf("print('x' * 100)\nreturn len((await shelf.list_books())['books']) + %d", id)); got != strconv.Itoa(id+2) {
			t.Errorf("script %d: %s", id, got)
		}
		if id == *executions/2 {
			eventually.True(t, "the index is written", func() bool {
				return slices.ContainsFunc(stateFiles(t, state), func(file string) bool { return strings.Contains(file, "/index/") })
			})
			files, memory = stateFiles(t, state), residentBytes(t, pid)
		}
	}
	if now := stateFiles(t, state); !slices.Equal(now, files) {
		t.Errorf("the state directory has %q, and had %q half way", now, files)
	}
	grown := residentBytes(t, pid) - memory
	t.Logf("%d scripts: %d MB of memory, %d MB half way; files %q", *executions, residentBytes(t, pid)>>20, memory>>20, files)
	if grown > 48<<20 {
		t.Errorf("the broker grew by %d MB in the second half of %d scripts", grown>>20, *executions)
	}
	if n := len(containersOf(t, pid)); n < 1 || n > 8 {
		t.Errorf("%d containers while it serves, want the spare and what is just being removed", n)
	}
	tree := descendants(t, pid)
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
	for _, pid := range tree {
		waitFor(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
	waitFor(t, "the containers are gone", func() bool { return len(containersOf(t, pid)) == 0 })
}

// A broker that is killed in the middle of a script in a container leaves
// containers behind. The next one removes them.
func TestContainersOfAKilledBrokerAreRemoved(t *testing.T) {
	needPython(t)
	config := shelfConfig(t)
	killed := startStdio(t, config)
	killed.python(t, 1, "1 + 1")
	b, err := json.Marshal("import time\ntime.sleep(100)")
	if err != nil {
		t.Fatal(err)
	}
	killed.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"language":"python","code":%s,"timeout":100}}}`, b))
	pid := killed.cmd.Process.Pid
	waitFor(t, "the script's container and a spare are there", func() bool { return len(containersOf(t, pid)) >= 2 })
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait()
	if len(containersOf(t, pid)) == 0 {
		t.Fatal("the killed broker has left no container: there is nothing to test")
	}
	next := startStdio(t, config)
	if got := next.python(t, 1, "2 + 2"); got != "4" {
		t.Errorf("the next broker: %s", got)
	}
	waitFor(t, "the containers of the killed broker are gone", func() bool { return len(containersOf(t, pid)) == 0 })
	_ = next.in.Close()
	if err := next.cmd.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
	waitFor(t, "those of the next one are gone too", func() bool { return len(containersOf(t, next.cmd.Process.Pid)) == 0 })
}
