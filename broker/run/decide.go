package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxQuestions bounds the questions to the client of one execution: some clients fail at the
	// tenth, and people stop reading.
	maxQuestions = 8
	// decideTime bounds the time of a person at the client to decide.
	decideTime = 5 * time.Minute
	// maxAskChars bounds the calls in one form, and maxAskedArguments the arguments of one call. A
	// longer call takes up to maxParts forms; a call that does not fit in them cannot be approved
	// in a form.
	maxAskChars, maxAskedArguments, maxParts = 3_500, 2_000, 5
)

// AnswerDeny is the answer that denies the calls of a question.
const AnswerDeny = "deny"

// The answers to a question about calls. A form without an answer decides nothing.
const (
	approveOnce   = "approve once"
	approveRun    = "approve for this run"
	approveAlways = "approve always"
	denyCalls     = AnswerDeny
	stopRun       = "stop"
	showRest      = "show the rest"
)

// Denied returns, as JSON, the error that a script gets for a call that a person denied. The
// reason may be empty.
func Denied(c state.RunCall, reason string) json.RawMessage {
	server, tool, _ := strings.Cut(c.Tool, "__")
	e := &bridge.Error{Server: server, Tool: tool, Code: bridge.CodeDenied, Message: c.Tool + " was denied by the user",
		Hint: "go on without it, or ask the user what to do instead"}
	if reason != "" {
		e.Message += ": " + reason
	}
	b, _ := json.Marshal(&sandbox.CallError{Name: "ToolError", Message: e.Message, Fields: e.Fields()}) // its fields are JSON
	return b
}

var errStopped = errors.New("the user stopped the run")

// A reply answers a question about the first calls of a list, as many as the question shows.
type reply struct {
	answer string // empty if the form was closed
	shown  int
	denied []int // ordinals that are denied all the same
}

func (r reply) approves() bool { return r.answer == approveOnce || r.answer == approveRun }

// ask asks the person at the client about calls. An error means that no person could be asked.
// x.asking must be held.
func (x *Execution) ask(ctx context.Context, calls []state.RunCall) (r reply, err error) {
	if x.Request.Talker == nil || !x.Request.Talker.Capabilities().Form {
		return r, errors.New("this client cannot show a question")
	}
	q := x.question(calls)
	if x.questions += 1 + len(q.parts); x.questions > maxQuestions {
		return r, fmt.Errorf("this run has asked %d times, which is the most", maxQuestions)
	}
	shown := q.shown
	r.shown = shown
	for _, part := range q.parts {
		sent, err := x.Request.Talker.Answer(ctx, surface.FormQuestion(decisionForm([]string{showRest, denyCalls, stopRun}, ""), part))
		if err != nil {
			return r, err
		}
		if r.answer, _ = decisionOf(sent); r.answer == denyCalls || r.answer == stopRun {
			return r, nil
		}
		if r.answer != showRest {
			r.answer = ""
			return r, nil
		}
		r.answer = ""
	}
	answers := []string{approveOnce, approveRun, denyCalls, stopRun}
	if q.truncated {
		answers = []string{denyCalls, stopRun}
	} else if x.o.Always != nil && x.Request.Owner == state.Local && Lasting(calls[:shown]) == nil {
		answers = slices.Insert(answers, 2, approveAlways)
	}
	but := ""
	if shown > 1 {
		but = `,"except":{"type":"string","title":"Deny these all the same, by number"}`
	}
	sent, err := x.Request.Talker.Answer(ctx, surface.FormQuestion(decisionForm(answers, but), q.text))
	if err != nil {
		return r, err
	}
	var ok bool
	r.answer, but = decisionOf(sent)
	if r.denied, ok = numbersOf(but, calls[:shown]); !ok {
		r.answer = ""
	}
	if !slices.Contains(answers, r.answer) {
		r.answer = ""
	}
	if q.truncated && r.answer == "" {
		return r, errTooLong
	}
	if r.answer == approveAlways {
		if err := x.o.Always(ToolsOf(without(calls[:shown], r.denied))); err != nil {
			x.Note("the policy was not changed: " + err.Error())
		}
		r.answer = approveRun
	}
	return r, nil
}

// errTooLong reports that the arguments of a call do not fit in the forms.
var errTooLong = errors.New("its arguments are too long for a form, and a call must be shown in full to be approved: send less at a time")

// decisionForm returns a form with one choice and an optional further answer.
func decisionForm(answers []string, more string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["` +
		strings.Join(answers, `","`) + `"]}` + more + `},"required":["decision"]}`)
}

// decisionOf returns the answers of a form, or nothing if it was cancelled or closed. A
// declined form denies the calls.
func decisionOf(sent mcp.InputResponse) (decision, except string) {
	result, ok := sent.(*mcp.ElicitResult)
	switch {
	case ok && result.Action == "accept":
		decision, _ = result.Content["decision"].(string)
		except, _ = result.Content["except"].(string)
	case ok && result.Action == "decline":
		decision = denyCalls
	}
	return decision, except
}

