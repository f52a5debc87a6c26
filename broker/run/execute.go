package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/broker/run/hint"
	"github.com/mcpbroker/mcpbroker/broker/run/output"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// Execute runs one script. It always returns an Answer; errors are part of it. When ctx is
// cancelled, the script and its calls are killed.
func (e *Executor) Execute(ctx context.Context, req Request) Answer {
	x := e.newExecution(req)
	if req.Resume != "" && req.Plan {
		return refusal("a plan is of a new run: leave out plan, or resume. 0 tools called")
	}
	if req.Resume != "" {
		return x.resume(ctx)
	}
	return x.start(ctx)
}

// start runs the script, if it can run here.
func (x *Execution) start(ctx context.Context) Answer {
	req := x.Request
	o := x.o // a reload does not change a running execution
	x.stdout = &output.Capture{Limit: o.MaxOutputChars, Tee: req.Stdout, Store: x.results.Stream()}
	x.stderr = &output.Capture{Limit: maxStderrChars, Tee: req.Stderr, Store: x.results.Stream()}
	defer x.stdout.Store.Discard()
	defer x.stderr.Store.Discard()
	lang, isolation, err := o.location(&req)
	if err != nil {
		x.journal.release()
		return refusal(err.Error() + ". 0 tools called")
	}
	return x.run(ctx, lang, isolation)
}

// An Execution is a running call of Execute.
type Execution struct {
	// Request is the request of the caller.
	Request Request

	e              *Executor
	o              *Options
	started        time.Time
	phases         phases
	limit          time.Duration // from started; set before the script runs
	stdout, stderr *output.Capture
	notes          []string
	id             string
	results        *output.Store
	storeFailed    atomic.Bool // something could not be stored
	bridge         *bridge.Bridge
	budget         *bridge.Budget
	heard          hint.Hearing
	journal        *runJournal // nil if the run has none
	earlier        earlier
	origins        origins
	library        libraryUse
	asker          *approve.Asker
}

// phases are times from the start of an execution: until the script was prepared, had a slot, and
// had a sandbox.
type phases struct{ prepared, queued, opened time.Duration }

// libraryUse is what libraries add to a script.
type libraryUse struct {
	modules []sandbox.Module // that the script may import
	code    string           // other code that calls tools; see Uses
}

// An earlier is what an execution takes over from earlier ones of its run.
type earlier struct {
	calls       []sandbox.Recorded
	codeChanged bool // the script differs from theirs
}

