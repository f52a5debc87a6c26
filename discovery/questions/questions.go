// Package questions checks the questions of a server to a client during a call of its
// tool, and prepares them for people: whether the client can be asked, and on whose
// behalf. It does not ask them.
package questions

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// Capabilities are what a client can be asked.
type Capabilities struct {
	Form          bool // elicitation: fill in a form
	URL           bool // elicitation: open a page
	Sampling      bool // let its model write a message
	SamplingTools bool // the same, with tools
	Roots         bool // list its roots
}

// Of returns what a client that said c of itself can be asked. c
// may be nil.
func Of(c *mcp.ClientCapabilities) Capabilities {
	var out Capabilities
	if c == nil {
		return out
	}
	if e := c.Elicitation; e != nil {
		out.URL = e.URL != nil
		out.Form = e.Form != nil || e.URL == nil // bare, as before there were modes
	}
	if s := c.Sampling; s != nil {
		out.Sampling, out.SamplingTools = true, s.Tools != nil
	}
	out.Roots = c.RootsV2 != nil
	return out
}

// Protocol is c as the protocol has it.
func (c Capabilities) Protocol() *mcp.ClientCapabilities {
	out := &mcp.ClientCapabilities{}
	if c.Form || c.URL {
		out.Elicitation = &mcp.ElicitationCapabilities{}
		if c.Form {
			out.Elicitation.Form = &mcp.FormElicitationCapabilities{}
		}
		if c.URL {
			out.Elicitation.URL = &mcp.URLElicitationCapabilities{}
		}
	}
	if c.Sampling {
		out.Sampling = &mcp.SamplingCapabilities{}
		if c.SamplingTools {
			out.Sampling.Tools = &mcp.SamplingToolsCapabilities{}
		}
	}
	if c.Roots {
		out.RootsV2 = &mcp.RootCapabilities{}
	}
	return out
}

// Meta is c as the value of a request's _meta: the SDK's own type leaves roots
// out.
func (c Capabilities) Meta() any {
	p := c.Protocol()
	m := make(map[string]any)
	if p.Elicitation != nil {
		m["elicitation"] = p.Elicitation
	}
	if p.Sampling != nil {
		m["sampling"] = p.Sampling
	}
	if p.RootsV2 != nil {
		m["roots"] = p.RootsV2
	}
	return m
}

// Missing names the capability that q needs and caps lack; "" if none.
func Missing(caps Capabilities, q mcp.InputRequest) string {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		if IsPage(q) {
			return lacking(caps.URL, "elicitation.url")
		}
		return lacking(caps.Form, "elicitation.form")
	case *mcp.CreateMessageWithToolsParams:
		if len(q.Tools) > 0 && caps.Sampling {
			return lacking(caps.SamplingTools, "sampling.tools")
		}
		return lacking(caps.Sampling, "sampling")
	case *mcp.ListRootsParams:
		return lacking(caps.Roots, "roots")
	}
	return fmt.Sprintf("%T", q)
}

func lacking(has bool, name string) string {
	if has {
		return ""
	}
	return name
}

// IsPage reports whether q asks for a page to be opened.
func IsPage(q *mcp.ElicitParams) bool {
	return q.Mode == "url" || (q.Mode == "" && (q.URL != "" || q.ElicitationID != ""))
}

// Describe describes the subject of q.
func Describe(q mcp.InputRequest) string {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		if IsPage(q) {
			return fmt.Sprintf("the page %s to be opened (%q)", gate.Cut(gate.Clean(q.URL), 500), gate.Cut(gate.Clean(q.Message), 200))
		}
		return fmt.Sprintf("a form to be filled in (%q)", gate.Cut(gate.Clean(q.Message), 200))
	case *mcp.CreateMessageWithToolsParams:
		return "a message from the client's model (sampling)"
	case *mcp.ListRootsParams:
		return "the client's roots"
	}
	return fmt.Sprintf("%T", q)
}

// Fits reports whether answer is of the kind that q asks for.
func Fits(q mcp.InputRequest, answer mcp.InputResponse) bool {
	switch q.(type) {
	case *mcp.ElicitParams:
		a, ok := answer.(*mcp.ElicitResult)
		return ok && a != nil && (a.Action == "accept" || a.Action == "decline" || a.Action == "cancel")
	case *mcp.CreateMessageWithToolsParams:
		a, ok := answer.(*mcp.CreateMessageWithToolsResult)
		return ok && a != nil
	case *mcp.ListRootsParams:
		a, ok := answer.(*mcp.ListRootsResult)
		return ok && a != nil
	}
	return false
}

// Labelled returns q for people, with its sender, since the client receives all
// questions from the broker, and without invisible characters. The first line of a form
// or page names the server, and the host of the page. The server's text is quoted below
// it, and each text of its form is one line, so that it cannot imitate another sender.
func Labelled(server string, q mcp.InputRequest) mcp.InputRequest {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		out := *q
		out.Meta = nil
		first := gate.Speaker("Server", server) + " asks:"
		if host, err := outbound.Page(q.URL); err == nil && IsPage(q) {
			first = gate.Speaker("Server", server) + " asks you to open a page of " + gate.Line(host) + ":"
		}
		out.Message = gate.Question(first, gate.Cut(q.Message, maxAskedChars))
		if out.ElicitationID != "" {
			out.ElicitationID = PageID(server, q.ElicitationID)
		}
		if schema, err := json.Marshal(q.RequestedSchema); err == nil && q.RequestedSchema != nil {
			out.RequestedSchema = gate.Form(schema)
		}
		return &out
	case *mcp.CreateMessageWithToolsParams:
		out := *q
		out.Meta = nil
		out.SystemPrompt = gate.Clean(q.SystemPrompt)
		return &out
	}
	return q
}

// maxAskedChars is how much of a server's question is passed on.
const maxAskedChars = 4_000

// maxQuestionBytes bounds the texts of one question, and maxFormBytes its form.
const (
	maxQuestionBytes = 256 << 10
	maxFormBytes     = 32 << 10
)

// Unshowable returns the reason q cannot be shown, or "": it is too long, or the
// answers would not have the same names.
func Unshowable(q mcp.InputRequest) string {
	_, bytes, err := gate.Message(q, nil)
	switch {
	case err != nil:
		return err.Error()
	case bytes > maxQuestionBytes:
		return fmt.Sprintf("its question has %d bytes of text, of at most %d", bytes, maxQuestionBytes)
	}
	form, ok := q.(*mcp.ElicitParams)
	if !ok || form.RequestedSchema == nil {
		return ""
	}
	schema, err := json.Marshal(form.RequestedSchema)
	switch {
	case err != nil:
		return "its form is not valid JSON"
	case len(schema) > maxFormBytes:
		return fmt.Sprintf("its form has %d bytes, of at most %d", len(schema), maxFormBytes)
	case gate.Spellings(gate.Descriptions(schema)) != nil:
		return "its form has names or values with invisible characters"
	}
	return ""
}

// PageID keeps the ids of different servers apart.
func PageID(server, id string) string { return server + "/" + id }
