package link

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// SkillsExtension is the name of the protocol's extension for skills
// (SEP-2640). Servers that declare it among their capabilities list skills.
const SkillsExtension = "io.modelcontextprotocol/skills"

const (
	methodListSkills = "skills/list"
	methodGetSkill   = "skills/get"

	// A server may list as much as this.
	maxSkills      = 2_000
	maxSkillPages  = 200
	maxSkillsBytes = 32 << 20
)

type skillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
	URI    string `json:"uri,omitempty"`
}

// A skillsResult is a page of skills/list or the answer of skills/get. What is
// in it is decoded one by one: what is wrong with one skill is not wrong with
// the others.
type skillsResult struct {
	mcp.ResultBase
	Skills     []json.RawMessage `json:"skills"`
	Skill      json.RawMessage   `json:"skill"`
	NextCursor string            `json:"nextCursor"`
}

// sendsSkillMethods makes the SDK know the methods of the extension.
func sendsSkillMethods(c *mcp.Client) {
	for _, m := range []string{methodListSkills, methodGetSkill} {
		if err := mcp.AddSendingCustomMethod[*skillsParams, *skillsResult](c, m); err != nil {
			panic(err) // only for methods of the SDK itself
		}
	}
}

// ServesSkills reports whether the server declares the extension.
func (s *Session) ServesSkills() bool {
	has := s.capabilities()
	if has == nil {
		return false
	}
	_, ok := has.Extensions[SkillsExtension]
	return ok
}

// Skills fetches all pages of skills/list.
func (s *Session) Skills(ctx context.Context) (list []discovery.ListedSkill, problems []string, err error) {
	defer s.panics.recovered(methodListSkills, &err)
	seen := map[string]bool{"": true}
	size := 0
	for cursor, pages := "", 0; ; pages++ {
		res, err := mcp.CallCustomMethod[*skillsParams, *skillsResult](ctx, s.mcp, methodListSkills, &skillsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		for _, raw := range res.Skills {
			if size += len(raw); size > maxSkillsBytes || len(list) == maxSkills {
				return list, append(problems, fmt.Sprintf("the server lists more than %d skills, or %d MiB of them: the first %d are taken", maxSkills, maxSkillsBytes>>20, len(list))), nil
			}
			one, err := listing.Skill(raw)
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			list = append(list, one)
		}
		switch cursor = res.NextCursor; {
		case cursor == "":
			return list, problems, nil
		case seen[cursor] || pages == maxSkillPages:
			return list, append(problems, fmt.Sprintf("%s does not end: the %d skills up to there are taken", methodListSkills, len(list))), nil
		}
		seen[cursor] = true
	}
}

// Skill asks the server for the entry of the skill at uri.
func (s *Session) Skill(ctx context.Context, uri string) (one discovery.ListedSkill, err error) {
	if !s.ServesSkills() {
		return one, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server does not say that it has skills"}
	}
	err = s.request(ctx, methodGetSkill, func(ctx context.Context) error {
		res, err := mcp.CallCustomMethod[*skillsParams, *skillsResult](ctx, s.mcp, methodGetSkill, &skillsParams{URI: uri})
		if err != nil {
			return err
		}
		if one, err = listing.Skill(res.Skill); err != nil || one.URI != uri {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the answer is not about the skill that was asked for"}
		}
		if one, err = hiddenSkill(one, s.Hide); err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		}
		return nil
	})
	return one, err
}

// Resource reads a resource of the server unchanged.
func (s *Session) Resource(ctx context.Context, uri string) (data []byte, err error) {
	err = s.request(ctx, methodReadResource, func(ctx context.Context) error {
		res, err := s.mcp.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		for _, c := range res.Contents {
			if c != nil && c.URI == uri {
				data = c.Blob
				if data == nil {
					data = []byte(c.Text)
				}
				return nil
			}
		}
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the answer holds another resource"}
	})
	return data, err
}

// request runs f, which makes one request that the SDK decodes.
func (s *Session) request(ctx context.Context, what string, f func(context.Context) error) (err error) {
	defer s.panics.recovered(what, &err)
	kept := captureError()
	defer kept.Release()
	if err = f(transport.WithCapture(ctx, kept)); err != nil {
		return answerError(kept, err) // the SDK confuses codes of servers with its own
	}
	return nil
}
