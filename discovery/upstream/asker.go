package upstream

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// spoken is a labelled form or page whose first line says which server asks, and
// of whom the page is. What the server says is quoted below it, and each text of
// its form is one line, so that it cannot speak for another.
func spoken(server string, q, labelled mcp.InputRequest) mcp.InputRequest {
	asked, ok := q.(*mcp.ElicitParams)
	if !ok {
		return labelled
	}
	out := *labelled.(*mcp.ElicitParams) // as labelled has made it of the same kind
	first := gate.Speaker("Server", server) + " asks:"
	if host, err := outbound.Page(asked.URL); err == nil && isPage(asked) {
		first = gate.Speaker("Server", server) + " asks you to open a page of " + gate.Line(host) + ":"
	}
	out.Message = gate.Question(first, gate.Cut(asked.Message, maxAskedChars))
	if schema, err := json.Marshal(asked.RequestedSchema); err == nil && asked.RequestedSchema != nil {
		out.RequestedSchema = gate.Form(schema)
	}
	return &out
}

// maxAskedChars is how much of a server's question is passed on.
const maxAskedChars = 4_000
