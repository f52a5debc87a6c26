package clients

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// lastOf keeps the last of several fields with the same key, like clients.
func lastOf(o config.Object) config.Object {
	var out config.Object
	for i, f := range o {
		if !slices.ContainsFunc(o[i+1:], func(later config.Field) bool { return later.Key == f.Key }) {
			out = append(out, f)
		}
	}
	return out
}

func object(v any) config.Object {
	o, _ := v.(config.Object)
	return o
}

// list returns v as a list; another value is a list of one.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// text returns v as a string: numbers and booleans as written.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (c *converter) texts(v any) []string {
	var out []string
	for _, e := range list(v) {
		out = append(out, c.refs(text(e)))
	}
	return out
}

func (c *converter) pairs(v any) config.Object {
	var out config.Object
	for _, f := range object(v) {
		if f.Value != nil {
			out = append(out, config.Field{Key: f.Key, Value: c.refs(text(f.Value))})
		}
	}
	return out
}

// patterns returns names of tools, without the arguments that Gemini CLI allows in parentheses.
func patterns(v any) []string {
	var out []string
	for _, e := range list(v) {
		name, _, _ := strings.Cut(text(e), "(")
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// duration returns v in the syntax of servers.json, or nil if it is not a duration. It keeps
// strings such as "30s".
func duration(v any, perSecond float64) any {
	if s, ok := v.(string); ok {
		return s
	}
	n, err := strconv.ParseFloat(text(v), 64)
	if err != nil || n <= 0 {
		return nil
	}
	return json.Number(strconv.FormatFloat(n/perSecond, 'f', -1, 64))
}
