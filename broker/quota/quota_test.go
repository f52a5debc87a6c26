package quota_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

func tool(server, name string) *discovery.Tool {
	return policy.NewTool(discovery.Listing{Server: server}, name)
}

func tools(t testing.TB, names ...string) policy.Patterns {
	t.Helper()
	p, err := policy.NewPatterns(names)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// made is how many of n calls a limiter lets through.
func made(t testing.TB, l *quota.Limiter, c quota.Call, n int) (ok int) {
	t.Helper()
	for range n {
		_, err := l.Take(context.Background(), c)
		if _, spent := errors.AsType[*quota.Spent](err); err != nil && !spent {
			t.Fatal(err)
		}
		if err == nil {
			ok++
		}
	}
	return ok
}

func TestWhatCounts(t *testing.T) {
	hour := func(n int, per ...quota.Dimension) *quota.Rule {
		return &quota.Rule{Per: per, Amount: n, Every: time.Hour, Burst: n}
	}
	issues, mail := tool("github", "list_issues"), tool("mail", "send")
	ann, bob := quota.Call{User: "ann", Team: "a", Tool: issues}, quota.Call{User: "bob", Team: "a", Tool: issues}
	for name, c := range map[string]struct {
		rule  *quota.Rule
		calls []quota.Call
		want  []int
	}{
		"all":        {hour(3), []quota.Call{ann, bob}, []int{3, 0}},
		"user":       {hour(3, quota.User), []quota.Call{ann, bob, {User: "ann", Tool: mail}}, []int{3, 3, 0}},
		"team":       {hour(3, quota.Team), []quota.Call{ann, bob, {User: "eve", Tool: mail}}, []int{3, 0, 3}},
		"server":     {hour(3, quota.Server), []quota.Call{ann, bob, {User: "ann", Tool: mail}}, []int{3, 0, 3}},
		"tool":       {hour(3, quota.Tool), []quota.Call{ann, {User: "ann", Tool: tool("github", "get")}, bob}, []int{3, 3, 0}},
		"both":       {hour(3, quota.User, quota.Server), []quota.Call{ann, bob, {User: "ann", Tool: mail}}, []int{3, 3, 3}},
		"executions": {&quota.Rule{Executions: true, Amount: 2, Every: time.Hour, Burst: 2}, []quota.Call{ann, {User: "ann"}}, []int{9, 2}},
		"calls":      {hour(3), []quota.Call{{User: "ann"}}, []int{9}},
		"profile":    {&quota.Rule{Profile: "ci", Amount: 2, Every: time.Hour, Burst: 2}, []quota.Call{ann, {Profiles: []string{"x", "ci"}, Tool: mail}}, []int{9, 2}},
		"tools":      {&quota.Rule{Tools: tools(t, "mail.*"), Names: []string{"mail.*"}, Amount: 2, Every: time.Hour, Burst: 2}, []quota.Call{ann, {Tool: mail}}, []int{9, 2}},
		"burst":      {&quota.Rule{Amount: 3600, Every: time.Hour, Burst: 2}, []quota.Call{ann}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			l := quota.New([]*quota.Rule{c.rule}, nil, nil)
			defer l.Close()
			for i, call := range c.calls {
				if got := made(t, l, call, 9); got != c.want[i] {
					t.Errorf("%d calls of %+v; want %d", got, call, c.want[i])
				}
			}
		})
	}
}

func TestWords(t *testing.T) {
	r := &quota.Rule{Per: []quota.Dimension{quota.User, quota.Server}, Names: []string{"github.*"}, Amount: 100, Every: 90 * time.Minute}
	if got, want := r.String(), "100 calls of github.* per user and server in 1h30m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for every, want := range map[time.Duration]string{time.Hour: "1h", time.Minute: "1m", 10 * time.Second: "10s", 24 * time.Hour: "24h", 30 * time.Minute: "30m"} {
		if got := (&quota.Rule{Executions: true, Amount: 7, Every: every}).String(); got != "7 executions in "+want {
			t.Errorf("%v: %q", every, got)
		}
	}
}

