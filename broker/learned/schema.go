package learned

import (
	"strconv"
	"strings"
)

// schema returns the node as a JSON Schema. Equal nodes have equal schemas.
func (n *node) schema(depth int) string {
	if n == nil || depth > maxDepth {
		return "{}"
	}
	var alternatives []string
	for k := kindBool; k < kinds; k++ {
		if n.Kinds[k] == 0 || k == kindInteger && n.Kinds[kindNumber] > 0 {
			continue
		}
		alternatives = append(alternatives, n.alternative(k, depth))
	}
	if n.Kinds[kindNull] > 0 {
		alternatives = append(alternatives, `{"type":"null"}`)
	}
	switch len(alternatives) {
	case 0:
		return "{}"
	case 1:
		return alternatives[0]
	}
	return `{"anyOf":[` + strings.Join(alternatives, ",") + `]}`
}

// alternative returns the schema of the values of one kind.
func (n *node) alternative(k kind, depth int) string {
	switch k {
	case kindString:
		if f := n.Formats.name(); f != "" {
			return `{"type":"string","format":` + strconv.Quote(f) + `}`
		}
	case kindArray:
		if items := n.Elem.schema(depth + 1); items != "{}" {
			return `{"type":"array","items":` + items + `}`
		}
	case kindObject:
		return n.Object.schema(depth)
	}
	return `{"type":` + strconv.Quote(kindNames[k]) + `}`
}

func (o *object) schema(depth int) string {
	if o == nil || depth >= maxDepth {
		return `{"type":"object"}`
	}
	if o.Values != nil || len(o.Fields) == 0 {
		values := o.valueNode().schema(depth + 1)
		if values == "{}" {
			return `{"type":"object"}`
		}
		return `{"type":"object","additionalProperties":` + values + `}`
	}
	var props, required []string
	for _, f := range o.Fields {
		name := strconv.Quote(f.Name) // isFieldName excludes characters that need escapes
		props = append(props, name+":"+f.node.schema(depth+1))
		if f.N >= o.N {
			required = append(required, name)
		}
	}
	s := `{"type":"object","properties":{` + strings.Join(props, ",") + `}`
	if len(required) > 0 {
		s += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return s + "}"
}
