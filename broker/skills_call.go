package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
)

// userSession is the conversation of a user who calls tools of skills himself.
const userSession = "user"

// CallSkillTool calls a tool of a skill for a user, as call_skill_tool does for
// a model, also of one that is not shown to models. req says who asks. What is
// wrong with the names is a *skills.FileError; what a workflow refuses is a
// value, and reported as failed; so is the result of a script that failed, or
// waits for approval.
func (b *Broker) CallSkillTool(ctx context.Context, skill, tool string, input json.RawMessage, req ExecuteRequest) (value json.RawMessage, failed bool, err error) {
	b.RefreshSkills()
	k, err := b.skillsNow().Find(skill)
	if unlisted := b.Unlisted(); err != nil && b.lazy.Load() && len(unlisted) > 0 { // one of them may have it
		b.Refresh(ctx, unlisted...)
		b.takeServerSkills()
		b.lookAtSkills()
		k, err = b.skillsNow().Find(skill)
	}
	if err != nil {
		return nil, true, err
	}
	switch k.State {
	case skills.Disabled:
		return nil, true, &skills.FileError{Code: "skill_not_found", Message: fmt.Sprintf("skill %q is switched off: broker skills enable %s", k.Ref, k.Ref)}
	case skills.Excluded:
		return nil, true, &skills.FileError{Code: "skill_not_found", Message: fmt.Sprintf("skill %q is left out by \"include\" or \"exclude\" of \"skills\" in the config", k.Ref)}
	}
	req.Session = userSession
	c := skillCall{reader: reader{req.Owner, req.Session}, skill: k.Ref, tool: tool, input: input}
	if !k.ModelInvocable {
		if _, err := k.Activate(b.skills.session(c.reader), "", true); err != nil {
			return nil, true, err
		}
	}
	x := b.beginSkillCall(ctx, c, req)
	answer, err := x.skillTool(ctx, c)
	res := ended(answer, err)
	x.commit(res, int64(len(answer.JSON)))
	if e, ok := errors.AsType[*workflowError](err); ok {
		return e.answer, true, nil
	}
	return answer.JSON, res.ExitCode != sandbox.ExitOK, err
}

// beginSkillCall begins the record of a call, with a bridge for the calls of
// tools that it makes.
func (b *Broker) beginSkillCall(ctx context.Context, c skillCall, req ExecuteRequest) *execution {
	req.Code = "call_skill_tool " + clip(c.skill, 100) + " " + clip(c.tool, 100)
	x := &execution{b: b, o: b.options(), started: time.Now(), req: req}
	x.begin(languageCall)
	x.bridge = x.newBridge(ctx, x.keepBinary)
	return x
}
