package jsrun

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
)

func TestFromJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":{"z":2,"y":[]}}`:      `{"b":1,"a":{"z":2,"y":[]}}`,
		`{"__proto__":{"x":1},"a":1}`:     `{"__proto__":{"x":1},"a":1}`,
		`{"a":1,"a":2}`:                   `{"a":2}`,
		`9007199254740991`:                `9007199254740991`,
		`[9007199254740992,-1e2,1.50,-0]`: `[9007199254740992,-100,1.5,0]`,
		"123456789012345678901234567890":  "123456789012345678901234567890",
		`"\u00e9\ud83d\ude00\n\/\\"`:      `"é😀\n/\\"`,
		`"\ud800x"`:                       `"�x"`,
		" [ true , false , null ] ":       `[true,false,null]`,
		`{"":""}`:                         `{"":""}`,
	} {
		if got, err := roundTrip(t, in); err != nil || got != want {
			t.Errorf("round trip of %s = %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestFromJSONRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "{", "[1,]", "{,}", `{"a":1,}`, `{a:1}`, "01", "1.", ".5", "+1", "-", "1e", "tru", "nul", "NaN", "'a'",
		`"a`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "1 2", "[1]]", "\x00", "[\x0c1]",
		strings.Repeat("[", maxJSONDepth+1) + strings.Repeat("]", maxJSONDepth+1),
	} {
		if got, err := roundTrip(t, in); err == nil {
			t.Errorf("fromJSON(%.40q) = %s, want an error", in, got)
		}
	}
}

// roundTrip reads in and writes what came of it as a program would.
func roundTrip(t testing.TB, in string) (string, error) {
	r := newRuntime()
	if err := r.setUp(); err != nil {
		t.Fatal(err)
	}
	v, err := fromJSON(r.vm, in)
	if err != nil {
		return "", err
	}
	out, err := r.toJSON(v)
	return string(out), err
}

// Whatever encoding/json accepts is accepted with the same meaning, and
// nothing else is.
func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\u00e9",null,true]}`, `[{}]`, `"\ud83d\ude00"`, `-0.0`, `1e999`, `[1,]`, `{"__proto__":1}`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	vm := goja.New()
	stringify, _ := goja.AssertFunction(vm.Get("JSON").(*goja.Object).Get("stringify"))
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := fromJSON(vm, string(in))
		if valid := json.Valid(in); (err == nil) != valid {
			t.Fatalf("fromJSON(%q) = %v, but json.Valid is %v", in, err, valid)
		}
		if err != nil || hasBigInt(in) {
			return
		}
		out, err := stringify(goja.Undefined(), v)
		if err != nil {
			t.Fatalf("stringify(%q): %v", in, err)
		}
		if got, want := canonical(t, []byte(out.String())), canonical(t, in); got != want {
			t.Fatalf("round trip of %q = %s, want %s", in, got, want)
		}
	})
}

// hasBigInt reports whether in has a number that does not survive as a float,
// or text that encoding/json and JavaScript see differently.
func hasBigInt(in []byte) bool {
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		if n, ok := tok.(json.Number); ok {
			f, err := n.Float64()
			if i, isInt := new(big.Int).SetString(n.String(), 10); err != nil || isInt && i.CmpAbs(big.NewInt(maxSafeInteger)) > 0 || f == 0 {
				return true
			}
		}
	}
	return bytes.Contains(in, []byte(`\u`)) || bytes.ContainsRune(in, '\ufffd') || !bytes.Equal(bytes.ToValidUTF8(in, nil), in)
}

func canonical(t *testing.T, in []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(in, &v); err != nil {
		t.Fatalf("unmarshal %q: %v", in, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// BenchmarkJSON reads 1 MB as a result of a tool and as JSON.parse does, and
// writes it, beside the engine's own JSON.parse and JSON.stringify and
// encoding/json. They take turns, so that all of them see the same machine.
func BenchmarkJSON(b *testing.B) {
	raw := "[" + strings.TrimSuffix(strings.Repeat(`{"id":12345,"title":"some title of an issue","open":true,"labels":["a","b"]},`, 13000), ",") + "]"
	engine, ours := goja.New(), newRuntime()
	if err := ours.setUp(); err != nil {
		b.Fatal(err)
	}
	method := func(vm *goja.Runtime, name string, arg goja.Value) func() error {
		f, _ := goja.AssertFunction(vm.Get("JSON").(*goja.Object).Get(name))
		return func() error {
			_, err := f(goja.Undefined(), arg)
			return err
		}
	}
	parsed := func(vm *goja.Runtime) goja.Value {
		v, err := fromJSON(vm, raw)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	turns := []struct {
		name string
		f    func() error
	}{
		{"engine", method(engine, "parse", engine.ToValue(raw))},
		{"result", func() error { _, err := fromJSON(ours.vm, raw); return err }},
		{"parse", method(ours.vm, "parse", ours.vm.ToValue(raw))},
		{"encoding", func() error { var v any; return json.Unmarshal([]byte(raw), &v) }},
		{"stringify", method(ours.vm, "stringify", parsed(ours.vm))},
		{"engine-stringify", method(engine, "stringify", parsed(engine))},
	}
	took := make(map[string][]time.Duration)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		for _, turn := range turns {
			start := time.Now()
			if err := turn.f(); err != nil {
				b.Fatal(err)
			}
			took[turn.name] = append(took[turn.name], time.Since(start))
		}
	}
	median := func(name string) float64 {
		list := took[name]
		slices.Sort(list)
		return float64(list[len(list)/2]) / float64(time.Millisecond)
	}
	for _, turn := range turns {
		b.ReportMetric(median(turn.name), turn.name+"-p50-ms")
	}
	b.ReportMetric(median("result")/median("engine"), "result-ratio")
	b.ReportMetric(median("parse")/median("engine"), "parse-ratio")
	b.ReportMetric(median("stringify")/median("engine-stringify"), "stringify-ratio")
}
