package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A pass is the measurements of one start of a program.
type pass struct {
	rows []string
	run  func(ctx context.Context, b *build, note func(row string, value float64)) error
}

const (
	rowInitialize = "start to initialize, lists cached, 1,004 tools (ms)"
	rowHit        = "… to the first search hit (ms)"
	rowCall       = "… to the first call of a tool (ms)"
	rowVersion    = "broker version, whole process (ms)"
	rowEmpty      = "start on an empty cache to the first hit (ms)"
	rowDirect     = "a direct call of echo (ms)"
	rowEcho       = "call_tool echo (ms)"
	rowSearch     = "search_tools (ms)"
	rowCalls      = "script with 100 calls (ms)"
	rowBack       = "back-to-back 1+1 (ms)"
	rowOneCall    = "script with one call (ms)"
	rowMemory     = "the broker's own memory after load (MB)"
	rowTree       = "… with spares and guard, shared pages counted once (MB)"
	rowRest       = "the broker's own memory at rest (MB)"
	rowRestTree   = "… with spares and guard at rest (MB)"
	rowSize       = "size of the program, stripped (MB)"
)

var passes = []pass{
	{[]string{rowInitialize, rowHit, rowCall}, starts},
	{[]string{rowVersion}, version},
	{[]string{rowEmpty}, empty},
	{[]string{rowDirect, rowEcho, rowSearch}, calls},
	{[]string{rowCalls, rowBack, rowOneCall, rowMemory, rowTree, rowRest, rowRestTree}, scripts},
	{[]string{rowSize}, size},
}

const (
	echoArguments = `{"tool":"server1__echo","arguments":{"message":"hello"}}`
	echoScript    = `{"language":"javascript","code":"return await callMCPTool('server1__echo', {message: 'hello'})"}`
	callsScript   = `{"language":"javascript","code":"for (let i = 0; i < 100; i++) await callMCPTool('server1__echo', {message: 'hello'}); return 'done'"}`
	oneScript     = `{"language":"javascript","code":"return 1+1"}`
	query         = `{"query":"close an invoice"}`
	hit           = "close_invoice"
)

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (b *build) serve(state, mode string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd { return b.command(ctx, state, "serve", "--mode", mode) }
}

// with runs f in an initialized session of the broker.
func with(ctx context.Context, command func(context.Context) *exec.Cmd, f func(s *session, initialize time.Duration) error) error {
	s, err := start(ctx, command)
	if err != nil {
		return err
	}
	took, err := s.initialize()
	if err == nil {
		err = f(s, took)
	}
	if ended := s.close(); err == nil {
		err = ended
	}
	return err
}

func starts(ctx context.Context, b *build, note func(string, float64)) error {
	return with(ctx, b.serve(b.state, "tools"), func(s *session, initialize time.Duration) error {
		note(rowInitialize, milliseconds(initialize))
		if _, err := s.call("search_tools", query, hit); err != nil {
			return err
		}
		note(rowHit, milliseconds(time.Since(s.begun)))
		if _, err := s.call("call_tool", echoArguments, "hello"); err != nil {
			return err
		}
		note(rowCall, milliseconds(time.Since(s.begun)))
		return nil
	})
}

func version(ctx context.Context, b *build, note func(string, float64)) error {
	begun := time.Now()
	err := exec.CommandContext(ctx, b.program, "version").Run()
	note(rowVersion, milliseconds(time.Since(begun)))
	return err
}

func empty(ctx context.Context, b *build, note func(string, float64)) error {
	state, err := os.MkdirTemp(b.scratch, "empty-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	return with(ctx, b.serve(state, "tools"), func(s *session, _ time.Duration) error {
		for { // older brokers do not wait for servers
			if _, err := s.call("search_tools", query, hit); err == nil {
				note(rowEmpty, milliseconds(time.Since(s.begun)))
				return nil
			} else if time.Since(s.begun) > sessionTime/2 {
				return err
			}
		}
	})
}

