package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// directTools returns the upstream tools that are listed themselves: in surface.ModeAuto all of
// them while their definitions are short enough, otherwise none.
func (e *Executor) directTools() []surface.Tool {
	o := e.opts.Load()
	if o.Mode != surface.ModeAuto {
		return nil
	}
	scope := e.catalog.Scope()
	if o.AutoThreshold < leastAutoTokens && len(scope.Tools()) > o.AutoThreshold {
		return nil
	}
	var tools []surface.Tool
	size := 0
	for _, t := range scope.Tools() {
		if listable.MatchString(t.ID) && len(t.InputSchema) <= maxListedSchema {
			d := directTool(t)
			if size += len(d.Description) + len(t.InputSchema); size > o.AutoThreshold*mostTokenBytes && o.AutoThreshold >= leastAutoTokens {
				return nil
			}
			tools = append(tools, surface.Tool{
				Tool: d, Modes: []surface.Mode{surface.ModeAuto},
				Handler: func(ctx context.Context, c *surface.Call) (*mcp.CallToolResult, error) {
					return e.callFor(ctx, c, t.ID, c.Arguments), nil
				},
			})
		}
	}
	if o.AutoThreshold >= leastAutoTokens && e.definitionTokens(tools) > o.AutoThreshold {
		return nil
	}
	slices.SortFunc(tools, func(a, b surface.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

const (
	// leastAutoTokens is the smallest AutoThreshold that counts tokens. A smaller one counts
	// tools, since every definition has more tokens than that.
	leastAutoTokens = 100
	// mostTokenBytes is the highest average number of bytes per token of a definition. Longer
	// definitions need not be counted.
	mostTokenBytes = 12
	// bytesPerToken estimates the bytes per token if no tokenizer is set.
	bytesPerToken = 4
)

// definitionTokens returns the tokens of the definitions of tools in a model's context.
func (e *Executor) definitionTokens(tools []surface.Tool) int {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	var text strings.Builder
	for _, t := range tools {
		text.Write(gate.Compact(definition{t.Name, t.Description, gate.Compact(t.InputSchema)}))
	}
	if count := e.opts.Load().CountTokens; count != nil {
		if n, err := count(text.String()); err == nil {
			return n
		}
	}
	return text.Len() / bytesPerToken
}
