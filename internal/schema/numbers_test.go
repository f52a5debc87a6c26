package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/schema"
)

func TestNumbersAreJudgedAsDecimals(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{"multipleOf":0.01}`, `0.58`, ""},
		{`{"multipleOf":0.01}`, `19.99`, ""},
		{`{"multipleOf":0.01}`, `4.355`, "must be a multiple of 0.01"},
		{`{"multipleOf":0.1}`, `92.6`, ""},
		{`{"multipleOf":1e-8}`, `0.00000003`, ""},
		{`{"multipleOf":1e-8}`, `3.00000000000001`, "multiple of 1e-8"},
		{`{"multipleOf":0.0001}`, `12345.6789`, ""},
		{`{"multipleOf":3}`, `9007199254740993`, ""},
		{`{"multipleOf":3}`, `9007199254740994`, "multiple of 3"},
		{`{"multipleOf":0.01}`, `1e400`, ""},
		{`{"multipleOf":0.01}`, `1e308`, ""},
		{`{"multipleOf":0}`, `1`, ""},
		{`{"multipleOf":0.01}`, `"text"`, ""},
		{`{"properties":{"price":{"anyOf":[{"type":"string"},{"multipleOf":0.05}]}}}`, `{"price":1.15}`, ""},
		{`{"properties":{"price":{"anyOf":[{"type":"string"},{"multipleOf":0.05}]}}}`, `{"price":1.16}`, "anyOf"},
		{`{"not":{"multipleOf":0.1}}`, `0.7`, "not"},
		{`{"not":{"multipleOf":0.1}}`, `0.75`, ""},
		{`{"if":{"multipleOf":0.1},"then":{"maximum":1}}`, `1.1`, "maximum"},
		{`{"items":{"$ref":"#/$defs/cents"},"$defs":{"cents":{"multipleOf":0.01}}}`, `[0.58,1.11]`, ""},
		{`{"items":{"$ref":"#/$defs/cents"},"$defs":{"cents":{"multipleOf":0.01}}}`, `[0.58,1.111]`, "must be a multiple of 0.01"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","properties":{"a":{"multipleOf":0.01}}}`, `{"a":0.57}`, ""},

		{`{"uniqueItems":true}`, `[2047948614742839297,2047948614742839298]`, ""},
		{`{"uniqueItems":true}`, `[2047948614742839297,2047948614742839297]`, "uniqueItems"},
		{`{"uniqueItems":true}`, `[{"id":18446744073709551614},{"id":18446744073709551615}]`, ""},
		{`{"uniqueItems":true}`, `[-9223372036854775807,-9223372036854775808]`, ""},
		{`{"uniqueItems":true}`, `[123456789012345678901234567890,123456789012345678901234567891]`, ""},
		{`{"uniqueItems":true}`, `[1,1.0]`, "uniqueItems"},
		{`{"enum":[2047948614742839297]}`, `2047948614742839297`, ""},
		{`{"enum":[2047948614742839297]}`, `2047948614742839298`, "enum"},
		{`{"items":{"enum":[null,9007199254740993,"x"]}}`, `[9007199254740992]`, "enum"},
		{`{"const":9007199254740993}`, `9007199254740993`, ""},
		{`{"const":9007199254740993}`, `9007199254740992`, "const"},
		{`{"const":{"id":9007199254740993}}`, `{"id":9007199254740994}`, "const"},
		{`{"minimum":9007199254740993}`, `9007199254740992`, "must be at least 9007199254740993"},
		{`{"minimum":9007199254740993}`, `9007199254740993`, ""},
		{`{"maximum":9223372036854775807}`, `9223372036854775807`, ""},
		{`{"maximum":9223372036854775807}`, `9223372036854775808`, "must be at most 9223372036854775807"},
		{`{"maximum":9223372036854775807,"type":"integer"}`, `1e400`, "must be at most"},
		{`{"exclusiveMinimum":-9007199254740993}`, `-9007199254740993`, "must be more than -9007199254740993"},
		{`{"exclusiveMinimum":-9007199254740993}`, `-9007199254740992`, ""},
		{`{"exclusiveMaximum":18446744073709551615}`, `18446744073709551614`, ""},
		{`{"exclusiveMaximum":18446744073709551615}`, `18446744073709551615`, "must be less than"},
		{`{"minimum":0.1,"maximum":9007199254740992}`, `0.1`, ""},
		{`{"type":"integer"}`, `9223372036854775808`, ""},
		{`{"type":"integer"}`, `1e20`, ""},
		{`{"type":"string"}`, `2047948614742839297`, "takes a string; got 2047948614742839297"},
	} {
		s, err := schema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Errorf("Compile(%s) = %v", tt.schema, err)
			continue
		}
		if err := s.Check(json.RawMessage(tt.value)); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: Check(%s) = %v, want %q", tt.schema, tt.value, err, tt.want)
		}
	}
}

func TestHugeNumbersTakeNoTime(t *testing.T) {
	start := time.Now()
	long := strings.Repeat("7", 1<<20)
	for _, tt := range []struct{ schema, value string }{
		{`{"multipleOf":1e-300}`, `1e300`},
		{`{"multipleOf":0.01}`, `1e400000000`},
		{`{"minimum":` + long[:1000] + `}`, `1e-400000000`},
		{`{"multipleOf":3,"uniqueItems":true}`, "[" + long + "," + long + "]"},
		{`{"multipleOf":0.01}`, "0." + long},
		{`{"items":{"multipleOf":0.01},"uniqueItems":true}`, "[" + strings.Repeat("0.58,", 10_000) + "1]"},
		{`{"items":{"anyOf":[{"multipleOf":7},{"multipleOf":0.01}]}}`, "[" + strings.Repeat("1.001,1.002,", 5_000) + "1]"},
	} {
		s, err := schema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			continue // a schema that cannot be read accepts everything
		}
		_ = s.Check(json.RawMessage(tt.value))
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
