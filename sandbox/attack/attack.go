// Package attack is a list of hostile programs, and the rules by which a
// sandbox has contained one: it ended in time, it got nothing, it made no more
// calls than it may, it left nothing behind, and the next program runs as if it
// had not been. The tests of every runner go through the list, and so does
// "broker sandbox test" on a user's own machine.
package attack

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A Kind is what attacks are made for: runners differ in what a program can
// reach at all.
type Kind string

// The kinds.
const (
	// JavaScript runs in an engine that has no function of the system. It is
	// the kind if none is named.
	JavaScript Kind = "javascript"
	// Python has all functions of the system: only its container holds it.
	Python Kind = "python"
)

// An Attack is one hostile program.
type Attack struct {
	Name     string
	Group    string           // what it goes for, one word
	Language sandbox.Language // of Code; empty means JavaScript
	Code     string
	// Want is the value, as JSON, with which it ends if it ends well; empty
	// means that any will do.
	Want string
	// Tame reports that even a runner that shares a process with the attack contains it.
	Tame bool
}

// An Outcome is what became of an attack.
type Outcome struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Contained says whether the sandbox held.
	Contained bool `json:"contained"`
	// How it ended, in a few words.
	How string `json:"how"`
	// Problem is what got out; empty if Contained.
	Problem string `json:"problem,omitempty"`
	// ExitCode is the program's.
	ExitCode int `json:"exit_code"`
	// Took is how long the program ran.
	Took time.Duration `json:"took_ns"`
}

// Options adjust Run. The zero value works.
type Options struct {
	// Kind is the kind of the attacks; empty means JavaScript.
	Kind Kind
	// Timeout and MemoryBytes limit each attack; zero means 1 s and 128 MiB.
	Timeout     time.Duration
	MemoryBytes int64
	// Parallel is how many attacks run at one time; zero means one for each
	// processor.
	Parallel int
	// Tame selects the attacks that are Tame, for a runner that shares a process with them.
	Tame bool
	// Groups are the groups of attacks to run; empty means all.
	Groups []string
	// Every runs only every n-th of the selected attacks, for runners that are slow
	// to start; zero means all.
	Every int
	// Run runs a program whose calls of Tools are answered by req.Call. If it is nil,
	// the program runs on the runner itself, and req.Call answers all of its requests to
	// the host.
	Run func(ctx context.Context, req sandbox.Request) (sandbox.Result, error)
	// Progress is called with each outcome, one at a time; it may be nil.
	Progress func(Outcome)
}

// A Report is what became of all attacks.
type Report struct {
	// Outcomes are in the order of List.
	Outcomes []Outcome
	// HostBytes is the most memory that this process held meanwhile, HostGrown
	// how much more that is than at the start, and HostAfter what it held after
	// all of them and a collection.
	HostBytes, HostGrown, HostAfter int64
}

// OK says whether all were contained.
func (r Report) OK() bool {
	for _, o := range r.Outcomes {
		if !o.Contained {
			return false
		}
	}
	return true
}

// late is how much longer than its time limit a program may take until Run has
// returned, on a machine that is busy with other attacks.
const late = 20 * time.Second

// Run lets the attacks loose on r. It ends early, with those that ran, when
// ctx is done.
func Run(ctx context.Context, r sandbox.Runner, opts Options) Report {
	if opts.Timeout == 0 {
		opts.Timeout = time.Second
	}
	if opts.MemoryBytes == 0 {
		opts.MemoryBytes = 128 << 20
	}
	if opts.Parallel == 0 {
		opts.Parallel = runtime.GOMAXPROCS(0)
	}
	list := slices.DeleteFunc(List(opts.Kind), func(a Attack) bool {
		return opts.Tame && !a.Tame || len(opts.Groups) > 0 && !slices.Contains(opts.Groups, a.Group)
	})
	if opts.Every > 1 {
		all := list
		list = nil
		for i := 0; i < len(all); i += opts.Every {
			list = append(list, all[i])
		}
	}
	outcomes := make([]Outcome, len(list))
	next := make(chan int)
	peak := watchMemory()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range opts.Parallel {
		wg.Go(func() {
			for i := range next {
				outcomes[i] = Try(ctx, r, list[i], opts)
				if opts.Progress != nil {
					mu.Lock()
					opts.Progress(outcomes[i])
					mu.Unlock()
				}
			}
		})
	}
	n := 0
	for ; n < len(list) && ctx.Err() == nil; n++ {
		next <- n
	}
	close(next)
	wg.Wait()
	rep := Report{Outcomes: outcomes[:n]}
	rep.HostBytes, rep.HostGrown = peak()
	debug.FreeOSMemory()
	rep.HostAfter = heldMemory()
	return rep
}

