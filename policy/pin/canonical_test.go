package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// tokens reads a value as package encoding/json does, token by token.
func tokens(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := tokens(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		var o object
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := tokens(d, depth+1)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.(string), v})
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

// What is read is what encoding/json reads, and keys have the order of their UTF-16.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `null`, ` true `, `false`, `-0.5e+3`, `"a"`, `"\u00e9\ud83d\ude00\ud800\\\"\/"`, `[]`, `[ 1 , [ ] , {} ]`, `{}`, `{ "a" : 1 , "a" : [ null ] }`,
		`{"":"","\ue000":1,"\ud83d\ude00":2,"z":3}`, `{"name":"send","inputSchema":{"type":"object","properties":{"to":{"enum":["a","b"]}}}}`,
		`[1,]`, `{"a" 1}`, `{"a":}`, `tru`, `01`, `1.`, `"\x"`, `"a`, `{} {}`, "\"\n\"", "\"\xff\"", strings.Repeat("[", 201) + strings.Repeat("]", 201), strings.Repeat("[", 202) + strings.Repeat("]", 202),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parse(json.RawMessage(text))
		if !json.Valid([]byte(text)) {
			if err == nil {
				t.Fatalf("%q is read as %v", text, got)
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		want, wantErr := tokens(d, 0)
		if _, e := d.Token(); wantErr == nil && e != io.EOF {
			t.Fatalf("%q has two values: %v", text, e)
		}
		if (err != nil) != (wantErr != nil) && !strings.Contains(fmt.Sprint(err), "UTF-8") {
			t.Fatalf("%q: %v, want %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %v, want %v", text, got, want)
		}
		if o, ok := got.(object); ok {
			sorted := slices.Clone(o)
			slices.SortStableFunc(sorted, member.compare)
			for i := range sorted[:max(0, len(sorted)-1)] {
				if slices.Compare(utf16.Encode([]rune(sorted[i].key)), utf16.Encode([]rune(sorted[i+1].key))) > 0 {
					t.Errorf("%q is before %q", sorted[i].key, sorted[i+1].key)
				}
			}
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"name":"close_invoice","description":"Closes the invoice of a customer. Use it when the customer has changed since the last time.","annotations":{"readOnlyHint":false},"inputSchema":{"type":"object","required":["id"],"properties":{`)
	for i := range 8 {
		fmt.Fprintf(&text, `"p%d":{"type":"string","enum":["created","updated","name"],"description":"what they are sorted by"},`, i)
	}
	text.WriteString(`"id":{"type":"string"}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Digest(text.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
