package jsrun

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Results have the content of values that JSON.stringify writes as {}.
func TestResultsHaveWhatValuesHold(t *testing.T) {
	for code, want := range map[string]string{
		`new Map([['a', 1], ['b', new Map([[1, 'x']])]])`:                                              `{"a":1,"b":{"1":"x"}}`,
		`new Map([[{ id: 1 }, 'x']])`:                                                                  `[[{"id":1},"x"]]`,
		`new Map([[1, 'a'], ['1', 'b']])`:                                                              `[[1,"a"],["1","b"]]`,
		`new Map([['__proto__', 1]])`:                                                                  `{"__proto__":1}`,
		`({ ids: new Set([2047948614742839297n, 'b']) })`:                                              `{"ids":[2047948614742839297,"b"]}`,
		`[/a"b/gi, new Date(0), new URL('https://a.example/?q=1')]`:                                    `["/a\"b/gi","1970-01-01T00:00:00.000Z","https://a.example/?q=1"]`,
		`new URL('https://a.example/?q=1&r=x').searchParams`:                                           `"q=1&r=x"`,
		`new RangeError('too far', { cause: new Error('why') })`:                                       `{"name":"RangeError","message":"too far","cause":{"name":"Error","message":"why"}}`,
		`new AggregateError([new TypeError('a'), 'b'], 'both')`:                                        `{"name":"AggregateError","message":"both","errors":[{"name":"TypeError","message":"a"},"b"]}`,
		`new (class Broken extends Error { constructor() { super('m'); this.code = 7; } })()`:          `{"name":"Broken","message":"m","code":7}`,
		`Promise.allSettled([1, Promise.reject(new Error('no'))])`:                                     `[{"status":"fulfilled","value":1},{"status":"rejected","reason":{"name":"Error","message":"no"}}]`,
		`new (class { #cents = 5; get euros() { return this.#cents / 100; } })()`:                      `{"euros":0.05}`,
		`new (class { constructor() { this.cents = 5; } get euros() { return 1; } })()`:                `{"cents":5}`,
		`new (class extends Map { toJSON() { return 'own'; } })([[1, 2]])`:                             `"own"`,
		`new Map([['a', 1]]).keys()`:                                                                   `["a"]`,
		`(function* () { yield 1; yield new Set([2]); })()`:                                            `[1,[2]]`,
		`({ a: Promise.resolve(1) })`:                                                                  `{"a":"a promise: await is missing"}`,
		`new Uint8Array([1, 2]).buffer`:                                                                `[1,2]`,
		`[JSON.stringify(new Map([['a', 1]])), JSON.stringify(new Error('x')), 'toJSON' in new Set()]`: `["{}","{}",false]`,
		`({ toJSON() { return JSON.stringify({ m: new Map([[1, 2]]) }); } })`:                          `"{\"m\":{\"1\":2}}"`,
	} {
		out, _ := run(t, sandbox.JavaScript, "return "+code)
		if string(out.Value) != want {
			t.Errorf("%s: exit %d, %s (%s), want %s", code, out.ExitCode, out.Value, out.Error, want)
		}
	}
	for _, code := range []string{
		`const m = new Map(); m.set('m', m); return m`, `const s = new Set(); s.add([s]); return { s }`, `const e = new Error('x'); e.cause = e; return e`,
	} {
		if out, _ := run(t, sandbox.JavaScript, code); out.ExitCode != sandbox.ExitThrew || !strings.Contains(out.Error, "circular") {
			t.Errorf("%s: exit %d, %s (%s), want an error about a cycle", code, out.ExitCode, out.Value, out.Error)
		}
	}
	if out, _ := run(t, sandbox.JavaScript, `Object.freeze(Map.prototype); return new Set([1])`); string(out.Value) != "[1]" {
		t.Errorf("with a frozen prototype: %s (%s)", out.Value, out.Error)
	}
}