// Try lets one attack loose on r, and then sees whether r still works.
func Try(ctx context.Context, r sandbox.Runner, a Attack, opts Options) Outcome {
	o := Outcome{Name: a.Name, Group: a.Group}
	if opts.Run == nil {
		opts.Run = r.Run
	}
	limits := sandbox.Limits{Timeout: opts.Timeout, MemoryBytes: opts.MemoryBytes, Grace: opts.Timeout / 4}.WithDefaults()
	host := &target{}
	defer host.end()
	start := time.Now()
	res, err := opts.Run(ctx, sandbox.Request{
		Language: cmp.Or(a.Language, sandbox.JavaScript), Code: a.Code, Limits: limits,
		Call: host.call, Stdout: counter{}, Stderr: counter{},
	})
	o.Took, o.ExitCode = time.Since(start), res.ExitCode
	o.How = describe(res)
	switch {
	case err != nil:
		o.Problem = "the runner failed: " + err.Error()
	case o.Took > limits.Timeout+late:
		o.Problem = fmt.Sprintf("it ran for %v with a time limit of %v", o.Took.Round(time.Millisecond), limits.Timeout)
	case a.Want != "" && res.ExitCode == sandbox.ExitOK && string(res.Value) != a.Want:
		o.Problem = fmt.Sprintf("it got %.200s", res.Value)
	case host.made() > limits.Calls:
		o.Problem = fmt.Sprintf("it made %d calls, %d are allowed", host.made(), limits.Calls)
	case host.most > limits.InFlight:
		o.Problem = fmt.Sprintf("it had %d calls running at one time, %d are allowed", host.most, limits.InFlight)
	case host.reached():
		o.Problem = "it reached a port of the host"
	default:
		o.Problem = stillWorks(ctx, opts, a.Language)
	}
	o.Contained = o.Problem == ""
	return o
}

// afterwards is the program that runs after each attack, and what it must
// return: nothing of what was left behind.
func afterwards(l sandbox.Language) (code, want string) {
	if l == sandbox.Python {
		return afterPython, afterPythonWant
	}
	return `return [1 + 1, typeof ({}).polluted, typeof [].polluted, typeof globalThis.leftover]`, `[2,"undefined","undefined","undefined"]`
}

// stillWorks returns what is wrong after an attack in a language. The
// memory is that of the attack, so that a spare fits both.
func stillWorks(ctx context.Context, opts Options, l sandbox.Language) string {
	l = cmp.Or(l, sandbox.JavaScript)
	code, want := afterwards(l)
	res, err := opts.Run(ctx, sandbox.Request{Language: l, Code: code, Limits: sandbox.Limits{MemoryBytes: opts.MemoryBytes}})
	switch {
	case err != nil:
		return "afterwards the runner failed: " + err.Error()
	case res.ExitCode != sandbox.ExitOK:
		return "afterwards a small program ended with: " + res.Error
	case string(res.Value) != want:
		return fmt.Sprintf("afterwards a small program returned %s, want %s", res.Value, want)
	}
	return ""
}

// describe says in a few words how a program ended.
func describe(res sandbox.Result) string {
	switch res.ExitCode {
	case sandbox.ExitOK:
		return "ended by itself"
	case sandbox.ExitThrew:
		return "threw an error"
	case sandbox.ExitRefused:
		return "refused"
	case sandbox.ExitStuck:
		return "cannot go on"
	case sandbox.ExitTimeout:
		return "time limit"
	case sandbox.ExitCanceled:
		return "cancelled"
	case sandbox.ExitMemory:
		if strings.HasPrefix(res.Error, "memory limit") {
			return "memory limit"
		}
		return "killed"
	}
	return fmt.Sprintf("exit code %d", res.ExitCode)
}

// counter is a writer that, unlike nil, is written to.
type counter struct{}

func (counter) Write(p []byte) (int, error) { return len(p), nil }

// heldMemory is what this process holds of the system's memory.
func heldMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// watchMemory looks at the memory of this process until the function that it
// returns is called, which returns the most that was seen, and how much that is
// above the start.
func watchMemory() (stop func() (peak, grown int64)) {
	start := heldMemory()
	most := start
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heldMemory())
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	return func() (int64, int64) {
		close(end)
		<-done
		return most, most - start
	}
}
