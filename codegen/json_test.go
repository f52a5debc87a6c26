package codegen

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// plain is v as encoding/json has it.
func plain(v value) any {
	switch v := v.(type) {
	case *object:
		m := map[string]any{}
		for i, k := range v.Keys {
			m[k] = plain(v.Vals[i])
		}
		return m
	case []value:
		list := []any{}
		for _, item := range v {
			list = append(list, plain(item))
		}
		return list
	case number:
		return json.Number(v)
	}
	return v
}

// The decoder takes what encoding/json takes, and reads the same.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		``, ` `, `{}`, `[]`, ` {"a" : [1, -0, 2.5e+10, true, false, null, "xé\u00e9\n"]} `, `{"a":1,"a":2}`, `{"a":1,}`, `[1,]`, `[,]`, `{,}`, `{"a"}`, `{"a":}`,
		`01`, `-`, `1.`, `.1`, `1e`, `1e+`, `tru`, `truex`, `nul`, `"`, `"\`, `"\x"`, `"\u12"`, "\"\x01\"", "\"\xff\"", `{}{}`, `{} x`, "\x00", "{}\x00", `[1 2]`, `{"a" 1}`, `[}`, `"\ud800"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode([]byte(text))
		if valid := json.Valid([]byte(text)); valid != (err == nil) {
			t.Fatalf("decode(%q) = %v, but json.Valid is %t", text, err, valid)
		}
		if err != nil || strings.Count(text, "[")+strings.Count(text, "{") > maxNesting {
			return
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(plain(got), want) {
			t.Errorf("decode(%q) = %#v, want %#v", text, plain(got), want)
		}
	})
}

func TestDecodeDepth(t *testing.T) {
	for _, n := range []int{maxNesting, 1000, 10_000, 10_001, 100_000} {
		text := []byte(strings.Repeat(`[`, n) + strings.Repeat(`]`, n))
		if _, err := decode(text); (err == nil) != json.Valid(text) {
			t.Errorf("depth %d: %v, but json.Valid is %t", n, err, json.Valid(text))
		}
	}
}
