package bridge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
)

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf(`{"type":"text","text":%s}`, quoted)
}

// Content that a server sends beside structured content reaches the script unless it
// repeats it.
func TestNothingBesideStructuredContentIsLost(t *testing.T) {
	const image, shown = `{"type":"image","mimeType":"image/png","data":"aGVsbG8="}`, `{"type":"image","mimeType":"image/png","size":5,"ref":"r1"}`
	const audio, heard = `{"type":"audio","mimeType":"audio/wav","data":"aGVsbA=="}`, `{"type":"audio","mimeType":"audio/wav","size":4,"ref":"r1"}`
	const link = `{"type":"resource_link","uri":"file:///a.txt","name":"a"}`
	const embedded = `{"type":"resource","resource":{"uri":"x:y","mimeType":"text/plain","text":"all of it"}}`
	for _, c := range []struct{ name, tool, structured, blocks, want string }{
		{"an image", "shop__open", `{"width":1}`, text(`{"width":1}`) + "," + image, `{"width":1,"content":[` + shown + `]}`},
		{"audio", "shop__open", `{"seconds":1}`, audio, `{"seconds":1,"content":[` + heard + `]}`},
		{"a resource link", "shop__open", `{"n":1}`, link, `{"n":1,"content":[` + link + `]}`},
		{"an embedded resource", "shop__open", `{"n":1}`, embedded, `{"n":1,"content":[` + embedded + `]}`},
		{"other text", "shop__open", `{"rows":2}`, text("2 of 900 rows; cursor abc"), `{"rows":2,"content":[` + text("2 of 900 rows; cursor abc") + `]}`},
		{"a block of a new kind", "shop__open", `{"n":1}`, `{"type":"video","href":"x"}`, `{"n":1,"content":[{"type":"video","href":"x"}]}`},
		{"beside its own content", "shop__open", `{"content":"x"}`, text("more"), `{"content":"x","content_":[` + text("more") + `]}`},
		{"beside a wrapped list", "shop__wrapped", `{"result":[1]}`, text("1 of 9"), `{"result":[1],"content":[` + text("1 of 9") + `]}`},
		{"beside a list", "shop__open", `[1,2]`, image, `{"result":[1,2],"content":[` + shown + `]}`},
		{"a copy with white space", "shop__open", `{"a":"x y","b":[1]}`, text("{\n  \"a\": \"x y\",\n  \"b\": [ 1 ]\n}\n"), `{"a":"x y","b":[1]}`},
		{"a copy in another order", "shop__open", `{"a":1,"b":"é"}`, text(`{"b": "\u00e9", "a": 1.0}`), `{"a":1,"b":"é"}`},
		{"a copy with other spaces in a text", "shop__open", `{"a":"x y"}`, text(`{"a":"xy"}`), `{"a":"x y","content":[` + text(`{"a":"xy"}`) + `]}`},
		{"a copy with other last digits", "shop__open", `{"id":2047948614742839297}`, text(`{"id":2047948614742839298}`), `{"id":2047948614742839297,"content":[` + text(`{"id":2047948614742839298}`) + `]}`},
		{"a copy of its only text", "shop__open", `{"content":"line <1>\n"}`, text("line <1>\n"), `{"content":"line <1>\n"}`},
		{"a text that is a key", "shop__open", `{"done" : true}`, text("done"), `{"done" : true,"content":[` + text("done") + `]}`},
		{"a copy of a wrapped list", "shop__wrapped", `{"result":[1,2]}`, text("[1, 2]"), `[1,2]`},
		{"a copy for each element", "shop__wrapped", `{"result":["a",{"b":1}]}`, text("a") + "," + text(`{"b": 1}`), `["a",{"b":1}]`},
		{"a copy of a wrapped truth", "shop__wrapped", `{"result":true}`, text("True"), `true`},
		{"an image that is in it too", "shop__open", `{"shot":` + image + `}`, image, `{"shot":` + shown + `}`},
		{"an empty text", "shop__open", `{"n":1}`, text(""), `{"n":1}`},
		{"empty structured content", "shop__open", `{}`, text("the whole text"), `"the whole text"`},
		{"empty structured content beside JSON", "shop__open", `{ }`, text(`{"a":1}`), `{"a":1}`},
		{"empty structured content beside an image", "shop__open", `{}`, image, `[` + shown + `]`},
		{"empty structured content alone", "shop__open", `{}`, ``, `{}`},
	} {
		kept := 0
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"structuredContent":` + c.structured + `,"content":[` + c.blocks + `]}`),
			StoreBinary: func(string, []byte) string { kept++; return fmt.Sprintf("r%d", kept) }})
		got, err := b.Call(t.Context(), c.tool, nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// Content in other forms than the protocol's is kept.
func TestNothingOfAnOddResultIsLost(t *testing.T) {
	const shown = `{"type":"image","mimeType":"image/png","size":5,"ref":"r1"}`
	image := func(mimeType, data string) string {
		return `{"content":[{"type":"image"` + mimeType + `,"data":"` + data + `"}]}`
	}
	const png = `,"mimeType":"image/png"`
	for _, c := range []struct{ name, result, want string }{
		{"a data URL", image(png, "data:image/png;base64,aGVsbG8="), `[` + shown + `]`},
		{"a data URL that has the type", image("", "data:image/png;base64,aGVsbG8="), `[` + shown + `]`},
		{"no padding", image(png, "aGVsbG8"), `[` + shown + `]`},
		{"the alphabet of URLs", image(png, "-_-_aGVs"), `[{"type":"image","mimeType":"image/png","size":6,"ref":"r1"}]`},
		{"line breaks", image(png, `aGVs\nbG8=`), `[` + shown + `]`},
		{"no base64", image(png, "https://cdn.example/a.png"), `[{"type":"image","mimeType":"image/png","data":"https://cdn.example/a.png"}]`},
		{"a blob with an address", `{"content":[{"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"x/y","blob":"aGVsbG8="}}]}`,
			`[{"type":"resource","mimeType":"x/y","uri":"file:///a.bin","size":5,"ref":"r1"}]`},
		{"a text that is a number", `{"content":[{"type":"text","text":5}]}`, `[{"type":"text","text":5}]`},
		{"a text that is an object", `{"content":[{"type":"text","text":{"a":1}}]}`, `[{"type":"text","text":{"a":1}}]`},
		{"beside structured content", `{"content":[{"type":"text","text":[1]}],"structuredContent":{"n":1}}`, `{"n":1,"content":[{"type":"text","text":[1]}]}`},
		{"the result of protocol 2024-10-07", `{"toolResult":{"rows":[1]}}`, `{"toolResult":{"rows":[1]}}`},
		{"a result without content", `{"rows":[1],"_meta":{}}`, `{"rows":[1],"_meta":{}}`},
		{"nothing", `{"_meta":{}}`, `[]`},
		{"no content and null", `{"content":null,"structuredContent":null}`, `[]`},
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(c.result), StoreBinary: func(string, []byte) string { return "r1" }})
		got, err := b.Call(t.Context(), "shop__open", nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// The structured content of a failure is in its message if the text does not repeat it.
func TestStructuredContentOfAFailure(t *testing.T) {
	for _, c := range []struct{ structured, blocks, want string }{
		{`{"code":"E42","row":7}`, text("it broke"), "it broke\n" + `{"code":"E42","row":7}`},
		{`{"code":"E42"}`, text(`{ "code": "E42" }`), `{ "code": "E42" }`},
		{`{"error":"it broke"}`, text("it broke"), "it broke"},
		{`{}`, text("it broke"), "it broke"},
		{`null`, text("it broke"), "it broke"},
		{`{"code":"E42"}`, ``, `{"code":"E42"}`},
	} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"isError":true,"structuredContent":` + c.structured + `,"content":[` + c.blocks + `]}`)})
		if _, err := b.Call(t.Context(), "shop__open", nil); err == nil || err.Error() != c.want {
			t.Errorf("%s beside %s: %v", c.structured, c.blocks, err)
		}
	}
}

// A text is parsed if it is an object or a list, or JSON writes it back byte for byte.
func TestTextsThatLookLikeJSONStayTexts(t *testing.T) {
	for _, s := range []string{"7e10455", "1.10", "01067", "1e5", "1E5", "-0", "null", "2.0", "-1.50", " 42", "42\n", "1e400", "0.00001", "12345678901234567.5", "+1", "0x10", "NaN",
		`"\u0061"`, "12e", "-", "{broken", "[1", "1.7976931348623157e308", "tru"} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"content":[` + text(s) + `]}`)})
		got, err := b.Call(t.Context(), "shop__open", nil)
		var back string
		if err != nil || json.Unmarshal(got, &back) != nil || back != s {
			t.Errorf("%q became %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"42", "0", "-7", "1.5", "-0.25", "2047948614742839297", "123456789012345678901234567890", "0.58", "true", "false", `"text"`, "[1.10,null]", `{"v":1e5}`} {
		b := bridge.New(bridge.Options{Resolve: resolve, Caller: answering(`{"content":[` + text(s) + `]}`)})
		if got, err := b.Call(t.Context(), "shop__open", nil); err != nil || string(got) != s {
			t.Errorf("%q became %s, %v", s, got, err)
		}
	}
}

