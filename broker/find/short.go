package find

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// plainAnswer is a SearchAnswer without methods.
type plainAnswer SearchAnswer

// MarshalJSON writes an answer as models read it: tools with a signature have no server,
// since their ids begin with it.
func (a SearchAnswer) MarshalJSON() ([]byte, error) {
	a.Tools = slices.Clone(a.Tools)
	for i := range a.Tools {
		if h := &a.Tools[i]; h.Kind == "" && h.Signature != "" {
			h.Server = ""
		}
	}
	return gate.Compact(plainAnswer(a)), nil
}

// MarshalJSON writes the query before its answer.
func (q QueryAnswer) MarshalJSON() ([]byte, error) {
	answer, err := q.SearchAnswer.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`{"query":`), gate.Compact(q.Query), []byte(","), answer[1:]), nil
}

// forScript returns an answer that is encoded with the server of every hit.
func forScript(found any) any {
	switch found := found.(type) {
	case SearchAnswer:
		return plainAnswer(found)
	case SeveralAnswer:
		type one struct {
			Query string `json:"query"`
			plainAnswer
		}
		list := make([]one, len(found.Answers))
		for i, a := range found.Answers {
			list[i] = one{a.Query, plainAnswer(a.SearchAnswer)}
		}
		return map[string]any{"answers": list}
	}
	return found
}

// fluff are words that add nothing to the name of a tool.
var fluff = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an the of in on for from to by with and or at as via using its it your you this that these all any one single multiple several specific specified given new existing current " +
		"detailed complete comprehensive full information details data properties property object objects resource resources item items instance about into only either optionally automatically create creates get gets getting retrieve retrieves return returns fetch fetches list lists show shows read reads provide provides allow allows perform performs tool user users") {
		m[w] = true
	}
	return m
}()

// hitBytes is how many bytes of an answer a hit has before descriptions are left out.
const hitBytes = 128

// describe leaves out the descriptions of tools with a signature for which there is no
// room, those of the last hits first. Their marks are then at the end of the signature.
func describe(hits []SearchHit) {
	const keys, key = len(`{"name":"","signature":""},`), len(`,"description":""`)
	room := hitBytes * len(hits)
	for i := range hits {
		_, marks := cutMarks(hits[i].Description)
		room -= keys + cost(hits[i].Name) + cost(hits[i].Signature) + cost(hits[i].Declaration) + len(marks)
	}
	for i := range hits {
		h := &hits[i]
		if h.Kind != "" || h.Signature == "" || h.Description == "" {
			continue
		}
		about, marks := cutMarks(h.Description)
		if need := key + cost(about); need <= room {
			room -= need
			continue
		}
		h.Signature, h.Description = h.Signature+marks, ""
	}
}

// saysMore reports whether a description has a word that neither the name of the tool,
// nor that of its server or of a parameter has.
func saysMore(description, name, server, parameters string) bool {
	known := map[string]bool{}
	for _, text := range []string{name, server, parameters} {
		for w := range wordsIn(text) {
			known[singular(strings.ToLower(w))] = true
		}
	}
	for w := range strings.FieldsFuncSeq(strings.ToLower(description), func(r rune) bool { return !isWordRune(r) }) {
		if !fluff[w] && !known[singular(w)] && !knownVerb(known, w) {
			return true
		}
	}
	return false
}

// knownVerb reports whether w is a form of a known verb: "creates" of "create".
func knownVerb(known map[string]bool, w string) bool {
	for _, end := range []string{"es", "ed", "d", "ing"} {
		if stem, ok := strings.CutSuffix(w, end); ok && (known[stem] || known[stem+"e"]) {
			return true
		}
	}
	return false
}
