package codegen

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbroker/mcpbroker/discovery"
)

const (
	// lineInput is the length of the input of a Line, in bytes, beyond which optional parameters
	// lose their types, then are left out.
	lineInput = 30
	// lineRequired is the length beyond which required parameters lose nested parts.
	lineRequired = 160
	// lineOutput is the corresponding length for the output.
	lineOutput = 90
)

// A Line describes a tool on one line, in the fewest bytes that are enough to call it:
// TypeScript without blanks, in which a parameter of type string, and an optional one of
// type number or boolean too, is its name alone:
//
//	{owner;number:number;state?:'open'|'closed';labels?:string[];page?}
//
// An output that is too long is its keys, as {id,title}.
type Line struct {
	// Input is empty for a tool without parameters.
	Input string
	// Omitted are the names of the optional parameters that Input lacks, each preceded by a
	// blank; Optional are those of all optional parameters, if Input lacks any.
	Omitted, Optional string
	// Output is empty if it is unknown.
	Output string
	// Note names the source of the output type, if it is not the tool.
	Note string
}

// Line returns the line of tool t of server s. It contains every required parameter
// with its type and the first values of an enumeration, however long the line gets. Of
// the optional parameters it contains as many as fit, then the number of the rest.
// Parameters that most tools of the server share come last; the others are in the order
// of how often calls use their names.
func (g *Generator) Line(s *discovery.Server, t *discovery.Tool) Line {
	m := g.model(t, false)
	line := Line{Note: m.note}
	if !m.noInput {
		line.Input = g.inputLine(s, t, m.input)
		line.Omitted, line.Optional = omitted(line.Input, m.input)
	}
	if m.output.kind != kindUnknown {
		line.Output = fitting(m.output, lineOutput,
			style{compact: true, bare: true, enumMax: 4, vague: "any"},
			style{compact: true, bare: true, enumMax: 4, vague: "any", depth: 2},
			style{compact: true, bare: true, enumMax: 4, vague: "any", depth: 1},
			style{compact: true, bare: true, enumMax: 4, vague: "any", depth: 1, maxOptional: 4})
		if keys, ok := keysOf(m.output); ok && len(line.Output) > lineOutput {
			line.Output = keys
		}
	}
	return line
}

// keysOf returns the keys of an object, as "{a,b}".
func keysOf(t *typ) (keys string, ok bool) {
	if t.kind != kindObject || len(t.fields) == 0 {
		return "", false
	}
	var names []string
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	if keys = strings.Join(names, ","); len(keys) > lineOutput {
		end := strings.LastIndexByte(keys[:lineOutput], ',')
		keys = keys[:max(end, 0)] + ",…"
	}
	return "{" + keys + "}", true
}

// omitted returns the names of the optional parameters that line lacks, and of all optional
// parameters if it lacks any.
func omitted(line string, input *typ) (lacking, all string) {
	if !strings.Contains(line, "/*+") {
		return "", ""
	}
	var names, others strings.Builder
	for _, f := range input.fields {
		if !f.optional {
			continue
		}
		others.WriteString(" " + f.name)
		if !strings.Contains(line, f.name+"?") {
			names.WriteString(" " + f.name)
		}
	}
	return names.String(), others.String()
}

func (g *Generator) inputLine(s *discovery.Server, t *discovery.Tool, input *typ) string {
	if input.kind == kindObject {
		input = requiredFirst(input)
	}
	line := fitting(input, lineInput, style{compact: true, bare: true, enumMax: 6}, style{compact: true, bare: true, enumMax: 5, names: true})
	if len(line) <= lineInput {
		return line
	}
	line = style{compact: true, bare: true, enumMax: 4, names: true, required: true, maxOptional: 2}.print(input)
	if input, own := g.ownFirst(s, t, input, lineInput-len(line)); own > 0 {
		line = style{compact: true, bare: true, enumMax: 5, names: true, maxOptional: own}.print(input)
	}
	if len(line) <= lineRequired {
		return line
	}
	return fitting(input, lineRequired,
		style{compact: true, bare: true, enumMax: 4, required: true, maxOptional: 2, depth: 4},
		style{compact: true, bare: true, enumMax: 4, required: true, maxOptional: 1, depth: 3},
		style{compact: true, bare: true, enumMax: 4, required: true, maxOptional: 1, depth: 2},
		style{compact: true, bare: true, enumMax: 4, required: true, depth: 1})
}

