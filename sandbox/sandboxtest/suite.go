// Package sandboxtest is the contract of sandbox.Runner in the form of a test
// suite. Every runner passes it, and so does Fake, a runner of Go functions
// for the tests of other packages.
//
//	func TestSuite(t *testing.T) {
//		sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return worker.New(nil) },
//			sandboxtest.JavaScript, sandboxtest.Containment)
//	}
package sandboxtest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

// A Feature is something that not every runner has.
type Feature int

// The features.
const (
	// JavaScript: the runner runs JavaScript and TypeScript. Without it only
	// what does not depend on a language is tested, with the programs that
	// Programs has.
	JavaScript Feature = iota + 1
	// Containment: the runner survives, and ends, programs that use up
	// memory or the stack, or loop where nothing interrupts them.
	Containment
	// SlowStart: each program takes a good part of a second, so the suite runs
	// fewer of them where it is the number that counts. The flag -executions
	// brings all back.
	SlowStart
	// BoundedText: text has a greatest length, so that a program that doubles
	// one gets an error that it can catch, long before its memory is used up.
	BoundedText
	// FakeTime: the runner needs no process and no network, so that tests that wait do
	// so in a bubble of package synctest, where it takes no time.
	FakeTime
)

// patience bounds everything that the suite waits for: far more than any of
// it takes, so that a busy machine fails no test.
const patience = 60 * time.Second

// Run runs the suite. It calls new for each test and closes what it returns.
func Run(t *testing.T, new func(*testing.T) sandbox.Runner, features ...Feature) {
	fakeTime := slices.Contains(features, FakeTime)
	runCases(t, new, commonCases, fakeTime)
	programs := *executions
	if slow(features) {
		programs /= 4
	}
	t.Run("nothing is left after close", func(t *testing.T) { testNothingLeft(t, new, programs) })
	t.Run("close ends runs in progress", func(t *testing.T) { testClose(t, new) })
	if slices.Contains(features, JavaScript) {
		runJavaScript(t, new, fakeTime)
		t.Run("attacks are contained", func(t *testing.T) {
			t.Parallel() // with what waits
			Attacks(t, new, attack.JavaScript, features...)
		})
	}
	if slices.Contains(features, Containment) {
		runContainment(t, new, slices.Contains(features, BoundedText))
	}
}

// A suiteCase is a test with a runner of its own.
type suiteCase struct {
	name  string
	run   func(*testing.T, *runnerTest)
	waits bool // most of the time, for a clock
}

// runCases runs cases one after the other. Those that wait take no time or, without
// fakeTime, run beside each other at the end, when nothing is counted any more.
func runCases(t *testing.T, new func(*testing.T) sandbox.Runner, cases []suiteCase, fakeTime bool) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.waits && fakeTime {
				synctest.Test(t, func(t *testing.T) {
					r := start(t, new)
					r.fakeTime = true
					c.run(t, r)
				})
				return
			}
			if c.waits {
				t.Parallel()
			}
			c.run(t, start(t, new))
		})
	}
}

// A runnerTest is a runner under test with what tests do with it.
type runnerTest struct {
	sandbox.Runner
	t        *testing.T
	fakeTime bool // passes only where a program waits
}

