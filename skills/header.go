package skills

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// maxRepair bounds the header whose lines are tried one by one.
const maxRepair = 64 << 10

// readHeader reads the mapping of the header, repaired once if it is invalid YAML,
// and nil if it cannot be used. offset is the number of lines before it; the
// nodes get the lines of the file.
func (d *Doc) readHeader(text string, offset int) *yaml.Node {
	node, err := parseYAML(text)
	if err != nil {
		line, what := yamlError(err)
		repaired := repair(text)
		if node, _ = parseYAML(repaired); node == nil {
			d.found("invalid_yaml", offset+line, "the header is invalid YAML: %s; a value that holds a colon or begins with a bracket needs quotes", what)
			return nil
		}
		d.found("yaml_repaired", offset+line, "the header is invalid YAML: %s; put the value into quotes", what)
	}
	shift(node, offset)
	if !d.safe(node) {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		d.found("not_a_mapping", node.Line, "the header has to be a list of fields, such as name: my-skill")
		return nil
	}
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

var topLevel = lazyregexp.New(`^([A-Za-z0-9_-]+:[ \t]+)(\S.*)$`)

// repair puts single quotes around the value of each field that stands in one
// line and is invalid YAML by itself, the way people write descriptions with colons.
func repair(text string) string {
	if len(text) > maxRepair {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := topLevel.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		// A quoted value may go on in the next lines.
		if open := m[2][0] == '"' || m[2][0] == '\''; open && i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ") {
			continue
		}
		if _, err := parseYAML(line); err != nil {
			lines[i] = m[1] + "'" + strings.ReplaceAll(strings.TrimSpace(m[2]), "'", "''") + "'"
		}
	}
	return strings.Join(lines, "\n")
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
