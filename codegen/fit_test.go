package codegen

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFitSchemaCutsTheLongestDescriptions(t *testing.T) {
	long := strings.Repeat("Many words on this parameter. ", 100)
	schema := fmt.Sprintf(`{"type":"object","description":"Short.","properties":{
		"a":{"type":"string","description":%q},
		"description":{"type":"string","description":%q,"default":"a text that is data and stays as it is, however long it may be"},
		"c":{"type":"array","items":{"anyOf":[{"type":"integer","maximum":9007199254740993,"description":%[1]q},{"type":"null"}]}}
	},"required":["a","description"]}`, long, long)
	got := FitSchema(json.RawMessage(schema), 2000, 16000)
	if len(got) > 2000 || len(got) < 1500 {
		t.Errorf("%d bytes, want about 2000", len(got))
	}
	for _, want := range []string{`"description":"Short."`, `"default":"a text that is data and stays as it is, however long it may be"`, `"maximum":9007199254740993`,
		`"required":["a","description"]`, `{"type":"null"}`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if n := strings.Count(string(got), `…"`); n != 3 {
		t.Errorf("%d descriptions are cut, want 3: %s", n, got)
	}
}

// FitSchema always returns a valid schema with the required properties.
func TestFitSchemaNeverGivesNothing(t *testing.T) {
	var wide, enum []string
	for i := range 2000 {
		wide = append(wide, fmt.Sprintf(`"parameter_%d":{"type":"string","description":"The parameter of the number %[1]d."}`, i))
		enum = append(enum, fmt.Sprintf(`"value %d"`, i))
	}
	deep := `{"type":"string"}`
	for i := range 60 {
		deep = fmt.Sprintf(`{"type":"object","title":"Level","properties":{"level_%d":%s,"some_other_name_of_it":{"type":"string"}}}`, i, strings.Repeat(" ", 100)+deep)
	}
	for name, schema := range map[string]string{
		"wide":   `{"type":"object","properties":{` + strings.Join(wide, ",") + `},"required":["parameter_1999"]}`,
		"values": `{"type":"object","properties":{"parameter_1999":{"enum":[` + strings.Join(enum, ",") + `]}},"required":["parameter_1999"]}`,
		"deep":   `{"type":"object","properties":{"parameter_1999":` + deep + `},"required":["parameter_1999"]}`,
		"list":   `{"allOf":[{"properties":{"parameter_1999":{"enum":[` + strings.Join(enum, ",") + `]}}}]}`,
	} {
		for _, most := range []int{3000, 16000} {
			got := FitSchema(json.RawMessage(schema), 2900, most)
			if !json.Valid(got) || len(got) > most || !strings.Contains(string(got), "parameter_1999") || !strings.Contains(string(got), "$comment") && most == 3000 {
				t.Errorf("%s in %d bytes: %d bytes, %.300s", name, most, len(got), got)
			}
		}
	}
	for _, odd := range []string{"", "nonsense", "{", "true", "[]", `"x"`, "null"} {
		if got := FitSchema(json.RawMessage(odd), 2900, 16000); !json.Valid(got) {
			t.Errorf("FitSchema(%q) = %s", odd, got)
		}
	}
}

func FuzzFitSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"description":"x y z","enum":[1,2]}}}`, 10, 20)
	f.Fuzz(func(t *testing.T, schema string, limit, most int) {
		if got := FitSchema(json.RawMessage(schema), limit, most); !json.Valid(got) {
			t.Errorf("FitSchema(%q, %d, %d) = %s", schema, limit, most, got)
		}
	})
}
