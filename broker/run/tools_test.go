package run

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectSchema(t *testing.T) {
	for in, want := range map[string]string{
		``:                               `{"type":"object"}`,
		`null`:                           `{"type":"object"}`,
		`true`:                           `{"type":"object"}`,
		`{}`:                             `{"type":"object"}`,
		`{"type":["object","null"]}`:     `{"type":"object"}`,
		`{"type":"object","x":1}`:        `{"type":"object","x":1}`,
		`{"properties":{"a":{}},"z": 1}`: `{"properties":{"a":{}},"type":"object","z":1}`,
	} {
		if diff := cmp.Diff(want, string(objectSchema(json.RawMessage(in)))); diff != "" {
			t.Errorf("objectSchema(%s) (-want +got):\n%s", in, diff)
		}
	}
}
