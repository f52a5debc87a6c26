package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// echo answers a call with its argument.
func echo(_ context.Context, c sandbox.Call) (raw, error) { return c.Args, nil }

// commonCases hold for every runner.
var commonCases = []suiteCase{
	{"the result is the value that is returned", testValue, false},
	{"what is printed goes to its writer and is counted", testPrint, false},
	{"what is thrown is the reason", testThrow, false},
	{"a call hands over its argument and its answer as they are", testCall, false},
	{"the two names of a call stay apart", testCallNames, false},
	{"calls answer one after the other", testCallTwice, false},
	{"calls run at the same time", testParallel, false},
	{"calls in flight are limited and wait in order", testInFlight, false},
	{"calls over the limit are refused with a reason", testCallLimit, false},
	{"an argument over the limit is refused", testBigArgument, false},
	{"an error of a call is thrown with its fields", testCallError, false},
	{"a program without host calls is told so", testNoCalls, false},
	{"a large answer arrives", testLargeAnswer, false},
	{"an answer over half of the memory is refused", testHugeAnswer, false},
	{"output over the limit is counted, not written", testOutputLimit, false},
	{"a writer that fails stops nothing", testFailingWriter, false},
	{"a result over the limit is an error", testResultLimit, false},
	{"code over the limit is refused", testCodeLimit, false},
	{"an unknown language is refused", testLanguage, false},
	{"cancelling ends the run and its calls", testCancel, false},
	{"a cancelled context runs nothing", testCanceledBefore, false},
	{"the time limit ends the run and its calls", testTimeout, true},
	{"a deadline of the caller ends the run", testDeadline, true},
	{"a pause is not counted as time of the run", testPause, true},
	{"the time limit holds after a pause", testTimeoutAfterPause, true},
	{"a cancelled run ends while it is paused", testCancelPaused, false},
	{"many run at once, each for itself", testConcurrent, false},
}

func testValue(t *testing.T, r *runnerTest) {
	r.do(t.Context(), sandbox.Request{Code: codeAdd}).want(t, sandbox.ExitOK, "2")
	r.do(t.Context(), sandbox.Request{Code: codeAdd, Language: sandbox.JavaScript}).want(t, sandbox.ExitOK, "2")
	r.do(t.Context(), sandbox.Request{Code: codeNothing}).want(t, sandbox.ExitOK, "")
}

func testPrint(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: codePrint})
	got.want(t, sandbox.ExitOK, "")
	if want := "to stdout\nagain\n"; got.stdout != want || got.StdoutBytes != int64(len(want)) {
		t.Errorf("stdout %q, %d bytes; want %q", got.stdout, got.StdoutBytes, want)
	}
	if want := "to stderr\n"; got.stderr != want || got.StderrBytes != int64(len(want)) {
		t.Errorf("stderr %q, %d bytes; want %q", got.stderr, got.StderrBytes, want)
	}
}

func testThrow(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: codeThrow})
	got.want(t, sandbox.ExitThrew, "", "TypeError", "it broke")
	if got.stderr != "" {
		t.Errorf("the reason was printed to stderr too: %q", got.stderr)
	}
}

func testCall(t *testing.T, r *runnerTest) {
	const answer = `{"z":1,"a":[12345678901234567890,"ü\u2028"],"m":null}`
	var call sandbox.Call
	got := r.do(t.Context(), sandbox.Request{Code: codeCall, Call: func(_ context.Context, c sandbox.Call) (raw, error) {
		call = c
		return raw(answer), nil
	}})
	if call.Func != "call" || call.Target != "demo__echo" || string(call.Args) != `{"b":1,"a":"x"}` {
		t.Errorf("the host was asked for %q %q %s", call.Func, call.Target, call.Args)
	}
	if want := strings.NewReplacer(`\u2028`, "\u2028").Replace(answer); string(got.Value) != answer && string(got.Value) != want {
		t.Errorf("value %s, want %s; error: %s", got.Value, answer, got.Error)
	}
	if got.Calls != 1 {
		t.Errorf("%d calls counted, 1 made", got.Calls)
	}
	bare := r.do(t.Context(), sandbox.Request{Code: codeCallBare, Call: func(_ context.Context, c sandbox.Call) (raw, error) {
		if c.Args != nil && string(c.Args) != "{}" {
			return nil, fmt.Errorf("argument %q of a call that has none", c.Args)
		}
		return nil, nil
	}})
	bare.want(t, sandbox.ExitOK, "")
}

