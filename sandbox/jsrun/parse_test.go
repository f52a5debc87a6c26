package jsrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// What a program parses has the same meaning as elsewhere, and errors have the
// words of V8.
func TestParse(t *testing.T) {
	out, h := run(t, sandbox.JavaScript, `
		const bad = ['abc', '', '{', '{"a"', '{"a":1,}', '{a:1}', '[1,]', '[1 2]', '[1', '{"a":1 "b"}', '1 2', '"a', '"\\x"', '-', '1.', '1e', '01',
			'nul', 'tru}', "'a'", '"\\u12"', undefined, {}, '<html><body>not what was expected here</body></html>', '["ü", x'];
		for (const text of bad) try { console.log('parsed', JSON.parse(text)) } catch (e) { console.log(e instanceof SyntaxError, e.message) }
		console.log(JSON.stringify(JSON.parse('{"d":"x","n":[1,{"x":2}],"drop":1}', (k, v) => k === 'drop' ? undefined : typeof v === 'number' ? v * 2 : v)));
		console.log(JSON.parse('"\ud800"').charCodeAt(0), JSON.parse(5), JSON.parse('{"__proto__":{"a":1}}').a, JSON.parse('12345678901234567890') === 12345678901234567890n);
	`)
	want := `true Unexpected token 'a', "abc" is not valid JSON
true Unexpected end of JSON input
true Expected property name or '}' in JSON at position 1
true Expected ':' after property name in JSON at position 4
true Expected double-quoted property name in JSON at position 7
true Expected property name or '}' in JSON at position 1
true Unexpected token ']', "[1,]" is not valid JSON
true Expected ',' or ']' after array element in JSON at position 3
true Expected ',' or ']' after array element in JSON at position 2
true Expected ',' or '}' after property value in JSON at position 7
true Unexpected non-whitespace character after JSON at position 2
true Unterminated string in JSON at position 2
true Bad escaped character in JSON at position 2
true Unexpected number in JSON at position 1
true Unexpected number in JSON at position 1
true Unexpected number in JSON at position 1
true Unexpected number in JSON at position 1
true Unexpected end of JSON input
true Unexpected token '}', "tru}" is not valid JSON
true Unexpected token ''', "'a'" is not valid JSON
true Bad escaped character in JSON at position 5
true "undefined" is not valid JSON
true "[object Object]" is not valid JSON
true Unexpected token '<', "<html><bod"... is not valid JSON
true Unexpected token 'x', "["ü", x" is not valid JSON
{"d":"x","n":[2,{"x":4}]}
65533 5 undefined true
`
	if diff := cmp.Diff(want, h.stdout.String()); diff != "" || out.ExitCode != 0 {
		t.Errorf("exit %d %s, printed (-want +got):\n%s", out.ExitCode, out.Error, diff)
	}
}
