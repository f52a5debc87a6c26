package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Costs are what one thing takes, in milliseconds of one processor unless their
// names say otherwise.
type Costs struct {
	// Request is what a broker does for execute_code but for the script itself,
	// Execution what the process of the script takes, Call what a call takes in
	// both, Search an answer of search_tools.
	Request   float64 `json:"request_ms"`
	Execution float64 `json:"execution_ms"`
	Call      float64 `json:"call_ms"`
	Search    float64 `json:"search_ms"`
	// Rows are what the database does for an execution and for each call of it,
	// Intent for a call that writes, whose intent is committed before it leaves.
	ExecutionRows float64 `json:"execution_rows_ms"`
	CallRow       float64 `json:"call_row_ms"`
	Intent        float64 `json:"intent_ms"`
	// Flush is the time (not of a processor) until a commit is on the disk. All
	// that wait for one share it.
	Flush float64 `json:"flush_ms"`
	// Wait is the rest of the time of an execution without calls on an idle machine.
	Wait float64 `json:"wait_ms"`
	// Client is what a client takes for one execution. It has its own machine but
	// in check.
	Client float64 `json:"client_ms"`
	// WorkerMB is the memory of the process of a running script, ProcessMB that of
	// a server that runs for one person, RowBytes the size of a row of the record.
	WorkerMB  float64 `json:"worker_mb"`
	ProcessMB float64 `json:"process_mb"`
	RowBytes  float64 `json:"row_bytes"`
}

func (c Costs) check() error {
	for _, v := range []float64{c.Request, c.Execution, c.Call, c.Search, c.ExecutionRows, c.CallRow, c.Intent, c.Flush, c.Wait, c.Client, c.WorkerMB, c.ProcessMB, c.RowBytes} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("a cost below zero")
		}
	}
	return nil
}

// A Fleet is what serves the day.
type Fleet struct {
	Brokers, BrokerCores int
	// Sandboxes are the machines of broker sandboxd; with none scripts run beside
	// their broker.
	Sandboxes, SandboxCores int
	PostgresCores           int
	// Places is how many scripts one broker runs at one time (its
	// sandbox.maxExecutions); 0 is the broker's default.
	Places int
	// OneHost puts brokers, scripts, database and clients on the same
	// BrokerCores processors.
	OneHost bool
}

// DefaultFleet is a small one.
func DefaultFleet() Fleet {
	return Fleet{Brokers: 3, BrokerCores: 2, Sandboxes: 3, SandboxCores: 4, PostgresCores: 4}
}

func (f Fleet) check() error {
	if f.Brokers < 1 || f.BrokerCores < 1 || f.PostgresCores < 1 || f.Sandboxes < 0 || f.Sandboxes > 0 && f.SandboxCores < 1 {
		return errors.New("a fleet has at least one broker and one processor for each part")
	}
	return nil
}

func (f Fleet) places() int {
	if f.Places > 0 {
		return f.Places
	}
	return min(max(4*f.BrokerCores, 8), 64)
}

// A Day is what people and agents do.
type Day struct {
	Executions float64 // in 24 hours
	Searches   float64 // for each execution
	// Hours are the shares of the 24 hours.
	Hours [24]float64
	// Scripts are what executions look like; each simulated one is a copy of one
	// of them, by chance.
	Scripts []Script
	// Source says where Scripts and Hours are from.
	Source string

	People, PeakShare, OwnProcesses, UpstreamLimit float64
	BigResults, BigResultKB                        float64 // share of executions, size
}

// A Script is one execution: its own processor time (0 if it is not known), and
// its calls, which follow each other.
type Script struct {
	CPU   float64 // ms beside what Costs has
	Calls []Call
}

// A Call is what its server takes, in ms, and whether it writes.
type Call struct {
	Took  float64
	Write bool
}

