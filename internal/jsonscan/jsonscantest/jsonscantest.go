// Package jsonscantest contains texts that JSON readers often disagree about, for the tests of all
// packages that scan JSON.
package jsonscantest

import "strings"

// deep is the highest nesting that encoding/json accepts.
const deep = 10_000

// Malformed returns texts that encoding/json rejects.
func Malformed() []string {
	list := []string{
		"", " ", "{", "}", "[", "]", ",", ":", `"`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1,,"b":2}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a"::1}`, `{"a":1:2}`,
		`{a:1}`, `{'a':1}`, `{1:2}`, `{"a":1}}`, `{"a":1}]`, `{"a":1} {"a":2}`, `{"a":1},`, `{"a":1}x`, `[1,]`, `[,1]`, `[1 2]`, `[1,,2]`, `[1:2]`, `["a":1]`, `{"a":1`, `{"a":[1}`, `{"a":[1}]`, `{"a":{"b":1]}`,
		`01`, `-`, `-01`, `1.`, `.5`, `1.e5`, `1e`, `1e+`, `+1`, `0x1`, `1_000`, `--1`, `1.2.3`, `1e5.5`, `[1-2]`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":+1}`, `{"a":0x10}`,
		`NaN`, `Infinity`, `-Infinity`, `{"a":NaN}`, `{"a":undefined}`, `True`, `TRUE`, `tru`, `truee`, `nul`, `nulll`, `{"a":tru}`, `{"a":truefalse}`, `{"a":nullnull}`, `[true false]`,
		`"a`, `"a\`, `"a\"`, `"\x41"`, `"\u12"`, `"\u12G4"`, `"\U00000041"`, `"\'"`, `"\0"`, `{"a":"\q"}`, `{"\q":1}`, `{"a":"\u00"}`, `{"a":"b}`, `{"a":"b\"}`,
		"\"a\nb\"", "\"a\tb\"", "\"\x00\"", "{\"a\":\"b\nc\"}", "{\"a\nb\":1}", "{\"a\":\"\x1f\"}", "{\"a\":1}\x00", "\x00{\"a\":1}",
		"\xef\xbb\xbf{\"a\":1}", "{\u00a0\"a\":1}", "{\"a\":\u20281}", "{\f\"a\":1}", "{\v\"a\":1}", "{\"a\":1\u0085}", "\xff", "{\xff}", "{\"a\":\xff}", "{“a”:1}",
		`/* c */{"a":1}`, `{"a":1} // c`, `{"a":1/**/}`, `# c`, `)]}',{"a":1}`, "{\"a\":`b`}", `{"a":'b'}`, `{"a":(1)}`, `<a>`,
		strings.Repeat("[", deep+1) + strings.Repeat("]", deep+1), `{"a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`, strings.Repeat(`{"a":`, deep+1) + "1" + strings.Repeat("}", deep+1), strings.Repeat("[", 50_000),
		strings.Repeat(`{"a":[`, deep),
	}
	return list
}

// Odd returns unusual JSON that encoding/json accepts.
func Odd() []string {
	return []string{
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1},"a":{"c":2}}`, `{"":1,"":2}`, `{"A":1,"a":2}`,
		`"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`, `"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `{"\ud800":1,"\udfff":2}`,
		"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"a\xe2\x82\"", "{\"\xff\":1,\"\xfe\":2}", "\"\xe2\x82\xac\xff\\n\"",
		"\"\x7f\"", "\"\u2028\u2029\"", "\"\ufeff\"", `"\u0000"`, `"\u001f\u007f"`, `"\/"`, `"\b\f\n\r\t\"\\"`, `"\uABCD\uabcd"`,
		`0`, `-0`, `-0.0`, `0e0`, `1E400`, `1e-400`, `123456789012345678901234567890`, `0.1000000000000000055511151231257827`, `-1.5E+10`, `1e1000000000`,
		" \t\r\n{ \"a\" : [ 1 , 2 ] } \n", `[[],{},"",0]`, `{"a":{"a":{"a":[]}}}`, `null`, `true`, `false`, `""`, `[]`, `{}`, `"{\"a\":1}"`, `"a,b]}"`, `["a\\","\\\"b"]`,
		strings.Repeat("[", deep) + strings.Repeat("]", deep), strings.Repeat(`{"a":`, deep-1) + "{}" + strings.Repeat("}", deep-1), `"` + strings.Repeat(`\\`, 1000) + `"`, `"` + strings.Repeat("é", 1000) + `"`,
	}
}