// The runner joins a server and a tool so that no other two names are joined alike, and
// shows them with a full stop between.
func testCallNames(t *testing.T, r *runnerTest) {
	want := []string{sandbox.JoinTarget("a__b", "c"), sandbox.JoinTarget("a", "b__c"), sandbox.JoinTarget("a.b", "c"), sandbox.JoinTarget("a", "b.c"), "a__b__c"}
	var made []string
	got := r.do(t.Context(), sandbox.Request{Code: codeCallNames, Call: func(_ context.Context, c sandbox.Call) (raw, error) {
		made = append(made, c.Target)
		return c.Args, nil
	}})
	if !slices.Equal(made, want) {
		t.Errorf("the host was asked for %q, want %q", made, want)
	}
	got.want(t, sandbox.ExitOK, `[[1,2,3,4,5],true]`)
}

func testCallTwice(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: codeCallTwice, Call: echo})
	got.want(t, sandbox.ExitOK, `[{"n":1},{"n":2}]`)
	if got.Calls != 2 {
		t.Errorf("%d calls counted, 2 made", got.Calls)
	}
}

// testParallel answers no call before all have come.
func testParallel(t *testing.T, r *runnerTest) {
	var all sync.WaitGroup
	all.Add(12)
	got := r.do(t.Context(), sandbox.Request{Code: codeCallMany, Call: func(ctx context.Context, _ sandbox.Call) (raw, error) {
		all.Done()
		all.Wait()
		return raw("1"), nil
	}})
	got.want(t, sandbox.ExitOK, "12")
}

func testInFlight(t *testing.T, r *runnerTest) {
	for _, limit := range []int{1, 3} {
		var mu sync.Mutex
		var running, most, waiting int
		var order []string
		gate := make(chan struct{})
		got := r.do(t.Context(), sandbox.Request{
			Code:   codeCallMany,
			Limits: sandbox.Limits{InFlight: limit},
			Call: func(ctx context.Context, c sandbox.Call) (raw, error) {
				mu.Lock()
				order = append(order, string(c.Args))
				running++
				most = max(most, running)
				mine := gate
				if waiting++; waiting == limit { // full: let these go
					waiting = 0
					gate = make(chan struct{})
					close(mine)
				}
				mu.Unlock()
				select {
				case <-mine:
				case <-ctx.Done():
				}
				mu.Lock()
				running--
				mu.Unlock()
				return c.Args, ctx.Err()
			},
		})
		got.want(t, sandbox.ExitOK, "12")
		if most != limit {
			t.Errorf("at most %d calls ran at one time, want %d", most, limit)
		}
		if limit == 1 && !slices.Equal(order, countedArgs(12)) {
			t.Errorf("calls came in the order %v", order)
		}
	}
}