// typical returns the median time of n requests after the first few.
func typical(n int, request func() (time.Duration, error)) (float64, error) {
	var took []time.Duration
	for i := range n + n/4 + 1 {
		d, err := request()
		if err != nil {
			return 0, err
		}
		if i >= n/4 {
			took = append(took, d)
		}
	}
	slices.Sort(took)
	return milliseconds(took[len(took)/2]), nil
}

// A step is one row of a pass, a median of n calls.
type step struct {
	row, tool, arguments, want string
	n                          int
}

func (s *session) measure(steps []step, note func(string, float64)) error {
	for _, m := range steps {
		t, err := typical(m.n, func() (time.Duration, error) { return s.call(m.tool, m.arguments, m.want) })
		if err != nil {
			return err
		}
		note(m.row, t)
	}
	return nil
}

func calls(ctx context.Context, b *build, note func(string, float64)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	direct := func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, self, upstreamArg, "1", "1") }
	err = with(ctx, direct, func(s *session, _ time.Duration) error {
		return s.measure([]step{{rowDirect, "echo", `{"message":"hello"}`, "hello", 200}}, note)
	})
	if err != nil {
		return err
	}
	return with(ctx, b.serve(b.state, "tools"), func(s *session, _ time.Duration) error {
		return s.measure([]step{
			{rowEcho, "call_tool", echoArguments, "hello", 200},
			{rowSearch, "search_tools", query, hit, 100},
		}, note)
	})
}

func scripts(ctx context.Context, b *build, note func(string, float64)) error {
	return with(ctx, b.serve(b.state, "code"), func(s *session, _ time.Duration) error {
		err := s.measure([]step{
			{rowCalls, "execute_code", callsScript, "done", 6},
			{rowBack, "execute_code", oneScript, "2", 40},
			{rowOneCall, "execute_code", echoScript, "hello", 40},
			{rowSearch + " ", "search_tools", query, hit, 20},
		}, func(row string, v float64) {
			if row != rowSearch+" " {
				note(row, v)
			}
		})
		if err != nil {
			return err
		}
		own, tree := memory(s.cmd.Process.Pid)
		if own > 0 {
			note(rowMemory, own)
			note(rowTree, tree)
		}
		if own == 0 || b.rest == 0 {
			return nil
		}
		time.Sleep(b.rest)
		own, tree = memory(s.cmd.Process.Pid)
		note(rowRest, own)
		note(rowRestTree, tree)
		return nil
	})
}

func size(_ context.Context, b *build, note func(string, float64)) error {
	info, err := os.Stat(b.program)
	if err != nil {
		return err
	}
	note(rowSize, float64(info.Size())/1e6)
	return nil
}

// memory returns the resident memory of a process, and that of it and its descendants without
// upstream servers, where each shared page is divided among the processes that share it, in MB. It
// returns 0 if /proc does not exist.
func memory(pid int) (own, tree float64) {
	read := func(pid, field string) float64 {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
		if err != nil {
			return 0
		}
		for line := range strings.Lines(string(text)) {
			var kB float64
			if n, _ := fmt.Sscanf(line, field+": %f kB", &kB); n == 1 {
				return kB / 1000
			}
		}
		return 0
	}
	parents := map[string][]string{}
	processes, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range processes {
		text, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		rest := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(rest) > 1 {
			parents[rest[1]] = append(parents[rest[1]], filepath.Base(filepath.Dir(p)))
		}
	}
	own = read(fmt.Sprint(pid), "Rss")
	tree = read(fmt.Sprint(pid), "Pss")
	for next := parents[fmt.Sprint(pid)]; len(next) > 0; next = next[1:] {
		line, err := os.ReadFile(filepath.Join("/proc", next[0], "cmdline"))
		if err != nil || strings.Contains(string(line), "\x00"+upstreamArg+"\x00") && !strings.Contains(string(line), "guard") {
			continue
		}
		tree += read(next[0], "Pss")
		next = append(next, parents[next[0]]...)
	}
	return own, tree
}