// numbersOf returns the ordinals that a text lists; ok is false if the text says anything else.
func numbersOf(text string, of []state.RunCall) (list []int, ok bool) {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || !slices.ContainsFunc(of, func(c state.RunCall) bool { return c.Ordinal == n }) {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// approve asks about a call that cannot wait for a later decision; the script waits meanwhile.
func (x *Execution) approve(ctx context.Context, t *discovery.Tool, args json.RawMessage, d policy.Decision) (bool, error) {
	defer sandbox.Pause(ctx)()
	x.asking.Lock()
	defer x.asking.Unlock()
	if x.stopped || slices.Contains(x.approvedTools, t.ID) {
		return !x.stopped, nil
	}
	calls := []state.RunCall{{Ordinal: x.questions + 1, Tool: t.ID, Args: args, Why: d.Reason, Code: d.Code}}
	r, err := x.ask(ctx, calls)
	if err == nil && r.answer == "" {
		return false, bridge.ErrUnanswered
	}
	if err == nil && x.o.Audit != nil {
		id := x.id
		if x.journal != nil {
			id = x.journal.run.ID
		}
		x.o.Audit.Note(x.verdict(r).Event(id, calls))
	}
	if r.answer == approveRun {
		x.approvedTools = append(x.approvedTools, t.ID)
	}
	x.stopped = r.answer == stopRun
	return r.approves(), err
}

// decide asks about all waiting calls while the script does not run. It reports whether the run
// continues from the journal; otherwise the run waits.
func (x *Execution) decide(ctx context.Context, pending []state.RunCall) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	x.asking.Lock()
	began := time.Now()
	verdicts, stopped := x.verdicts(ctx, pending)
	x.asking.Unlock()
	if len(verdicts) == 0 {
		return false, nil
	}
	if o, ok := x.o.Observer.(interface{ Decided(took time.Duration) }); ok {
		o.Decided(time.Since(began))
	}
	id := x.journal.run.ID
	err = x.o.Runs.Change(ctx, id, func(r *state.Run, calls []state.RunCall) error {
		for _, v := range verdicts {
			if err := v.Decide(r, calls, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // somebody else decided, or the time was up
		x.e.log.Warn("approve calls", "run", id, "err", err)
		return false, nil
	}
	for _, v := range verdicts {
		if x.o.Audit != nil {
			x.o.Audit.Note(v.Event(id, slices.DeleteFunc(slices.Clone(pending), func(c state.RunCall) bool { return !slices.Contains(v.Only, c.Ordinal) })))
		}
	}
	run, calls, j, err := x.o.Runs.Resume(ctx, x.Request.Owner, id)
	if err != nil {
		return false, nil
	}
	x.codeChanged, x.Request.Code = false, run.Code
	if stopped {
		run.Status, run.ExitCode, run.Error = state.StatusFailed, sandbox.ExitThrew, errStopped.Error()
		return false, errors.Join(fmt.Errorf("%w: %s", errStopped, Summary(calls)), j.End(run))
	}
	x.journal.mu.Lock()
	x.journal.load(run, calls, j)
	x.journal.mu.Unlock()
	refused, recorded := x.recordings(ctx, calls)
	if refused != nil {
		x.journal.end(state.StatusWaiting, sandbox.Result{ExitCode: sandbox.ExitApproval})
		return false, nil
	}
	x.recordedCalls = recorded
	if run.Plan != "" { // the calls that it counted were not made
		x.bridge.Forget()
		x.recall(ctx)
	}
	return true, nil
}

// verdicts returns the person's decisions about all calls, asked in as many forms as
// necessary, or none if one of the forms was not answered. x.asking must be held.
func (x *Execution) verdicts(ctx context.Context, calls []state.RunCall) (list []state.Verdict, stopped bool) {
	// Calls that cannot be approved here come first: unless they are denied, the run waits.
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b state.RunCall) int { return boolInt(x.tooLong(b)) - boolInt(x.tooLong(a)) })
	for len(calls) > 0 && !stopped {
		r, err := x.ask(ctx, calls)
		if err != nil || r.answer == "" {
			return nil, false
		}
		v := x.verdict(r)
		for _, c := range without(calls[:r.shown], r.denied) {
			v.Only = append(v.Only, c.Ordinal)
		}
		if len(v.Only) > 0 { // an empty list would mean all
			list = append(list, v)
		}
		if len(r.denied) > 0 {
			list = append(list, state.Verdict{By: v.By, Denied: Denied, Only: r.denied})
		}
		calls, stopped = calls[r.shown:], r.answer == stopRun
	}
	return list, stopped
}

// verdict converts a reply from the client.
func (x *Execution) verdict(r reply) state.Verdict {
	return state.Verdict{By: "form: " + x.Request.Client, Denied: Denied, Approve: r.approves(), ForRun: r.answer == approveRun}
}

// without returns calls without those of the given ordinals.
func without(calls []state.RunCall, ordinals []int) []state.RunCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c state.RunCall) bool { return slices.Contains(ordinals, c.Ordinal) })
}

// Lasting returns an error if a rule that allows these calls would not keep the policy from
// asking: rules that ask, and flows, take precedence over it.
func Lasting(calls []state.RunCall) error {
	for _, c := range calls {
		if c.Code != policy.CodePreset || strings.ContainsAny(c.Tool, "*?[]\\") {
			return fmt.Errorf("%s cannot be approved always: it %s, and that wins over a rule that allows", c.Tool, gate.Quote(c.Why, maxPendingWhy))
		}
	}
	return nil
}

// ToolsOf returns the ids of the tools of calls, each once.
func ToolsOf(calls []state.RunCall) (tools []string) {
	for _, c := range calls {
		if !slices.Contains(tools, c.Tool) {
			tools = append(tools, c.Tool)
		}
	}
	return tools
}
