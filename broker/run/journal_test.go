package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A world is an executor with the server t: a read, a write, one that asks and one
// that destroys, each of which counts its calls.
type world struct {
	*run.Executor
	o    run.Options
	runs *sqlite.Runs

	mu    sync.Mutex
	calls map[string]int // by tool and arguments
	n     int
	delay time.Duration // at most, of each call
}

// asks is a policy that asks about some tools.
type asks []string

// denies is a policy that denies all.
type denies struct{}

func (denies) Decide(policy.Call) policy.Decision {
	return policy.Decision{Effect: policy.Deny, Code: "rule", Reason: "is over"}
}

// presetAsks is a policy whose preset asks about t__ask.
type presetAsks struct{}

func (presetAsks) Decide(c policy.Call) policy.Decision {
	d := asks{"ask"}.Decide(c)
	d.Code = policy.CodePreset
	return d
}

func (a asks) Decide(c policy.Call) policy.Decision {
	if slices.Contains(a, c.Tool.Name) {
		return policy.Decision{Effect: policy.Ask, Code: "rule", Reason: "needs a look"}
	}
	return policy.Decision{}
}

func newWorld(t testing.TB) *world {
	w := &world{calls: map[string]int{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	no, yes := false, true
	for name, a := range map[string]*mcp.ToolAnnotations{
		"read": {ReadOnlyHint: true}, "write": {DestructiveHint: &no}, "ask": {DestructiveHint: &no},
		"purge": {DestructiveHint: &yes}, "put": {DestructiveHint: &no, IdempotentHint: true}, "make": {DestructiveHint: &no},
	} {
		tool := &mcp.Tool{Name: name, Description: name, Annotations: a, InputSchema: json.RawMessage(`{"type":"object"}`)}
		if name == "make" {
			tool.OutputSchema = json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"},"of":{"type":["null","object"],"properties":{"name":{"type":"string"}}}}}`)
		}
		s.AddTool(tool,
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				w.mu.Lock()
				calls := w.calls // those of the trial that this call is of
				w.mu.Unlock()
				if w.delay > 0 {
					time.Sleep(rand.N(w.delay)) // a real server answers when it wants
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				w.n++
				calls[name+string(state.Canonical(req.Params.Arguments))]++
				if name == "make" {
					return &mcp.CallToolResult{StructuredContent: map[string]any{"id": w.n, "of": map[string]any{"name": fmt.Sprint("thing ", w.n)}}}, nil
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(w.n)}}}, nil
			})
	}
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	c := catalog.New(catalog.Options{Servers: []upstream.Config{{Name: "t", URL: ts.URL}}}, &upstream.Options{}, func() {})
	w.runs = sqlite.NewRuns(t.TempDir(), nil)
	runner := inproc.New()
	t.Cleanup(func() { runner.Close(); c.Close(); ts.Close(); w.runs.Close() })
	w.o = run.Options{
		Runner: runner, Languages: []sandbox.Language{sandbox.JavaScript}, Language: sandbox.JavaScript, Policy: policy.List{asks{"ask"}},
		Timeout: 20 * time.Second, MaxTimeout: 20 * time.Second, MaxOutputChars: 10_000, Runs: w.runs,
	}
	w.Executor = run.New(w.o, c, slog.New(slog.DiscardHandler))
	return w
}

// most is how often the call was made that was made most often.
func (w *world) most(tool string) (most, all int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, n := range w.calls {
		if strings.HasPrefix(key, tool+"{") {
			most, all = max(most, n), all+n
		}
	}
	return most, all
}

func (w *world) execute(t testing.TB, req run.Request) run.Answer {
	t.Helper()
	return w.Execute(t.Context(), req)
}

func (w *world) decide(t testing.TB, id string, v state.Verdict) {
	t.Helper()
	v.Denied = approve.Denied
	if err := w.runs.Change(t.Context(), id, func(r *state.Run, calls []state.RunCall) error { return v.Decide(r, calls, time.Now()) }); err != nil {
		t.Fatal(err)
	}
}

// Dying are journals of a process that dies at its nth record: before or after it
// is written.
type dying struct {
	state.Runs
	die   func()
	left  int
	after bool
	mu    sync.Mutex
	dead  bool
	last  state.RunJournal
	id    string
}

var errDead = errors.New("this process is dead")

func (d *dying) Begin(r state.Run) state.RunJournal {
	d.id, d.last = r.ID, d.Runs.Begin(r)
	return dyingJournal{d.last, d}
}

func (d *dying) Resume(ctx context.Context, principal, id string) (run state.Run, calls []state.RunCall, j state.RunJournal, err error) {
	run, calls, j, err = d.Runs.Resume(ctx, principal, id)
	d.id, d.last = id, j
	return run, calls, dyingJournal{j, d}, err
}