// What one quota refuses counts in no other, and what was not sent can be taken back.
func TestNothingCountsTwice(t *testing.T) {
	all := &quota.Rule{Amount: 10, Every: time.Hour, Burst: 10}
	each := &quota.Rule{Per: []quota.Dimension{quota.User}, Amount: 2, Every: time.Hour, Burst: 2}
	for name, buckets := range map[string]state.Buckets{"alone": nil, "shared": &state.MemoryBuckets{}} {
		t.Run(name, func(t *testing.T) {
			l := quota.New([]*quota.Rule{all, each}, buckets, nil)
			defer l.Close()
			ann := quota.Call{User: "ann", Tool: tool("s", "t")}
			undo, err := l.Take(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			undo()
			if n := made(t, l, ann, 50); n != 2 {
				t.Errorf("ann made %d calls", n)
			}
			n := 0
			for i := range 20 {
				n += made(t, l, quota.Call{User: fmt.Sprint(i), Tool: ann.Tool}, 1)
			}
			if n != 8 {
				t.Errorf("others made %d of 8 calls", n)
			}
			l.Set([]*quota.Rule{all}) // buckets stay
			if n := made(t, l, ann, 1); n != 0 {
				t.Error("a reload filled the bucket")
			}
		})
	}
}

// asked counts the questions to buckets, and fails while it is away.
type asked struct {
	state.MemoryBuckets
	takes, returns atomic.Int64
	away           atomic.Bool
}

var errAway = errors.New("away")

func (a *asked) TakeTokens(ctx context.Context, b state.Bucket, want int) (int, time.Duration, error) {
	a.takes.Add(1)
	if a.away.Load() {
		return 0, 0, errAway
	}
	return a.MemoryBuckets.TakeTokens(ctx, b, want)
}

func (a *asked) ReturnTokens(ctx context.Context, b state.Bucket, n int) error {
	a.returns.Add(1)
	if a.away.Load() {
		return errAway
	}
	return a.MemoryBuckets.ReturnTokens(ctx, b, n)
}

// Three brokers at full speed have together what the bucket had, to the last token, and
// ask it about once a second.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets := &asked{}
		rule := quota.Rule{Amount: 36_000, Every: time.Minute, Burst: 600} // 600 a second
		call := quota.Call{Tool: tool("s", "t")}
		var brokers []*quota.Limiter
		for range 3 {
			brokers = append(brokers, quota.New([]*quota.Rule{new(rule)}, buckets, nil))
		}
		n := 0
		for range 10_000 { // 10 s with a demand of 3,000 a second
			for _, l := range brokers {
				n += made(t, l, call, 1)
			}
			time.Sleep(time.Millisecond)
		}
		if most, least := 600+6000, 6000*95/100; n > most || n < least {
			t.Errorf("%d calls in 10 s; want %d to %d", n, least, most)
		}
		if asks := buckets.takes.Load(); asks > 10*3*12 {
			t.Errorf("the bucket was asked %d times in 10 s by 3 brokers", asks)
		}
		for _, l := range brokers {
			l.Close()
		}
		time.Sleep(10 * time.Second)
		if got, _, _ := buckets.TakeTokens(t.Context(), state.Bucket{Key: "other", Rate: 1, Burst: 1}, 1); got != 1 {
			t.Error("another bucket is empty")
		}
	})
}

// What a broker has taken ahead is there for others a second later, and when it ends.
func TestLeasesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets := &asked{}
		rule := quota.Rule{Amount: 100, Every: 24 * time.Hour, Burst: 100}
		call := quota.Call{Tool: tool("s", "t")}
		first, second := quota.New([]*quota.Rule{new(rule)}, buckets, nil), quota.New([]*quota.Rule{new(rule)}, buckets, nil)
		if n := made(t, first, call, 40); n != 40 {
			t.Fatalf("%d calls", n)
		}
		time.Sleep(2500 * time.Millisecond)
		if n := made(t, second, call, 30); n != 30 {
			t.Errorf("the second broker made %d of 30 calls after the lease of the first", n)
		}
		second.Close()
		if n := made(t, first, call, 50); n != 30 {
			t.Errorf("the first broker made %d of the 30 calls that are left", n)
		}
		first.Close()
	})
}

// While the buckets are away, what reads goes on within the quota, and what may change
// something is refused; the buckets are asked once a second.
func TestBucketsThatAreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets := &asked{}
		l := quota.New([]*quota.Rule{{Amount: 50, Every: time.Hour, Burst: 50}}, buckets, nil)
		defer l.Close()
		buckets.away.Store(true)
		read, write := quota.Call{Tool: tool("s", "t")}, quota.Call{Tool: tool("s", "t"), Write: true}
		if n := made(t, l, read, 100); n != 50 {
			t.Errorf("%d reads; want the 50 of the quota", n)
		}
		_, err := l.Take(t.Context(), write)
		if _, ok := errors.AsType[*quota.Unknown](err); !ok || !errors.Is(err, errAway) {
			t.Errorf("a write: %v", err)
		}
		if n := buckets.takes.Load(); n > 1 {
			t.Errorf("the buckets were asked %d times at once", n)
		}
		buckets.away.Store(false)
		time.Sleep(1100 * time.Millisecond)
		if _, err := l.Take(t.Context(), write); err != nil {
			t.Errorf("a write afterwards: %v", err)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	rule := &quota.Rule{Per: []quota.Dimension{quota.User, quota.Server}, Amount: quota.MaxAmount, Every: time.Second, Burst: quota.MaxAmount}
	call := quota.Call{User: "ann", Tool: tool("github", "list_issues")}
	for name, l := range map[string]*quota.Limiter{
		"none": quota.New(nil, nil, nil), "memory": quota.New([]*quota.Rule{rule}, nil, nil), "leases": quota.New([]*quota.Rule{rule}, &state.MemoryBuckets{}, nil),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Take(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
		l.Close()
	}
}
