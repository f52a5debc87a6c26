package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

func TestAQueueIsARunner(t *testing.T) {
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner {
		return sandbox.NewQueue(sandboxtest.Fake(sandboxtest.SuiteProgram), 2)
	}, sandboxtest.FakeTime)
}

// second is a program that takes a second.
func second(ctx context.Context, _ *sandboxtest.Env) (json.RawMessage, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

func TestAtMostSoManyRunAtOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		q := sandbox.NewQueue(sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			count(1)
			defer count(-1)
			return second(ctx, e)
		}), 4)
		start := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				res, err := q.Run(t.Context(), sandbox.Request{Code: "x"})
				if err != nil || res.ExitCode != 0 {
					t.Errorf("%+v, %v", res, err)
				}
				if waited := res.Duration - time.Second; waited >= time.Second && !strings.Contains(strings.Join(res.Notes, "\n"), "sandbox.maxExecutions") {
					t.Errorf("a run that waited %v has the notes %q", waited, res.Notes)
				}
			})
		}
		all.Wait()
		if most != 4 || time.Since(start) != 13*time.Second {
			t.Errorf("%d ran at one time, all in %v; want 4, in 13 s", most, time.Since(start))
		}
		q.Close()
	})
}

func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		q := sandbox.NewQueue(sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			mu.Lock()
			order = append(order, e.Request.Code)
			mu.Unlock()
			return second(ctx, e)
		}), 1)
		var all sync.WaitGroup
		for _, code := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
			all.Go(func() { q.Run(t.Context(), sandbox.Request{Code: code, Owner: code[:1]}) })
			synctest.Wait() // they come in this order
		}
		all.Wait()
		if want := []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4"}; !slices.Equal(order, want) {
			t.Errorf("ran in the order %v, want %v", order, want)
		}
		q.Close()
	})
}

func TestWaitingEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sandbox.NewQueue(sandboxtest.Fake(second), 1)
		var all sync.WaitGroup
		all.Go(func() { q.Run(t.Context(), sandbox.Request{Code: "first"}) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if res, err := q.Run(ctx, sandbox.Request{Code: "second"}); err != nil || res.ExitCode != sandbox.ExitCanceled {
			t.Errorf("%+v, %v; want that it is cancelled", res, err)
		}
		all.Wait()
		if res, err := q.Run(t.Context(), sandbox.Request{Code: "third"}); err != nil || res.ExitCode != 0 || res.Duration != time.Second {
			t.Errorf("the next one: %+v, %v; want it to run at once", res, err)
		}
		q.Close()
	})
}

// An owner that sends too many programs waits, however long, and is refused when a
// hundred wait; an owner that sends one is not affected.
func TestOneOwnerDoesNotKeepOutAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sandbox.NewQueue(sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			if e.Request.Code == "return 1" {
				return json.RawMessage("1"), nil
			}
			return second(ctx, e)
		}), 2)
		refused := 0
		var all sync.WaitGroup
		for range 110 {
			all.Go(func() {
				res, err := q.Run(t.Context(), sandbox.Request{Code: "long", Owner: "a", Limits: sandbox.Limits{Timeout: 2 * time.Second}})
				if res.ExitCode == sandbox.ExitRefused && strings.Contains(res.Error, "of yours wait already") {
					refused++
				} else if err != nil || res.ExitCode != 0 {
					t.Errorf("%+v, %v", res, err)
				}
			})
			synctest.Wait()
		}
		for range 3 {
			res, err := q.Run(t.Context(), sandbox.Request{Code: "return 1", Owner: "b"})
			if err != nil || string(res.Value) != "1" || res.Duration != 0 {
				t.Errorf("beside it: %+v, %v; want it answered at once", res, err)
			}
		}
		all.Wait()
		if refused != 8 {
			t.Errorf("%d of 110 were refused, want 8: two run, a hundred wait", refused)
		}
		q.Close()
	})
}

func TestARunThatWaitsForAPersonLeavesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sandbox.NewQueue(sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			if e.Request.Code == "asks" {
				return e.Call(ctx, "call", "ask", nil)
			}
			return second(ctx, e)
		}), 1)
		var all sync.WaitGroup
		all.Go(func() {
			res, err := q.Run(t.Context(), sandbox.Request{Code: "asks", Call: func(ctx context.Context, _ sandbox.Call) (json.RawMessage, error) {
				defer sandbox.Pause(ctx)()
				<-time.After(time.Minute)
				return json.RawMessage(`"yes"`), nil
			}})
			if err != nil || string(res.Value) != `"yes"` {
				t.Errorf("%+v, %v", res, err)
			}
		})
		synctest.Wait()
		for i := range 3 {
			if res, err := q.Run(t.Context(), sandbox.Request{Code: fmt.Sprint(i)}); err != nil || res.Duration != time.Second {
				t.Errorf("meanwhile: %+v, %v", res, err)
			}
		}
		all.Wait()
		if res, _ := q.Run(t.Context(), sandbox.Request{Code: "after"}); res.Duration != time.Second {
			t.Errorf("afterwards: %+v", res)
		}
		q.Close()
	})
}

func TestARunLendsOnePlaceHoweverManyOfItsCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		q := sandbox.NewQueue(sandboxtest.Fake(func(ctx context.Context, e *sandboxtest.Env) (json.RawMessage, error) {
			if e.Request.Code == "asks" {
				var calls sync.WaitGroup
				for range 5 {
					calls.Go(func() { _, _ = e.Call(ctx, "call", "ask", nil) }) // it is answered
				}
				calls.Wait()
				return nil, nil
			}
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			defer func() { mu.Lock(); running--; mu.Unlock() }()
			return second(ctx, e)
		}), 1)
		var all sync.WaitGroup
		all.Go(func() {
			q.Run(t.Context(), sandbox.Request{Code: "asks", Call: func(ctx context.Context, _ sandbox.Call) (json.RawMessage, error) {
				defer sandbox.Pause(ctx)()
				<-time.After(time.Minute)
				return nil, nil
			}})
		})
		synctest.Wait()
		for range 20 {
			all.Go(func() { q.Run(t.Context(), sandbox.Request{Code: "other"}) })
		}
		all.Wait()
		if most != 1 {
			t.Errorf("%d ran beside the one that asks five times, want 1", most)
		}
		q.Close()
	})
}

func TestALayerThatIsRequired(t *testing.T) {
	layers := []sandbox.Layer{{Name: "process", Active: true}, {Name: "landlock", Detail: "no such kernel"}}
	for _, tt := range []struct {
		require []string
		says    string
	}{
		{nil, ""},
		{[]string{"process"}, ""},
		{[]string{"process", "landlock"}, "must have landlock, and does not here (landlock: no such kernel)"},
		{[]string{"landlock", "moat"}, "must have landlock and moat"},
	} {
		err := sandbox.RequireLayers(layers, tt.require)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("RequireLayers(%v): %v, want %q", tt.require, err, tt.says)
		}
	}
}
