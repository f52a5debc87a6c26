package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// DefaultCosts are those of docs/performance.md, as fleetsim measure wrote them.
func DefaultCosts() Costs {
	return Costs{
		Request: 4, Execution: 8, Call: 1, Search: 2, ExecutionRows: 0.1, CallRow: 0.02, Intent: 0.2, Flush: 2, Wait: 2, Client: 1,
		WorkerMB: 30, ProcessMB: 80, RowBytes: 253,
	}
}

// Delay is how long the upstream of measure and check takes for each call, in ms.
const delay = 5

// The scripts of measure and check.
const (
	noCalls    = `return 1 + 1`
	eightReads = `for (let i = 0; i < 8; i++) await callMCPTool('meter__read', {n: i}); return 8`
	fourWrites = `for (let i = 0; i < 4; i++) await callMCPTool('meter__write', {n: i}); return 4`
	mixed      = `for (let i = 0; i < 8; i++) await callMCPTool(i % 4 === 3 ? 'meter__write' : 'meter__read', {n: i}); return 8`
)

func flags(name string, args []string, stderr io.Writer) (broker, state string, seconds float64, err error) {
	fs := flag.NewFlagSet("fleetsim "+name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&broker, "broker", "", "the broker's `program`")
	fs.StringVar(&state, "state", "", "`address` of an empty PostgreSQL database on this machine")
	fs.Float64Var(&seconds, "seconds", 10, "how long each step takes")
	if err := fs.Parse(args); err != nil {
		return "", "", 0, err
	}
	if broker == "" || state == "" {
		return "", "", 0, errors.New("--broker and --state are needed")
	}
	if runtime.GOOS != "linux" {
		return "", "", 0, errors.New("processor times are read from /proc: this needs Linux")
	}
	return broker, state, seconds, nil
}

func measureCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	program, state, seconds, err := flags("measure", args, stderr)
	if err != nil {
		return err
	}
	costs, err := measure(ctx, program, state, seconds, stderr)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(costs, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s\n", b)
	return err
}

// A sample is what one load has taken, for each execution, in ms of a processor.
type sample struct {
	broker, postgres, client float64
	p50                      float64 // ms
	rate                     float64 // executions a second
}

// measure finds the unit costs with one broker.
func measure(ctx context.Context, program, state string, seconds float64, log io.Writer) (Costs, error) {
	fleet, err := startBrokers(ctx, program, state, 1)
	if err != nil {
		return Costs{}, err
	}
	defer fleet.stop()
	var failed error
	load := func(script string, clients int) sample {
		if failed != nil {
			return sample{}
		}
		var s sample
		s, failed = fleet.load(ctx, script, clients, seconds)
		fmt.Fprintf(log, "%d clients, %s: %.1f/s, p50 %.1f ms, broker %.2f ms, database %.2f ms, client %.2f ms each\n",
			clients, script, s.rate, s.p50, s.broker, s.postgres, s.client)
		return s
	}
	load(mixed, 2) // warm
	alone := load(noCalls, 1)
	none, reads, writes := load(noCalls, 4), load(eightReads, 4), load(fourWrites, 4)
	if failed != nil {
		return Costs{}, failed
	}
	c := DefaultCosts()
	// A third of the processor time of an execution is the broker's own, two thirds
	// that of the script's process: which matters only where these are apart.
	c.Request, c.Execution = none.broker/3, none.broker*2/3
	c.Call = max(0, reads.broker-none.broker) / 8
	c.ExecutionRows = none.postgres
	c.CallRow = max(0, reads.postgres-none.postgres) / 8
	c.Intent = max(0, writes.postgres-none.postgres)/4 - c.CallRow + max(0, writes.broker-none.broker)/4 - c.Call
	c.Intent = max(0, c.Intent)
	c.Client = none.client
	c.Flush = max(0.1, (writes.p50-none.p50)/4-delay-c.Call-c.Intent)
	c.Wait = max(0, alone.p50-none.broker-c.ExecutionRows-c.Client-c.Flush)
	return c, nil
}

// checkCommand loads two brokers and says how far the simulation is off.
func checkCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	program, state, seconds, err := flags("check", args, stderr)
	if err != nil {
		return err
	}
	costs, err := measure(ctx, program, state, seconds, stderr)
	if err != nil {
		return err
	}
	fleet, err := startBrokers(ctx, program, state, 2)
	if err != nil {
		return err
	}
	defer fleet.stop()
	if _, err := fleet.load(ctx, mixed, 2, seconds/2); err != nil {
		return err
	}
	script := Script{}
	for i := range 8 {
		script.Calls = append(script.Calls, Call{Took: delay, Write: i%4 == 3})
	}
	day := Day{Scripts: []Script{script}}
	tw := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "clients\tmeasured\tsimulated\tratio\tp50 measured\tsimulated\tratio\t")
	var worst float64
	for _, clients := range []int{1, 4, 8, 16} {
		got, err := fleet.load(ctx, mixed, clients, seconds)
		if err != nil {
			return err
		}
		s := newSimulation(day, costs, Fleet{Brokers: 2, BrokerCores: runtime.NumCPU(), OneHost: true}, 1)
		s.loop(clients, 60)
		want := s.result(60)
		rate, took := want.Rate()/got.rate, want.P50/got.p50
		worst = max(worst, math.Abs(rate-1))
		fmt.Fprintf(tw, "%d\t%.1f/s\t%.1f/s\t%.2f\t%.0f ms\t%.0f ms\t%.2f\t\n", clients, got.rate, want.Rate(), rate, got.p50, want.P50, took)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if worst > 0.2 {
		return fmt.Errorf("the simulated rate is up to %.0f %% off: more than 20", worst*100)
	}
	fmt.Fprintf(stdout, "two brokers, %d processors for them, their scripts, the database and the clients: rates at most %.0f %% off\n", runtime.NumCPU(), worst*100)
	return nil
}

// load has clients run a script one time after the other.
func (f *fleetOf) load(ctx context.Context, script string, clients int, seconds float64) (sample, error) {
	before, err := f.usage()
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	var mu sync.Mutex
	var took []float64
	var failed error
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c := f.client(i)
			for time.Now().Before(end) && ctx.Err() == nil {
				at := time.Now()
				err := c.execute(ctx, script)
				mu.Lock()
				if err != nil {
					failed = err
					mu.Unlock()
					return
				}
				took = append(took, time.Since(at).Seconds()*1000)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	spent := time.Since(began).Seconds()
	if failed = errors.Join(failed, ctx.Err()); failed != nil {
		return sample{}, failed
	}
	after, err := f.usage()
	if err != nil || len(took) == 0 {
		return sample{}, errors.Join(err, ctx.Err())
	}
	slices.Sort(took)
	n := float64(len(took))
	return sample{
		broker: (after.broker - before.broker) / n, postgres: (after.postgres - before.postgres) / n, client: (after.client - before.client) / n,
		p50: took[len(took)/2], rate: n / spent,
	}, nil
}

// warn is for what cannot stop a measurement.
func warn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleetsim:", err)
	}
}
