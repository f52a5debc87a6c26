// Package badmessages generates messages of a broken or hostile MCP peer, to test their
// receivers.
package badmessages

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Deep is the nesting of the deepest values.
const Deep = 20_000

// replacements are values that replace a valid value.
var replacements = []string{
	`null`, `{}`, `[]`, `[null]`, `{"a":null}`, `"text"`, `""`, `true`, `-1.5`, `1e300`,
}

// outerLevels is the number of levels of a text that get every deeply nested value;
// inner levels get only arrays. Nested values are most of the data, and a decoder reads
// the inner levels like the outer ones.
const outerLevels = 2

// nested are values that are nested deeper than any decoder should follow.
var nested = []string{
	strings.Repeat(`[`, Deep) + strings.Repeat(`]`, Deep),
	strings.Repeat(`{"a":`, Deep) + `1` + strings.Repeat(`}`, Deep),
}

// Values returns variations of valid, a JSON text: each of its parts in turn is
// missing, of another type and null, and at the two outermost levels deeply nested. The
// whole text counts as a part; its absence is "".
func Values(valid string) []string { return Outer(valid, math.MaxInt) }

// Outer returns those Values that vary one of the outermost levels: 1 is the whole
// text, 2 its members too.
func Outer(valid string, levels int) []string {
	var v any
	d := json.NewDecoder(strings.NewReader(valid))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("badmessages: %s: %v", valid, err))
	}
	list := []string{""}
	vary(v, 0, levels, func(text string) { list = append(list, text) })
	return list
}

// vary yields the variations of v, a part at the given level, except its absence.
func vary(v any, level, levels int, yield func(string)) {
	for _, r := range replacements {
		yield(r)
	}
	if level < outerLevels {
		for _, n := range nested[:outerLevels-level] {
			yield(n)
		}
	}
	if level++; level >= levels {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			rest := maps.Clone(v)
			delete(rest, key)
			yield(text(rest))
			vary(v[key], level, levels, func(part string) { yield(with(rest, key, part)) })
		}
	case []any:
		for i, element := range v {
			yield(text(slices.Delete(slices.Clone(v), i, i+1)))
			vary(element, level, levels, func(part string) {
				parts := make([]string, len(v))
				for j := range v {
					parts[j] = text(v[j])
				}
				parts[i] = part
				yield("[" + strings.Join(parts, ",") + "]")
			})
		}
	}
}

// with returns the object rest with one more member.
func with(rest map[string]any, key, value string) string {
	head := strings.TrimSuffix(text(rest), "}")
	if len(rest) > 0 {
		head += ","
	}
	return head + text(key) + ":" + value + "}"
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a decoded value always marshals
	}
	return string(b)
}

// Requests returns requests of a method, one for each of params. Id returns the id of
// the next request.
func Requests(method string, params []string, id func() string) []string {
	var list []string
	for _, p := range params {
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, id(), method, member("params", p)))
	}
	return list
}

// Notifications is like Requests, without ids.
func Notifications(method string, params []string) []string {
	var list []string
	for _, p := range params {
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, member("params", p)))
	}
	return list
}

// Responses returns responses to the request with the given id, a JSON text: with all
// Values of a valid result, and with invalid errors.
func Responses(id, result string) []string {
	var list []string
	for _, r := range Values(result) {
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s%s}`, id, member("result", r)))
	}
	for _, e := range Values(`{"code":-32000,"message":"m","data":{"a":1}}`) {
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s%s}`, id, member("error", e)))
	}
	return append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"both"}}`, id))
}

// Envelopes returns texts that are not messages, and messages with invalid outer
// members.
func Envelopes() []string {
	list := Values(`{"jsonrpc":"2.0","id":"e1","method":"ping","params":{}}`)[1:]
	list = append(list, Values(`{"jsonrpc":"2.0","id":"e2","result":{}}`)[1:]...)
	list = append(list, Values(`{"jsonrpc":"2.0","id":"e3","error":{"code":1,"message":"m"}}`)[1:]...)
	return append(list, `{`, `}`, `[`, `nonsense`, "\x00\xff", `[[]]`, `[null,null]`,
		`{"jsonrpc":"2.0","id":"e4","method":"ping"}{"jsonrpc":"2.0","id":"e5","method":"ping"}`,
		`{"jsonrpc":"2.0","id":"e6","id":"e7","method":"ping","method":null}`)
}

func member(key, value string) string {
	if value == "" {
		return ""
	}
	return "," + text(key) + ":" + value
}
