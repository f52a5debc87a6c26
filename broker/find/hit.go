package find

import (
	"encoding/json"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A SearchHit is one thing of a SearchAnswer; what is in it depends on Detail.
type SearchHit struct {
	// Kind is the kind of a hit that is not a tool, such as "prompt".
	Kind   string `json:"kind,omitempty"`
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	// Also are the ids of equal tools of other servers, and AlsoMore the number of those
	// that are not among them.
	Also     []string `json:"also,omitempty"`
	AlsoMore int      `json:"also_more,omitempty"`
	// Origin is the origin of a skill, such as "local:user", unless it belongs to a
	// server.
	Origin string `json:"origin,omitempty"`
	// Use says how to use a hit that is not a tool.
	Use       string `json:"use,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Description ends in "[write]" unless the tool only reads, and in "[asks]" if a
	// person is asked before each call. Signature ends in them if the hit has no
	// description, because it repeats the name or is too long.
	Description string `json:"description,omitempty"`
	Declaration string `json:"declaration,omitempty"`
	// Parameters is the JSON Schema of the input. The descriptions in a long one are
	// shortened.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Text is set at DetailFull if the tool's text results contain data.
	Text *catalog.TextData `json:"text,omitempty"`
	// Passage is set if a skill was found by the text of one of its files.
	*Passage
	// WrapperPath is the path of the complete wrapper of the tool: below the folder of
	// "broker types", and in the resource broker://code/PATH.
	WrapperPath string `json:"wrapper_path,omitempty"`
}

const (
	// fewHits is up to how many hits "desc" says all about the parameters, in at
	// most maxFewBytes.
	fewHits     = 3
	maxFewBytes = 900
	// maxHitBytes is the size from which the descriptions in a schema are cut: about
	// 800 tokens, at the 3.7 bytes per token of real definitions.
	maxHitBytes = 2900
	// maxWholeBytes bounds a schema without descriptions, and the description of a
	// tool, at "full"; several hits share maxFullBytes.
	maxWholeBytes = 16 << 10
	maxFullBytes  = 64 << 10
	// maxFullDeclaration bounds a declaration beside a schema.
	maxFullDeclaration = 1200
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
	lines     *lineCache         // of the tools of scope; nil caches nothing
	scope     *discovery.Catalog // the catalogue of the tools
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
		w.full(&h, s, t, max(maxHitBytes, min(maxWholeBytes, maxFullBytes/max(1, hits))))
	default:
		if hits > fewHits {
			h.Signature = w.signature(s, t)
			most := clauseMax
			if w.marked("", t) != "" {
				most = markedMax
			}
			if about := clause(withoutName(t.Description, t.Name), most); saysMore(about, t.Name, t.Server, h.Signature) {
				h.Description = w.marked(about, t)
			} else {
				h.Signature = w.marked(h.Signature, t)
			}
			break
		}
		h.Description = w.marked(codegen.FirstSentence(t.Description, firstSentence), t)
		w.few(&h, s, t)
	}
	return h
}

// other renders an entry.
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
		if h.Parameters = schema(t, maxFewBytes, maxWholeBytes); len(h.Parameters) > maxFewBytes {
			h.Parameters, h.Signature = nil, w.signature(s, t)
		}
		return
	}
	h.Declaration = w.declaration(s, t, maxFewBytes, true)
}

// full adds the description, the JSON Schema of the input, and for a script the
// declaration. It bounds the first two by most.
func (w renderer) full(h *SearchHit, s *discovery.Server, t *discovery.Tool, most int) {
	h.Description = w.marked(clipBytes(t.Description, most-len(writeMark)-len(askMark)), t)
	h.Parameters = schema(t, maxHitBytes, most)
	if !w.callsOnly {
		h.WrapperPath = t.WrapperPath
		h.Declaration = w.declaration(s, t, maxFullDeclaration, false)
		h.Text = catalog.TextOf(w.types, t)
	}
}

// schema returns the JSON Schema of the input, in limit bytes if shortening
// descriptions is enough, and otherwise in most bytes.
func schema(t *discovery.Tool, limit, most int) json.RawMessage {
	return codegen.FitSchema(gate.Spell(t.InputSchema), limit, most)
}

// restInFull returns the advice how to get the rest of a hit.
const restInFull = "detail full has the rest"

// declaration returns the declaration in at most limit bytes. It has no comments, since
// the schema beside it has the descriptions.
func (w renderer) declaration(s *discovery.Server, t *discovery.Tool, limit int, comments bool) string {
	more := restInFull
	if !comments {
		more = "parameters has the rest"
	}
	// A tenth is for the escapes that it takes in an answer.
	text := w.types.DeclarationWithin(s, t, limit*9/10, comments, more)
	if cost(text) <= limit {
		return text
	}
	// What can be left out goes first, then whatever is at the end.
	return clipBytes(w.signature(s, t), limit-len(more)-4) + " // " + more
}

// cost returns the number of bytes that a text takes in an answer.
func cost(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return len(gate.Compact(text)) - len(`""`) // count escapes too
		}
	}
	return len(text)
}

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
