package index

import (
	"encoding/json"
	"maps"
	"slices"
)

// parameterText returns what the top level of an input schema says in words:
// parameter names, their descriptions and enum values. A schema that cannot
// be read says nothing.
func parameterText(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		words = append(words, splitWords(name))
		var p struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		}
		// A parameter whose schema is odd still has its name.
		_ = json.Unmarshal(s.Properties[name], &p)
		if p.Description != "" {
			words = append(words, splitWords(p.Description))
		}
		for _, v := range p.Enum {
			if v, ok := v.(string); ok {
				words = append(words, splitWords(v))
			}
		}
	}
	return words
}
