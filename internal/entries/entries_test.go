package entries

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	set := func(m map[string]json.RawMessage) { m["on"] = json.RawMessage("true") }
	for _, tt := range []struct {
		name, text string
		edit       func(map[string]json.RawMessage)
		want       string // compact; "error: " begins an error
	}{
		{"no text", "", set, `{"skills":{"a":{"on":true}}}`},
		{"null", "null", set, `{"skills":{"a":{"on":true}}}`},
		{"others stay", `{"x":1,"skills":{"a":{"k":[2]},"b":3}}`, set, `{"skills":{"a":{"k":[2],"on":true},"b":3},"x":1}`},
		{"without members", `{"skills":{"a":{"on":true},"b":{}}}`, func(m map[string]json.RawMessage) { clear(m) }, `{"skills":{"b":{}}}`},
		{"broken", `{`, set, "error: "},
		{"broken kind", `{"skills":7}`, set, `error: "skills": `},
		{"broken entry", `{"skills":{"a":[]}}`, set, `error: "skills": "a": `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Edit([]byte(tt.text), "skills", "a", tt.edit)
			text := strings.NewReplacer(" ", "", "\n", "").Replace(string(got))
			if err != nil {
				text = "error: " + err.Error()
			}
			if prefix := strings.HasPrefix(tt.want, "error: "); text != tt.want && !(prefix && strings.HasPrefix(text, tt.want)) {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	got, err := Read([]byte(`{"skills":{"a":{"on":true},"b":1},"plugins":null}`), "skills")
	if err != nil || len(got) != 2 || string(got["b"]) != "1" {
		t.Errorf("skills: %s, %v", got, err)
	}
	for _, text := range []string{"", "null", "{}", `{"plugins":null}`} {
		if got, err := Read([]byte(text), "plugins"); err != nil || len(got) != 0 {
			t.Errorf("plugins of %q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"{", "[]", `{"plugins":[]}`} {
		if _, err := Read([]byte(text), "plugins"); err == nil {
			t.Errorf("plugins of %q: no error", text)
		}
	}
}
