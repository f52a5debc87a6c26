package broker

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An asker asks for somebody who is no server: a skill. Who it is stands in the
// first line of each question, in which nobody else writes.
type asker struct {
	upstream.Talker
	first string
	text  string // instead of what the question says; empty keeps that
}

// Answer implements upstream.Talker.
func (a asker) Answer(ctx context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	if e, ok := q.(*mcp.ElicitParams); ok {
		out := *e
		if a.text != "" {
			out.Message = a.text
		}
		out.Message = gate.Question(a.first, out.Message)
		if schema, err := json.Marshal(e.RequestedSchema); err == nil && e.RequestedSchema != nil {
			out.RequestedSchema = gate.Form(schema)
		}
		q = &out
	}
	return a.Talker.Answer(ctx, q)
}

// asker asks whether the script may run, in lines of which the script, its skill
// and the model fill one each.
func (r *scriptRun) asker(why string) upstream.Talker {
	if r.x.req.Talker == nil {
		return nil
	}
	var text strings.Builder
	for _, f := range [][2]string{
		{"script", clip(visible(r.script.Path), 300)}, {"of", r.skill.Origin()}, {"arguments", clip(string(compactJSON(r.args)), 1000)},
		{"input", clip(string(compactJSON(r.stdin)), 1000)}, {"files", r.bundle.Digest}, {"you are asked because", why},
	} {
		if f[1] != `""` { // no input
			text.WriteString(f[0] + ": " + gate.Line(f[1]) + "\n")
		}
	}
	return asker{r.x.req.Talker, gate.Speaker("Skill", r.skill.Ref) + " asks to run a script on this computer, with your rights and no sandbox:", text.String()}
}

// visible is a path as it is read; one that has more than a reader sees is in
// quotes, with escapes.
func visible(path string) string {
	if gate.Terminal(path) == path {
		return path
	}
	return gate.Terminal(string(compactJSON(path)))
}