func countedArgs(n int) []string {
	args := make([]string, n)
	for i := range args {
		args[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	return args
}

func testCallLimit(t *testing.T, r *runnerTest) {
	made := 0
	got := r.do(t.Context(), sandbox.Request{
		Code:   codeCallOverLimit,
		Limits: sandbox.Limits{Calls: 5},
		Call: func(_ context.Context, c sandbox.Call) (raw, error) {
			made++
			return c.Args, nil
		},
	})
	got.want(t, sandbox.ExitOK, "5")
	if made != 5 || got.Calls != 5 {
		t.Errorf("%d calls made, %d counted, want 5", made, got.Calls)
	}
	if want := "limit of 5 calls per run"; !strings.Contains(got.stdout, want) {
		t.Errorf("the program was told %q, want %q in it", got.stdout, want)
	}
}

func testBigArgument(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{
		Code:   codeBigArg,
		Limits: sandbox.Limits{ResultBytes: 64 << 10},
		Call:   echo,
	})
	if got.ExitCode != 0 || !strings.Contains(string(got.Value), "limit of 64 KiB") {
		t.Errorf("exit code %d, value %.200s, error %s; want the limit named", got.ExitCode, got.Value, got.Error)
	}
	if got.Calls != 0 {
		t.Errorf("%d calls counted, none was made", got.Calls)
	}
}

func testCallError(t *testing.T, r *runnerTest) {
	fail := func(err error) sandbox.CallFunc {
		return func(context.Context, sandbox.Call) (raw, error) { return nil, err }
	}
	toolError := &sandbox.CallError{
		Name: "ToolError", Message: "no such file",
		Fields: raw(`{"server":"demo","code":"not_found"}`),
	}
	r.do(t.Context(), sandbox.Request{Code: codeCatch, Call: fail(fmt.Errorf("wrapped: %w", toolError))}).
		want(t, sandbox.ExitOK, `["ToolError","no such file","demo","not_found"]`)
	r.do(t.Context(), sandbox.Request{Code: codeCatch, Call: fail(errors.New("plain"))}).
		want(t, sandbox.ExitOK, `["Error","plain",null,null]`)
	r.do(t.Context(), sandbox.Request{Code: codeCall, Call: fail(toolError)}).
		want(t, sandbox.ExitThrew, "", "no such file")
}

func testNoCalls(t *testing.T, r *runnerTest) {
	r.do(t.Context(), sandbox.Request{Code: codeCall}).want(t, sandbox.ExitThrew, "", "without tools")
}

func testLargeAnswer(t *testing.T, r *runnerTest) {
	const n = 2 << 20
	got := r.do(t.Context(), sandbox.Request{Code: codeLength, Call: func(context.Context, sandbox.Call) (raw, error) {
		return raw(`"` + strings.Repeat("x", n) + `"`), nil
	}})
	got.want(t, sandbox.ExitOK, fmt.Sprint(n))
}

func testHugeAnswer(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{
		Code:   codeCatch,
		Limits: sandbox.Limits{MemoryBytes: 64 << 20},
		Call: func(context.Context, sandbox.Call) (raw, error) {
			return raw(`"` + strings.Repeat("x", 33<<20) + `"`), nil
		},
	})
	if got.ExitCode != 0 || !strings.Contains(string(got.Value), "half of the memory limit of 64 MiB") || !strings.Contains(string(got.Value), "answer_too_large") {
		t.Errorf("exit code %d, value %.300s, error %s; want the limit named", got.ExitCode, got.Value, got.Error)
	}
}

func testOutputLimit(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: codePrintMuch, Limits: sandbox.Limits{OutputBytes: 1<<20 + 1}})
	got.want(t, sandbox.ExitOK, "")
	if got.StdoutBytes != 3<<20 || len(got.stdout) != 1<<20+1 {
		t.Errorf("%d bytes counted, %d written; want %d and %d", got.StdoutBytes, len(got.stdout), 3<<20, 1<<20+1)
	}
}

// failingWriter fails its test if it is written to after it has failed.
type failingWriter struct {
	t      *testing.T
	failed bool
}

func (w *failingWriter) Write([]byte) (int, error) {
	if w.failed {
		w.t.Error("written to after it failed")
	}
	w.failed = true
	return 0, io.ErrClosedPipe
}

func testFailingWriter(t *testing.T, r *runnerTest) {
	got := r.do(t.Context(), sandbox.Request{Code: codePrintMuch, Stdout: &failingWriter{t: t}})
	got.want(t, sandbox.ExitOK, "")
	if got.StdoutBytes != 3<<20 {
		t.Errorf("%d bytes counted, want %d", got.StdoutBytes, 3<<20)
	}
}

func testResultLimit(t *testing.T, r *runnerTest) {
	r.do(t.Context(), sandbox.Request{Code: codeBigResult, Limits: sandbox.Limits{ResultBytes: 64 << 10}}).
		want(t, sandbox.ExitThrew, "", "result", "limit of 64 KiB")
	got := r.do(t.Context(), sandbox.Request{Code: codeBigResult})
	if got.ExitCode != 0 || len(got.Value) != 200*1024+2 {
		t.Errorf("exit code %d, %d bytes of result, error %q; want 0 and %d", got.ExitCode, len(got.Value), got.Error, 200*1024+2)
	}
}

func testCodeLimit(t *testing.T, r *runnerTest) {
	r.do(t.Context(), sandbox.Request{Code: strings.Repeat("(", 1<<20)}).
		want(t, sandbox.ExitRefused, "", "1 MiB", "limit of 256 KiB", "0 tools called")
	r.do(t.Context(), sandbox.Request{Code: codeAdd, Limits: sandbox.Limits{CodeBytes: len(codeAdd)}}).
		want(t, sandbox.ExitOK, "2")
}

