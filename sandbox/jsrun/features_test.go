package jsrun

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/intl"
)

// A feature is a row of docs/javascript.md: what works, and a program that
// shows it. The program returns want; a want that begins with "!" is part of
// the error that it ends with.
type feature struct{ topic, name, code, want string }

var featureRows = []feature{
	{"Language", "`async`/`await`, also at the top level; `for await`, async generators", "let s = 0; for await (const x of (async function* () { yield 1; yield 2 })()) s += x; return s", "3"},
	{"Language", "classes with fields, `#private`, static blocks", "class A { #x = 1; static n; static { A.n = 2 } get x() { return this.#x } } return [new A().x, A.n]", "[1,2]"},
	{"Language", "a default inside of an array that has one itself, where names are declared", "return ((x, [b = x] = []) => b)(1)", "!this JavaScript engine does not know it"},
	{"Language", "`a < b < c`: the result of `a < b`, compared with `c`", "return 3 > 2 > 1", "false"},
	{"Language", "`a < b < c` in the text of `eval` and `new Function`", "return eval('3 > 2 > 1')", "!compares the result of a comparison"},
	{"Language", "`?.`, `??`, `??=`, labels, destructuring, tagged templates", "const o = null; let x = o?.a ?? 1; x ??= 2; return x", "1"},
	{"Language", "`using`, `await using`", "let s = ''; { using r = { [Symbol.dispose]() { s += 'closed' } } } return s", `"closed"`},
	{"Language", "`Error.cause`, `AggregateError`, `Error.captureStackTrace`", "return new Error('a', { cause: 'b' }).cause", `"b"`},
	{"Language", "`e.stack` with the program's own lines; `e.message` of some frequent mistakes nearly as elsewhere, goja's own words for others", "try { null.x } catch (e) { return e.stack.split('\\n')[1].trim() }", `"at agent.ts:1:12"`},
	{"Language", "TypeScript: enums, decorators, `satisfies`, `accessor`", "enum E { B = 2 } return E[2]", `"B"`},
	{"Language", "TypeScript: namespaces", "namespace N { export const a = 1 } return N.a", "!namespaces are not supported here"},
	{"Language", "`BigInt`", "return 2n ** 64n", "18446744073709551616"},
	{"Language", "`s += x`, `o.s += x`, `s = s + x` in a loop, in linear time", "let s = ''; for (let i = 0; i < 1e5; i++) s += 'x'; return s.length", "100000"},
	{"Language", "long queues: `shift`, `unshift`, an array that is nothing but a queue in linear time", "const q = Array.from({ length: 1e5 }, (_, i) => i); let n = 0; while (q.length) n += q.shift() % 2; return n", "50000"},
	{"Language", "`Proxy`, `Reflect`, generators, `eval`, `new Function`", "return new Function('a', 'return a + 1')(1)", "2"},
	{"Language", "recursion, to about 4,000 calls at one time", "const sum = (n) => n ? n + sum(n - 1) : 0; return sum(3900)", "7606950"},
	{"Language", "catching that a recursion is too deep", "const f = () => f() + 1; try { f() } catch { return 'caught' }", "!maximum call stack size exceeded"},
	{"Regular expressions", "named groups, lookbehind, flags g i m s u y", "return '2024-05'.match(/(?<y>\\d+)-(?<m>\\d+)/).groups.m", `"05"`},
	{"Regular expressions", "`\\p{…}`: categories, scripts, Alphabetic, Emoji, …", "return 'Zoë 東京'.match(/\\p{L}+/gu)", `["Zoë","東京"]`},
	{"Regular expressions", "`source` of a pattern with `\\p{…}`: the characters that it stands for", "return new RegExp(/\\p{Lu}/u.source, 'u').test('É')", "true"},
	{"Regular expressions", "flag v: sets within sets; `\\p{RGI_Emoji}`", "return 'äbC'.match(/[\\p{L}--[a-z]]/gv)", "!the flag v is not supported here"},
	{"Regular expressions", "flag d: `indices` of matches", "return /b/d.exec('ab').indices", "!the flag d is not supported here"},
	{"Regular expressions", "modifiers: `(?i:…)`", "return /(?i:a)/.test('A')", "!Invalid group"},
	{"Built-ins", "`Promise.withResolvers`, `try`, `any`, `allSettled`", "const { promise, resolve } = Promise.withResolvers(); resolve(1); return [await promise, await Promise.try(() => 2)]", "[1,2]"},
	{"Built-ins", "`Object.groupBy`, `Map.groupBy`", "return Object.groupBy([1, 2, 3], (x) => x % 2 ? 'odd' : 'even')", `{"odd":[1,3],"even":[2]}`},
	{"Built-ins", "`Array.fromAsync`, `toSorted`, `with`, `findLast`, `at`", "return [await Array.fromAsync([1, Promise.resolve(2)]), [3, 1].toSorted()]", "[[1,2],[1,3]]"},
	{"Built-ins", "iterator helpers, `Iterator.from`", "return [1, 2, 3].values().filter((x) => x > 1).map((x) => x * 2).toArray()", "[4,6]"},
	{"Built-ins", "methods of `Set`", "return [...new Set([1, 2]).union(new Set([3]))]", "[1,2,3]"},
	{"Built-ins", "`structuredClone`, `WeakRef` (never cleared)", "return structuredClone({ m: new Map([[1, 2]]) }).m.get(1)", "2"},
	{"Built-ins", "`SharedArrayBuffer`, `Atomics`, `Temporal`", "return [typeof SharedArrayBuffer, typeof Atomics, typeof Temporal].every((t) => t === 'undefined')", "true"},
	{"JSON", "integers that a number cannot hold are `bigint`, in results and in `JSON.parse`", "return [typeof JSON.parse('9007199254740993'), typeof JSON.parse('1e20')]", `["bigint","number"]`},
	{"JSON", "`JSON.stringify` writes a `bigint` as an integer", "return JSON.stringify({ id: 9007199254740993n })", `"{\"id\":9007199254740993}"`},
	{"JSON", "the frequent errors in the words of V8, revivers, order of keys", "try { JSON.parse('{a:1}') } catch (e) { return e.message }", `"Expected property name or '}' in JSON at position 1"`},
	{"JSON", "half of an emoji, as where a text was cut, becomes U+FFFD when it is parsed", "return JSON.parse('\"\\\\ud83d\"') === '\\ufffd'", "true"},
	{"Time", "`setTimeout`, `setInterval`, `setImmediate`, `queueMicrotask`, `performance.now`", "return await new Promise((r) => setTimeout(r, 1, 'later'))", `"later"`},
	{"Time", "`AbortController`, `AbortSignal.timeout`, `any`; `EventTarget`", "const c = new AbortController(); c.abort(); return c.signal.reason.name", `"AbortError"`},
	{"Data", "`console.log`, `table`, `group`, `time`, `count`: objects much as Node prints them; URLs, buffers and texts of several lines on one line", "console.log(new URL('https://example.com/')); console.table([{ a: 1 }]); return 1", "1"},
	{"Data", "`URL`, `URLSearchParams`", "return new URL('../b?x=ä', 'https://e.com/a/c/').href", `"https://e.com/a/b?x=%C3%A4"`},
	{"Data", "`TextEncoder`, `TextDecoder`, `atob`, `btoa`", "return new TextDecoder().decode(new TextEncoder().encode('€'))", `"€"`},
	{"Data", "`Buffer`", "return Buffer.from('aGk=', 'base64').toString()", `"hi"`},
	{"Data", "`crypto.randomUUID`, `getRandomValues`, `subtle.digest`, HMAC", "return Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('a'))).toString('hex').slice(0, 8)", `"ca978112"`},
	{"Data", "other ciphers and keys of `crypto.subtle`", "await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, [])", "!not supported here"},
	{"Intl", "`NumberFormat`: currency, percent, compact", "return (1234.5).toLocaleString('de-DE', { style: 'currency', currency: 'EUR' })", "\"1.234,50\u00a0€\""},
	{"Intl", "`formatToParts`, but of `DateTimeFormat`", "return new Intl.NumberFormat('en').formatToParts(1)", "!formatToParts of Intl.NumberFormat is not supported here"},
	{"Intl", "`DateTimeFormat`, every IANA time zone", "return new Date(0).toLocaleString('en-US', { timeZone: 'Asia/Tokyo' })", `"1/1/1970, 9:00:00 AM"`},
	{"Intl", "`PluralRules`, `RelativeTimeFormat`", "return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-1, 'day')", `"yesterday"`},
	{"Intl", "`Collator`, `localeCompare` with options", "return ['a10', 'a2'].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))", `["a2","a10"]`},
	{"Intl", "other languages", "return (1234.5).toLocaleString('fi')", "!Intl has no locale fi here"},
	{"Intl", "units, scientific notation, accounting, other ways to round", "return new Intl.NumberFormat('en', { style: 'unit', unit: 'liter' }).format(16)", "!Intl option style: \"unit\" is not supported here"},
	{"Intl", "eras, periods of the day, other calendars and digits", "return new Date(0).toLocaleDateString('en', { calendar: 'japanese' })", "!Intl option calendar: \"japanese\" is not supported here"},
	{"Intl", "`formatRange`", "return new Intl.DateTimeFormat('en').formatRange(0, 1)", "!formatRange of Intl.DateTimeFormat is not supported here"},
	{"Intl", "`caseFirst`, `ignorePunctuation` of `Collator`", "return 'a-b'.localeCompare('ab', 'en', { ignorePunctuation: true })", "!Intl option ignorePunctuation: \"true\" is not supported here"},
	{"Intl", "`ListFormat`", "return new Intl.ListFormat('en').format(['a', 'b'])", "!Intl.ListFormat is not supported here"},
	{"Intl", "`Segmenter`", "return [...new Intl.Segmenter('en').segment('ab')].length", "!Intl.Segmenter is not supported here"},
	{"Intl", "`DisplayNames`", "return new Intl.DisplayNames('en', { type: 'region' }).of('JP')", "!Intl.DisplayNames is not supported here"},
	{"Intl", "`resolvedOptions`, but of `DateTimeFormat`, such as for its `timeZone`", "return new Intl.NumberFormat('en').resolvedOptions()", "!resolvedOptions of Intl.NumberFormat is not supported here"},
	{"Intl", "`toLocaleUpperCase` and `toLocaleLowerCase` by the rules of a language", "return 'i'.toLocaleUpperCase('tr')", `"İ"`},
	{"Intl", "options in the tags of languages, but `-u-kn`", "return (1).toLocaleString('en-u-nu-arab')", "!Intl reads no options in tags here"},
	{"Intl", "`Locale`, `supportedValuesOf`, `getCanonicalLocales`", "return new Intl.Locale('de').maximize().toString()", "!Intl.Locale is not supported here"},
	{"Withheld", "`fetch`, `XMLHttpRequest`, `WebSocket`", "await fetch('https://example.com')", "!there is no network here"},
	{"Withheld", "`require`, packages", "const r = require; r('lodash')", "!there are no packages here"},
	{"Withheld", "`process`, `fs`", "return process.env.HOME", "!there is no process"},
	{"Withheld", "asking for them first is fine", "return typeof process !== 'undefined' ? process.env.HOME : 'none'", `"none"`},
}

