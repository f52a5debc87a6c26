package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// An ExecuteRequest is one script to run.
type ExecuteRequest struct {
	Code string
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
	// Client is who asks, for the audit log.
	Client string
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

// sharer is who has a share of what all clients use: whose token it is, else one
// of the sessions without one.
func (r *ExecuteRequest) sharer() string {
	if r.Owner != "" && r.Owner != state.Local {
		return r.Owner
	}
	return r.Client + "\x00" + r.Session
}

// An ExecuteAnswer is what the model gets, in the order in which it reads it.
type ExecuteAnswer struct {
	ExitCode    int             `json:"exit_code"`
	Result      json.RawMessage `json:"result,omitempty"`
	Stdout      string          `json:"stdout,omitempty"`
	Stderr      string          `json:"stderr,omitempty"`
	DurationMS  int64           `json:"duration_ms"`
	ToolsCalled []bridge.Row    `json:"tools_called"`
	Truncated   bool            `json:"truncated,omitempty"`
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
func (a ExecuteAnswer) IsError() bool {
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
func (b *Broker) Execute(ctx context.Context, req ExecuteRequest) ExecuteAnswer {
	o := b.options() // a reload in mid-run changes nothing
	x := &execution{b: b, o: o, req: req, started: time.Now()}
	x.stdout = &capture{limit: o.MaxOutputChars, tee: req.Stdout, whole: x.keeper()}
	x.stderr = &capture{limit: maxStderrChars, tee: req.Stderr, whole: x.keeper()}
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
func (o *Options) isolation(req *ExecuteRequest) (sandbox.Isolation, error) {
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

// An execution is one call of Execute under way.
type execution struct {
	b              *Broker
	o              *Options
	req            ExecuteRequest
	started        time.Time
	limit          time.Duration // from started; set before the script runs
	stdout, stderr *capture
	notes          []string
	id             string
	bridge         *bridge.Bridge
	budget         *bridge.Budget
	drifts         drifts

	skillModulesUsed []sandbox.Module // that the script may import
}

func (x *execution) refuse(why string) ExecuteAnswer {
	return ExecuteAnswer{ExitCode: sandbox.ExitRefused, Stderr: why, Diagnostics: why, ToolsCalled: []bridge.Row{}}
}

// timeout is the time that the script gets: what was asked for, within the
// maximum, with a note when that is less.
func (x *execution) timeout() time.Duration {
	t := x.req.Timeout
	if t <= 0 {
		return min(x.o.Timeout, x.o.MaxTimeout)
	}
	if t > x.o.MaxTimeout {
		x.notes = append(x.notes, fmt.Sprintf("timeout is at most %g s here (config: maxTimeout); %g s were asked for", x.o.MaxTimeout.Seconds(), t.Seconds()))
		return x.o.MaxTimeout
	}
	return t
}

func (x *execution) run(ctx context.Context, lang sandbox.Language, isolation sandbox.Isolation) ExecuteAnswer {
	limits := x.o.Limits
	limits.Timeout = x.timeout()
	x.limit = limits.Timeout
	x.begin(lang)
	x.bridge = x.newBridge(ctx, x.keepBinary)
	waiting, cancel := context.WithTimeoutCause(ctx, limits.Timeout,
		fmt.Errorf("no answer within the time limit of %g s", limits.Timeout.Seconds()))
	x.b.connectNamed(ctx, x.req.Code)
	modules, names, err := x.b.modules(waiting, lang, x.req.Code)
	cancel()
	ofSkills, skillNames := x.skillModules(lang)
	modules, names = append(modules, ofSkills...), append(names, skillNames...)
	x.skillModulesUsed = ofSkills
	limits.Timeout = remaining(limits.Timeout, x.started)
	if err != nil {
		return x.finish(sandbox.Result{ExitCode: sandbox.ExitRefused, Error: err.Error() + "\n0 tools called"})
	}
	res, err := x.o.Runner.Run(ctx, sandbox.Request{
		Language:    lang,
		Isolation:   isolation,
		Code:        x.req.Code,
		Modules:     modules,
		ModuleNames: names,
		Files:       x.skillFiles(),
		Call:        x.hostCall,
		Check:       x.check,
		CheckSource: x.typechecks(ctx, lang, modules),
		Stdout:      x.stdout,
		Stderr:      x.stderr,
		Limits:      limits,
		Owner:       x.req.sharer(),
	})
	if err != nil {
		x.b.log.Error("run script", "execution", x.id, "err", err)
		res.ExitCode = sandbox.ExitThrew
		res.Error = "the sandbox could not run the script: " + err.Error() + "\nrun: broker doctor"
	}
	return x.finish(res)
}

// newBridge returns the bridge of x. What is no text goes to keep, as in
// bridge.Options. The calls of an execution that another one has begun, by a
// handler of a skill, count against that.
func (x *execution) newBridge(ctx context.Context, keep bridge.Keep) *bridge.Bridge {
	limits := x.o.Limits.WithDefaults()
	x.budget = bridge.NewBudget(limits.Calls, limits.InFlight)
	if within := x.b.executionOf(ctx); within != nil {
		x.budget = within.budget
	}
	return bridge.New(bridge.Options{
		Resolve:   x.b.resolve,
		Caller:    bridge.CallerFunc(x.call),
		Policy:    x.o.policies(),
		Client:    x.req.Client,
		Execution: x.id,
		Record:    x.record,
		Started:   x.announce,
		Failure:   failure,
		Keep:      keep,
		Budget:    x.budget,
		Validator: x.b.validator,
	})
}

type executionKey struct{}

// executionOf is the execution of b that what ctx is for belongs to; nil for
// none.
func (b *Broker) executionOf(ctx context.Context) *execution {
	if x, ok := ctx.Value(executionKey{}).(*execution); ok && x.b == b {
		return x
	}
	return nil
}

func (x *execution) announce(t *discovery.Tool, seq int) {
	if x.req.Progress != nil {
		x.req.Progress(seq, fmt.Sprintf("call %d: %s", seq, t.ID))
	}
}

// finish makes the answer and commits the record of it before it is sent.
func (x *execution) finish(res sandbox.Result) ExecuteAnswer {
	a := x.answer(res)
	x.commit(res, int64(len(compactJSON(a))))
	return a
}

// commit ends the record of x, whose answer has so many bytes.
func (x *execution) commit(res sandbox.Result, bytesOut int64) {
	if x.o.Audit != nil {
		if err := x.o.Audit.Finish(x.entry(res, bytesOut)); err != nil {
			x.b.log.Error("record execution", "execution", x.id, "err", err)
		}
	}
	if x.o.Learned != nil {
		x.o.Learned.FlushSoon()
	}
	x.b.log.Info("executed", "execution", x.id, "code", res.ExitCode, "took", time.Since(x.started), "calls", len(x.bridge.Records()))
}

// answer fits what happened into the budgets of the model's context.
func (x *execution) answer(res sandbox.Result) ExecuteAnswer {
	a := ExecuteAnswer{ExitCode: res.ExitCode, ToolsCalled: []bridge.Row{}}
	budget := x.o.MaxOutputChars
	var cutOut, cutErr, cutRes bool
	// Stdout and result share the budget: each may use what the other leaves,
	// and half of it in any case.
	resultBudget := max(budget-int(min(x.stdout.chars, int64(budget))), budget/2)
	a.Result = res.Value
	if !x.req.Whole {
		// What upstream servers sent may be in all of it. What is kept is for
		// scripts, and stays as it is.
		a.Result, a.Ref, cutRes = cutResult(gate.JSON(res.Value), resultBudget, func(json.RawMessage) string { return x.keepResult(res.Value) })
	}
	var ref string
	a.Stdout, ref, cutOut = x.stdout.text(max(budget-utf8.RuneCount(a.Result), budget/2))
	a.Ref = cmp.Or(a.Ref, ref)
	res.Notes = slices.Concat(res.Notes, res.Reads, x.drifts.notes())
	a.Diagnostics = diagnostics(res)
	a.Stderr, cutErr = x.stderrText(a.Diagnostics)
	if !x.req.Whole {
		a.Stdout, a.Stderr = gate.Clean(a.Stdout), gate.Clean(a.Stderr)
	}
	a.Truncated = cutOut || cutErr || cutRes
	a.Media = x.media(res.Value)
	if x.bridge != nil {
		a.ToolsCalled = bridge.Rows(x.bridge.Records())
	}
	hints := slices.Clone(x.notes)
	if !x.req.Whole { // who is shown all has read them among the diagnostics
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
func (x *execution) stderrText(ours string) (string, bool) {
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
func (x *execution) begin(lang sandbox.Language) {
	if x.o.Audit == nil {
		return
	}
	x.id = x.o.Audit.Begin(state.Execution{Client: x.req.Client, Language: string(lang), Code: x.req.Code, Started: x.started})
}

// record learns from one call that has ended, and writes it down.
func (x *execution) record(r bridge.Record) {
	x.learn(r)
	if x.o.Audit == nil {
		return
	}
	x.o.Audit.Record(state.Call{
		ExecutionID: x.id, Seq: r.Seq, Server: r.Server, Tool: r.Tool, ID: r.ID,
		Started: r.Started, Duration: r.Duration, Status: string(r.Status), Error: r.Error,
		ArgBytes: int64(len(r.Args)), ResultBytes: int64(r.ResultBytes), Args: r.Args, Result: r.Result,
	})
}

// entry is the finished execution as the audit log keeps it.
func (x *execution) entry(res sandbox.Result, bytesOut int64) state.Execution {
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
	}
	return state.StatusFailed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