// DefaultDay is 1,000,000 executions of 8 calls, 2 of which write, and 2 s, five
// times as many in the busiest hour as in the mean.
func DefaultDay() Day {
	d := Day{
		Executions: 1e6, Searches: 1.5, People: 10_000, PeakShare: 0.05, OwnProcesses: 0, UpstreamLimit: 5000, BigResults: 0.05, BigResultKB: 200,
		Source: "assumed (8 calls of 250 ms on average, every fourth writes; the busiest hour has 5 times the average)",
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		var s Script
		for i := range poisson(r, 8) {
			s.Calls = append(s.Calls, Call{Took: r.ExpFloat64() * 250, Write: i%4 == 3})
		}
		d.Scripts = append(d.Scripts, s)
	}
	// One bell over the day whose top is 5/24.
	var sum float64
	for h := range d.Hours {
		x := (float64(h) - 14) / 1.9
		d.Hours[h] = math.Exp(-x * x / 2)
		sum += d.Hours[h]
	}
	for h := range d.Hours {
		d.Hours[h] /= sum
	}
	return d
}

func (d Day) check() error {
	if d.Executions <= 0 || d.Executions > 1e12 || len(d.Scripts) == 0 || d.Searches < 0 {
		return errors.New("a day has executions")
	}
	return nil
}

// Busiest is the hour with the largest share, and that share.
func (d Day) Busiest() (hour int, share float64) {
	for h, s := range d.Hours {
		if s > share {
			hour, share = h, s
		}
	}
	return hour, share
}

// calls and writes are the means of one execution.
func (d Day) calls() (calls, writes, took, cpu float64) {
	for _, s := range d.Scripts {
		cpu += s.CPU
		for _, c := range s.Calls {
			calls++
			took += c.Took
			if c.Write {
				writes++
			}
		}
	}
	n := float64(len(d.Scripts))
	return calls / n, writes / n, took / n, cpu / n
}

func poisson(r *rand.Rand, mean float64) int {
	n, p := 0, r.Float64()
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= r.Float64()
	}
	return n
}

// A Load is how much of each resource the busiest hour asks for: 1 is all of it.
type Load struct {
	Name string
	Load float64
	// Needs says how much of it is asked for.
	Needs string
	// Fix says what helps.
	Fix string
}

// Loads are those of a fleet at so many executions a second, the fullest first is
// left to the caller.
func Loads(d Day, c Costs, f Fleet, perSecond float64) []Load {
	calls, writes, took, cpu := d.calls()
	front := perSecond * (c.Request + c.Search*d.Searches + c.Call*calls/2)
	script := perSecond * (c.Execution + cpu + c.Call*calls/2)
	db := perSecond * (c.ExecutionRows + c.CallRow*calls + c.Intent*writes)
	inFlight := perSecond * (c.Wait + c.Request + c.Execution + cpu + took + c.Call*calls + (writes+1)*c.Flush) / 1000
	loads := []Load{}
	add := func(name string, load float64, needs, fix string) {
		loads = append(loads, Load{name, load, needs, fix})
	}
	cores := func(ms float64) string { return fmt.Sprintf("%.2g processors", ms/1000) }
	brokerCores := float64(f.Brokers * f.BrokerCores)
	if f.Sandboxes == 0 {
		add("brokers and scripts", (front+script)/1000/brokerCores, cores(front+script), "more brokers")
	} else {
		add("brokers", front/1000/brokerCores, cores(front), "more brokers")
		add("sandboxes", script/1000/float64(f.Sandboxes*f.SandboxCores), cores(script), "more of sandboxd")
	}
	add("places for scripts", inFlight/float64(f.places()*f.Brokers), fmt.Sprintf("%.0f scripts at once, %.1f GB", inFlight, inFlight*c.WorkerMB/1024), "a larger sandbox.maxExecutions (with sandboxd, also its --max-executions), and the memory for it")
	add("database, processors", db/1000/float64(f.PostgresCores), cores(db), "a larger machine; then one database for each group of teams")
	add("database, flushes of its log", perSecond*(1+writes)*c.Flush/1000/groupCommit, fmt.Sprintf("%.0f commits/s", perSecond*(1+writes)), "a quicker disk; then one database for each group of teams")
	if d.People > 0 && d.UpstreamLimit > 0 {
		hour := perSecond * 3600 * calls / (d.People * d.PeakShare)
		add("limit of an upstream for one person", hour/d.UpstreamLimit, fmt.Sprintf("%.0f calls an hour of each active person", hour), "fewer, larger calls; no broker can raise it")
	}
	return loads
}

// groupCommit is how many commits one flush of the log takes with it at the most.
// PostgreSQL has no such limit; its processors give way before.
const groupCommit = 64
