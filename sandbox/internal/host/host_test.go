package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

func TestSizesAndTimesReadWell(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 256 << 10: "256 KiB", 3 << 19: "1.5 MiB", 256 << 20: "256 MiB", 5 << 30: "5 GiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		2 * time.Second: "2 s", 100 * time.Second: "100 s", 250 * time.Millisecond: "0.25 s", 1500 * time.Millisecond: "1.5 s", 0: "0 s",
		2999 * time.Millisecond: "3 s", 2990 * time.Millisecond: "2.99 s",
	} {
		if got := Seconds(d); got != want {
			t.Errorf("Seconds(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for _, tt := range []struct {
		s    string
		max  int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aüb", 2, "a…"}, {"üü", 1, "…"}, {"", 0, ""},
	} {
		if got := Cut(tt.s, tt.max); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.max, got, tt.want)
		}
	}
}

func TestTimeoutSaysWhatIsKnown(t *testing.T) {
	limits := sandbox.Limits{Timeout: 2500 * time.Millisecond}
	const unknown = -1
	for _, tt := range []struct {
		calls, running int
		cpu            time.Duration
		said, want     string
	}{
		{3, 0, unknown, "time limit of 3 s reached at agent.ts:3:1\nhint: do less", "time limit of 2.5 s reached at agent.ts:3:1\nhint: do less"},
		{3, 0, unknown, "", "time limit of 2.5 s reached after 3 calls\nhint: give a longer"},
		{1, 0, unknown, "nonsense", "time limit of 2.5 s reached after 1 call\nhint: give a longer"},
		{3, 1, unknown, "", "time limit of 2.5 s reached while 1 call was running\nhint: give a longer"},
		{3, 2, unknown, "", "time limit of 2.5 s reached while 2 calls were running\nhint: give a longer"},
		{0, 0, unknown, "", "time limit of 2.5 s reached before any call was made\nhint: look for a loop"},
		{3, 0, 2400 * time.Millisecond, "time limit of 3 s reached at agent.ts:3:1\nhint: do less",
			"time limit of 2.5 s reached at agent.ts:3:1 (processor time: 2.40 s)\nhint: it was computing"},
		{3, 1, 20 * time.Millisecond, "time limit of 3 s reached while waiting for slow__job\nhint: do less",
			"time limit of 2.5 s reached while waiting for slow__job (processor time: 0.02 s)\nhint: it was waiting, not computing"},
		{3, 0, 20 * time.Millisecond, "time limit of 3 s reached while waiting for a timer\nhint: do less",
			"time limit of 2.5 s reached while waiting for a timer (processor time: 0.02 s)\nhint: do less"},
		{0, 0, 20 * time.Millisecond, "time limit of 2.499 s reached while waiting at agent.py:2",
			"time limit of 2.5 s reached while waiting at agent.py:2 (processor time: 0.02 s)\nhint: it was waiting, not computing"},
		{3, 0, 20 * time.Millisecond, "", "time limit of 2.5 s reached after 3 calls (processor time: 0.02 s)\nhint: it was waiting, not computing"},
		{0, 0, time.Second, "", "time limit of 2.5 s reached before any call was made (processor time: 1.00 s)\nhint: look for a loop"},
		{0, 0, 2400 * time.Millisecond, "", "time limit of 2.5 s reached before any call was made (processor time: 2.40 s)\nhint: it was computing"},
	} {
		if got := Timeout(sandbox.TypeScript, limits, tt.calls, tt.running, tt.cpu, tt.said); !strings.HasPrefix(got, tt.want) {
			t.Errorf("Timeout(%d, %d, %v, %q) = %q, want %q in front", tt.calls, tt.running, tt.cpu, tt.said, got, tt.want)
		}
	}
}

