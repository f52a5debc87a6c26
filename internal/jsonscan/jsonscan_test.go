package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/internal/jsonscan/jsonscantest"
)

// agree compares what is found in a text with encoding/json.
func agree(t *testing.T, text []byte) {
	t.Helper()
	valid := json.Valid(text)
	if got, str := jsonscan.Valid(text), jsonscan.Valid(string(text)); got != valid || str != valid {
		t.Fatalf("Valid(%.200q) = %v, %v; encoding/json: %v", text, got, str, valid)
	}
	s := jsonscan.New(text)
	decoded := read(&s)
	if end := s.End(); end != valid {
		t.Fatalf("a scanner of %.200q: End() = %v; encoding/json: %v", text, end, valid)
	}
	if !valid {
		if !s.Broken() {
			t.Fatalf("a scanner of %.200q is not broken", text)
		}
		return
	}
	var want any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%#v", decoded), fmt.Sprintf("%#v", want); a != b {
		t.Fatalf("%.200q is %.200s; encoding/json: %.200s", text, a, b)
	}
	var raws []json.RawMessage
	_, items, _ := jsonscan.Count(text, jsonscan.Space(text, 0))
	if json.Unmarshal(text, &raws) == nil && raws != nil {
		i := 0
		ok := jsonscan.Elements(text, func(e []byte) bool {
			if !bytes.Equal(e, raws[i]) {
				t.Fatalf("element %d of %.200q is %q, want %q", i, text, e, raws[i])
			}
			i++
			return true
		})
		if !ok || i != len(raws) || items != i {
			t.Fatalf("%.200q has %d elements, and %d, want %d", text, i, items, len(raws))
		}
	}
	if end := jsonscan.Rough(text, jsonscan.Space(text, 0)); len(bytes.TrimSpace(text[end:])) > 0 {
		t.Fatalf("Rough(%.200q) = %d", text, end)
	}
}

// read decodes with a scanner; the last value of a key counts.
func read(s *jsonscan.Scanner[[]byte]) any {
	switch s.Kind() {
	case '{':
		m := map[string]any{}
		for s.Enter('{'); s.More('}'); {
			key := s.Key()
			v := read(s)
			if !s.Broken() {
				m[string(jsonscan.Unquote(key))] = v
			}
		}
		return m
	case '[':
		list := []any{}
		for s.Enter('['); s.More(']'); {
			list = append(list, read(s))
		}
		return list
	}
	raw := s.Skip()
	if s.Broken() {
		return nil
	}
	switch raw[0] {
	case '"':
		return string(jsonscan.Unquote(raw))
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	}
	return json.Number(raw)
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range jsonscantest.Malformed() {
		if json.Valid([]byte(text)) {
			t.Errorf("%.200q is valid", text)
		}
		agree(t, []byte(text))
	}
	for _, text := range jsonscantest.Odd() {
		if !json.Valid([]byte(text)) {
			t.Errorf("%.200q is not valid", text)
		}
		agree(t, []byte(text))
	}
}

// Each prefix of a text, and each text with one byte replaced, is judged alike.
func TestAgreesAboutNeighbours(t *testing.T) {
	text := []byte(` {"a\u00e9\n":[1,-0.5e+3,true,false,null,"\ud83d\ude00"],"b":{"":"x` + "\xff" + `"}} `)
	for i := range text {
		agree(t, text[:i])
		for _, c := range []byte("\x00\n \"\\{}[]:,0-.eutfn\x7f\x80") {
			other := bytes.Clone(text)
			other[i] = c
			agree(t, other)
		}
	}
}

func TestCutIsTheBeginningOfJSON(t *testing.T) {
	text := `{"a":[1.5,"x\u00e9",true,null]}`
	for i := 1; i < len(text); i++ {
		s := jsonscan.New(text[:i])
		s.Skip()
		if !s.Cut() {
			t.Errorf("%q is not the beginning of JSON: at %d", text[:i], s.Pos())
		}
	}
	for _, text := range []string{`{"a":1,}`, `{"a" 1}`, `[1 2`, `["a` + "\n", `[01`, `{a`, `["\x"`, `[nul]`} {
		if s := jsonscan.New(text); s.Skip() != "" || s.Cut() {
			t.Errorf("%q is cut", text)
		}
	}
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		literal, text string
		want          bool
	}{
		{`"id"`, "id", true}, {`"\u0069d"`, "id", true}, {`"a\n"`, `a\n`, false}, {`"a\\n"`, `a\n`, true},
		{`""`, "", true}, {"\"\xff\"", "\xff", false}, {"\"\xff\"", "\ufffd", true}, {`"\ud800"`, "\ufffd", true}, {`"ID"`, "id", false},
	} {
		if got := jsonscan.Is(c.literal, c.text); got != c.want || jsonscan.Is([]byte(c.literal), c.text) != c.want {
			t.Errorf("Is(%s, %q) = %v", c.literal, c.text, got)
		}
	}
}

func TestScansWithoutMemory(t *testing.T) {
	text := []byte(`{"key":"value","list":[1,2,{"x":"a long text with é in it"}],"n":null}`)
	if n := testing.AllocsPerRun(100, func() {
		if !jsonscan.Valid(text) {
			t.Error("invalid")
		}
		s := jsonscan.New(text)
		for s.Enter('{'); s.More('}'); {
			_ = jsonscan.Is(s.Key(), "list")
			s.Skip()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAgree(f *testing.F) {
	for _, list := range [][]string{jsonscantest.Malformed(), jsonscantest.Odd()} {
		for _, text := range list {
			if len(text) < 1000 {
				f.Add([]byte(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		agree(t, text)
		for i := range text {
			if end := jsonscan.Rough(text, i); end < i || end > len(text) {
				t.Fatalf("Rough(%q, %d) = %d", text, i, end)
			}
		}
	})
}

// BenchmarkValid compares with encoding/json, for short strings and for long ones.
func BenchmarkValid(b *testing.B) {
	short := []byte("[" + strings.Repeat(`{"id":12345,"title":"Fix it","tags":["bug","ui"],"open":true},`, 10_000) + "{}]")
	long, _ := json.Marshal(map[string]string{"text": strings.Repeat("A text of a page, without many escapes. ", 20_000)})
	for _, c := range []struct {
		name  string
		text  []byte
		valid func([]byte) bool
	}{{"short", short, jsonscan.Valid[[]byte]}, {"short/encoding", short, json.Valid}, {"long", long, jsonscan.Valid[[]byte]}, {"long/encoding", long, json.Valid}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if !c.valid(c.text) {
					b.Fatal("invalid")
				}
			}
		})
	}
}