func start(t *testing.T, new func(*testing.T) sandbox.Runner) *runnerTest {
	t.Helper()
	r := &runnerTest{Runner: new(t), t: t}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// An ended is a result with what was printed.
type ended struct {
	sandbox.Result
	stdout, stderr string
}

// do runs req and fails the test if the runner could not.
func (r *runnerTest) do(ctx context.Context, req sandbox.Request) ended {
	r.t.Helper()
	var stdout, stderr bytes.Buffer
	if req.Stdout == nil {
		req.Stdout = &stdout
	}
	if req.Stderr == nil {
		req.Stderr = &stderr
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := r.Run(ctx, req)
	if err != nil {
		r.t.Errorf("Run(%.60q): %v", req.Code, err)
	}
	if res.ExitCode != sandbox.ExitOK && res.Error == "" {
		r.t.Errorf("Run(%.60q): exit code %d without a reason", req.Code, res.ExitCode)
	}
	if res.Duration < 0 || res.Duration == 0 && !r.fakeTime {
		r.t.Errorf("Run(%.60q): duration %v", req.Code, res.Duration)
	}
	return ended{res, stdout.String(), stderr.String()}
}

// want fails the test unless the program ended with code, with value as its
// result, and with an Error that has all of says in it.
func (e ended) want(t *testing.T, code int, value string, says ...string) {
	t.Helper()
	if e.ExitCode != code {
		t.Errorf("exit code %d, want %d; error: %s", e.ExitCode, code, e.Error)
	}
	if string(e.Value) != value {
		t.Errorf("value %.200s, want %.200s", e.Value, value)
	}
	if code == sandbox.ExitOK && e.Error != "" {
		t.Errorf("error of a program that ended well: %q", e.Error)
	}
	for _, s := range says {
		if !strings.Contains(e.Error, s) {
			t.Errorf("error %q does not say %q", e.Error, s)
		}
	}
}

// eventually fails the test unless ok becomes true in time. It asks again and
// again, and lets others work in between.
func eventually(t *testing.T, ok func() bool, what func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatal(what())
		}
		pause := time.NewTimer(2 * time.Millisecond)
		<-pause.C
	}
}

const defaultExecutions = 60

// executions is how many programs testNothingLeft runs.
var executions = flag.Int("executions", defaultExecutions, "programs that the test for leaks runs")

// testNothingLeft runs programs that end in all kinds of ways, some at the same
// time, and wants no goroutine, process, open file, temporary file or memory to
// remain.
func testNothingLeft(t *testing.T, new func(*testing.T) sandbox.Runner, programs int) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	goroutines, processes, files := runtime.NumGoroutine(), children(t), openFiles()
	heap := heapBytes()
	r := &runnerTest{Runner: new(t), t: t}
	codes := []string{codeAdd, codeThrow, codePrint, codeCallTwice}
	next := make(chan int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range next {
				r.do(t.Context(), sandbox.Request{Code: codes[i%len(codes)], Call: echo})
			}
		})
	}
	for i := range programs {
		next <- i
	}
	close(next)
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	r.do(ctx, sandbox.Request{Code: codeCall, Call: func(ctx context.Context, _ sandbox.Call) (raw, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines }, func() string {
		stacks := make([]byte, 1<<20)
		return fmt.Sprintf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
	})
	if left := children(t); len(left) > len(processes) {
		t.Errorf("child processes %v, %v before", left, processes)
	}
	// The Go runtime keeps a few for itself.
	if left := openFiles(); left > files+4 {
		t.Errorf("%d open files, %d before", left, files)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files %v, %v", left, err)
	}
	if grown := heapBytes() - heap; grown > 20<<20 {
		t.Errorf("the heap grew by %d MiB in %d executions", grown>>20, programs)
	}
}

// heapBytes is what is in use after a collection.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openFiles is the number of open files of this process, where /proc tells.
func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// children returns the ids of this process's children, where /proc tells.
func children(t *testing.T) []string {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var pids []string
	for _, s := range stats {
		text, err := os.ReadFile(s)
		if err != nil {
			continue // ended meanwhile
		}
		// pid (name) state ppid …; the name may hold anything.
		_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			pids = append(pids, filepath.Base(filepath.Dir(s)))
		}
	}
	return pids
}

func testClose(t *testing.T, new func(*testing.T) sandbox.Runner) {
	r := &runnerTest{Runner: new(t), t: t}
	calling, over := make(chan struct{}), make(chan ended, 1)
	go func() {
		over <- r.do(t.Context(), sandbox.Request{Code: codeCall, Call: func(ctx context.Context, _ sandbox.Call) (raw, error) {
			close(calling)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
	}()
	<-calling
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	got := <-over
	got.want(t, sandbox.ExitCanceled, "", "closed")
}