func TestTimeoutHintsInTheLanguageOfTheProgram(t *testing.T) {
	for language, want := range map[sandbox.Language]string{
		"": "Promise.all", sandbox.JavaScript: "Promise.all", sandbox.Python: "asyncio.gather",
	} {
		for _, cpu := range []time.Duration{-1, 0} {
			if got := Timeout(language, sandbox.Limits{Timeout: time.Second}, 1, 1, cpu, ""); !strings.Contains(got, want) {
				t.Errorf("%q: %q, want %s in it", language, got, want)
			}
		}
	}
}

func TestCanceledTellsCauses(t *testing.T) {
	for _, tt := range []struct {
		cause error
		code  int
		says  string
	}{
		{context.Canceled, sandbox.ExitCanceled, "by the caller"},
		{context.DeadlineExceeded, sandbox.ExitTimeout, "time limit"},
		{errors.New("the client is gone"), sandbox.ExitCanceled, "the client is gone"},
	} {
		code, text := Canceled(tt.cause)
		if code != tt.code || !strings.Contains(text, tt.says) {
			t.Errorf("Canceled(%v) = %d, %q; want %d and %q in it", tt.cause, code, text, tt.code, tt.says)
		}
	}
}

func TestFinishTrustsNothing(t *testing.T) {
	limits := sandbox.Limits{ResultBytes: 10}
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("n", 10_000)
	}
	for _, tt := range []struct {
		name   string
		code   int
		value  string
		reason string
		want   sandbox.Result
	}{
		{"a reason without a failure is dropped", 0, "1", "because", sandbox.Result{Value: json.RawMessage("1")}},
		{"a failure without a reason gets one", 7, "", "", sandbox.Result{ExitCode: 7, Error: "the program ended with exit code 7"}},
		{"a result that is too large is a failure", 0, "[1,2,3,4,5]", "", sandbox.Result{ExitCode: 1, Error: ResultTooLarge(limits, 11)}},
		{"but not the failure that is told", 1, "[1,2,3,4,5]", "it threw", sandbox.Result{ExitCode: 1, Error: "it threw"}},
		{"a long reason is cut", 1, "", strings.Repeat("x", MaxErrorBytes+1), sandbox.Result{ExitCode: 1, Error: strings.Repeat("x", MaxErrorBytes) + "…"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got sandbox.Result
			Finish(&got, limits, End{ExitCode: tt.code, Value: json.RawMessage(tt.value), Error: tt.reason, Notes: many})
			if got.ExitCode != tt.want.ExitCode || string(got.Value) != string(tt.want.Value) || got.Error != tt.want.Error {
				t.Errorf("got %d %s %.100q, want %d %s %.100q", got.ExitCode, got.Value, got.Error, tt.want.ExitCode, tt.want.Value, tt.want.Error)
			}
			if len(got.Notes) != maxNotes+1 || len(got.Notes[0]) > maxNoteBytes+4 || !strings.Contains(got.Notes[maxNotes], "900 more") {
				t.Errorf("%d notes, the first of %d bytes, the last %q", len(got.Notes), len(got.Notes[0]), got.Notes[len(got.Notes)-1])
			}
		})
	}
}

