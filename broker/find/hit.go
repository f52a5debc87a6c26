package find

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A SearchHit is one thing of a SearchAnswer; what is in it depends on Detail.
type SearchHit struct {
	// Kind says what it is when it is no tool, such as "prompt".
	Kind   string `json:"kind,omitempty"`
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	// Origin says where a skill comes from, such as "local:user", unless that is a
	// server.
	Origin string `json:"origin,omitempty"`
	// Use says how to use what is no tool.
	Use       string `json:"use,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Description ends in "[write]" unless the tool only reads, and in "[asks]" if a
	// person is asked before each call.
	Description       string          `json:"description,omitempty"`
	Declaration       string          `json:"declaration,omitempty"`
	Parameters        json.RawMessage `json:"parameters,omitempty"`
	ParametersOmitted bool            `json:"parameters_omitted,omitempty"`
	// Passage is there when a skill was found by what a file of it says.
	*Passage
	// WrapperPath is where everything of the tool stands: below the folder of
	// "broker types", and as the resource broker://code/PATH.
	WrapperPath string `json:"wrapper_path,omitempty"`
}

const (
	// fewHits is up to how many hits "desc" says all about the parameters, in at
	// most maxFewBytes.
	fewHits     = 3
	maxFewBytes = 900
	// maxHitBytes bounds what is told of one tool: about 800 tokens, at the
	// 3.7 bytes a token that real definitions have.
	maxHitBytes = 2900
	// maxDescriptionBytes is how much of that a description may take before
	// the parameters have had their part.
	maxDescriptionBytes = 900
	// maxSignatureBytes bounds the one line of a tool.
	maxSignatureBytes = 500
	firstSentence     = 200
)

// id is what a model calls the result.
func (r result) id() string {
	if r.entry != nil {
		return r.entry.called()
	}
	return r.tool.ID
}

// A renderer writes hits for one answer.
type renderer struct {
	types     *codegen.Generator
	marks     marker
	detail    Detail // empty means DetailDesc
	callsOnly bool   // for a client that calls tools and writes no code
}

// hit renders r, one of so many hits.
func (w renderer) hit(c *discovery.Catalog, r result, hits int) SearchHit {
	if r.entry != nil {
		h := w.other(r.entry)
		if w.detail != DetailName {
			h.Passage = r.passage
		}
		return h
	}
	t := r.tool
	h := SearchHit{Name: t.ID, Server: t.Server}
	s, _ := c.Server(t.Server)
	switch w.detail {
	case DetailName:
	case DetailFull:
		w.full(&h, s, t)
	default:
		if hits > fewHits {
			h.Signature = w.signature(s, t)
			h.Description = w.marked(clause(t.Description), t)
			break
		}
		h.Description = w.marked(codegen.FirstSentence(t.Description, firstSentence), t)
		w.few(&h, s, t)
	}
	return h
}

// other renders what is no tool.
func (w renderer) other(e *Entry) SearchHit {
	h := SearchHit{Kind: e.Kind, Name: e.called(), Server: e.Server}
	use := e.howTo(w.callsOnly)
	switch w.detail {
	case DetailName:
		return h
	case DetailFull:
		text := e.Description
		if e.More != nil {
			text += e.More()
		}
		h.Description = clipBytes(text, maxHitBytes-cost(use))
	default:
		h.Description = codegen.FirstSentence(e.Description, firstSentence)
	}
	h.Origin, h.Signature = e.Origin, clipBytes(e.Signature, maxSignatureBytes)
	h.Use = clipBytes(use, maxSignatureBytes)
	return h
}

// few adds the parameters of one of few tools.
func (w renderer) few(h *SearchHit, s *discovery.Server, t *discovery.Tool) {
	if w.callsOnly {
		if w.schema(h, t, maxFewBytes); h.ParametersOmitted {
			h.Signature = w.signature(s, t)
		}
		return
	}
	h.Declaration, _ = w.declaration(s, t, maxFewBytes, false)
}

// full tells all of a tool that there is room for: of a long description the
// beginning, then the parameters, then what else of the description fits. The
// JSON Schema is there only if it says more than the declaration.
func (w renderer) full(h *SearchHit, s *discovery.Server, t *discovery.Tool) {
	described := min(cost(w.marked(t.Description, t)), maxDescriptionBytes)
	left := maxHitBytes - described
	if w.callsOnly {
		w.schema(h, t, left)
	} else {
		h.WrapperPath = t.WrapperPath
		left -= cost(t.WrapperPath)
		whole := false
		h.Declaration, whole = w.declaration(s, t, left, true)
		left -= cost(h.Declaration)
		if !whole {
			w.schema(h, t, left)
		}
	}
	left -= len(h.Parameters)
	h.Description = w.marked(clipBytes(t.Description, described+left-len(writeMark)-len(askMark)), t)
}

// declaration is the declaration within limit bytes of an answer.
func (w renderer) declaration(s *discovery.Server, t *discovery.Tool, limit int, comments bool) (text string, whole bool) {
	// A tenth is for the escapes that it takes in an answer.
	text, whole = w.types.DeclarationWithin(s, t, limit*9/10, comments)
	if cost(text) <= limit {
		return text, whole
	}
	// What can be left out goes first, then whatever is at the end.
	return clipBytes(w.signature(s, t), limit), false
}

// schema adds the parameters' JSON Schema, or that it is left out.
func (w renderer) schema(h *SearchHit, t *discovery.Tool, limit int) {
	if h.Parameters = gate.Spell(t.InputSchema); len(h.Parameters) > limit {
		h.Parameters, h.ParametersOmitted = nil, true
	}
}

// cost is how many bytes a text takes in an answer.
func cost(text string) int { return len(gate.Compact(text)) - len(`""`) }

// clipBytes cuts text where it would take more than limit bytes in an answer,
// and says so with "…".
func clipBytes(text string, limit int) string {
	if cost(text) <= limit {
		return text
	}
	const mark = "…"
	left := limit - len(mark)
	for i, r := range text {
		if left -= cost(string(r)); left < 0 {
			return strings.TrimRight(text[:i], " \n\t,;:") + mark
		}
	}
	return text
}
