package skills

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// maxRepair bounds the headers that are repaired line by line.
const maxRepair = 64 << 10

// readHeader reads the mapping of the header, repaired once if it is invalid YAML,
// and nil if it cannot be used. offset is the number of lines before it; the
// nodes get the lines of the file.
func (d *Doc) readHeader(text string, offset int) *yaml.Node {
	node, err := parseYAML(text)
	if err != nil {
		line, what := yamlError(err)
		text = repair(text)
		if node, _ = parseYAML(text); node == nil {
			d.found("invalid_yaml", offset+line, "the header is invalid YAML: %s; a value that holds a colon or begins with a bracket needs quotes", what)
			return nil
		}
		d.found("yaml_repaired", offset+line, "the header is invalid YAML: %s; the value is read as if it were in quotes; put it into quotes", what)
	}
	shift(node, offset)
	if !d.safe(node) {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		d.found("not_a_mapping", node.Line, "the header has to be a list of fields, such as name: my-skill")
		return nil
	}
	d.makeProse(node, text, offset)
	return node
}

// parseYAML reads one document and returns its content.
func parseYAML(text string) (*yaml.Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1}, nil
	case err != nil:
		return nil, err
	case len(doc.Content) != 1:
		return nil, errors.New("it has no content")
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has several documents")
	}
	return doc.Content[0], nil
}

var yamlLine = lazyregexp.New(`line (\d+): `)

// yamlError takes the line out of an error of the YAML package; 1 if it has
// none.
func yamlError(err error) (line int, what string) {
	what = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatchIndex(what); m != nil {
		line, _ = strconv.Atoi(what[m[2]:m[3]])
		what = what[m[1]:]
	}
	return max(line, 1), what
}

var (
	topLevel    = lazyregexp.New(`^([A-Za-z0-9_-]+:)(?:[ \t]+(\S.*)?)?$`)
	nestedValue = lazyregexp.New(`^([ \t]*(?:- +)?[A-Za-z0-9_-]+:[ \t]+)(\S.*)$`)
	nestedItem  = lazyregexp.New(`^([ \t]*- +)(\S.*)$`)
	blockStyle  = lazyregexp.New(`^[|>][0-9+-]*(?:[ \t]+#.*)?$`)
)

// proseFields are fields with a value that is one text of any number of lines.
var proseFields = []string{"compatibility", "description", "when_to_use"}

// repair quotes values that are invalid YAML, such as descriptions with colons. It
// keeps the number of lines.
func repair(text string) string {
	if len(text) > maxRepair {
		return text
	}
	lines := strings.Split(text, "\n")
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && !topLevel.MatchString(lines[to]) {
			to++
		}
		if field := lines[from:to]; !parses(strings.Join(field, "\n")) {
			repairField(field)
		}
		from = to
	}
	return strings.Join(lines, "\n")
}

func parses(text string) bool {
	_, err := parseYAML(text)
	return err == nil
}

// repairField repairs the lines of one field in place.
func repairField(lines []string) {
	m := topLevel.FindStringSubmatch(lines[0])
	if m == nil {
		return
	}
	if slices.Contains(proseFields, strings.TrimSuffix(m[1], ":")) {
		text := prose(m[2], lines[1:])
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			return
		}
		lines[0] = m[1] + " " + strconv.Quote(text)
		clear(lines[1:])
		return
	}
	for i, line := range lines {
		m := nestedValue.FindStringSubmatch(line)
		if m == nil {
			m = nestedItem.FindStringSubmatch(line)
		}
		if m == nil || parses(strings.TrimSpace(line)) {
			continue
		}
		lines[i] = m[1] + "'" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'"
	}
}

// prose returns the text of a value that begins with first and continues in more lines.
// It keeps the line breaks of a block in the style |.
func prose(first string, more []string) string {
	first, between := strings.TrimSpace(first), " "
	if blockStyle.MatchString(first) {
		if first[0] == '|' {
			between = "\n"
		}
		first = ""
	} else {
		for len(more) > 0 && strings.HasPrefix(strings.TrimSpace(more[len(more)-1]), "#") { // comments before the next field
			more = more[:len(more)-1]
		}
	}
	parts := []string{first}
	for _, line := range more {
		parts = append(parts, strings.TrimSpace(line))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, between)
}

// makeProse reads a description as text if YAML reads it as something else: as a list
// or a mapping, or, in lines without indentation, as further fields. A key of several
// words cannot be a field.
func (d *Doc) makeProse(header *yaml.Node, text string, offset int) {
	lines := strings.Split(text, "\n")
	// source returns the lines of the pair at i.
	source := func(i int) []string {
		from, to := header.Content[i].Line-offset-1, len(lines)
		if i+2 < len(header.Content) {
			to = header.Content[i+2].Line - offset - 1
		}
		if from < 0 || from >= to || to > len(lines) {
			return nil
		}
		return lines[from:to]
	}
	var kept []*yaml.Node
	var description *yaml.Node // nil after the last line that can belong to it
	for i := 0; i+1 < len(header.Content); i += 2 {
		key, value, written := header.Content[i], header.Content[i+1], source(i)
		switch {
		case description != nil && strings.Contains(key.Value, " ") && len(written) > 0:
			d.found("yaml_repaired", key.Line, "the line that begins with %s is not indented: it is read as part of the description", quoted(key.Value))
			description.Value = strings.TrimSpace(description.Value) + "\n" + prose(written[0], written[1:])
			continue
		case key.Value != "description":
			description = nil
		case value.Kind != yaml.ScalarNode && len(written) > 0:
			if m := topLevel.FindStringSubmatch(written[0]); m != nil {
				d.found("description_not_string", value.Line, "description is read as a list of values: put the text into quotes")
				*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: prose(m[2], written[1:]), Line: value.Line, Column: value.Column}
			}
			description = value
		default:
			description = value
		}
		kept = append(kept, key, value)
	}
	header.Content = kept
}

// shift moves the lines of a tree.
func shift(n *yaml.Node, by int) {
	n.Line += by
	for _, c := range n.Content {
		shift(c, by)
	}
}

// safe looks for what is never expanded, and for the style of inline lists. It
// reports whether the header may be read.
func (d *Doc) safe(root *yaml.Node) bool {
	ok, flow := true, false
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if !ok {
			return
		}
		switch {
		case n.Anchor != "" || n.Kind == yaml.AliasNode || n.Tag == "!!merge":
			d.found("yaml_alias", n.Line, "anchors, aliases and merge keys are not allowed: write the value out")
			ok = false
		case n.Style&yaml.TaggedStyle != 0:
			d.found("yaml_tag", n.Line, "the tag %s is not allowed: write the plain value", n.Tag)
			ok = false
		case n.Style&yaml.FlowStyle != 0 && !flow:
			d.found("yaml_flow_style", n.Line, "inline { } and [ ] are not part of the standard: write one entry per line")
			flow = true
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(root)
	return ok
}
