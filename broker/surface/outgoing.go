package surface

import (
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TextResult is the result of a tool that is one text.
func TextResult(t gate.Text, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t.String()}}, IsError: isError}
}

// JSONResult is one text block of compact JSON, and nothing twice: clients that
// are given structured content as well forward both to the model.
func JSONResult(v any, isError bool) *mcp.CallToolResult { return TextResult(gate.Encode(v), isError) }

// Failed is the result of a tool that could not do what it was asked for.
func Failed(err error) *mcp.CallToolResult {
	return TextResult(gate.NewText(err.Error()).Cut(maxErrorChars), true)
}

// promptResult is a prompt that is one text.
func promptResult(description, text gate.Text) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{
		Description: description.String(),
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text.String()}}},
	}
}

// mimeTypes matches media types that are sent unchanged.
var mimeTypes = lazyregexp.New(`^[A-Za-z0-9.+-]{1,40}/[A-Za-z0-9.+-]{1,80}$`)

// MediaBlock is an image or a sound.
func MediaBlock(isImage bool, mimeType string, data []byte) mcp.Content {
	if !mimeTypes.MatchString(mimeType) {
		mimeType = "application/octet-stream"
	}
	if isImage {
		return &mcp.ImageContent{MIMEType: mimeType, Data: data}
	}
	return &mcp.AudioContent{MIMEType: mimeType, Data: data}
}

// TextResource and BinaryResource are what a resource contains.
func TextResource(uri, mimeType string, text gate.Text) *mcp.ReadResourceResult {
	return resource(&mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text.String()})
}

func BinaryResource(uri, mimeType string, data []byte) *mcp.ReadResourceResult {
	return resource(&mcp.ResourceContents{URI: uri, MIMEType: mimeType, Blob: data})
}

func resource(c *mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

// FormQuestion asks the person at a client to fill in a form.
func FormQuestion(schema json.RawMessage, message gate.Text) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message.Cut(maxErrorChars).String(), RequestedSchema: gate.Spell(gate.Descriptions(schema))}
}
