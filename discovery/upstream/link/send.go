package link

//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and servers use it still

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Send sends a call and returns its result as it came. Of discovery.ReadResource and
// discovery.GetPrompt, which are not tools of the server unless tool is set, the result is
// made from what the server answers.
func (s *Session) Send(c *Call, args json.RawMessage, tool bool) (result json.RawMessage, err error) {
	defer s.panics.recovered(c.tool, &err)
	switch {
	case tool:
	case c.tool == discovery.ReadResource:
		return readResource(c.ctx, s.mcp, args)
	case c.tool == discovery.GetPrompt:
		return getPrompt(c.ctx, s.mcp, args)
	}
	return s.call(c, args)
}

func (s *Session) onProgress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	for _, c := range s.calls.list() {
		if c.token != "" && c.token == token {
			c.progress(req.Params.Progress, req.Params.Total, s.Hide.In(gate.Clean(req.Params.Message)))
		}
	}
}

// call sends one tools/call and returns its result as it came.
func (s *Session) call(c *Call, args json.RawMessage) (result json.RawMessage, err error) {
	defer s.panics.recovered("tools/call", &err)
	params := &mcp.CallToolParams{Name: c.tool, Arguments: args, Meta: maps.Clone(c.o.Meta)}
	s.calls.begin(c)
	defer s.calls.end(c)
	if c.token != "" {
		params.SetProgressToken(c.token)
	}
	if s.Era == EraModern {
		meta := params.GetMeta()
		if meta == nil {
			meta = make(map[string]any)
		}
		meta[mcp.MetaKeyClientCapabilities] = c.capabilities().Meta()
		if c.o.OnLog != nil {
			meta[mcp.MetaKeyLogLevel] = logLevel
		}
		params.SetMeta(meta)
	} else if c.o.OnLog != nil {
		s.listenToLogs(c.ctx)
	}
	return c.outcome(exchange{s, c}.rounds(c.ctx, params))
}
