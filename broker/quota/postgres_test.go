package quota_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/postgres"
)

var (
	server    *postgrestest.Server
	serverErr error
)

func TestMain(m *testing.M) {
	postgrestest.Main(m, func(s *postgrestest.Server, err error) { server, serverErr = s, err })
}

// A counted asks the buckets of a database, and counts how often.
type counted struct {
	state.Buckets
	asked
}

func (c *counted) TakeTokens(ctx context.Context, b state.Bucket, want int) (int, time.Duration, error) {
	c.takes.Add(1)
	return c.Buckets.TakeTokens(ctx, b, want)
}

func (c *counted) ReturnTokens(ctx context.Context, b state.Bucket, n int) error {
	c.returns.Add(1)
	return c.Buckets.ReturnTokens(ctx, b, n)
}

func shared(t testing.TB, at string, rule quota.Rule) (*quota.Limiter, *counted) {
	t.Helper()
	d, err := postgres.Connect(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := &counted{Buckets: d.Buckets()}
	l := quota.New([]*quota.Rule{&rule}, c, nil)
	t.Cleanup(func() {
		l.Close()
		d.Close()
	})
	return l, c
}

// Three brokers at full speed make no more calls than their quota has, and nearly as
// many, with a few questions to the database each second.
func TestQuotaOfThreeBrokers(t *testing.T) {
	const rate, burst, during = 2000, 1000, 2 * time.Second
	at := postgrestest.Need(t, server, serverErr).Address()
	rule := quota.Rule{Amount: 60 * rate, Every: time.Minute, Burst: burst}
	call := quota.Call{Tool: tool("s", "t")}
	var wg sync.WaitGroup
	made, asks := make([]int, 6), int64(0)
	var brokers []*counted
	var limiters []*quota.Limiter
	for range 3 {
		l, c := shared(t, at, rule)
		limiters, brokers = append(limiters, l), append(brokers, c)
	}
	began := time.Now()
	for i := range made {
		wg.Go(func() {
			for time.Since(began) < during {
				if _, err := limiters[i%3].Take(context.Background(), call); err == nil {
					made[i]++
				} else if _, spent := errors.AsType[*quota.Spent](err); spent {
					time.Sleep(100 * time.Microsecond) // the processors are for the database too
				} else {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	took, sum := time.Since(began), 0
	for _, n := range made {
		sum += n
	}
	for _, c := range brokers {
		asks += c.takes.Load() + c.returns.Load()
	}
	most := burst + rate*took.Seconds()
	t.Logf("%d calls in %v, %.1f %% of the quota; %.1f questions per broker and second", sum, took, 100*float64(sum)/most, float64(asks)/3/took.Seconds())
	if float64(sum) > most || float64(sum) < 0.8*most {
		t.Errorf("%d calls in %v; want at most %.0f, and nearly as many", sum, took, most)
	}
	if asks > 3*15*int64(during.Seconds()) {
		t.Errorf("the database was asked %d times in %v by 3 brokers", asks, took)
	}
}

// A benchmark of what a quota adds to a call of brokers that share a database: a lease is
// asked for about once a second.
func BenchmarkTakeShared(b *testing.B) {
	at := postgrestest.Need(b, server, serverErr).Address()
	for _, users := range []int{1, 100} {
		b.Run(fmt.Sprintf("users=%d", users), func(b *testing.B) {
			l, c := shared(b, at, quota.Rule{Per: []quota.Dimension{quota.User}, Amount: quota.MaxAmount, Every: time.Minute, Burst: quota.MaxAmount})
			calls := make([]quota.Call, users)
			for i := range calls {
				calls[i] = quota.Call{User: fmt.Sprint("user", i), Tool: &discovery.Tool{}}
			}
			var took []time.Duration
			i := 0
			for b.Loop() {
				began := time.Now()
				if _, err := l.Take(b.Context(), calls[i%users]); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				i++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
			b.ReportMetric(float64(c.takes.Load())/float64(len(took))*1e6, "asks/1M")
		})
	}
}
