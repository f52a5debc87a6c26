package jsonscan_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// What is wrong is said without a word of Go.
func TestExplain(t *testing.T) {
	type file struct {
		Command string         `json:"command"`
		On      *bool          `json:"on"`
		Args    []string       `json:"args"`
		Env     map[string]int `json:"env"`
		Deep    struct {
			Rate float64 `json:"rate"`
		} `json:"deep"`
	}
	for doc, want := range map[string]string{
		`{"command": ["x"]}`:          `"command" is a list and has to be a string`,
		`{"on": "yes"}`:               `"on" is a string and has to be true or false`,
		`{"args": {}}`:                `"args" is an object and has to be a list`,
		`{"args": [1]}`:               `"args" is a number and has to be a string`,
		`{"env": []}`:                 `"env" is a list and has to be an object`,
		`{"env": {"a": 1.5}}`:         `"env" is the number 1.5 and has to be a whole number that is not too large`,
		`{"deep": {"rate": true}}`:    `"deep.rate" is a boolean and has to be a number`,
		`7`:                           `it is a number and has to be an object`,
		`{"command": "x"`:             `unexpected end of JSON input`,
		`{"command": "x", "deep": {}`: `unexpected end of JSON input`,
	} {
		var f file
		if err := jsonscan.Explain(json.Unmarshal([]byte(doc), &f)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
	if err := jsonscan.Explain(nil); err != nil {
		t.Errorf("nothing is wrong, and it says %v", err)
	}
}
