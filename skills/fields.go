package skills

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	maxNameRunes          = 64
	maxDescriptionRunes   = 1024
	maxCompatibilityRunes = 500
)

// fields are the keys of a header that the standard knows.
var fields = []string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}

// extensions are keys that clients document beyond the standard, and whether they have
// an effect here.
var extensions = map[string]bool{
	"argument-hint": true, "disable-model-invocation": true, "user-invocable": true, "version": true, "when_to_use": true,
	"agent": false, "author": false, "category": false, "color": false, "context": false, "disallowed-tools": false, "effort": false, "hooks": false,
	"keywords": false, "mcp-servers": false, "model": false, "paths": false, "shell": false, "tags": false, "tools": false, "triggers": false, "type": false,
}

// readFields reads the header. Of keys that stand twice the last one counts.
func (d *Doc) readFields() {
	seen := map[string]*yaml.Node{}
	pairs := d.header.Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if seen[key.Value] != nil {
			d.found("duplicate_key", key.Line, "%s occurs twice in the header: keep one", quoted(key.Value))
			d.findings[len(d.findings)-1].field = key.Value
		}
		seen[key.Value] = value
	}
	d.readName(seen["name"])
	d.readDescription(seen["description"])
	if n := seen["license"]; n != nil && n.Kind == yaml.ScalarNode {
		d.License = strings.TrimSpace(n.Value)
	}
	d.readCompatibility(seen["compatibility"])
	d.readMetadata(seen["metadata"])
	d.readAllowedTools(seen["allowed-tools"])
	for i := 0; i+1 < len(pairs); i += 2 {
		key := pairs[i]
		if !slices.Contains(fields, key.Value) && seen[key.Value] == pairs[i+1] {
			d.readExtra(key, pairs[i+1])
		}
	}
}

// quoted is a text of the file in a message, cut to a length that can be read.
func quoted(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, gate.Cut(s, 80)) + `"`
}

func (d *Doc) readName(n *yaml.Node) {
	switch {
	case n == nil:
		d.found("missing_name", d.header.Line, "name is missing: add name: with the name of the skill's folder")
		return
	case n.Kind != yaml.ScalarNode:
		d.found("name_not_string", n.Line, "name has to be a text, such as name: my-skill")
		return
	}
	name := norm.NFKC.String(strings.TrimSpace(n.Value))
	if name == "" || n.Tag == "!!null" { // includes null and ~
		d.found("empty_name", n.Line, "name is empty: write the name of the skill's folder")
		return
	}
	d.Name = name
	if c := utf8.RuneCountInString(name); c > maxNameRunes {
		d.found("name_too_long", n.Line, "name has %s: at most %d are allowed", words.Count(c, "character"), maxNameRunes)
	}
	if strings.ToLower(name) != name {
		d.found("name_not_lowercase", n.Line, "name %s has upper-case letters: write %s", quoted(name), quoted(strings.ReplaceAll(strings.ToLower(name), " ", "-")))
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") {
		d.found("name_edge_hyphen", n.Line, "name %s begins or ends with a hyphen: take it off", quoted(name))
	}
	if strings.Contains(name, "--") {
		d.found("name_double_hyphen", n.Line, "name %s has two hyphens in a row: keep one", quoted(name))
	}
	for _, r := range name {
		if r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			d.found("name_bad_char", n.Line, "name %s has %s: only lower-case letters, digits and hyphens are allowed", quoted(name), quoted(string(r)))
			break
		}
	}
}

func (d *Doc) readDescription(n *yaml.Node) {
	switch {
	case n == nil:
		d.found("missing_description", d.header.Line, "description is missing: say what the skill does and when to use it")
		return
	case n.Kind != yaml.ScalarNode: // makeProse has not changed it
		d.found("empty_description", n.Line, "description must be a string: put it into quotes")
		return
	}
	d.Description = strings.TrimSpace(n.Value)
	if d.Description == "" {
		d.found("empty_description", n.Line, "description is empty: say what the skill does and when to use it")
	}
	// The final line break of a block counts, as it does for the reference.
	if c := utf8.RuneCountInString(n.Value); c > maxDescriptionRunes {
		d.found("description_too_long", n.Line, "description has %s: at most %d are allowed", words.Count(c, "character"), maxDescriptionRunes)
	}
	if strings.ContainsAny(d.Description, "<>") {
		d.found("description_angle_bracket", n.Line, "description has an angle bracket, which many readers take for markup: use other words")
	}
}

func (d *Doc) readCompatibility(n *yaml.Node) {
	switch {
	case n == nil:
		return
	case n.Kind != yaml.ScalarNode:
		d.found("compatibility_not_string", n.Line, "compatibility has to be a text: put it into quotes")
		return
	}
	d.Compatibility = strings.TrimSpace(n.Value)
	switch c := utf8.RuneCountInString(n.Value); {
	case d.Compatibility == "":
		d.found("compatibility_empty", n.Line, "compatibility is empty: say what the skill needs, or leave the field out")
	case c > maxCompatibilityRunes:
		d.found("compatibility_too_long", n.Line, "compatibility has %s: at most %d are allowed", words.Count(c, "character"), maxCompatibilityRunes)
	}
}

func (d *Doc) readMetadata(n *yaml.Node) {
	if n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.found("metadata_not_map", n.Line, "metadata has to be a list of fields, each in an indented line of its own")
		return
	}
	d.Metadata = map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			d.found("metadata_value_not_string", value.Line, "%s in metadata has to be a text: only names and texts are allowed there", quoted(key.Value))
			continue
		}
		d.Metadata[key.Value] = value.Value
	}
}

func (d *Doc) readAllowedTools(n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode {
		d.AllowedTools = splitTools(n.Value)
		return
	}
	d.found("allowed_tools_not_string", n.Line, "allowed-tools has to be one text with spaces between the tools: allowed-tools: Read Grep")
	if n.Kind == yaml.SequenceNode {
		for _, e := range n.Content {
			if s := strings.TrimSpace(e.Value); e.Kind == yaml.ScalarNode && s != "" {
				d.AllowedTools = append(d.AllowedTools, s)
			}
		}
	}
}

// splitTools takes a list of tools apart at blanks and commas that stand
// outside of parentheses.
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
		return depth == 0 && (r == ',' || unicode.IsSpace(r))
	})
}

func (d *Doc) readExtra(key, value *yaml.Node) {
	effect, documented := extensions[key.Value]
	near := nearest.Names(key.Value, fields, 1)
	what, hint := "is not a field of the standard", "move it below metadata:, or remove it"
	switch {
	case effect:
		what, hint = "is a field of some clients, not of the standard", "it is used here"
	case documented:
		what, hint = "is a field of some clients, not of the standard", "it has no effect here"
	case len(near) > 0:
		hint = "did you mean " + near[0] + "?"
	}
	d.found("unknown_field", key.Line, "%s %s: %s", quoted(key.Value), what, hint)
	d.findings[len(d.findings)-1].field = key.Value
	if text, ok := plainValue(value); ok {
		if d.Extra == nil {
			d.Extra = map[string]string{}
		}
		d.Extra[key.Value] = text
	}
}

// plainValue is the text of a scalar, or of an inline list of them, which is
// what a hint in brackets is for YAML.
func plainValue(n *yaml.Node) (string, bool) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return n.Value, true
	case n.Kind != yaml.SequenceNode || n.Style&yaml.FlowStyle == 0:
		return "", false
	}
	var items []string
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			return "", false
		}
		items = append(items, c.Value)
	}
	return "[" + strings.Join(items, ", ") + "]", true
}