type dyingJournal struct {
	state.RunJournal
	d *dying
}

func (j dyingJournal) Record(c state.RunCall, wait bool) error {
	d := j.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDead
	}
	if d.left--; d.left > 0 {
		return j.RunJournal.Record(c, wait)
	}
	d.dead = true
	d.die()
	if d.after {
		_ = j.RunJournal.Record(c, true)
	}
	return errDead
}

func (j dyingJournal) End(r state.Run) error {
	j.d.mu.Lock()
	defer j.d.mu.Unlock()
	if j.d.dead {
		return errDead
	}
	return j.RunJournal.End(r)
}

// The broker may die at any point between the intent of a call and its result:
// no write is made twice, and no unchanged script is reported as changed.
func TestKilledAnywhere(t *testing.T) {
	scripts := []string{
		`for (let i = 0; i < 5; i++) await callMCPTool('t__write', { n: i })`,
		`await Promise.race([callMCPTool('t__read', { k: 1 }), callMCPTool('t__read', { k: 2 })]).then(v => callMCPTool('t__write', { v }))`,
		`await Promise.all([1, 2, 3].map(async k => { const v = await callMCPTool('t__read', { k }); await callMCPTool('t__write', { k, v, at: Date.now(), id: crypto.randomUUID() }); await callMCPTool('t__purge', { k, r: Math.random() }) }))`,
		`const seen = []; await Promise.all(['a', 'b', 'c', 'd'].map(async k => { seen.push(await callMCPTool('t__read', { k })); await callMCPTool('t__write', { k, seen }) }))`,
		`await Promise.all([1, 2].map(async k => { await new Promise(r => setTimeout(r, Math.random() * 3)); await callMCPTool('t__put', { k }); await callMCPTool('t__write', { k, at: performance.now() }) }))`,
	}
	trials := 200
	if n, err := strconv.Atoi(os.Getenv("BROKER_TRIALS")); err == nil {
		trials = n
	}
	const workers = 4
	var unknown, replayed int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range workers {
		w := newWorld(t)
		w.delay = 300 * time.Microsecond
		wg.Go(func() {
			for trial := n; trial < trials && !t.Failed(); trial += workers {
				w.mu.Lock()
				w.calls = map[string]int{}
				w.mu.Unlock()
				u, r := killOnce(t, w, scripts[trial%len(scripts)], 1+trial/len(scripts)%24, trial%2 == 0)
				mu.Lock()
				unknown, replayed = unknown+u, replayed+r
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if unknown == 0 || replayed == 0 {
		t.Errorf("%d outcomes were unknown, %d calls replayed: the trials show nothing", unknown, replayed)
	}
	t.Logf("%d trials: %d outcomes were unknown, %d calls replayed", trials, unknown, replayed)
}

// killOnce runs code until the nth record, and then resumes it until it is done.
func killOnce(t *testing.T, w *world, code string, n int, after bool) (unknown, replayed int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &dying{Runs: w.runs, left: n, after: after, die: cancel}
	o := w.o
	o.Runs = d
	w.Configure(o)
	first := w.Execute(ctx, run.Request{Code: code})
	w.Configure(w.o)
	if first.ExitCode == sandbox.ExitOK {
		return 0, 0
	}
	if err := d.last.End(state.Run{Status: state.StatusInterrupted}); err != nil {
		t.Error(err)
	}
	if _, _, err := w.runs.Run(t.Context(), d.id); errors.Is(err, state.ErrNotFound) {
		return 0, 0 // it died before anything was written
	}
	a := w.execute(t, run.Request{Resume: d.id})
	for ; a.ExitCode == sandbox.ExitApproval; a = w.execute(t, run.Request{Resume: d.id}) {
		if _, before := w.most("write"); len(a.Pending) == 0 || a.Pending[0].State != state.RunUnknown || before > 20 {
			t.Errorf("%+v", a)
			return
		}
		for _, p := range a.Pending {
			unknown++
			err := w.runs.Change(t.Context(), d.id, func(r *state.Run, calls []state.RunCall) error { return state.Settle(r, calls, p.N, true) })
			if err != nil {
				t.Error(err)
			}
		}
	}
	if a.ExitCode != sandbox.ExitOK {
		_, calls, _ := w.runs.Run(t.Context(), d.id)
		t.Errorf("killed at record %d of %s: exit code %d: %s\n%+v", n, code, a.ExitCode, a.Stderr, calls)
	}
	for _, tool := range []string{"write", "purge"} {
		if most, _ := w.most(tool); most > 1 {
			t.Errorf("killed at record %d of %s: a %s was made %d times: %v", n, code, tool, most, w.calls)
		}
	}
	return unknown, a.Replayed
}

// What was written stays written when a script is changed.
func TestChangedScript(t *testing.T) {
	w := newWorld(t)
	a := w.execute(t, run.Request{Code: `for (let i = 0; i < 3; i++) await callMCPTool('t__write', { i }); await callMCPTool('t__read', { r: 1 }); await callMCPTool('t__write', { same: 1 }); throw new Error('oh')`})
	_, id, ok := strings.Cut(a.Hint, `resume: "`)
	id, _, _ = strings.Cut(id, `"`)
	if !ok || a.RunID != "" || a.ExitCode != 1 {
		t.Fatalf("%+v", a)
	}
	b := w.execute(t, run.Request{Resume: id, Code: `await callMCPTool('t__write', { i: 0 }); await callMCPTool('t__read', { r: 1 }); await callMCPTool('t__write', { i: 2 }); for (const k of [1, 2]) await callMCPTool('t.write', { same: 1 }); await callMCPTool('t__write', { i: 9 }); return 1`})
	if b.ExitCode != 0 || len(b.Reused) != 2 || b.Replayed != 1 || fmt.Sprint(b.Reused) != "[{3 t__write} {4 t__write}]" {
		t.Errorf("%+v", b)
	}
	want := map[string]int{`write{"i":0}`: 1, `write{"i":1}`: 1, `write{"i":2}`: 1, `read{"r":1}`: 2, `write{"same":1}`: 2, `write{"i":9}`: 1}
	if fmt.Sprint(w.calls) != fmt.Sprint(want) {
		t.Errorf("calls %v, want %v", w.calls, want)
	}
	// Once more, from the new script's journal.
	c := w.execute(t, run.Request{Resume: id, Code: `await callMCPTool('t__write', { i: 0 }); await callMCPTool('t__write', { i: 9 }); await callMCPTool('t__write', { i: 1 }); return 2`})
	if c.ExitCode != 0 || len(c.Reused) != 2 || fmt.Sprint(w.calls) != fmt.Sprint(want) {
		t.Errorf("%+v\n%v", c, w.calls)
	}
}

// A write that is meant twice says so.
func TestChangedScriptWritesAgain(t *testing.T) {
	w := newWorld(t)
	a := w.execute(t, run.Request{Code: `await callMCPTool('t__write', { i: 0 }); throw new Error('oh')`})
	if !strings.HasPrefix(a.Hint, "1 call that writes was made: to continue without repeating it, ") {
		t.Errorf("hint %q", a.Hint)
	}
	_, id, _ := strings.Cut(a.Hint, `resume: "`)
	id, _, _ = strings.Cut(id, `"`)
	const code = `await callMCPTool('t__write', { i: 1 }); await callMCPTool('t__write', { i: 0 }); await callMCPTool('t', 'write', { i: 0 }, { again: true })`
	b := w.execute(t, run.Request{Resume: id, Code: code + "; throw new Error('oh')"})
	if len(b.Reused) != 1 || w.calls[`write{"i":0}`] != 2 {
		t.Errorf("%+v\n%v", b, w.calls)
	}
	// That it was meant twice does not mean a third time.
	c := w.execute(t, run.Request{Resume: id, Code: "0;" + code})
	if c.ExitCode != 0 || w.calls[`write{"i":0}`] != 2 || w.calls[`write{"i":1}`] != 1 {
		t.Errorf("%+v\n%v", c, w.calls)
	}
}

// Where the journal cannot be written, reads are made, and a write is not sent.
func TestNoWriteWithoutJournal(t *testing.T) {
	w := newWorld(t)
	full := sqlite.NewRuns("/dev/null/nowhere", nil)
	defer full.Close()
	w.o.Runs = full
	w.Configure(w.o)
	a := w.execute(t, run.Request{Code: `await callMCPTool('t__read', {}); await callMCPTool('t__write', {})`})
	if a.ExitCode != sandbox.ExitThrew || !strings.Contains(a.Stderr, "not sent, because the journal cannot be written") || w.made() != "read{}" {
		t.Errorf("%+v\n%v", a, w.calls)
	}
}

// From the decision of a person to the end of the script.
func BenchmarkDecided(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		b.StopTimer()
		a := w.execute(b, run.Request{Code: "for (let i = 0; i < 20; i++) await callMCPTool('t__read', { i }); await callMCPTool('t__ask', {})"})
		b.StartTimer()
		w.decide(b, a.RunID, state.Verdict{Approve: true})
		if a := w.execute(b, run.Request{Resume: a.RunID}); a.ExitCode != 0 {
			b.Fatal(a)
		}
	}
}

func TestDivergedScriptCallsNothing(t *testing.T) {
	w := newWorld(t)
	a := w.execute(t, run.Request{Code: `await callMCPTool('t__read', {}); await callMCPTool('t__ask', { n: 1 })`})
	// What the script reads of the outside is not what it was.
	err := w.runs.Change(t.Context(), a.RunID, func(r *state.Run, calls []state.RunCall) error {
		calls[1].Args, calls[1].By = json.RawMessage(`{"n":2}`), "x"
		return nil
	})
	w.decide(t, a.RunID, state.Verdict{Approve: true})
	b := w.execute(t, run.Request{Resume: a.RunID})
	if err != nil || b.ExitCode != 1 || !strings.Contains(b.Stderr, `call 2, of t__ask, has other arguments than it had: {"n":1}`) || len(w.calls) != 1 {
		t.Errorf("%+v, %v\n%v", b, err, w.calls)
	}
}

// Characters that JSON escapes in a journal, and scripts do not, are no other arguments.
func TestEscapedArgumentsAreReplayed(t *testing.T) {
	w := newWorld(t)
	a := w.execute(t, run.Request{Code: "await callMCPTool('t__read', { a: '<b> & \u2028' }); await callMCPTool('t__ask', { a: '<b> & \u2028' })"})
	w.decide(t, a.RunID, state.Verdict{Approve: true})
	if b := w.execute(t, run.Request{Resume: a.RunID}); b.ExitCode != 0 || len(w.calls) != 2 {
		t.Errorf("%+v\n%v", b, w.calls)
	}
}

// What the journal adds to a call is the median of pairs of executions, one with it and
// one without, so that it holds on a loaded machine too.
func BenchmarkCalls(b *testing.B) {
	for _, tool := range []string{"read", "write", "purge"} {
		b.Run(tool, func(b *testing.B) {
			w := newWorld(b)
			code := fmt.Sprintf("for (let i = 0; i < 100; i++) await callMCPTool('t__%s', { i })", tool)
			var without, added []float64 // µs for each call
			for b.Loop() {
				var took [2]float64
				for i, o := range []run.Options{w.o, w.o} {
					if i == 0 {
						o.Runs = nil
					}
					w.Configure(o)
					began := time.Now()
					if a := w.execute(b, run.Request{Code: code}); a.ExitCode != 0 {
						b.Fatal(a.Stderr)
					}
					took[i] = float64(time.Since(began).Microseconds()) / 100
				}
				without, added = append(without, took[0]), append(added, took[1]-took[0])
			}
			slices.Sort(without)
			slices.Sort(added)
			b.ReportMetric(without[len(without)/2], "µs/call-without")
			b.ReportMetric(added[len(added)/2], "µs/call-added")
		})
	}
}

// BenchmarkGovernance is what policy, journal and audit record with its chain add to
// a call together: by turns with and without, so that both meet the same load.
func BenchmarkGovernance(b *testing.B) {
	var text strings.Builder
	for i := range 51 {
		fmt.Fprintf(&text, `,{"effect":"deny","tools":["s%d.delete_*"],"args":{"owner":{"not":"acme"}}}`, i)
	}
	rules, mistakes := policy.ReadRules(policy.Source{File: "p.json", Text: []byte(`{"rules":[` + text.String()[1:] + `]}`)})
	if len(mistakes) > 0 {
		b.Fatal(mistakes)
	}
	for _, tool := range []string{"read", "write"} {
		b.Run(tool, func(b *testing.B) {
			off, on := newWorld(b), newWorld(b)
			without, with := off.o, on.o
			without.Runs, without.Policy = nil, nil
			audit, err := sqlite.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer audit.Close()
			with.Audit, with.Rules, with.Policy = audit, rules, policy.List{rules}
			off.Configure(without)
			on.Configure(with)
			const calls = 100
			code := fmt.Sprintf("for (let i = 0; i < %d; i++) await callMCPTool('t__%s', { i })", calls, tool)
			var took [2][]time.Duration
			for i := 0; b.Loop(); i++ {
				for n, w := range []*world{off, on} {
					began := time.Now()
					if a := w.execute(b, run.Request{Code: code}); a.ExitCode != 0 {
						b.Fatal(a.Stderr)
					}
					took[n] = append(took[n], time.Since(began))
				}
			}
			median := func(list []time.Duration) float64 {
				slices.Sort(list)
				return float64(list[len(list)/2].Microseconds()) / calls
			}
			b.ReportMetric(median(took[0]), "µs/call-without")
			b.ReportMetric(median(took[1])-median(took[0]), "µs/call-added")
		})
	}
}
