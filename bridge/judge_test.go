package bridge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
)

// mark replaces, in the JSON of arguments, what is not known: "?" for anything,
// "text" for some string, "gone" for undefined, and the key "…" for further keys.
func mark(l bridge.Literal) bridge.Literal {
	switch l.Value {
	case "?":
		return bridge.Literal{}
	case "text":
		return bridge.Literal{Kind: bridge.KnownText}
	case "gone":
		return bridge.Literal{Kind: bridge.Undefined}
	}
	for i := range l.Items {
		l.Items[i] = mark(l.Items[i])
	}
	l.Fields = slices.DeleteFunc(l.Fields, func(f bridge.Field) bool {
		l.Open = l.Open || f.Name == "…"
		return f.Name == "…"
	})
	for i := range l.Fields {
		l.Fields[i].Value = mark(l.Fields[i].Value)
	}
	return l
}

func literal(t testing.TB, raw string) bridge.Literal {
	t.Helper()
	l, err := bridge.ParseLiteral(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return mark(l)
}

func messages(found []bridge.Finding) []string {
	var m []string
	for _, f := range found {
		m = append(m, f.Message)
	}
	return m
}

func TestJudgeIsCertain(t *testing.T) {
	const closed = `{"type":"object","properties":{"owner":{"type":"string"},"state":{"enum":["OPEN","CLOSED"]},"perPage":{"type":"integer","minimum":1,"maximum":100},
		"labels":{"type":"array","items":{"type":"string"},"maxItems":2},"sort":{"type":["string","null"]}},"required":["owner"],"additionalProperties":false}`
	open := strings.Replace(closed, `,"additionalProperties":false`, "", 1)
	anything := strings.Replace(closed, `"additionalProperties":false`, `"additionalProperties":true`, 1)
	tagged := `{"type":"object","properties":{"where":{"anyOf":[
		{"type":"object","properties":{"kind":{"const":"page"},"id":{"type":"string"}},"required":["kind","id"]},
		{"type":"object","properties":{"kind":{"const":"row"},"n":{"type":"integer"}},"required":["kind","n"]}]},
		"key":{"anyOf":[{"type":"string"},{"type":"null"}]},"mode":{"oneOf":[{"const":"fast"},{"const":"slow"}]}}}`
	for _, tt := range []struct {
		name, schema, args string
		want               []string
	}{
		{"right", closed, `{"owner":"o","state":"OPEN","perPage":30,"labels":["a"],"sort":null}`, nil},
		{"a missing key", closed, `{"state":"OPEN"}`, []string{`missing parameter "owner"`}},
		{"an undefined key is missing", closed, `{"owner":"gone"}`, []string{`missing parameter "owner"`}},
		{"a key that may be among others", closed, `{"…":0}`, nil},
		{"no arguments", closed, `null`, []string{`missing parameter "owner"`}},
		{"an array", closed, `[1]`, []string{`arguments are one object, such as {name: value}; got an array`}},
		{"an unknown key", closed, `{"owner":"o","per_page":5}`, []string{`unknown parameter "per_page", did you mean "perPage"?`}},
		{"an unknown key of an unknown value", closed, `{"owner":"o","per_page":"?"}`, []string{`unknown parameter "per_page", did you mean "perPage"?`}},
		{"an unknown key with nothing like it", closed, `{"owner":"o","zzz":5}`, []string{`unknown parameter "zzz"; there are labels, owner, perPage, sort, state`}},
		{"an unknown key that is undefined", closed, `{"owner":"o","zzz":"gone"}`, nil},
		{"a required key spelt wrong is told once", closed, `{"ownr":"o"}`, []string{`unknown parameter "ownr", did you mean "owner"?`}},
		{"an unknown key where nothing speaks of more keys", open, `{"owner":"o","per_page":5}`, []string{`unknown parameter "per_page", did you mean "perPage"?`}},
		{"an unknown key where all are welcome", anything, `{"owner":"o","per_page":5}`, nil},
		{"an unknown value of an enum", closed, `{"owner":"o","state":"open"}`, []string{`"state" is "open"; accepted: "OPEN", "CLOSED"; did you mean "OPEN"?`}},
		{"some text for an enum", closed, `{"owner":"o","state":"text"}`, nil},
		{"some text for a number", closed, `{"owner":"o","perPage":"text"}`, []string{`"perPage" takes an integer; got a string`}},
		{"a fraction for an integer", closed, `{"owner":"o","perPage":1.5}`, []string{`"perPage" takes an integer; got 1.5`}},
		{"an integer in another notation", closed, `{"owner":"o","perPage":1.0e1}`, nil},
		{"out of range", closed, `{"owner":"o","perPage":101}`, []string{`"perPage" must be at most 100; got 101`}},
		{"a wrong element", closed, `{"owner":"o","labels":["a",2]}`, []string{`"labels[1]" takes a string; got 2`}},
		{"too many elements", closed, `{"owner":"o","labels":["a","b","c"]}`, []string{`"labels" takes at most 2 items; got 3`}},
		{"one of two types", closed, `{"owner":"o","sort":1}`, []string{`"sort" takes a string or null; got 1`}},
		{"several mistakes", closed, `{"owner":1,"state":"x","zzz":1}`, []string{`"owner" takes a string; got 1`, `"state" is "x"; accepted: "OPEN", "CLOSED"`,
			`unknown parameter "zzz"; there are labels, owner, perPage, sort, state`}},
		{"a branch that its tag names", tagged, `{"where":{"kind":"row","id":"x"}}`, []string{`missing parameter "where.n"`}},
		{"any branch while the tag is not known", tagged, `{"where":{"kind":"?","id":"x"}}`, nil},
		{"branches of values", tagged, `{"mode":"quick"}`, []string{`"mode" is "quick"; accepted: "fast", "slow"`}},
		{"branches of types", tagged, `{"key":1}`, []string{`"key" takes a string or null; got 1`}},
		{"a reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"b":{"type":"string"}}}}}`, `{"a":{"b":1}}`,
			[]string{`"a.b" takes a string; got 1`}},
		{"references that lead nowhere", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"https://example.com/"},"c":{"$ref":"#/$defs/c"}},"$defs":{"c":{"$ref":"#/$defs/c"}}}`,
			`{"a":1,"b":1,"c":1}`, nil},
		{"keys that all of several schemas have", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`, `{"a":"x","b":"y","c":1}`, nil},
		{"keys that match a pattern", `{"type":"object","properties":{"a":{}},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-1":1,"zzz":1}`,
			[]string{`"x-1" takes a string; got 1`, `unknown parameter "zzz"; there are a`}},
		{"OpenAPI's nullable", `{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, nil},
		{"a type that JSON Schema does not have", `{"type":"object","properties":{"a":{"type":"date"}}}`, `{"a":1}`, nil},
		{"a schema without properties", `{"type":"object"}`, `{"a":1}`, nil},
		{"a tuple", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}}}`, `{"a":["x","y","z"]}`, []string{`"a[1]" takes a number; got "y"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := &discovery.Tool{ListedTool: discovery.ListedTool{Name: "x", InputSchema: json.RawMessage(tt.schema)}, ID: "x"}
			got := messages(bridge.NewValidator().Judge(tool, literal(t, tt.args)))
			if len(got) != len(tt.want) || len(got) > 0 && !cmp.Equal(got, tt.want) {
				t.Errorf("findings %q, want %q", got, tt.want)
			}
		})
	}
}

func TestJudgeIsSilentOnWhatIsNotKnown(t *testing.T) {
	tool, _ := catalog.Tool("shop__buy")
	v := bridge.NewValidator()
	if got := v.Judge(tool, bridge.Literal{}); got != nil {
		t.Errorf("findings %v about arguments that are not known", got)
	}
	odd, _ := catalog.Tool("shop__odd")
	if got := v.Judge(odd, literal(t, `{"a":1}`)); got != nil {
		t.Errorf("findings %v by a schema that is elsewhere", got)
	}
}

func TestLongListsOfValuesAreCut(t *testing.T) {
	var values []string
	for i := range 300 {
		values = append(values, fmt.Sprintf(`"value-%d"`, i))
	}
	tool := &discovery.Tool{ID: "x", ListedTool: discovery.ListedTool{InputSchema: json.RawMessage(`{"type":"object","properties":{"v":{"enum":[` + strings.Join(values, ",") + `]}}}`)}}
	got := messages(bridge.NewValidator().Judge(tool, literal(t, `{"v":"valeu-288"}`)))
	if len(got) != 1 || len(got[0]) > 400 || !strings.Contains(got[0], `did you mean "value-288"?`) || !strings.Contains(got[0], "… 288 more") {
		t.Errorf("findings %q", got)
	}
}

// catalogTools returns the tools of many servers.
func catalogTools(t testing.TB) []*discovery.Tool {
	t.Helper()
	var tools []*discovery.Tool
	for _, f := range catalogues.All() {
		var listed struct {
			Tools []discovery.ListedTool `json:"tools"`
		}
		if json.Unmarshal(f.Data, &listed) != nil {
			continue
		}
		for _, l := range listed.Tools {
			tools = append(tools, &discovery.Tool{ListedTool: l, ID: f.Name + "/" + l.Name})
		}
	}
	return tools
}

// A maker makes values that a schema accepts, as far as it understands it.
type maker struct {
	root map[string]any
	r    *rand.Rand
}

func (m *maker) value(s any, depth int) any {
	schema, ok := s.(map[string]any)
	if !ok || depth > 8 {
		return "x"
	}
	if ref, ok := schema["$ref"].(string); ok {
		at := any(m.root)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			o, _ := at.(map[string]any)
			at = o[part]
		}
		return m.value(at, depth+1)
	}
	if c, ok := schema["const"]; ok {
		return c
	}
	for _, key := range []string{"enum", "examples"} {
		if e, ok := schema[key].([]any); ok && len(e) > 0 {
			return e[m.r.IntN(len(e))]
		}
	}
	if d, ok := schema["default"]; ok && m.r.IntN(2) == 0 {
		return d
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if e, ok := schema[key].([]any); ok && len(e) > 0 && schema["properties"] == nil {
			return m.value(e[m.r.IntN(len(e))], depth+1)
		}
	}
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind, _ = kinds[m.r.IntN(len(kinds))].(string)
	}
	if kind == "" && schema["properties"] != nil {
		kind = "object"
	}
	return m.kind(kind, schema, depth)
}

func (m *maker) kind(kind string, schema map[string]any, depth int) any {
	low, _ := schema["minimum"].(float64)
	switch kind {
	case "object":
		o := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name, p := range properties {
			if slices.Contains(required, any(name)) || m.r.IntN(3) == 0 && depth < 4 {
				o[name] = m.value(p, depth+1)
			}
		}
		switch extra := schema["additionalProperties"].(type) {
		case bool:
			if extra {
				o["anything"] = 1
			}
		case map[string]any:
			o["anything"] = m.value(extra, depth+1)
		}
		return o
	case "array":
		n, _ := schema["minItems"].(float64)
		a := []any{}
		for range int(max(n, float64(m.r.IntN(2)))) {
			a = append(a, m.value(schema["items"], depth+1))
		}
		return a
	case "integer":
		return math.Ceil(low) + float64(m.r.IntN(2))
	case "number":
		return low + 0.5*float64(m.r.IntN(2))
	case "boolean":
		return m.r.IntN(2) == 0
	case "null":
		return nil
	}
	n, _ := schema["minLength"].(float64)
	switch schema["format"] {
	case "date-time":
		return "2026-01-02T03:04:05Z"
	case "uri":
		return "https://example.com/"
	}
	return strings.Repeat("x", int(max(n, 1)))
}

// TestNoFalseRefusals judges calls that the schemas of published tools accept,
// as a validator says: none may be refused before a program runs. Then it
// breaks each call in one place and counts what is noticed.
func TestNoFalseRefusals(t *testing.T) {
	tools := catalogTools(t)
	v := bridge.NewValidator()
	valid, broken, noticed := 0, 0, 0
	for _, tool := range tools {
		var root map[string]any
		if json.Unmarshal(tool.InputSchema, &root) != nil {
			continue
		}
		m := &maker{root: root, r: rand.New(rand.NewPCG(1, uint64(len(tool.ID))))}
		for range 2 {
			made, ok := m.value(root, 0).(map[string]any)
			args, _ := json.Marshal(made)
			if _, err := v.Check(tool, args); !ok || err != nil {
				continue // the maker does not understand the schema
			}
			valid++
			l, err := bridge.ParseLiteral(args)
			if err != nil {
				t.Fatal(err)
			}
			if found := v.Judge(tool, l); len(found) > 0 {
				t.Errorf("%s: %.300s: %q, and it is right", tool.ID, args, messages(found))
			}
			for _, wrong := range breakings(root, made) {
				broken++
				args, _ := json.Marshal(wrong)
				l, err := bridge.ParseLiteral(args)
				if err != nil {
					t.Fatal(err)
				}
				if len(v.Judge(tool, l)) > 0 {
					noticed++
				}
			}
		}
	}
	t.Logf("%d tools, %d right calls; %d of %d wrong calls noticed", len(tools), valid, noticed, broken)
	if valid < len(tools) {
		t.Errorf("only %d right calls for %d tools: the test has lost its teeth", valid, len(tools))
	}
	if noticed*100 < broken*97 {
		t.Errorf("%d of %d wrong calls noticed, want 97 %%", noticed, broken)
	}
}

// breakings are calls that are wrong in one place: a required key left out, a
// key misspelt where the schema does not welcome others, a value of the wrong
// type.
func breakings(root, made map[string]any) []map[string]any {
	properties, _ := root["properties"].(map[string]any)
	required, _ := root["required"].([]any)
	closed := root["additionalProperties"] == false || root["additionalProperties"] == nil && root["anyOf"] == nil && root["allOf"] == nil && root["oneOf"] == nil
	var broken []map[string]any
	change := func(f func(map[string]any)) {
		c := make(map[string]any, len(made))
		maps.Copy(c, made)
		f(c)
		broken = append(broken, c)
	}
	for name, p := range properties {
		value, ok := made[name]
		if !ok {
			continue
		}
		if slices.Contains(required, any(name)) {
			change(func(c map[string]any) { delete(c, name) })
		}
		if closed {
			change(func(c map[string]any) { delete(c, name); c[name+"_q"] = value })
		}
		schema, _ := p.(map[string]any)
		switch schema["type"] {
		case "string", "boolean":
			change(func(c map[string]any) { c[name] = 17 })
		case "number", "integer", "array", "object":
			change(func(c map[string]any) { c[name] = "seventeen" })
		}
	}
	return broken
}

func FuzzJudge(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["a"]}`, `{"a":{"a":null}}`)
	f.Add(`{"patternProperties":{"[":{}},"additionalProperties":false,"items":[false],"allOf":[true,false]}`, `{"b":[1e999,"é"]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		l, err := bridge.ParseLiteral(json.RawMessage(args))
		if err != nil {
			return
		}
		tool := &discovery.Tool{ID: "x", ListedTool: discovery.ListedTool{InputSchema: json.RawMessage(schema)}}
		v := bridge.NewValidator()
		for _, found := range v.Judge(tool, l) {
			if found.Message == "" {
				t.Errorf("a finding without words: %+v", found)
			}
		}
		_, _ = v.Check(tool, json.RawMessage(args))
	})
}

func BenchmarkJudge(b *testing.B) {
	tool, _ := catalog.Tool("shop__buy")
	v := bridge.NewValidator()
	l := literal(b, `{"item":"x","count":2,"speed":"fast","to":{"city":"Rome"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if found := v.Judge(tool, l); found != nil {
			b.Fatal(found)
		}
	}
}
