package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/broker/run"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
)

// userSession is the conversation of a user who calls tools of skills himself.
const userSession = "user"

// Call calls a tool of a skill for a user, as call_skill_tool does for
// a model, also of one that is not shown to models. req says who asks. What is
// wrong with the names is a *skills.FileError; what a workflow refuses is a
// value, and reported as failed; so is the result of a script that failed, or
// waits for approval.
func (u users) Call(ctx context.Context, skill, tool string, input json.RawMessage, req run.Request) (value json.RawMessage, failed bool, err error) {
	u.f.Refresh()
	k, err := u.f.now().Find(skill)
	if unlisted := u.f.catalog.UnlistedNames(); err != nil && u.f.catalog.Lazy() && len(unlisted) > 0 { // one of them may have it
		u.f.catalog.Pool.Refresh(ctx, unlisted...)
		u.f.Renew()
		k, err = u.f.now().Find(skill)
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
		if _, err := k.Activate(u.f.sessions.session(c.reader), "", true); err != nil {
			return nil, true, err
		}
	}
	x := u.f.begin(ctx, c, req)
	answer, err := x.skillTool(ctx, c)
	res := ended(answer, err)
	x.Commit(res, answer.JSON)
	if e, ok := errors.AsType[*workflowError](err); ok {
		return e.answer, true, nil
	}
	return answer.JSON, res.ExitCode != sandbox.ExitOK, err
}

// running is an execution that uses skills.
type running struct {
	*run.Execution
	f *Feature
	o *Options // as it began
}

func (f *Feature) in(x *run.Execution) *running { return &running{x, f, f.opts.Load()} }

// begin begins the record of a call, with a bridge for the calls of tools that it
// makes.
func (f *Feature) begin(ctx context.Context, c skillCall, req run.Request) *running {
	req.Code = "call_skill_tool " + gate.Cut(c.skill, 100) + " " + gate.Cut(c.tool, 100)
	return f.in(f.runs.Begin(ctx, req))
}
