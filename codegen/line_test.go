package codegen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestLine(t *testing.T) {
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
	}
	text := func(names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, `"`+n+`":{"type":"string"}`)
		}
		return strings.Join(all, ",")
	}
	for _, c := range []struct{ name, in, out, wantIn, wantOut string }{
		{"nothing", `{"type":"object","properties":{}}`, "", "", ""},
		{"types", object(text("a")+`,"n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}}`, `"a","n"`), "", "{a;n:number;l?:string[]}", ""},
		{"plain optional", object(text("a", "b")+`,"c":{"type":["number","null"]},"e":{"enum":["x","y"]}`, `"b"`), "", "{b;a?;c?;e?:'x'|'y'}", ""},
		{"keys and quotes", object(text("a-b")+`,"e":{"enum":["it's"]}`, `"a-b","e"`), "", `{'a-b';e:"it's"}`, ""},
		{"many values", object(`"e":{"enum":[1,2,3,4,5,6,7]}`, `"e"`), "", "{e:1|2|3|4|5|6/* …1 more */}", ""},
		{"many optional", object(text("the_first_parameter", "the_second_parameter", "the_third_parameter", "last"), `"last"`), "",
			"{last;/*+3*/}", ""},
		{"long required", object(text("one_long_parameter_name", "two_long_parameter_name", "six_long_parameter_name", "o"), `"one_long_parameter_name","two_long_parameter_name","six_long_parameter_name"`), "",
			"{one_long_parameter_name;two_long_parameter_name;six_long_parameter_name;/*+1*/}", ""},
		{"output", "{}", object(text("id", "title"), `"id"`), "", "{id;title?}"},
		{"deep output", "{}", `{"type":"array","items":` + object(`"user":`+object(text("a_name_that_takes_room", "another_name_that_does", "the_third_such_name", "x"), `"x"`)+`,`+text("id"), `"id","user"`) + `}`,
			"", "{user:{a_name_that_takes_room?;another_name_that_does?;the_third_such_name?;x};id}[]"},
		{"deeper output", "{}", `{"type":"array","items":` + object(`"user":`+object(text("a_name_that_takes_room", "another_name_that_does", "the_third_such_name", "a_fourth_name_too"), `"a_fourth_name_too"`)+`,`+text("id"), `"id","user"`) + `}`,
			"", "{user:object;id}[]"},
		{"wide output", "{}", object(text("one_long_key_of_a_result", "two_long_key_of_a_result", "six_long_key_of_a_result")+`,"pick":{"enum":["what_is_longer_than_it_should_be","and_another_such_text"]}`,
			`"one_long_key_of_a_result","two_long_key_of_a_result","six_long_key_of_a_result","pick"`), "", "{one_long_key_of_a_result,two_long_key_of_a_result,six_long_key_of_a_result,pick}"},
		{"open", `{"type":"object","properties":{` + text("a") + `},"required":["a"],"additionalProperties":{}}`, "", "{a}", ""},
		{"anything", `{"type":"object","properties":{"a":{}},"required":["a"]}`, "", "{a:unknown}", ""},
	} {
		catalog := discovery.NewCatalog([]discovery.Listing{{Server: "s", Tools: []discovery.ListedTool{
			{Name: "t", InputSchema: json.RawMessage(c.in), OutputSchema: json.RawMessage(c.out)}}}})
		s := catalog.Servers()[0]
		got := new(codegen.Generator).Line(s, s.Tools[0])
		if got.Input != c.wantIn || got.Output != c.wantOut {
			t.Errorf("%s:\n got %s => %s\nwant %s => %s", c.name, got.Input, got.Output, c.wantIn, c.wantOut)
		}
	}
}

// What all tools of a server take says little about one of them.
func TestLineHasTheOwnParametersFirst(t *testing.T) {
	const common = `"tenant":{"type":"string"},"auth-method":{"type":"string"},"retry-delay":{"type":"number"},"retry-mode":{"type":"string"}`
	listing := discovery.Listing{Server: "cloud"}
	for _, own := range []string{"sku", "region", "account", "vault"} {
		listing.Tools = append(listing.Tools, discovery.ListedTool{Name: own, InputSchema: json.RawMessage(
			`{"type":"object","properties":{` + common + `,"` + own + `":{"type":"string"},"id":{"type":"string"}},"required":["id"]}`)})
	}
	s := discovery.NewCatalog([]discovery.Listing{listing}).Servers()[0]
	if got, want := new(codegen.Generator).Line(s, s.Tools[1]).Input, "{id;region?;/*+4*/}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
