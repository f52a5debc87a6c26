package clients

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// lastOf keeps the last of fields with the same key, as a client would.
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

// list is v as a list; one thing alone is a list of one.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// text is v as a text: numbers and booleans as they are written.
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

// patterns are names of tools, without what Gemini CLI writes in brackets
// behind them.
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

// duration returns v in the format of servers.json, or nil if it is not a time. A text
// such as "30s" stays.
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
