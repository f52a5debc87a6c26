// Package approve asks a person about calls that wait for an approval: it shows each call exactly,
// and converts the answers to verdicts.
package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxQuestions bounds the questions to the client of one execution: some clients fail at the
	// tenth, and people stop reading.
	maxQuestions = 8
	// MaxChars bounds the calls in one form, and maxAskedArguments the arguments of one call. A
	// longer call takes up to maxParts forms; a call that does not fit in them cannot be approved
	// in a form.
	MaxChars, maxAskedArguments, maxParts = 3_500, 2_000, 5
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

// An Asker asks the person at the client of one execution about its calls, one question at a time.
type Asker struct {
	Talker upstream.Talker // nil if no person can be asked
	Client string          // the name of the client, for the record
	// Always allows tools for good; it is nil if the person may not choose that.
	Always func(tools []string) error
	// Describe replaces the tokens in arguments by what they represent; it may be nil.
	Describe func(args json.RawMessage) json.RawMessage
	// Note adds a note for the model to the answer.
	Note func(text string)

	mu        sync.Mutex // guards what follows
	questions int
	approved  []string // tools that were approved for all of this run
	stopped   bool
}

// Once asks about a call that cannot wait for a later decision, unless an earlier answer applies.
// decided is called with the verdict of an answered question.
func (a *Asker) Once(ctx context.Context, c state.RunCall, decided func(state.Verdict, []state.RunCall)) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped || slices.Contains(a.approved, c.Tool) {
		return !a.stopped, nil
	}
	c.Ordinal = a.questions + 1
	calls := []state.RunCall{c}
	r, err := a.ask(ctx, calls)
	if err == nil && r.answer == "" {
		return false, bridge.ErrUnanswered
	}
	if err == nil {
		decided(a.verdict(r), calls)
	}
	if r.answer == approveRun {
		a.approved = append(a.approved, c.Tool)
	}
	a.stopped = r.answer == stopRun
	return r.approves(), err
}

// All asks about all calls, in as many forms as necessary. It returns no verdicts if one of the
// forms was not answered; stopped reports that the person stops the run.
func (a *Asker) All(ctx context.Context, calls []state.RunCall) (verdicts []state.Verdict, stopped bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.verdicts(ctx, calls)
}

// A reply answers a question about the first calls of a list, as many as the question shows.
type reply struct {
	answer string // empty if the form was closed
	shown  int
	denied []int // ordinals that are denied all the same
}

func (r reply) approves() bool { return r.answer == approveOnce || r.answer == approveRun }

// ask asks the person at the client about calls. An error means that no person could be asked.
// a.mu must be held.
func (a *Asker) ask(ctx context.Context, calls []state.RunCall) (r reply, err error) {
	if a.Talker == nil || !a.Talker.Capabilities().Form {
		return r, errors.New("this client cannot show a question")
	}
	q := a.question(calls)
	if a.questions += 1 + len(q.parts); a.questions > maxQuestions {
		return r, fmt.Errorf("this run has asked %d times, which is the most", maxQuestions)
	}
	shown := q.shown
	r.shown = shown
	for _, part := range q.parts {
		sent, err := a.Talker.Answer(ctx, surface.FormQuestion(decisionForm([]string{showRest, denyCalls, stopRun}, ""), part))
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
	} else if a.Always != nil && Lasting(calls[:shown]) == nil {
		answers = slices.Insert(answers, 2, approveAlways)
	}
	but := ""
	if shown > 1 {
		but = `,"except":{"type":"string","title":"Deny these all the same, by number"}`
	}
	sent, err := a.Talker.Answer(ctx, surface.FormQuestion(decisionForm(answers, but), q.text))
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
		if err := a.Always(ToolsOf(without(calls[:shown], r.denied))); err != nil {
			a.Note("the policy was not changed: " + err.Error())
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

// verdicts returns the person's decisions about all calls, asked in as many forms as
// necessary, or none if one of the forms was not answered. a.mu must be held.
func (a *Asker) verdicts(ctx context.Context, calls []state.RunCall) (list []state.Verdict, stopped bool) {
	// Calls that cannot be approved here come first: unless they are denied, the run waits.
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(b, c state.RunCall) int {
		switch long := a.tooLong(b); {
		case long == a.tooLong(c):
			return 0
		case long:
			return -1
		}
		return 1
	})
	for len(calls) > 0 && !stopped {
		r, err := a.ask(ctx, calls)
		if err != nil || r.answer == "" {
			return nil, false
		}
		v := a.verdict(r)
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
func (a *Asker) verdict(r reply) state.Verdict {
	return state.Verdict{By: "form: " + a.Client, Denied: Denied, Approve: r.approves(), ForRun: r.answer == approveRun}
}

// without returns calls without those of the given ordinals.
func without(calls []state.RunCall, ordinals []int) []state.RunCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c state.RunCall) bool { return slices.Contains(ordinals, c.Ordinal) })
}
