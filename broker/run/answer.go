package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/broker/run/hint"
	"github.com/mcpbroker/mcpbroker/broker/run/output"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// An Answer is what the model receives. Its fields are encoded in the order in which the model
// reads them.
type Answer struct {
	ExitCode int             `json:"exit_code"`
	Result   json.RawMessage `json:"result,omitempty"`
	Stdout   string          `json:"stdout,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	// RunID identifies a run that waits until Expires for a person to decide about the Pending
	// calls.
	RunID   string            `json:"run_id,omitempty"`
	Expires string            `json:"expires,omitempty"`
	Pending []approve.Pending `json:"pending,omitempty"`
	// Replayed is the number of calls that were answered from the journal of the
	// earlier run; clients do not get it. Reused are the calls that a changed script
	// reused.
	Replayed int      `json:"-"`
	Reused   []Reused `json:"reused,omitempty"`

	DurationMS  int64        `json:"duration_ms"`
	ToolsCalled []bridge.Row `json:"tools_called"`
	Truncated   bool         `json:"truncated,omitempty"`
	// Ref is the reference for results.get to the complete data that was cut: the result if it was
	// cut, otherwise the output.
	Ref  string `json:"ref,omitempty"`
	Hint string `json:"hint,omitempty"`

	// Diagnostics is the uncut part of Stderr that the script did not print: notes, and why it
	// failed.
	Diagnostics string `json:"-"`
	// Media are the stored images and sounds that the result refers to, for clients that can show
	// them.
	Media []output.Media `json:"-"`
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

// refusal returns the answer to a request that is not run.
func refusal(why string) Answer {
	return Answer{ExitCode: sandbox.ExitRefused, Stderr: why, Diagnostics: why, ToolsCalled: []bridge.Row{}}
}

// timeoutFlag names the flag that raises the time limit, for users at a terminal.
const timeoutFlag = "\nthe time limit of a script is that of broker exec --timeout SECONDS"

// finish builds the answer and commits its record before it is sent.
func (x *Execution) finish(res sandbox.Result) Answer {
	if x.Request.Shell && res.ExitCode == sandbox.ExitTimeout {
		res.Error += timeoutFlag
	}
	a := x.answer(res)
	x.Commit(res, gate.Compact(a))
	return a
}

// answer builds the answer within the budgets of the model's context.
func (x *Execution) answer(res sandbox.Result) Answer {
	a := Answer{ExitCode: res.ExitCode, ToolsCalled: []bridge.Row{}}
	budget := x.o.MaxOutputChars
	var cutOut, cutErr, cutRes bool
	// Stdout and the result share the budget: each may use what the other leaves, and always half
	// of it.
	resultBudget := max(budget-int(min(x.stdout.Chars(), int64(budget))), budget/2)
	a.Result = res.Value
	if !x.Request.Uncut {
		// The value may contain text of upstream servers. Stored data is for scripts and stays
		// unchanged.
		a.Result, a.Ref, cutRes = output.CutResult(gate.JSON(res.Value), resultBudget, func(json.RawMessage) string { return x.results.Put(state.JSON, res.Value) })
	}
	var ref string
	a.Stdout, ref, cutOut = x.stdout.Text(max(budget-utf8.RuneCount(a.Result), budget/2))
	x.origins.recordResults(a.Ref, ref)
	a.Ref = cmp.Or(a.Ref, ref)
	res.Notes = slices.Concat(res.Notes, res.Reads, x.heard.Drifts.Notes())
	a.Diagnostics = located(x.Request.File, diagnostics(res))
	a.Stderr, cutErr = stderrText(x.stderr, a.Diagnostics)
	if !x.Request.Uncut {
		a.Stdout, a.Stderr = gate.Clean(a.Stdout), gate.Clean(a.Stderr)
	}
	a.Truncated = cutOut || cutErr || cutRes
	a.Media = x.results.Media(res.Value)
	if x.bridge != nil {
		a.ToolsCalled = bridge.Rows(x.bridge.Records())
	}
	hints := slices.Concat(x.notes, x.heard.Partials.Notes(), x.heard.Habits.Hints(x.Request.Code, res), x.o.pythonHint(&x.Request, res.ExitCode))
	if x.storeFailed.Load() {
		hints = append(hints, "what is too long for the answer could not be kept: there is no reference to the rest")
	}
	if g := x.journal; g != nil {
		if n := g.unmade(); n > 0 {
			hints = append(hints, fmt.Sprintf("calls of the plan that were not made: %d", n))
		}
		a.Replayed, a.Reused = g.replayedCalls, g.reused
		if text := g.hint(); text != "" && a.IsError() {
			hints = append(hints, text)
		}
	}
	if !x.Request.Uncut { // diagnostics are part of an uncut answer
		hints = append(hints, res.Reads...)
	}
	if cutRes {
		hints = append(hints, "the result is "+hint.Shape(res.Value)+"; return less of it"+output.BudgetName+output.ReadRest(a.Ref, "{ path, offset, limit }"))
	} else if cutOut {
		hints = append(hints, "print less: loop, filter and count in the script"+output.BudgetName+output.ReadRest(a.Ref, "{ offset, limit }"))
	}
	a.Hint = gate.NewText(strings.Join(hints, "; ")).Cut(maxHintChars).String()
	a.DurationMS = time.Since(x.started).Milliseconds()
	return a
}

// located replaces the file name in positions in a text by the path of the script. In the sandbox
// the script has the base name of its file, or a default name.
func located(file, text string) string {
	if file == "" || text == "" {
		return text
	}
	names := `agent\.(?:[jt]s|py)`
	if name := sandbox.FileName(file); name != "" {
		names += "|" + regexp.QuoteMeta(name)
	}
	scriptPlace, err := regexp.Compile(`(?m)(?:^|\b)(?:` + names + `)(:\d)`)
	if err != nil {
		return text // the name is quoted
	}
	return scriptPlace.ReplaceAllString(text, strings.ReplaceAll(gate.Line(file), "$", "$$")+"$1")
}

// diagnostics returns the notes on a run, followed by the reason it failed.
func diagnostics(res sandbox.Result) string {
	lines := slices.Clone(res.Notes)
	if res.Error != "" {
		lines = append(lines, res.Error)
	}
	return strings.Join(lines, "\n")
}

// stderrText returns the script's stderr followed by the broker's notes. If both are too long, the
// notes are kept, since they say what to do.
func stderrText(stderr *output.Capture, ours string) (string, bool) {
	cutOurs := false
	if r := []rune(ours); len(r) > maxStderrChars*3/4 {
		half := maxStderrChars * 3 / 8
		ours = output.Cut(string(r[:half]), string(r[len(r)-half:]), int64(len(r)-2*half), int64(len(r)), "")
		cutOurs = true
	}
	printed, _, cutPrinted := stderr.Text(maxStderrChars - len([]rune(ours)))
	if printed != "" && ours != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	return printed + ours, cutOurs || cutPrinted
}

// pythonHint returns a hint for a script in Python that was run as another language.
func (o *Options) pythonHint(req *Request, exit int) []string {
	if exit != sandbox.ExitRefused && exit != sandbox.ExitThrew || slices.Contains([]string{"python", "py"}, strings.ToLower(req.Language)) || !hint.Python(req.Code) {
		return nil
	}
	if o.Language == sandbox.Python && req.Language == "" {
		return nil
	}
	switch {
	case !slices.Contains(o.Languages, sandbox.Python) || o.UnavailableLanguages[sandbox.Python] != "":
		return []string{"this looks like Python, which does not run here: write it in TypeScript"}
	case req.Shell:
		return []string{"this looks like Python: broker exec --language python"}
	}
	return []string{`this looks like Python: send it with "language": "python", or write it in TypeScript`}
}
