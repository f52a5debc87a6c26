package broker

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
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
	// Description ends in "[write]" unless policy.ClassOf says that the tool reads.
	Description       string          `json:"description,omitempty"`
	Declaration       string          `json:"declaration,omitempty"`
	Parameters        json.RawMessage `json:"parameters,omitempty"`
	ParametersOmitted bool            `json:"parameters_omitted,omitempty"`
	// SkillPassage is there when a skill was found by what a file of it says.
	*SkillPassage
	// WrapperPath is where everything of the tool stands: below the folder of
	// "broker types", and as the resource broker://code/PATH.
	WrapperPath string `json:"wrapper_path,omitempty"`
}

const (
	// fewHits is up to how many hits "desc" says all about the parameters.
	fewHits = 3
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
	detail    Detail // empty means DetailDesc
	callsOnly bool   // for a client that calls tools and writes no code
}

// hit renders r, one of so many hits.
func (w renderer) hit(c *discovery.Catalog, r result, hits int) SearchHit {
	if r.entry != nil {
		h := w.other(r.entry)
		if w.detail != DetailName {
			h.SkillPassage = r.passage
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
		h.Signature = w.signature(s, t)
		h.Description = marked(codegen.FirstSentence(t.Description, firstSentence), t)
		if hits <= fewHits {
			w.parameters(&h, s, t, maxHitBytes-cost(h.Signature)-cost(h.Description))
		}
	}
	return h
}

// other renders what is no tool.
func (w renderer) other(e *entry) SearchHit {
	h := SearchHit{Kind: e.Kind, Name: e.called(), Server: e.Server}
	use := e.howTo(w.callsOnly)
	switch w.detail {
	case DetailName:
		return h
	case DetailFull:
		text := e.Description
		if e.more != nil {
			text += e.more()
		}
		h.Description = clipBytes(text, maxHitBytes-cost(use))
	default:
		h.Description = codegen.FirstSentence(e.Description, firstSentence)
	}
	h.Origin = e.origin
	h.Use = clipBytes(use, maxSignatureBytes)
	return h
}

// full tells all of a tool that there is room for: of a long description the
// beginning, then the parameters, then what else of the description fits.
func (w renderer) full(h *SearchHit, s *discovery.Server, t *discovery.Tool) {
	described := min(cost(marked(t.Description, t)), maxDescriptionBytes)
	left := maxHitBytes - described
	w.parameters(h, s, t, left)
	if w.callsOnly {
		left -= len(h.Parameters)
	} else {
		h.WrapperPath = t.WrapperPath
		left -= cost(t.WrapperPath)
		left -= cost(h.Declaration)
		w.schema(h, t, left)
		left -= len(h.Parameters)
	}
	h.Description = marked(clipBytes(t.Description, described+left-len(writeMark)), t)
}

// parameters says all about the parameters within limit bytes: as a declaration
// to one who writes code, else as JSON Schema.
func (w renderer) parameters(h *SearchHit, s *discovery.Server, t *discovery.Tool, limit int) {
	if w.callsOnly {
		w.schema(h, t, limit)
		return
	}
	// A tenth is for the escapes that it takes in an answer.
	h.Declaration = w.types.DeclarationWithin(s, t, limit*9/10)
	if cost(h.Declaration) > limit {
		// What can be left out goes first, then whatever is at the end.
		h.Declaration = clipBytes(w.signature(s, t), limit)
	}
}

// schema adds the parameters' JSON Schema, or that it is left out.
func (w renderer) schema(h *SearchHit, t *discovery.Tool, limit int) {
	if h.Parameters = gate.Spell(t.InputSchema); len(h.Parameters) > limit {
		h.Parameters, h.ParametersOmitted = nil, true
	}
}

const writeMark = " [write]"

// marked adds that a tool may change something.
func marked(description string, t *discovery.Tool) string {
	if policy.ClassOf(t) == policy.Read {
		return description
	}
	return strings.TrimSpace(description + writeMark)
}

// cost is how many bytes a text takes in an answer.
func cost(text string) int { return len(compactJSON(text)) - len(`""`) }

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