const featuresHead = `# JavaScript and TypeScript in the sandbox

Programs run in goja, after esbuild has taken the types away: ECMAScript 2022 and much of what came later, the parts of a browser's and of
Node's surface that need no system, and nothing that reaches one. This page is written by a test, which runs each example
(` + "`go test ./sandbox/jsrun -run Features -update`" + `). %d scripts in ` + "`sandbox/jsrun/testdata/node`" + ` print what Node 20 prints, but for long lists, which have as many items on a line as there is room for.

Locales of Intl: %s. Another region of these languages is served by the nearest.
`

// docs/javascript.md says what works.
func TestFeatures(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, featuresHead, len(nodeScripts(t)), strings.Join(intl.Names(), ", "))
	topic := ""
	for _, f := range featureRows {
		if f.topic != topic {
			topic = f.topic
			fmt.Fprintf(&b, "\n## %s\n\n| what | works | example |\n|---|---|---|\n", topic)
		}
		works := "yes"
		if said, refused := strings.CutPrefix(f.want, "!"); refused {
			works = "no: " + said
		} else if strings.Contains(f.code, "=== 'undefined')") {
			works = "no"
		}
		code := strings.ReplaceAll(f.code, "|", `\|`)
		fmt.Fprintf(&b, "| %s | %s | `` %s `` |\n", f.name, works, code)
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			out, _ := run(t, sandbox.TypeScript, f.code)
			if said, refused := strings.CutPrefix(f.want, "!"); refused {
				if out.ExitCode == 0 || !strings.Contains(out.Error, said) {
					t.Errorf("exit %d %s, want %q", out.ExitCode, out.Error, said)
				}
			} else if out.ExitCode != 0 || string(out.Value) != f.want {
				t.Errorf("exit %d %s %s, want %s", out.ExitCode, out.Value, out.Error, f.want)
			}
		})
	}
	const file = "../../docs/javascript.md"
	if *update {
		writeFile(t, file, []byte(b.String()))
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), b.String()); diff != "" {
		t.Errorf("%s is not what the test says; run it with -update (-want +got):\n%s", file, diff)
	}
}
