package link

//lint:file-ignore SA1019 sampling is deprecated since 2026-07-28, and servers still use it

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/hide"
)

var errSecretInQuestion = errors.New("the question contains a secret of the server that cannot be hidden")

// hiddenIn returns q without the secret values of the server, since its text reaches a
// person or the model of a client. It returns an error for a question that cannot be
// answered without them.
func hiddenIn(q mcp.InputRequest, h *hide.Hider) (mcp.InputRequest, error) {
	if h == nil {
		return q, nil
	}
	switch q := q.(type) {
	case *mcp.ElicitParams:
		if h.Holds(q.URL) || h.Holds(q.ElicitationID) {
			return nil, errSecretInQuestion
		}
		out := *q
		out.Message = h.In(q.Message)
		if q.RequestedSchema != nil {
			raw, err := json.Marshal(q.RequestedSchema)
			if err != nil {
				return nil, err
			}
			out.RequestedSchema = nil
			if json.Unmarshal(h.InSchema(raw), &out.RequestedSchema) != nil {
				return nil, errSecretInQuestion
			}
		}
		return &out, nil
	case *mcp.CreateMessageWithToolsParams:
		raw, err := json.Marshal(q)
		if err != nil {
			return nil, err
		}
		out := new(mcp.CreateMessageWithToolsParams)
		if json.Unmarshal(h.InJSON(raw), out) != nil {
			return nil, errSecretInQuestion
		}
		return out, nil
	}
	return q, nil
}

// hiddenSkill returns a listed skill without the secret values of the server.
func hiddenSkill(one discovery.ListedSkill, h *hide.Hider) (discovery.ListedSkill, error) {
	l := discovery.Listing{Skills: []discovery.ListedSkill{one}}
	if h.Listing(&l); len(l.Skills) != 1 {
		return one, errors.New("the skill has a secret in its address")
	}
	return l.Skills[0], nil
}