// Structured content is decoded once, however many blocks are compared with it.
func TestManyBlocksBesideLongContent(t *testing.T) {
	rows := `{"rows":[` + strings.Repeat(`{"id":1234567,"title":"a title of some length","done":false},`, 2000) + `1]}`
	tool, _ := catalog.Tool("shop__open")
	allocs := func(blocks int) float64 {
		var list []string
		for i := range blocks {
			list = append(list, text(fmt.Sprintf(`{"number":%d}`, i)))
		}
		raw := json.RawMessage(`{"structuredContent":` + rows + `,"content":[` + strings.Join(list, ",") + `]}`)
		return testing.AllocsPerRun(2, func() {
			if _, err := bridge.Value(tool, raw, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, many := allocs(1), allocs(101); many > one+100*200 {
		t.Errorf("%.0f allocations for one block, %.0f for 101", one, many)
	}
}

func BenchmarkValueWithACopy(b *testing.B) {
	rows := `{"rows":[` + strings.Repeat(`{"id":1234567,"title":"a title of some length","done":false},`, 2000) + `1]}`
	raw := json.RawMessage(`{"structuredContent":` + rows + `,"content":[` + text(rows) + `]}`)
	tool, _ := catalog.Tool("shop__open")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := bridge.Value(tool, raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}