func (x *Execution) run(ctx context.Context, lang sandbox.Language, isolation sandbox.Isolation) (a Answer) {
	limit, note := x.o.timeout(x.Request.Timeout)
	if x.limit = limit; note != "" {
		x.Note(note)
	}
	x.begin(lang)
	if x.o.Observer != nil {
		var end func(code, replayed int)
		ctx, end = x.o.Observer.Run(ctx, x.id, x.Request.Client)
		defer func() { end(a.ExitCode, a.Replayed) }()
	}
	if err := x.o.counter(&x.Request).takeExecution(ctx, x.journal != nil); err != nil {
		x.connect(ctx, nil) // it makes no calls
		return x.finish(sandbox.Result{ExitCode: sandbox.ExitRefused, Error: err.Error() + "\n0 tools called"})
	}
	if x.journal == nil && x.o.Runs != nil {
		x.beginJournal(lang)
	}
	ctx, over := x.cancellable(ctx)
	defer over()
	x.connect(ctx, x.results.Put)
	request, err := x.sandboxRequest(ctx, lang, isolation)
	if err != nil {
		x.journal.release()
		return x.finish(sandbox.Result{ExitCode: sandbox.ExitRefused, Error: err.Error() + "\n0 tools called"})
	}
	x.recall(ctx)
	for {
		began := time.Now()
		res := x.runOnce(ctx, &request)
		if x.journal == nil {
			return x.finish(res)
		}
		pending, planned := x.journal.pending(), x.journal.planning()
		if len(pending) == 0 || !planned && res.ExitCode != sandbox.ExitApproval && res.ExitCode != sandbox.ExitTimeout {
			if planned {
				x.journal.run.Plan = ""
				x.Note("there is nothing to plan: the script wrote nothing")
			}
			x.journal.end(statusOf(res.ExitCode), res)
			return x.finish(res)
		}
		if planned {
			x.journal.run.Plan = state.PlanMade
		}
		if err := x.journal.end(state.StatusWaiting, sandbox.Result{ExitCode: sandbox.ExitApproval}); err != nil {
			return x.finish(sandbox.Result{ExitCode: sandbox.ExitThrew, Error: fmt.Sprintf("%s needs the approval of a person, and was not sent: it cannot wait for that, because the journal cannot be written: %v\nrun: broker doctor",
				pending[0].Tool, err)})
		}
		again, err := x.decide(ctx, pending)
		if err != nil {
			return x.finish(sandbox.Result{ExitCode: sandbox.ExitThrew, Error: err.Error()})
		}
		if !again {
			a := x.waits(x.journal.run, pending)
			if planned && res.ExitCode != sandbox.ExitOK {
				a.Stderr = gate.Cut(gate.Clean(res.Error), maxStderrChars) + "\nthe plan ends there: what the script does after that is asked about when it is resumed"
				a.Diagnostics += "\n" + a.Stderr
			}
			x.Commit(sandbox.Result{ExitCode: sandbox.ExitApproval}, gate.Compact(a))
			return a
		}
		request.Limits.Timeout = max(request.Limits.Timeout-time.Since(began), minRound)
		x.stdout.Restart()
		x.stderr.Restart()
	}
}

// sandboxRequest returns the request for the sandbox: the script, with its modules and limits. An
// error is for the model.
func (x *Execution) sandboxRequest(ctx context.Context, lang sandbox.Language, isolation sandbox.Isolation) (sandbox.Request, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, x.limit, fmt.Errorf("no answer within the time limit of %g s", x.limit.Seconds()))
	defer cancel()
	var files *sandbox.Files
	var others []string
	for _, l := range x.e.libraries {
		extra, more := l.Modules(x, lang)
		x.library.modules, others = append(x.library.modules, extra...), append(others, more...)
		files = cmp.Or(l.Files(x), files)
	}
	code := x.Request.Code + x.library.code
	x.e.connectNamed(ctx, code)
	modules, names, err := x.e.modules(waiting, lang, code)
	if err != nil {
		return sandbox.Request{}, err
	}
	modules = append(modules, x.library.modules...)
	limits := x.o.Limits
	limits.Timeout = remaining(x.limit, x.started)
	return sandbox.Request{
		Language:    lang,
		Isolation:   isolation,
		Code:        x.Request.Code,
		File:        sandbox.FileName(x.Request.File),
		Modules:     modules,
		ModuleNames: append(names, others...),
		Scope:       x.e.catalog.ScopeNote(),
		Files:       files,
		Call:        x.hostCall,
		Check:       checker{x}.check,
		CheckSource: checker{x}.typechecks(ctx, lang, modules),
		Stdout:      x.stdout,
		Stderr:      x.stderr,
		Limits:      limits,
		Owner:       x.Request.Sharer(),
	}, nil
}

// runOnce runs the script from the beginning, or from the end of its journal.
func (x *Execution) runOnce(ctx context.Context, request *sandbox.Request) sandbox.Result {
	if x.journal != nil {
		request.Journal = x.journal.sandbox(x.earlier.calls, x.earlier.codeChanged)
	}
	first := x.phases.prepared == 0 // after an approval, the script runs another round
	if first {
		x.phases.prepared = time.Since(x.started)
	}
	res, err := x.o.Runner.Run(ctx, *request)
	if first {
		x.phases.queued, x.phases.opened = res.Queued, res.Opened
	}
	if res.ExitCode == sandbox.ExitCanceled && errors.Is(context.Cause(ctx), errEnded) {
		res.Error = errEnded.Error()
	}
	if err != nil {
		x.e.log.Error("run script", "execution", x.id, "err", err)
		res.ExitCode = sandbox.ExitThrew
		res.Error = "the sandbox could not run the script: " + err.Error() + "\nrun: broker doctor"
	}
	return res
}

