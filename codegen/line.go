package codegen

import (
	"bytes"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
)

const (
	// lineInput is how many bytes the input of a Line takes before optional
	// parameters lose their types, then their place.
	lineInput = 50
	// lineRequired is how many it takes before required parameters lose what is
	// nested in them.
	lineRequired = 300
	// lineOutput is the same for the output.
	lineOutput = 90
)

// A Line is what one line says of a tool, in the fewest bytes from which a
// reader calls it right: TypeScript without blanks, where an optional parameter
// that takes text, a number or a boolean is its name alone:
//
//	{owner:string;state?:'open'|'closed';labels?:string[];page?}
type Line struct {
	// Input is empty for a tool without parameters.
	Input string
	// Output is empty when nothing is known of it.
	Output string
	// Note is where the output is known from, if not from the tool.
	Note string
}

// Line returns the line of tool t of server s. A required parameter is there with
// its type and the first values of an enumeration, however long that makes it.
// Of the optional ones there are as many as fit, first those that the server's
// other tools do not have too, and how many more there are.
func (g *Generator) Line(s *discovery.Server, t *discovery.Tool) Line {
	m := g.model(t, false)
	line := Line{Note: m.note}
	if !m.noInput {
		line.Input = inputLine(s, t, m.input)
	}
	if m.output.kind != kindUnknown {
		line.Output = fitting(m.output, lineOutput,
			style{tight: true, enumMax: 4, vague: "any"},
			style{tight: true, enumMax: 4, vague: "any", depth: 2},
			style{tight: true, enumMax: 4, vague: "any", depth: 1},
			style{tight: true, enumMax: 4, vague: "any", depth: 1, most: 4})
	}
	return line
}

func inputLine(s *discovery.Server, t *discovery.Tool, input *typ) string {
	if input.kind == kindObject {
		input = requiredFirst(input)
	}
	line := fitting(input, lineInput, style{tight: true, enumMax: 6}, style{tight: true, enumMax: 5, names: true})
	if len(line) <= lineInput {
		return line
	}
	line = style{tight: true, enumMax: 5, names: true, required: true}.print(input)
	if input, own := ownFirst(s, t, input, lineInput-len(line)); own > 0 {
		line = style{tight: true, enumMax: 5, names: true, most: own}.print(input)
	}
	if len(line) <= lineRequired {
		return line
	}
	return fitting(input, lineRequired,
		style{tight: true, enumMax: 4, required: true, most: 2, depth: 4},
		style{tight: true, enumMax: 4, required: true, most: 1, depth: 3},
		style{tight: true, enumMax: 4, required: true, most: 1, depth: 2},
		style{tight: true, enumMax: 4, required: true, depth: 1})
}

// requiredFirst is an object with its required fields first.
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

// ownFirst is the input with those of its optional fields first among them that
// the tool does not share with most of its server, and for how many of these
// names there is room.
func ownFirst(s *discovery.Server, t *discovery.Tool, input *typ, room int) (sorted *typ, own int) {
	var required, ours, common []field
	for _, f := range input.fields {
		switch {
		case !f.optional:
			required = append(required, f)
		case isCommon(s, t, f.name):
			common = append(common, f)
		default:
			ours = append(ours, f)
		}
	}
	for own < len(ours) {
		if room -= len(ours[own].name) + len("?;"); room < 0 {
			break
		}
		own++
	}
	copied := *input
	copied.fields = slices.Concat(required, ours, common)
	return &copied, own
}

// sampled is how many other tools of a server are looked at.
const sampled = 8

// isCommon reports whether about half of the other tools of s or more have a
// parameter of this name.
func isCommon(s *discovery.Server, t *discovery.Tool, name string) bool {
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

// fitting writes a type in the first style in which it takes at most limit
// bytes, else in the last.
func fitting(t *typ, limit int, styles ...style) string {
	text := ""
	for _, st := range styles {
		if text = st.print(t); len(text) <= limit {
			break
		}
	}
	return text
}
