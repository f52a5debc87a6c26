package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// An Request is one script to run.
type Request struct {
	Code string
	// Resume is the id of a run to go on with: with its own code, if Code is empty
	// or the same, else with Code, which finds made what the run has written.
	Resume string
	// Language is "typescript" (also "ts"), "javascript" ("js") or "python"
	// ("py"); empty means the broker's default.
	Language string
	// Isolation is "worker" or "container"; empty means what is usual for the
	// language. AnyIsolation lets it be another one than Options.Isolations
	// offer: it is the user who asks.
	Isolation    string
	AnyIsolation bool
	// Timeout is what the caller asks for; zero means the default. It is
	// clamped to the maximum.
	Timeout time.Duration
	// Client is who asks, and ClientInfo what it calls itself, for the audit log.
	Client, ClientInfo string
	// Owner is whose values and results the script reads and writes: the name
	// of the token that the client has, or state.Local.
	Owner string
	// Session is which of the client's conversations it is, where the protocol
	// tells them apart; skills that a user has picked belong to one.
	Session string
	// Progress is told of each call that is sent: how many so far, and to
	// which tool. It is also told, with 0, of the progress that servers report
	// and of what they log. It must not block. Nil is fine.
	Progress func(calls int, message string)
	// Talker answers what servers ask while the script waits for them. Equal
	// talkers are one client. Nil refuses all questions.
	Talker upstream.Talker
	// Stdout and Stderr receive what the script prints, uncut, while it runs.
	// Nil is fine.
	Stdout, Stderr io.Writer
	// Whole leaves the answer's result uncut.
	Whole bool
}

// Sharer is who has a share of what all clients use: whose token it is, else one
// of the sessions without one.
func (r *Request) Sharer() string {
	if r.Owner != "" && r.Owner != state.Local {
		return r.Owner
	}
	return r.Client + "\x00" + r.Session
}

