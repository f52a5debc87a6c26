package results

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan/jsonscantest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

func TestSlice(t *testing.T) {
	const doc = `{"total": 3, "items":[{"z":1,"a":12345678901234567890},{"title":"bär"},[1,2,3]],"a.b":{"/":true}}`
	tests := []struct {
		mime, data string
		part       Part
		want       string // state.JSON, or the end of an error
	}{
		{state.JSON, doc, Part{}, doc},
		{state.JSON, doc, Part{Path: "$"}, doc},
		{state.JSON, doc, Part{Path: "items[0]"}, `{"z":1,"a":12345678901234567890}`},
		{state.JSON, doc, Part{Path: "$.items[1].title"}, `"bär"`},
		{state.JSON, doc, Part{Path: "items.2.1"}, `2`},
		{state.JSON, doc, Part{Path: "/items/2/1"}, `2`},
		{state.JSON, doc, Part{Path: `["a.b"]["/"]`}, `true`},
		{state.JSON, doc, Part{Path: "/a.b/~1"}, `true`},
		{state.JSON, doc, Part{Path: "items", Offset: 1, Limit: 1}, `[{"title":"bär"}]`},
		{state.JSON, doc, Part{Path: "items[2]", Offset: 1}, `[2,3]`},
		{state.JSON, doc, Part{Path: "items[2]", Limit: 2}, `[1,2]`},
		{state.JSON, doc, Part{Path: "items[2]", Offset: 9}, `[]`},
		{state.JSON, doc, Part{Path: "items[1].title", Offset: 1, Limit: 1}, `"ä"`},
		{state.JSON, doc, Part{Path: "item"}, `!path "item": at "item": there is no "item"; here is an object with a.b, items, total`},
		{state.JSON, doc, Part{Path: "items[7]"}, `!there are only 3 elements`},
		{state.JSON, doc, Part{Path: "items[-1]"}, `!there are only 3 elements`},
		{state.JSON, doc, Part{Path: "items.x"}, `!here is an array of 3; use an index`},
		{state.JSON, doc, Part{Path: "total.x"}, `!here is 3, which has no parts`},
		{state.JSON, doc, Part{Path: "items[0"}, `!a bracket is not closed`},
		{state.JSON, doc, Part{Limit: 1}, `!here is an object with a.b, items, total`},
		{state.JSON, doc, Part{Offset: -1}, `!offset and limit are 0 or more`},
		{state.Text, "hällo", Part{}, `"hällo"`},
		{state.Text, "hällo", Part{Offset: 1, Limit: 2}, `"äl"`},
		{state.Text, "hällo", Part{Offset: 10}, `""`},
		{state.Text, "hällo", Part{Path: "x"}, `!use offset and limit, in characters`},
	}
	for _, tt := range tests {
		got, err := Slice(state.Result{MIME: tt.mime}, []byte(tt.data), tt.part)
		if want, isError := strings.CutPrefix(tt.want, "!"); isError {
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("Slice(%+v) = %s, %v, want error %q", tt.part, got, err, want)
			}
		} else if err != nil || string(got) != tt.want {
			t.Errorf("Slice(%+v) = %s, %v, want %s", tt.part, got, err, tt.want)
		}
	}
}

// A result is read if encoding/json reads it, whatever part of it is asked for.
func TestResultsAgreeWithEncodingJSON(t *testing.T) {
	for _, text := range jsonscantest.Malformed() {
		for _, part := range []Part{{}, {Path: "[0]"}, {Path: "a"}, {Limit: 1}} {
			if got, err := Slice(state.Result{MIME: state.JSON}, []byte(text), part); err == nil {
				t.Errorf("%.100q: part %+v is %.100q", text, part, got)
			}
		}
		for _, value := range []string{text, `[1,2,` + text + `]`, `{"items":[1,2],"has_more":true,"x":` + text + `}`} {
			if p, ok := PageOf(json.RawMessage(`{"limit":2}`), json.RawMessage(value)); ok && !json.Valid([]byte(value)) {
				t.Errorf("%.100q is a page: %+v", value, p)
			}
		}
	}
	for _, text := range jsonscantest.Odd() {
		if got, err := Slice(state.Result{MIME: state.JSON}, []byte(`[0,`+text+`]`), Part{Path: "[1]"}); json.Valid([]byte("["+text+"]")) != (err == nil) || err == nil && string(got) != strings.Trim(text, " \t\r\n") {
			t.Errorf("%.100q is %.100q: %v", text, got, err)
		}
	}
}

// What is read of a result is bounded in bytes, and ends with its context.
func TestPartsAreBounded(t *testing.T) {
	store := files.Open(t.TempDir(), nil)
	put := func(mime, data string) string {
		ref, err := Put(t.Context(), store, "alice", mime, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	text := put(state.Text, strings.Repeat("bär ", 1<<20))
	doc := put(state.JSON, strings.Repeat("[", 50)+`"`+strings.Repeat("x", 1<<20)+`"`+strings.Repeat("]", 50))
	for _, tt := range []struct {
		ref  string
		part Part
		want string // the value, or the end of an error
	}{
		{text, Part{Offset: 4<<20 - 4}, `"bär "`},
		{text, Part{}, "choose less with offset and limit"},
		{text, Part{Limit: 2000}, "choose less with offset and limit"},
		{doc, Part{}, "choose less with path, offset and limit"},
		{doc, Part{Path: strings.Repeat("[0]", 50), Limit: 3}, `"xxx"`},
		{doc, Part{Path: strings.Repeat("[0]", 50)}, "choose less with path, offset and limit"},
	} {
		_, v, err := GetPart(t.Context(), store, "alice", tt.ref, tt.part, 1000)
		if err != nil && !strings.HasSuffix(err.Error(), tt.want) || err == nil && string(v) != tt.want {
			t.Errorf("%.20q %d %d: %.100s, %v; want %s", tt.part.Path, tt.part.Offset, tt.part.Limit, v, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for ref, part := range map[string]Part{text: {Offset: 1}, doc: {Path: "[0]"}} {
		if _, _, err := GetPart(ctx, store, "alice", ref, part, 1000); !errors.Is(err, context.Canceled) {
			t.Errorf("after its end: %v", err)
		}
	}
}

func FuzzSlicePath(f *testing.F) {
	for _, p := range []string{"", "$", "a[0]", "/a/~0", "..", "[", "]", "[]", "a..b", `["x"]`, "[[0]]"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		v, err := Slice(state.Result{MIME: state.JSON}, []byte(`{"a":[1,{"b":2}]}`), Part{Path: path})
		if err == nil && !json.Valid(v) {
			t.Errorf("Slice(%q) = %q", path, v)
		}
	})
}