// requiredFirst returns an object with its required fields first.
func requiredFirst(object *typ) *typ {
	sorted := *object
	sorted.fields = slices.Clone(object.fields)
	slices.SortStableFunc(sorted.fields, func(a, b field) int {
		switch {
		case a.optional == b.optional:
			return 0
		case a.optional:
			return 1
		}
		return -1
	})
	return &sorted
}

// ownFirst returns the input with optional fields in the order of usedFirst, and the
// number of wanted ones and of unshared ones that fit.
func (g *Generator) ownFirst(s *discovery.Server, t *discovery.Tool, input *typ, room int) (sorted *typ, own int) {
	sorted, ours := g.sortFields(s, t, input)
	for own < min(len(ours), maxWanted) && g.wants(ours[own].name) {
		room -= len(ours[own].name) + len("?;")
		own++
	}
	for own < len(ours) {
		if room -= len(ours[own].name) + len("?;"); room < 0 {
			break
		}
		own++
	}
	return sorted, own
}

// maxWanted bounds the wanted parameters of a line.
const maxWanted = 4

func (g *Generator) wants(parameter string) bool { return g.Wanted != nil && g.Wanted(parameter) }

// usedFirst returns an object with its required fields first, then the wanted ones, then the
// optional ones that most tools of the server do not share, ordered by how often calls use their
// names.
func (g *Generator) usedFirst(s *discovery.Server, t *discovery.Tool, input *typ) *typ {
	if input.kind != kindObject {
		return input
	}
	sorted, _ := g.sortFields(s, t, input)
	return sorted
}

func (g *Generator) sortFields(s *discovery.Server, t *discovery.Tool, input *typ) (sorted *typ, ours []field) {
	var required, common []field
	for _, f := range input.fields {
		switch {
		case !f.optional:
			required = append(required, f)
		case isCommon(s, t, f.name) && !g.wants(f.name):
			common = append(common, f)
		default:
			ours = append(ours, f)
		}
	}
	ranks := make(map[string]int, len(input.fields))
	for _, f := range input.fields {
		if ranks[f.name] = useOf(f.name); g.wants(f.name) {
			ranks[f.name] = 0
		}
	}
	for _, list := range [][]field{ours, common} {
		slices.SortStableFunc(list, func(a, b field) int { return cmp.Compare(ranks[a.name], ranks[b.name]) })
	}
	copied := *input
	copied.fields = slices.Concat(required, ours, common)
	return &copied, ours
}

// usedNames are the optional parameters that calls use most often, by purpose: query,
// content, amount, then dates and formats. The order is taken from the recorded tools.
var usedNames = func() map[string]int {
	ranks := map[string]int{}
	for name := range strings.FieldsSeq("query q search filter filters keyword keywords id ids name title path url key " +
		"state status type category tags labels label body content text message description data value subject to " +
		"limit count page perpage pagesize maxresults offset cursor sort sortby orderby order " +
		"since until after before start end startdate enddate date from language format fields priority assignee location") {
		ranks[name] = len(ranks) + 1
	}
	return ranks
}()

// useOf returns the rank of a name among usedNames, ignoring case and separators.
func useOf(name string) int {
	folded := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	if rank := usedNames[folded]; rank > 0 {
		return rank
	}
	return len(usedNames) + 1
}

// sampled bounds the other tools of a server that are compared.
const sampled = 8

// isCommon reports whether at least about half of the other tools of s have a parameter
// of this name. It returns false for a name in usedNames.
func isCommon(s *discovery.Server, t *discovery.Tool, name string) bool {
	if useOf(name) <= len(usedNames) {
		return false
	}
	word := []byte(`"` + name + `"`)
	seen, have := 0, 0
	for i := 0; i < len(s.Tools); i += 1 + len(s.Tools)/sampled {
		if other := s.Tools[i]; other != t {
			if seen++; bytes.Contains(other.InputSchema, word) {
				have++
			}
		}
	}
	return seen >= 3 && have >= seen/2
}

// fitting writes a type in the first style in which it takes at most limit bytes, or in the last
// style.
func fitting(t *typ, limit int, styles ...style) string {
	text := ""
	for _, st := range styles {
		if text = st.print(t); len(text) <= limit {
			break
		}
	}
	return text
}
