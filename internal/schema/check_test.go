package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/schema"
)

func TestMistakesNameTheField(t *testing.T) {
	const issue = `{"type":"object","properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}},"level":{"enum":["low","high"]}},"required":["title"],"additionalProperties":false}`
	for _, c := range []struct{ schema, value, want string }{
		{issue, `{"title":"x","labels":[{"id":1}],"level":"low"}`, ""},
		{issue, `{}`, `"title" is missing`},
		{issue, `{"title":1}`, `"title": takes a string; got 1`},
		{issue, `{"title":{"a":1}}`, `"title": takes a string; got an object`},
		{issue, `{"title":null}`, `"title": takes a string; got null`},
		{issue, `{"title":"x","labels":[{"id":"a"}]}`, `"labels[].id": takes an integer; got "a"`},
		{`{"type":["string","null"]}`, `[1]`, `takes a string or null; got an array`},
		{`{"required":["a","b"]}`, `{}`, `"a", "b" are missing`},
		{issue, `{"title":"x","level":"medium"}`, `"level": enum`},
		{issue, `{"title":"x","colour":1}`, `"colour" is unknown`},
		{issue, `{"title"`, "invalid JSON"},
		{``, `{"anything":1}`, ""},
		{``, `nothing`, "invalid JSON"},
		{issue, `{"title":1,"labels":"` + strings.Repeat("x", 10_000) + `"}`, `"`},
	} {
		s, err := schema.Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Check(json.RawMessage(c.value))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("Check(%s) = %v, want nil", c.value, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("Check(%.60s) = %v, want %q in it", c.value, err, c.want)
		case err != nil && len(err.Error()) > 400:
			t.Errorf("Check(%.60s): the error has %d bytes", c.value, len(err.Error()))
		}
	}
}

func TestWhatIsNoSchemaIsRefused(t *testing.T) {
	for _, raw := range []string{`{`, `[]`, `{"type":1}`, `{"minimum":"x"}`, `{"$ref":"https://schemas.example/other.json"}`} {
		if _, err := schema.Compile(json.RawMessage(raw)); err == nil {
			t.Errorf("Compile(%s) works", raw)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`, `{"a":"x"}`)
	f.Add(`{"$dynamicRef":"#a","default":1}`, `1`)
	f.Fuzz(func(_ *testing.T, text, value string) {
		if s, err := schema.Compile(json.RawMessage(text)); err == nil {
			_ = s.Check(json.RawMessage(value))
		}
	})
}