// An Answer is what the model gets, in the order in which it reads it.
type Answer struct {
	ExitCode int             `json:"exit_code"`
	Result   json.RawMessage `json:"result,omitempty"`
	Stdout   string          `json:"stdout,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	// RunID names a run that waits for a person, until it Expires, to decide
	// about what is Pending.
	RunID   string    `json:"run_id,omitempty"`
	Expires string    `json:"expires,omitempty"`
	Pending []Pending `json:"pending,omitempty"`
	// Replayed is how many calls of the run before were repeated from its journal,
	// and Reused are those that a changed script found made.
	Replayed int      `json:"replayed,omitempty"`
	Reused   []Reused `json:"reused,omitempty"`

	DurationMS  int64        `json:"duration_ms"`
	ToolsCalled []bridge.Row `json:"tools_called"`
	Truncated   bool         `json:"truncated,omitempty"`
	// Ref is under what results.get finds the whole of what was cut: the
	// result if it was, else what was printed.
	Ref  string `json:"ref,omitempty"`
	Hint string `json:"hint,omitempty"`

	// Diagnostics is the part of Stderr that the script did not print itself,
	// uncut: why it failed, and notes.
	Diagnostics string `json:"-"`
	// Media are the kept images and sounds that the result refers to, for a
	// client that can show them.
	Media []Media `json:"-"`
}

// IsError reports whether the execution failed: its code is neither 0 nor
// "waits for approval".
func (a Answer) IsError() bool {
	return a.ExitCode != sandbox.ExitOK && a.ExitCode != sandbox.ExitApproval
}

const (
	maxStderrChars = 2_000
	maxHintChars   = 2_000
)

// languages maps what people write to languages.
var languages = map[string]sandbox.Language{
	"typescript": sandbox.TypeScript, "ts": sandbox.TypeScript,
	"javascript": sandbox.JavaScript, "js": sandbox.JavaScript,
	"python": sandbox.Python, "py": sandbox.Python,
}

// Execute runs one script. Whatever happens is in the answer: an execution
// never fails without one. When ctx is cancelled, the script and its calls are
// killed.
func (e *Executor) Execute(ctx context.Context, req Request) Answer {
	x := e.newExecution(req)
	if req.Resume != "" {
		return x.resume(ctx)
	}
	return x.start(ctx)
}

// start runs the script, if it can be run here.
func (x *Execution) start(ctx context.Context) Answer {
	req := x.Request
	o := x.o // a reload in mid-run changes nothing
	x.stdout = &capture{limit: o.MaxOutputChars, tee: req.Stdout, whole: x.keep.stream()}
	x.stderr = &capture{limit: maxStderrChars, tee: req.Stderr, whole: x.keep.stream()}
	defer x.stdout.whole.discard()
	defer x.stderr.whole.discard()
	lang, ok := languages[strings.ToLower(req.Language)]
	if req.Language == "" {
		lang, ok = o.Language, true
	}
	if !ok {
		return x.refuse(fmt.Sprintf("unknown language %q: use %s. 0 tools called", req.Language, orList(o.Languages)))
	}
	isolation, err := o.isolation(&req)
	if err != nil {
		return x.refuse(err.Error() + ". 0 tools called")
	}
	// Where a language usually runs does not matter to who asks for another place.
	if why := o.refusal(lang); why != "" && (isolation == "" || lang == sandbox.Python) {
		return x.refuse(fmt.Sprintf("%s does not run here: %s. 0 tools called", lang, why))
	}
	if strings.TrimSpace(req.Code) == "" {
		return x.refuse("there is no code to run: put the script into \"code\". 0 tools called")
	}
	return x.run(ctx, lang, isolation)
}

// refusal says why a language does not run, and what to do; nothing if it does.
func (o *Options) refusal(lang sandbox.Language) string {
	others := slices.DeleteFunc(slices.Clone(o.Languages), func(l sandbox.Language) bool { return o.NotHere[l] != "" })
	switch why := o.NotHere[lang]; {
	case slices.Contains(others, lang):
		return ""
	case why == "":
		return "use " + orList(others)
	case len(others) > 0:
		return why + "; or use " + orList(others)
	default:
		return why
	}
}

// isolation is where a script asks to run, which it must be free to choose.
func (o *Options) isolation(req *Request) (sandbox.Isolation, error) {
	isolation := sandbox.Isolation(strings.ToLower(strings.TrimSpace(req.Isolation)))
	choice := o.Isolations
	if req.AnyIsolation {
		choice = []sandbox.Isolation{sandbox.InWorker, sandbox.InContainer}
	}
	switch {
	case isolation == "" || slices.Contains(choice, isolation):
		return isolation, nil
	case len(choice) < 2:
		return "", errors.New("a script cannot choose its isolation here (config: sandbox.perCall): leave it out")
	}
	return "", fmt.Errorf("unknown isolation %q: use %s", req.Isolation, orList(choice))
}

// orList writes words for people: "typescript, javascript or python".
func orList[T ~string](list []T) string {
	var b strings.Builder
	for i, l := range list {
		switch {
		case i > 0 && i == len(list)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(l))
	}
	return b.String()
}

// An Execution is one call of Execute under way.
type Execution struct {
	// Request is what was asked for.
	Request Request

	e              *Executor
	o              *Options
	started        time.Time
	limit          time.Duration // from started; set before the script runs
	stdout, stderr *capture
	notes          []string
	id             string
	keep           *keeping
	bridge         *bridge.Bridge
	budget         *bridge.Budget
	drifts         drifts
	journal        *journaling        // nil for none
	repeat         []sandbox.Recorded // of the runs before
	changed        bool               // the script is another one than theirs

	extra []sandbox.Module // of libraries, that the script may import
	used  string           // what else calls tools; see Uses

	asking sync.Mutex // one question at a time
	asked  int
}

func (x *Execution) refuse(why string) Answer {
	return Answer{ExitCode: sandbox.ExitRefused, Stderr: why, Diagnostics: why, ToolsCalled: []bridge.Row{}}
}

// timeout is the time that the script gets: what was asked for, within the
// maximum, with a note when that is less.
func (x *Execution) timeout() time.Duration {
	t := x.Request.Timeout
	if t <= 0 {
		return min(x.o.Timeout, x.o.MaxTimeout)
	}
	if t > x.o.MaxTimeout {
		x.notes = append(x.notes, fmt.Sprintf("timeout is at most %g s here (config: maxTimeout); %g s were asked for", x.o.MaxTimeout.Seconds(), t.Seconds()))
		return x.o.MaxTimeout
	}
	return t
}

func (x *Execution) run(ctx context.Context, lang sandbox.Language, isolation sandbox.Isolation) Answer {
	limits := x.o.Limits
	limits.Timeout = x.timeout()
	x.limit = limits.Timeout
	x.begin(lang)
	if x.journal == nil && x.o.Runs != nil {
		x.beginJournal(lang)
	}
	x.bridge = x.newBridge(ctx, x.keep.put)
	waiting, cancel := context.WithTimeoutCause(ctx, limits.Timeout,
		fmt.Errorf("no answer within the time limit of %g s", limits.Timeout.Seconds()))
	var files *sandbox.Files
	var others []string
	for _, l := range x.e.libraries {
		extra, more := l.Modules(x, lang)
		x.extra, others = append(x.extra, extra...), append(others, more...)
		files = cmp.Or(l.Files(x), files)
	}
	code := x.Request.Code + x.used
	x.e.connectNamed(ctx, code)
	modules, names, err := x.e.modules(waiting, lang, code)
	cancel()
	modules, names = append(modules, x.extra...), append(names, others...)
	limits.Timeout = remaining(limits.Timeout, x.started)
	if err != nil {
		return x.finish(sandbox.Result{ExitCode: sandbox.ExitRefused, Error: err.Error() + "\n0 tools called"})
	}
	request := sandbox.Request{
		Language:    lang,
		Isolation:   isolation,
		Code:        x.Request.Code,
		Modules:     modules,
		ModuleNames: names,
		Files:       files,
		Call:        x.hostCall,
		Check:       checker{x}.check,
		CheckSource: checker{x}.typechecks(ctx, lang, modules),
		Stdout:      x.stdout,
		Stderr:      x.stderr,
		Limits:      limits,
		Owner:       x.Request.Sharer(),
	}
	x.recall()
	for round := 0; ; round++ {
		if x.journal != nil {
			request.Journal = x.journal.sandbox(x.repeat, x.changed)
		}
		began := time.Now()
		res, err := x.o.Runner.Run(ctx, request)
		if err != nil {
			x.e.log.Error("run script", "execution", x.id, "err", err)
			res.ExitCode = sandbox.ExitThrew
			res.Error = "the sandbox could not run the script: " + err.Error() + "\nrun: broker doctor"
		}
		if x.journal == nil {
			return x.finish(res)
		}
		pending := x.journal.pending()
		if len(pending) == 0 || res.ExitCode != sandbox.ExitApproval && res.ExitCode != sandbox.ExitTimeout {
			x.journal.end(statusOf(res.ExitCode), res)
			return x.finish(res)
		}
		x.journal.end(state.StatusWaiting, sandbox.Result{ExitCode: sandbox.ExitApproval})
		again, err := x.decide(ctx, round, pending)
		if err != nil {
			return x.finish(sandbox.Result{ExitCode: sandbox.ExitThrew, Error: err.Error()})
		}
		if !again {
			a := x.waits(x.journal.run, pending)
			x.Commit(sandbox.Result{ExitCode: sandbox.ExitApproval}, int64(len(gate.Compact(a))))
			return a
		}
		request.Limits.Timeout = max(request.Limits.Timeout-time.Since(began), minRound)
		x.stdout.restart()
		x.stderr.restart()
	}
}

// minRound is the least time that a script has after a person has decided.
const minRound = 2 * time.Second

// newBridge returns the bridge of x. What is no text goes to keep, as in
// bridge.Options. The calls of an execution that another one has begun, by a
// handler of a skill, count against that.
func (x *Execution) newBridge(ctx context.Context, keep bridge.Keep) *bridge.Bridge {
	limits := x.o.Limits.WithDefaults()
	x.budget = bridge.NewBudget(limits.Calls, limits.InFlight)
	if within := x.e.executionOf(ctx); within != nil {
		x.budget = within.budget
	}
	var journal bridge.Journal
	if x.journal != nil {
		journal = x.journal
	}
	return bridge.New(bridge.Options{
		Journal:   journal,
		Resolve:   x.e.catalog.Resolve,
		Caller:    bridge.CallerFunc(x.call),
		Policy:    x.o.Policy,
		Rules:     x.o.Rules,
		Approve:   x.approve,
		Client:    x.Request.Client,
		Profile:   x.o.Profile,
		Execution: x.id,
		Record:    x.record,
		Started:   x.announce,
		Failure:   failure,
		Keep:      keep,
		Budget:    x.budget,
		Validator: x.e.validator,
	})
}

type executionKey struct{}

// executionOf is the execution of e, or of a view of the same tools, that what ctx is for belongs to; nil for
// none.
func (e *Executor) executionOf(ctx context.Context) *Execution {
	if x, ok := ctx.Value(executionKey{}).(*Execution); ok && x.e.root() == e.root() {
		return x
	}
	return nil
}

// Context is ctx for what x does: calls that are made with it by CallTool are calls
// of x.
func (x *Execution) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, executionKey{}, x)
}

// CallOfSkill makes one call of a tool as one of x, for a skill.
func (x *Execution) CallOfSkill(ctx context.Context, k *policy.Skill, tool string, args json.RawMessage) (json.RawMessage, error) {
	return x.bridge.CallOfSkill(ctx, k, tool, args)
}

// Uses says, of a module that a library gives x, that it calls tools too: those
// that code names are there for it.
func (x *Execution) Uses(code string) { x.used += "\n" + code }

// Note adds a note for the model to the answer.
func (x *Execution) Note(text string) { x.notes = append(x.notes, text) }

// Left is how much of its time x has left.
func (x *Execution) Left() time.Duration { return x.limit - time.Since(x.started) }

func (x *Execution) announce(t *discovery.Tool, seq int) {
	if x.Request.Progress != nil {
		x.Request.Progress(seq, fmt.Sprintf("call %d: %s", seq, t.ID))
	}
}

// finish makes the answer and commits the record of it before it is sent.
func (x *Execution) finish(res sandbox.Result) Answer {
	a := x.answer(res)
	x.Commit(res, int64(len(gate.Compact(a))))
	return a
}

// Commit ends the record of x, whose answer has so many bytes.
func (x *Execution) Commit(res sandbox.Result, bytesOut int64) {
	if x.o.Audit != nil {
		if err := x.o.Audit.Finish(x.entry(res, bytesOut)); err != nil {
			x.e.log.Error("record execution", "execution", x.id, "err", err)
		}
	}
	if x.o.Learned != nil {
		x.o.Learned.FlushSoon()
	}
	x.e.log.Info("executed", "execution", x.id, "code", res.ExitCode, "took", time.Since(x.started), "calls", len(x.bridge.Records()))
}

// answer fits what happened into the budgets of the model's context.
func (x *Execution) answer(res sandbox.Result) Answer {
	a := Answer{ExitCode: res.ExitCode, ToolsCalled: []bridge.Row{}}
	budget := x.o.MaxOutputChars
	var cutOut, cutErr, cutRes bool
	// Stdout and result share the budget: each may use what the other leaves,
	// and half of it in any case.
	resultBudget := max(budget-int(min(x.stdout.chars, int64(budget))), budget/2)
	a.Result = res.Value
	if !x.Request.Whole {
		// What upstream servers sent may be in all of it. What is kept is for
		// scripts, and stays as it is.
		a.Result, a.Ref, cutRes = cutResult(gate.JSON(res.Value), resultBudget, func(json.RawMessage) string { return x.keep.put(state.JSON, res.Value) })
	}
	var ref string
	a.Stdout, ref, cutOut = x.stdout.text(max(budget-utf8.RuneCount(a.Result), budget/2))
	a.Ref = cmp.Or(a.Ref, ref)
	res.Notes = slices.Concat(res.Notes, res.Reads, x.drifts.notes())
	a.Diagnostics = diagnostics(res)
	a.Stderr, cutErr = x.stderrText(a.Diagnostics)
	if !x.Request.Whole {
		a.Stdout, a.Stderr = gate.Clean(a.Stdout), gate.Clean(a.Stderr)
	}
	a.Truncated = cutOut || cutErr || cutRes
	a.Media = x.keep.media(res.Value)
	if x.bridge != nil {
		a.ToolsCalled = bridge.Rows(x.bridge.Records())
	}
	hints := slices.Clone(x.notes)
	if g := x.journal; g != nil {
		a.Replayed, a.Reused = g.replayed, g.reused
		if text := g.hint(); text != "" && a.IsError() {
			hints = append(hints, text)
		}
	}
	if !x.Request.Whole { // who is shown all has read them among the diagnostics
		hints = append(hints, res.Reads...)
	}
	if cutRes {
		hints = append(hints, "the result is "+shape(res.Value)+"; return less of it"+budgetName+readRest(a.Ref, "{ path, offset, limit }"))
	} else if cutOut {
		hints = append(hints, "print less: loop, filter and count in the script"+budgetName+readRest(a.Ref, "{ offset, limit }"))
	}
	a.Hint = gate.NewText(strings.Join(hints, "; ")).Cut(maxHintChars).String()
	a.DurationMS = time.Since(x.started).Milliseconds()
	return a
}

// diagnostics are the notes on a run and then why it failed.
func diagnostics(res sandbox.Result) string {
	lines := slices.Clone(res.Notes)
	if res.Error != "" {
		lines = append(lines, res.Error)
	}
	return strings.Join(lines, "\n")
}

// stderrText is what the script printed there and then ours. What is ours is
// kept when both are too long: it says what to do.
func (x *Execution) stderrText(ours string) (string, bool) {
	cutOurs := false
	if r := []rune(ours); len(r) > maxStderrChars*3/4 {
		half := maxStderrChars * 3 / 8
		ours = cut(string(r[:half]), string(r[len(r)-half:]), int64(len(r)-2*half), int64(len(r)), "")
		cutOurs = true
	}
	printed, _, cutPrinted := x.stderr.text(maxStderrChars - len([]rune(ours)))
	if printed != "" && ours != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	return printed + ours, cutOurs || cutPrinted
}

// begin opens the record of the execution.
func (x *Execution) begin(lang sandbox.Language) {
	if x.o.Audit == nil {
		return
	}
	x.id = x.o.Audit.Begin(state.Execution{Client: x.Request.Client, ClientInfo: x.Request.ClientInfo, Language: string(lang), Code: x.Request.Code, Started: x.started})
}

// record learns from one call that has ended, and writes it down.
func (x *Execution) record(r bridge.Record) {
	x.learn(r)
	if x.o.Audit == nil {
		return
	}
	x.o.Audit.Record(state.Call{
		ExecutionID: x.id, Seq: r.Seq, Server: r.Server, Tool: r.Tool, ID: r.ID,
		Started: r.Started, Duration: r.Duration, Status: string(r.Status), Error: r.Error,
		Class: r.Class.String(), Decision: r.Decision,
		ArgBytes: int64(len(r.Args)), ResultBytes: int64(r.ResultBytes), Args: r.Args, Result: r.Result,
	})
}

// entry is the finished execution as the audit log keeps it.
func (x *Execution) entry(res sandbox.Result, bytesOut int64) state.Execution {
	e := state.Execution{
		ID: x.id, Ended: time.Now(), ExitCode: res.ExitCode, Status: statusOf(res.ExitCode),
		Duration: time.Since(x.started), CPU: res.CPU, BytesOut: bytesOut, Error: firstLine(res.Error),
	}
	if x.bridge != nil {
		e.BytesIn = x.bridge.Bytes()
		e.Calls = len(x.bridge.Records())
	}
	return e
}

func statusOf(code int) string {
	switch code {
	case sandbox.ExitOK:
		return state.StatusDone
	case sandbox.ExitRefused:
		return state.StatusRefused
	case sandbox.ExitTimeout:
		return state.StatusTimeout
	case sandbox.ExitCanceled:
		return state.StatusCancelled
	case sandbox.ExitApproval:
		return state.StatusWaiting
	}
	return state.StatusFailed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
