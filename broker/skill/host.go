package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills/script"
	"github.com/mcpbroker/mcpbroker/state"
)

// approvalRequired is the code of a script that no person has approved yet. It is not a
// failure: its exit code is sandbox.ExitApproval.
const approvalRequired script.Code = "approval_required"

// onHost runs a copy of the skill, which is what was approved whatever becomes
// of the skill meanwhile, and which is gone afterwards.
func (r *scriptRun) onHost(ctx context.Context) (*script.Result, error) {
	tmp, err := os.MkdirTemp("", "broker-skill-")
	if err != nil {
		return nil, fmt.Errorf("copy skill %s: %w", r.skill.Ref, err)
	}
	defer os.RemoveAll(tmp)
	dir, cwd := filepath.Join(tmp, cwdSkill), filepath.Join(tmp, cwdTemp)
	if err = r.bundle.Write(dir); err == nil {
		err = os.Mkdir(cwd, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("copy skill %s: %w", r.skill.Ref, err)
	}
	switch r.o.Cwd {
	case cwdTemp:
	case "", cwdSkill:
		cwd = dir
	default:
		cwd = r.o.Cwd
		if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
			return nil, &script.Error{Code: script.Failed, Message: "the folder that scripts start in is not there (config: skills.scriptCwd)"}
		}
	}
	result := script.Run(ctx, script.Request{
		Dir: dir, Script: r.script.Path, Args: r.args, Stdin: r.stdin, Cwd: cwd, Environ: r.o.Environ, Env: r.env(),
		Timeout: r.o.Timeout, MaxOutput: r.o.MaxOutput,
	})
	return &result, nil
}

// approve checks that a person allows the run. A result means that no person has, and
// says what to do.
func (r *scriptRun) approve(ctx context.Context) (*script.Result, error) {
	if r.x.o.ReadOnly {
		return nil, &script.Error{Code: script.NotAllowed, Message: "scripts may change something, and this broker is read-only"}
	}
	given, err := approvals.In(r.o.Approvals).Get(approvals.Script, r.skill.ID())
	if err != nil || given.Covers(r.bundle.Digest) {
		return nil, err
	}
	why := "nobody has allowed the scripts of skill " + r.skill.Ref + " to run on this host"
	if given.Digest != "" {
		why = "skill " + r.skill.Ref + " has changed since its scripts were allowed to run on this host"
	}
	said, err := r.ask(ctx, why)
	switch {
	case err != nil:
		why += " (the client was asked, and " + err.Error() + ")"
	case said == sayOnce, said == sayAlways && r.o.Approvals == nil:
		r.x.f.note(state.EventApproval, r.skill, r.x.Request.Client, "approved once: "+gate.Cut(r.script.Path, 200)+", files "+r.bundle.Digest, nil)
		return nil, nil
	case said == sayAlways:
		err := approvals.In(r.o.Approvals).Approve(approvals.Approval{Kind: approvals.Script, Subject: r.skill.ID(), Digest: r.bundle.Digest, By: r.x.Request.Client})
		r.x.f.note(state.EventSkillStateChanged, r.skill, r.x.Request.Client, "approved, files "+r.bundle.Digest, err)
		return nil, err
	case said == sayNo:
		r.x.f.note(state.EventApproval, r.skill, r.x.Request.Client, "denied: "+gate.Cut(r.script.Path, 200), nil)
		return nil, &script.Error{Code: script.NotAllowed, Message: "the user does not want " + r.script.Path + " to run"}
	}
	result := &script.Result{ExitCode: sandbox.ExitApproval, Code: approvalRequired}
	result.Error = fmt.Sprintf("%s: %s: it waits for approval, which the user gives by typing: broker skills approve %s", approvalRequired, why, r.skill.ID())
	return result, nil
}

// What a person may say.
const (
	sayNo     = "no"
	sayOnce   = "once"
	sayAlways = "always"
)

// errClosed means that the person closed the question without an answer. The run is not
// denied.
var errClosed = errors.New("the question was closed without an answer")

var approvalForm = json.RawMessage(`{"type":"object","properties":{"run":{"type":"string","title":"Run it?",` +
	`"enum":["` + sayNo + `","` + sayOnce + `","` + sayAlways + `"],` +
	`"enumNames":["No","This once","Yes, and do not ask again until the skill changes"],"default":"` + sayNo + `"}},"required":["run"]}`)

// cutApprovalForm is the approvalForm for a run that is not shown in full.
var cutApprovalForm = json.RawMessage(`{"type":"object","properties":{"run":{"type":"string","title":"Run it? Its arguments or its input are too long to show in full, so this run alone cannot be approved.",` +
	`"enum":["` + sayNo + `","` + sayAlways + `"],` +
	`"enumNames":["No","Yes, with any arguments and input, and do not ask again until the skill changes"],"default":"` + sayNo + `"}},"required":["run"]}`)

// ask asks the person at the client, unless the client lacks forms or has a token and
// so may be on another computer. Without an answer it returns nothing, or the reason.
func (r *scriptRun) ask(ctx context.Context, why string) (said string, err error) {
	talker := r.asker(why)
	if talker == nil || !talker.Capabilities().Form || r.x.Request.Owner != "" {
		return "", nil
	}
	defer sandbox.Pause(ctx)()
	input, form := "", approvalForm
	if r.stdin != "" {
		input = "Input: " + gate.Cut(string(gate.Compact(r.stdin)), maxShownInput) + "\n" // on one line, so that it cannot look like the others
	}
	if !r.shownWhole() {
		form = cutApprovalForm
	}
	q := surface.FormQuestion(form, gate.NewText(fmt.Sprintf(
		"Run %s of skill %s (%s) on this computer, with your rights and no sandbox?\nArguments: %s\n%sFiles: %s\nYou are asked because %s.",
		r.script.Path, r.skill.Ref, r.skill.Origin(), gate.Cut(string(gate.Compact(r.args)), maxShownInput), input, r.bundle.Digest, why)))
	answer, err := talker.Answer(ctx, q)
	if err != nil {
		return "", err
	}
	filled, ok := answer.(*mcp.ElicitResult)
	switch {
	case !ok:
		return "", fmt.Errorf("its answer is not an answer to a form")
	case filled.Action == "decline":
		return sayNo, nil
	case filled.Action != "accept": // cancelled or closed: no decision
		return "", errClosed
	}
	switch said, _ := filled.Content["run"].(string); {
	case said == sayAlways, said == sayOnce && r.shownWhole():
		return said, nil
	}
	return sayNo, nil
}

// maxShownInput bounds the arguments and the input of a script that a form shows, in
// characters.
const maxShownInput = 1000

// shownWhole reports whether a form shows the arguments and the input in full.
// Otherwise the person can approve the script with any input, but not this run alone.
func (r *scriptRun) shownWhole() bool {
	for _, v := range []any{r.args, r.stdin} {
		if utf8.RuneCount(gate.Compact(v)) > maxShownInput {
			return false
		}
	}
	return true
}