var errEnded = errors.New("a person who manages the broker has cancelled the execution")

// cancellable makes x cancellable by Cancel.
func (x *Execution) cancellable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if x.id == "" { // it has no id
		return ctx, func() { cancel(nil) }
	}
	live := &x.e.root().running
	live.Store(x.id, cancel)
	return ctx, func() { live.Delete(x.id); cancel(nil) }
}

// Cancel ends an execution. It reports whether the execution runs here.
func (e *Executor) Cancel(id string) bool {
	cancel, ok := e.root().running.Load(id)
	if ok {
		cancel.(context.CancelCauseFunc)(errEnded)
	}
	return ok
}

// minRound is the least time of a script after a person has decided.
const minRound = 2 * time.Second

// connect makes the bridge of x. store stores content other than text, as in
// bridge.Options. If a skill's handler started x, the calls of x count against the budget
// of the execution that called the skill.
func (x *Execution) connect(ctx context.Context, store bridge.StoreFunc) {
	limits := x.o.Limits.WithDefaults()
	x.budget = bridge.NewBudget(limits.Calls, limits.InFlight)
	if within := x.e.executionOf(ctx); within != nil {
		x.budget = within.budget
	}
	var journal bridge.Journal
	if x.journal != nil {
		journal = x.journal
	}
	x.bridge = bridge.New(bridge.Options{
		Journal: journal,
		Resolve: x.e.catalog.Resolve,
		Caller:  bridge.CallerFunc((&upcall{x.e.catalog, x.o.Observer, &x.Request}).call),
		Policy:  x.o.Policy,
		Rules:   x.o.Rules,
		Approve: x.approve,
		Reveal: func(t *discovery.Tool, args json.RawMessage) (json.RawMessage, error) {
			return x.o.reveal(x.owner(), t, args)
		},
		Take:      x.o.counter(&x.Request).takeCall(),
		Past:      x.e.past(x.Request.Owner),
		Personal:  personal,
		Client:    x.Request.Client,
		Profile:   x.o.Profile,
		Execution: x.id,
		Record:    (&recorder{x.o, x.e.catalog, x.id, x.owner(), &x.heard}).record,
		Started: func(t *discovery.Tool, seq int) {
			if x.Request.Progress != nil {
				x.Request.Progress(seq, fmt.Sprintf("call %d: %s", seq, t.ID))
			}
		},
		Failure:     failure,
		StoreBinary: store,
		Budget:      x.budget,
		Validator:   x.e.validator,
	})
	x.origins.sources = x.bridge
}

type executionKey struct{}

// executionOf returns the execution of e, or of a view with the same tools, that ctx
// belongs to, or nil.
func (e *Executor) executionOf(ctx context.Context) *Execution {
	if x, ok := ctx.Value(executionKey{}).(*Execution); ok && x.e.root() == e.root() {
		return x
	}
	return nil
}

// Context returns ctx for actions of x: calls made with it through CallTool are calls of x.
func (x *Execution) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, executionKey{}, x)
}

// CallOfSkill makes a call of a skill as a call of x.
func (x *Execution) CallOfSkill(ctx context.Context, k *policy.Skill, tool string, args json.RawMessage) (json.RawMessage, error) {
	return x.bridge.CallOfSkill(ctx, k, tool, args)
}

// Uses declares that a module which a library provides to x calls tools: the tools that code names
// become available to it.
func (x *Execution) Uses(code string) { x.library.code += "\n" + code }

// Note adds a note for the model to the answer.
func (x *Execution) Note(text string) { x.notes = append(x.notes, text) }

// Left returns the remaining time of x.
func (x *Execution) Left() time.Duration { return x.limit - time.Since(x.started) }