func testLanguage(t *testing.T, r *runnerTest) {
	r.do(t.Context(), sandbox.Request{Code: codeAdd, Language: "cobol"}).
		want(t, sandbox.ExitRefused, "", "cobol", "typescript")
}

// hang is a call that ends only with its context, and says so.
func hang(calling, ended chan<- struct{}) sandbox.CallFunc {
	return func(ctx context.Context, _ sandbox.Call) (raw, error) {
		close(calling)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}
}

func testCancel(t *testing.T, r *runnerTest) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calling, callEnded := make(chan struct{}), make(chan struct{})
	go func() {
		<-calling
		cancel()
	}()
	got := r.do(ctx, sandbox.Request{Code: codeCall, Call: hang(calling, callEnded)})
	got.want(t, sandbox.ExitCanceled, "", "cancelled")
	select {
	case <-callEnded:
	default:
		t.Error("Run returned before its call did")
	}
}

func testCanceledBefore(t *testing.T, r *runnerTest) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := r.do(ctx, sandbox.Request{Code: codeCall, Call: echo})
	got.want(t, sandbox.ExitCanceled, "", "cancelled")
	if got.Calls != 0 {
		t.Errorf("%d calls were made", got.Calls)
	}
}

func testTimeout(t *testing.T, r *runnerTest) {
	calling, callEnded := make(chan struct{}), make(chan struct{})
	got := r.do(t.Context(), sandbox.Request{
		Code:   codeCall,
		Limits: sandbox.Limits{Timeout: 250 * time.Millisecond},
		Call:   hang(calling, callEnded),
	})
	got.want(t, sandbox.ExitTimeout, "", "time limit of 0.25 s")
	select {
	case <-calling:
		<-callEnded
	default: // a machine so busy that the program did not come that far
	}
}

func testDeadline(t *testing.T, r *runnerTest) {
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	got := r.do(ctx, sandbox.Request{Code: codeCall, Call: func(ctx context.Context, _ sandbox.Call) (raw, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	got.want(t, sandbox.ExitTimeout, "", "time limit")
}

func testConcurrent(t *testing.T, r *runnerTest) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			answer := fmt.Sprintf(`{"run":%d}`, i)
			got := r.do(t.Context(), sandbox.Request{Code: codeCall, Call: func(context.Context, sandbox.Call) (raw, error) {
				return raw(answer), nil
			}})
			got.want(t, sandbox.ExitOK, answer)
		})
	}
	wg.Wait()
}

// testPause lets a call wait for longer than the whole run may take.
func testPause(t *testing.T, r *runnerTest) {
	limits := sandbox.Limits{Timeout: 4 * time.Second}
	got := r.do(t.Context(), sandbox.Request{Code: codeCallTwice, Limits: limits, Call: func(ctx context.Context, c sandbox.Call) (raw, error) {
		if string(c.Args) != `{"n":1}` {
			return c.Args, nil
		}
		resume, again := sandbox.Pause(ctx), sandbox.Pause(ctx)
		again()
		again() // counts once
		person := time.NewTimer(limits.Timeout + limits.Timeout/10)
		<-person.C
		resume()
		return c.Args, ctx.Err()
	}})
	got.want(t, sandbox.ExitOK, `[{"n":1},{"n":2}]`)
}

func testTimeoutAfterPause(t *testing.T, r *runnerTest) {
	limits := sandbox.Limits{Timeout: 500 * time.Millisecond}
	got := r.do(t.Context(), sandbox.Request{Code: codeCall, Limits: limits, Call: func(ctx context.Context, _ sandbox.Call) (raw, error) {
		sandbox.Pause(ctx)()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	got.want(t, sandbox.ExitTimeout, "", "time limit of 0.5 s reached")
}

func testCancelPaused(t *testing.T, r *runnerTest) {
	ctx, cancel := context.WithCancel(t.Context())
	got := r.do(ctx, sandbox.Request{Code: codeCall, Call: func(ctx context.Context, _ sandbox.Call) (raw, error) {
		defer sandbox.Pause(ctx)()
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	got.want(t, sandbox.ExitCanceled, "", "cancelled")
}
