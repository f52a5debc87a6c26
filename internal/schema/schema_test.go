package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan/jsonscantest"
	"github.com/mcpbroker/mcpbroker/internal/schema"
)

func TestDecodeAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range jsonscantest.Malformed() {
		if v, err := schema.Decode([]byte(text)); err == nil {
			t.Errorf("%.100q is %v", text, v)
		}
	}
	for _, text := range jsonscantest.Odd() {
		if _, err := schema.Decode([]byte(text)); err != nil {
			t.Errorf("%.100q: %v", text, err)
		}
	}
}

const document = `{"type":["object","null"],"required":["b","a","b",7],"properties":{"z":{"$ref":"#/$defs/x~1y"},"a":{"$ref":"#/properties/z"},"loop":{"$ref":"#/$defs/one"},"out":{"$ref":"other.json#/x"},
	"tuple":{"prefixItems":[{"type":"string"}],"items":false},"old":{"items":[{"type":"string"},true],"additionalItems":{"type":"null"}},"list":{"items":{"enum":["a",1,null]}},"one":{"const":null},"nothing":{"enum":"a"}},
	"$defs":{"x/y":{"type":"integer"},"one":{"$ref":"#/$defs/two"},"two":{"$ref":"#/$defs/one"},"sub":{"$id":"https://x.example","$defs":{"in":{}}},"a b":[{"type":"array"}]}}`

func TestReferences(t *testing.T) {
	d := schema.Read([]byte(document))
	for ref, want := range map[string]string{
		"#/$defs/x~1y": "integer", "#/properties/z": "integer", "#/properties/a": "integer", "#/$defs/a%20b/0": "array", "#/$defs/one": "", "#/properties/out": "", "#": "object",
		"": "", "#/$defs/missing": "", "#anchor": "", "#/$defs/a b/1": "", "#/$defs/a b/-1": "", "#/$defs/sub/$defs/in": "", "other.json": "", "#/type/0": "",
	} {
		v, _ := d.Find(ref)
		types := d.Resolve(v).Types()
		if got := strings.Join(types[:min(1, len(types))], ""); got != want {
			t.Errorf("%s is %q, want %q", ref, got, want)
		}
	}
}

func TestReaders(t *testing.T) {
	d := schema.Read([]byte(document))
	o := d.Object()
	if got := o.Required(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("required: %q", got)
	}
	if got := o.Types(); !slices.Equal(got, []string{"object", "null"}) {
		t.Errorf("types: %q", got)
	}
	if got := o.Properties().Keys[:3]; !slices.Equal(got, []string{"z", "a", "loop"}) {
		t.Errorf("properties: %q", got)
	}
	for name, want := range map[string]string{"tuple": "1 false true", "old": "2 &{[type] [null] map[]} true", "list": "0 &{[enum] [[a 1 <nil>]] map[]} true", "one": "0 <nil> false"} {
		first, rest, stated := o.Properties().Object(name).Items()
		if got := fmt.Sprint(len(first), rest, stated); got != want {
			t.Errorf("items of %s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"one": "[<nil>] true", "nothing": "[] false", "z": "[] false"} {
		if got := fmt.Sprint(o.Properties().Object(name).Values()); got != want {
			t.Errorf("values of %s: %s, want %s", name, got, want)
		}
	}
	var none *schema.Object
	if none.Types() != nil || none.Required() != nil || none.Properties() != nil || none.Size() != 0 || none.Get("x") != nil {
		t.Error("the nil schema says something")
	}
}

// A schema that is deeper than any that a server writes is cut there.
func TestDepthIsBounded(t *testing.T) {
	v, err := schema.Decode([]byte(strings.Repeat(`{"not":`, 5000) + "{}" + strings.Repeat("}", 5000)))
	depth := 0
	for err == nil {
		o, ok := v.(*schema.Object)
		if !ok {
			break
		}
		v = o.Get("not")
		depth++
	}
	if err != nil || v != true || depth != schema.MaxNesting+1 {
		t.Errorf("%d levels, then %v: %v", depth, v, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(document, "#/$defs/x~1y")
	f.Add(`{"$ref":"#"}`, "#")
	f.Fuzz(func(t *testing.T, text, ref string) {
		d := schema.Read([]byte(text))
		v, _ := d.Find(ref)
		o := d.Resolve(v)
		o.Types()
		o.Values()
		o.Items()
		if _, err := schema.Decode([]byte(text)); (err == nil) != json.Valid([]byte(text)) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
