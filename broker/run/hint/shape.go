package hint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

const (
	shapeDepth = 4
	shapeKeys  = 12
	shapeMax   = 400 // characters
)

// Shape describes the structure of a JSON value, so that a model knows what was cut:
// {items: 1240 × {id: number, title: string}}. The first element of an array describes
// all of them.
func Shape(value json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	s, err := readShape(d, 0)
	if err != nil {
		return ""
	}
	return gate.Cut(s, shapeMax)
}

func readShape(d *json.Decoder, depth int) (string, error) {
	tok, err := d.Token()
	if err != nil {
		return "", err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			return arrayShape(d, depth)
		}
		return objectShape(d, depth)
	case string:
		return "string", nil
	case json.Number:
		return "number", nil
	case bool:
		return "boolean", nil
	}
	return "null", nil
}

func arrayShape(d *json.Decoder, depth int) (string, error) {
	n, first := 0, ""
	for d.More() {
		if n == 0 {
			s, err := readShape(d, depth+1)
			if err != nil {
				return "", err
			}
			first = s
		} else {
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return "", err
			}
		}
		n++
	}
	if _, err := d.Token(); err != nil {
		return "", err
	}
	if n == 0 {
		return "[]", nil
	}
	return fmt.Sprintf("%d × %s", n, first), nil
}

func objectShape(d *json.Decoder, depth int) (string, error) {
	var fields []string
	left := 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		if depth >= shapeDepth || len(fields) >= shapeKeys {
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return "", err
			}
			left++
			continue
		}
		s, err := readShape(d, depth+1)
		if err != nil {
			return "", err
		}
		name := key.(string)
		if !tsname.IsIdentifier(name) {
			name = string(gate.Compact(name))
		}
		fields = append(fields, name+": "+s)
	}
	if _, err := d.Token(); err != nil {
		return "", err
	}
	if left > 0 {
		fields = append(fields, fmt.Sprintf("…%d more", left))
	}
	return "{" + strings.Join(fields, ", ") + "}", nil
}
