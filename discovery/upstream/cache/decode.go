package cache

import (
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// Decode reads an entry of a server. The schemas of its tools share memory with b.
//
// A broker decodes every cached tool before it answers its first client, so the tools are
// read in one pass; encoding/json, which reads the rest, makes three.
func Decode(b []byte, server string) (Entry, bool) {
	var e Entry
	var tools []discovery.ListedTool
	s := jsonscan.New(b)
	ok := decodeObject(&s, &e, func(key []byte) bool {
		return jsonscan.Is(key, "listing") && s.Kind() == '{' && decodeObject(&s, &e.Listing, func(key []byte) bool {
			if !jsonscan.Is(key, "tools") || s.Kind() != '[' {
				return false
			}
			tools = []discovery.ListedTool{}
			for s.Enter('['); s.More(']'); {
				t, ok := decodeTool(&s)
				if !ok {
					return false
				}
				tools = append(tools, t)
			}
			return true
		})
	})
	if tools != nil {
		e.Listing.Tools = tools
	}
	if !ok || !s.End() || e.Version != listingVersion || e.Listing.Server != server {
		return Entry{}, false
	}
	return e, true
}

// decodeObject decodes the object that is next into v, but for the members that own reads;
// own reports false for a member that it leaves. It reports whether the object is valid.
func decodeObject(s *jsonscan.Scanner[[]byte], v any, own func(key []byte) bool) bool {
	var rest []byte
	for s.Enter('{'); s.More('}'); {
		key := s.Key()
		if s.Broken() {
			return false
		}
		if own(key) {
			continue
		}
		value := s.Skip()
		if s.Broken() {
			return false
		}
		if rest == nil {
			rest = append(rest, '{')
		} else {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, key...), ':'), value...)
	}
	return !s.Broken() && (rest == nil || json.Unmarshal(append(rest, '}'), v) == nil)
}

// decodeTool decodes the tool that is next.
func decodeTool(s *jsonscan.Scanner[[]byte]) (t discovery.ListedTool, ok bool) {
	text := func(to *string) bool {
		if s.Kind() != '"' {
			return false
		}
		literal := s.Skip()
		if s.Broken() {
			return false
		}
		*to = string(jsonscan.Unquote(literal))
		return true
	}
	raw := func(to *json.RawMessage) bool {
		value := s.Skip()
		*to = value[:len(value):len(value)]
		return !s.Broken()
	}
	ok = decodeObject(s, &t, func(key []byte) bool {
		switch string(key) {
		case `"name"`:
			return text(&t.Name)
		case `"title"`:
			return text(&t.Title)
		case `"description"`:
			return text(&t.Description)
		case `"inputSchema"`:
			return raw(&t.InputSchema)
		case `"outputSchema"`:
			return raw(&t.OutputSchema)
		case `"annotations"`:
			return s.Kind() == '{' && decodeObject(s, &t.Annotations, func(key []byte) bool { return decodeHint(s, key, &t.Annotations) })
		}
		return false
	})
	return t, ok
}

// decodeHint decodes the hint that is next if it is true or false.
func decodeHint(s *jsonscan.Scanner[[]byte], key []byte, to *discovery.Annotations) bool {
	var hint **bool
	switch string(key) {
	case `"readOnlyHint"`:
		hint = &to.ReadOnly
	case `"destructiveHint"`:
		hint = &to.Destructive
	case `"idempotentHint"`:
		hint = &to.Idempotent
	case `"openWorldHint"`:
		hint = &to.OpenWorld
	}
	if hint == nil || s.Kind() != 't' && s.Kind() != 'f' {
		return false
	}
	value := string(s.Skip()) == "true"
	*hint = &value
	return !s.Broken()
}
