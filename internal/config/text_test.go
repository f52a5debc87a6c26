package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"
)

var npx = Object{{"command", "npx"}, {"args", []string{"-y", "srv"}}}

func TestSetKeyKeepsEverythingElse(t *testing.T) {
	tests := []struct {
		name, in string
		path     string
		value    any
		want     string
	}{
		{"empty file", "", "mcpServers/a", npx, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"srv\"]\n    }\n  }\n}\n"},
		{"empty object in lines", "{\n  \"mcpServers\": {}\n}\n", "mcpServers/a", Object{{"url", "u"}}, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"url\": \"u\"\n    }\n  }\n}\n"},
		{"missing object", "{\n\t\"x\": 1\n}\n", "mcpServers/a", Object{{"url", "u"}}, "{\n\t\"x\": 1,\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"url\": \"u\"\n\t\t}\n\t}\n}\n"},
		{"null is no object yet", "{\n  \"mcpServers\": null\n}", "mcpServers/a", Object{{"url", "u"}}, "{\n  \"mcpServers\": {\n    \"a\": {\n      \"url\": \"u\"\n    }\n  }\n}"},
		{"one line", `{"mcpServers": {"a": {"command": "x"}}}`, "mcpServers/b", npx, `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "npx", "args": ["-y", "srv"]}}}`},
		{"empty and one line", `{}`, "mcpServers/b", npx, `{"mcpServers": {"b": {"command": "npx", "args": ["-y", "srv"]}}}`},
		{"neighbours in one line", "{\n  \"s\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}", "s/b", npx, "{\n  \"s\": {\n    \"a\": { \"command\": \"x\" },\n    \"b\": { \"command\": \"npx\", \"args\": [\"-y\", \"srv\"] }\n  }\n}"},
		{"trailing comma", "{\n  \"s\": {\n    \"a\": {\"command\": \"x\"}, // mine\n    // more to come\n  },\n}", "s/b", Object{{"url", "u"}},
			"{\n  \"s\": {\n    \"a\": {\"command\": \"x\"}, // mine\n    // more to come\n    \"b\": {\"url\": \"u\"},\n  },\n}"},
		{"comment behind the last", "{\n  \"a\": 1 // one\n  // end\n}", "b", 2, "{\n  \"a\": 1, // one\n  // end\n  \"b\": 2\n}"},
		{"comment in an empty object", "{\n  // nothing yet\n}", "b", 2, "{\n  // nothing yet\n  \"b\": 2\n}"},
		{"windows line ends", "{\r\n  \"a\": 1\r\n}\r\n", "b", Object{{"c", 2}}, "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n"},
		{"byte order mark", "\ufeff{\"a\": 1}", "b", 2, "\ufeff{\"a\": 1, \"b\": 2}"},
		{"replaced value", "{\n  \"a\": {\n    \"x\": 1\n  }, // keep\n  \"b\": 2\n}", "a", Object{{"y", true}}, "{\n  \"a\": {\n    \"y\": true\n  }, // keep\n  \"b\": 2\n}"},
		{"comment at the end of the file", "{\"a\": 1} // end", "a", 2, "{\"a\": 2} // end"},
		{"key with odd characters", `{}`, `a"b<`, 1, `{"a\"b<": 1}`},
		{"verbatim", "{}", "a", json.RawMessage(`{ "k" : 1 /* c */ }`), `{"a": { "k" : 1 /* c */ }}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SetKey([]byte(tt.in), strings.Split(tt.path, "/"), tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("SetKey mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetKeyBreaksLongLines(t *testing.T) {
	in := "{\n  \"s\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n"
	long := strings.Repeat("x", 70)
	got, err := SetKey([]byte(in), []string{"s", "b"}, Object{{"command", long}, {"args", []string{long, long}}, {"env", Object{}}})
	want := "{\n  \"s\": {\n    \"a\": {\"command\": \"x\"},\n    \"b\": {\n      \"command\": \"" + long + "\",\n      \"args\": [\n        \"" +
		long + "\",\n        \"" + long + "\"\n      ],\n      \"env\": {}\n    }\n  }\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("SetKey = %v\n%s\nwant\n%s", err, got, want)
	}
}

func TestSetKeyRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:           "the file is not an object",
		`{"s": 1}`:     `"s" is not an object`,
		`{"s": {}`:     "closed",
		"\xff\xfe{":    "UTF-16",
		"{\n  \"s\" }": "line 2, column",
	} {
		if _, err := SetKey([]byte(in), []string{"s", "a"}, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("SetKey(%q) = %v, want an error with %q", in, err, want)
		}
	}
}

func TestDeleteKeyKeepsEverythingElse(t *testing.T) {
	tests := []struct{ name, in, path, want string }{
		{"first", "{\n  \"a\": 1, // one\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
		{"last", "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n  // end\n}", "b", "{\n  \"a\": 1 // one\n  // end\n}"},
		{"last with trailing comma", "{\n  \"a\": 1,\n  \"b\": 2, /* two */\n}", "b", "{\n  \"a\": 1,\n}"},
		{"only one", "{\n  \"s\": {\n    \"a\": {}\n  }\n}", "s/a", "{\n  \"s\": {}\n}"},
		{"only one beside a comment", "{\n  // old\n  \"a\": 1\n}", "a", "{\n  // old\n}"},
		{"one line, first", `{"a": 1, "b": 2}`, "a", `{"b": 2}`},
		{"one line, middle", `{"a": 1, "b": 2, "c": 3}`, "b", `{"a": 1, "c": 3}`},
		{"one line, last", `{"a": 1, "b": 2}`, "b", `{"a": 1}`},
		{"one line, only one", `{ "a": 1 }`, "a", `{}`},
		{"comment of its own stays", "{\n  \"a\": 1,\n  // about b\n  \"b\": 2,\n  \"c\": 3\n}", "b", "{\n  \"a\": 1,\n  // about b\n  \"c\": 3\n}"},
		{"stands there twice", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"a\": 3\n}", "a", "{\n  \"b\": 2\n}"},
		{"not there", `{"a": 1}`, "b/c", `{"a": 1}`},
		{"nothing there", "", "b", ""},
		{"shares its line", "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", "a", "{\n  \"b\": 2,\n  \"c\": 3\n}"},
		{"shares its line, last", "{\n  \"a\": 1, \"b\": 2\n}", "b", "{\n  \"a\": 1\n}"},
		{"windows line ends", "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", "a", "{\r\n  \"b\": 2\r\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DeleteKey([]byte(tt.in), strings.Split(tt.path, "/"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("DeleteKey mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// What was set can be read, and what was deleted is gone, in any file that can
// be read at all; the other keys keep their values, comments theirs.
func FuzzSetAndDeleteKey(f *testing.F) {
	for _, in := range []string{"", "{}", `{"a": {"b": 1,},}`, "{ // c\n \"a\" : {} /* d */ , \n}", "\ufeff{\"a\":null}\r\n", `{"k": 1, "k": 2}`,
		"{\n \"k\": 1 // x\n , \"z\": [1,\n2] }"} {
		f.Add(in, "k", "a")
	}
	f.Fuzz(func(t *testing.T, in, key, deleted string) {
		set, err := SetKey([]byte(in), []string{key}, "new")
		if err != nil || !utf8.ValidString(key) {
			return
		}
		v, ok, err := LookupKey(set, []string{key})
		if err != nil || !ok || Value(v) != "new" {
			t.Fatalf("after SetKey(%q, %q) the text %q has %v, %v", in, key, set, v, err)
		}
		out, err := DeleteKey(set, []string{deleted})
		if err != nil {
			t.Fatalf("DeleteKey(%q, %q): %v", set, deleted, err)
		}
		_, rest := cutBOM(out)
		if len(bytes.TrimSpace(rest)) == 0 {
			t.Fatalf("DeleteKey(%q, %q) left nothing", set, deleted)
		}
		root, err := parseText(rest)
		if err != nil {
			t.Fatalf("DeleteKey(%q, %q) = %q: %v", set, deleted, out, err)
		}
		obj := root.Value.(*hujson.Object)
		if indexOf(obj, deleted) >= 0 {
			t.Fatalf("DeleteKey(%q, %q) = %q still has it", set, deleted, out)
		}
		before, _, _ := LookupKey(set, nil)
		for _, m := range before.Value.(*hujson.Object).Members {
			name := m.Name.Value.(hujson.Literal).String()
			if name != deleted && indexOf(obj, name) < 0 {
				t.Fatalf("DeleteKey(%q, %q) = %q lost %q", set, deleted, out, name)
			}
		}
	})
}