// TestRoomHoldsBack starts calls that do not end: the reader is held back when
// too many wait or too much is held, and let go when calls end or the run does.
func TestRoomHoldsBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  json.RawMessage
		fills int // calls after which there is no room
	}{
		{"by number", nil, 2 + maxWaiting + 1},
		{"by size", json.RawMessage(`"` + strings.Repeat("x", 40) + `"`), 3},
	} {
		for _, end := range []string{"a call ends", "the run ends"} {
			t.Run(fmt.Sprintf("%s until %s", tt.name, end), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				release := make(chan struct{}, 1000)
				c := NewCalls(ctx, func(ctx context.Context, _ sandbox.Call) (json.RawMessage, error) {
					select {
					case <-release:
					case <-ctx.Done():
					}
					return nil, nil
				}, sandbox.Limits{Calls: 1000, InFlight: 2, ResultBytes: 1000})
				started := 0
				answered := make(chan struct{}, 1000)
				room := make(chan int, 1000)
				go func() {
					for range tt.fills + 1 {
						c.Start(sandbox.Call{Args: tt.args}, func(json.RawMessage, error) { answered <- struct{}{} })
						started++
						c.Room()
						room <- started
					}
				}()
				for n := 1; n < tt.fills; n++ {
					if got := <-room; got != n {
						t.Fatalf("room after %d calls, want %d", got, n)
					}
				}
				select {
				case n := <-room:
					t.Fatalf("room after %d calls, of which none has ended", n)
				default:
				}
				if end == "a call ends" {
					release <- struct{}{}
				} else {
					cancel()
				}
				<-room
				cancel()
				<-room
				c.Close()
				if len(answered) != tt.fills+1 {
					t.Errorf("%d calls answered, %d started", len(answered), tt.fills+1)
				}
			})
		}
	}
}

// A child that was taken over sends the source of a program that nobody wanted
// to see: who judges it may not have a compiler.
func TestSurveySourceIsRefusedUnlessAskedFor(t *testing.T) {
	judged := false
	talk := Talk{Request: &sandbox.Request{Check: func(context.Context, sandbox.Parsed) sandbox.Verdict { judged = true; return sandbox.Verdict{} }}}
	err := talk.check(t.Context(), wire.Frame{Type: wire.TypeSurvey, Payload: []byte(`{"source":"export {}"}`)})
	if err == nil || judged {
		t.Errorf("check = %v, judged %v; want an error and no judgement", err, judged)
	}
}

// A name that nothing has is refused before it reaches the call, and nothing of
// it is kept.
func TestLongNamesAreRefused(t *testing.T) {
	for _, tt := range []struct {
		call sandbox.Call
		ok   bool
	}{
		{sandbox.Call{Func: "call", Target: strings.Repeat("x", sandbox.MaxNameBytes)}, true},
		{sandbox.Call{Func: "call", Target: strings.Repeat("x", sandbox.MaxNameBytes+1)}, false},
		{sandbox.Call{Func: "store.get", Target: strings.Repeat("x", 4<<20)}, false},
		{sandbox.Call{Func: "tools.search", Target: strings.Repeat("x", sandbox.MaxQueryBytes)}, true},
		{sandbox.Call{Func: "tools.search", Target: strings.Repeat("x", sandbox.MaxQueryBytes+1)}, false},
		{sandbox.Call{Func: strings.Repeat("x", sandbox.MaxNameBytes+1)}, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		c := NewCalls(ctx, func(context.Context, sandbox.Call) (json.RawMessage, error) { made++; return nil, nil }, sandbox.Limits{}.WithDefaults())
		answer := make(chan error, 1)
		c.Start(tt.call, func(_ json.RawMessage, err error) { answer <- err })
		err := <-answer
		cancel()
		c.Close()
		refused, _ := errors.AsType[*sandbox.CallError](err)
		if tt.ok != (err == nil) || tt.ok != (made == 1) || !tt.ok && (refused == nil || len(refused.Message) > 200) {
			t.Errorf("%.20s %.20s of %d bytes: %d calls, %.300v", tt.call.Func, tt.call.Target, len(tt.call.Target), made, err)
		}
	}
}

// A call that does not heed its context is left behind.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		c := NewCalls(ctx, func(context.Context, sandbox.Call) (json.RawMessage, error) { <-release; return nil, nil }, sandbox.Limits{}.WithDefaults())
		answered := false
		c.Start(sandbox.Call{Func: "call"}, func(json.RawMessage, error) { answered = true })
		synctest.Wait()
		cancel()
		start := time.Now()
		c.Close()
		if took := time.Since(start); took != linger {
			t.Errorf("Close took %v, want %v", took, linger)
		}
		close(release)
		synctest.Wait()
		if answered {
			t.Error("a call answered after Close")
		}
	})
}
