package broker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/skills"
)

// mayCall refuses a tool that is not among those that the skill declares as
// allowed, if that is to be a limit. A skill that declares none has none.
func (x *execution) mayCall(ctx context.Context, k *skills.Skill, tool string) error {
	tokens := k.AllowedTools
	if !x.o.EnforceAllowedTools || len(tokens) == 0 {
		return nil
	}
	t, err := x.b.resolve(ctx, strings.TrimSpace(tool))
	if err != nil {
		return errors.New(errorText(err))
	}
	if allowedTool(tokens, t) {
		return nil
	}
	return fmt.Errorf("skill %s may not call %s: its allowed-tools are %s (config: skills.enforceAllowedTools)", k.Ref, t.ID, clip(strings.Join(tokens, " "), 300))
}

// allowedTool reports whether one of the tokens of allowed-tools means a tool:
// by its id, by server and tool joined as calls may join them or as other clients
// do, mcp__server__tool, each also as a pattern in the style of path.Match; or by
// mcp__server alone for all of a server's.
func allowedTool(tokens []string, t *discovery.Tool) bool {
	server := strings.TrimSuffix(t.ID, "__"+t.Name)
	names := []string{
		t.ID, "mcp__" + t.ID, "mcp__" + t.Server + "__" + t.Name,
		t.Server + "." + t.Name, t.Server + "/" + t.Name, t.Server + ":" + t.Name,
		"mcp__" + server, "mcp__" + t.Server,
	}
	return slices.ContainsFunc(tokens, func(token string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, _ := path.Match(token, name) // one that is no pattern means nothing
			return ok
		})
	})
}
