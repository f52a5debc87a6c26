package docker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// nodeOptions are those of a runner of Node under test.
func nodeOptions(t *testing.T) *Options {
	t.Helper()
	needImage(t, nodeImage)
	o := options(t)
	o.Image = nodeTestImage
	return o
}

func TestNodeSuite(t *testing.T) {
	o := nodeOptions(t)
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return NewNode(o) }, sandboxtest.JavaScript, sandboxtest.Containment, sandboxtest.SlowStart, sandboxtest.BoundedText)
}

var nodeCases = []programCase{
	{name: "integers keep their digits in answers, JSON and output",
		code:  `const { n } = await callMCPTool('a__b', { n: 12345678901234567890n }); console.log(n, { n: [n] }, JSON.stringify({ n, m: 1.5 })); return [typeof n, n, JSON.parse('[-99999999999999999999, 1e20]')]`,
		value: `["bigint",12345678901234567890,[-99999999999999999999,100000000000000000000]]`, stdout: "12345678901234567890 { n: [ 12345678901234567890 ] } {\"n\":12345678901234567890,\"m\":1.5}\n"},
	{name: "nesting around a long integer uses no stack",
		code:  `let v = JSON.parse('['.repeat(9000) + '12345678901234567890' + ']'.repeat(9000)), n = 0; while (Array.isArray(v)) { v = v[0]; n++ } let a = await callMCPTool('a__deep'), m = 0; while (a.d) { a = a.d[0]; m++ } return [n, v, m, a]`,
		value: `[9000,12345678901234567890,4500,{"n":12345678901234567890}]`},
	{name: "long ids in texts are no integers",
		code:  `return JSON.parse(' { "a" : "12345678901234567890", "b": [ "x 12345678901234567890", 12345678901234567890 , -12345678901234567890], "c":{"d\\"":[]},"e":[{}] } ')`,
		value: `{"a":"12345678901234567890","b":["x 12345678901234567890",12345678901234567890,-12345678901234567890],"c":{"d\"":[]},"e":[{}]}`},
	{name: "a replacer and a reviver see bigints",
		code:  `return [JSON.stringify({ a: 1n }, (k, v) => typeof v === 'bigint' ? 's' + v : v), JSON.stringify({ a: 1, b: 2n }, ['b']), JSON.parse('[12345678901234567890]', function (k, v) { return typeof v === 'bigint' ? 'big' : k === '' ? [...v, this instanceof Object] : v })]`,
		value: `["{\"a\":\"s1\"}","{\"b\":2}",["big",true]]`},
	{name: "a list in place of a replacer has its order",
		code:  `const o = { b: 1, a: 2n, 2: 3, 1: { a: 1, b: 2n }, z: [{ b: 1n, a: 0 }], x: new Number(1) }; const c = { n: 1n }; c.c = c; let e; try { JSON.stringify(c, ['n', 'c']) } catch (x) { e = x.name + x.message.slice(0, 19) } return [JSON.stringify(o, ['a', '2', 'b', 'z', 'x', 1, 'a', null]), e]`,
		value: `["{\"a\":2,\"2\":3,\"b\":1,\"z\":[{\"a\":0,\"b\":1}],\"x\":1,\"1\":{\"a\":1,\"b\":2}}","TypeErrorConverting circular"]`},
	{name: "digits are integers outside of strings alone",
		code:  `const t = '{"\\\\": 12345678901234567890, "a\\"12345678901234567890": [1.2345678901234567890, -0.1e-20, 12345678901234567890e0, "\\\\\\"-12345678901234567890"], "12345678901234567890": -12345678901234567890}'; const v = JSON.parse(t); return [v, typeof v['\\'], Object.keys(v).length]`,
		value: `[{"\\":12345678901234567890,"a\"12345678901234567890":[1.2345678901234567,-1e-21,12345678901234567000,"\\\"-12345678901234567890"],"12345678901234567890":-12345678901234567890},"bigint",3]`},
	{name: "bigints in a list have indentation, and leave nothing behind",
		code:  `const list = JSON.stringify({ a: [1n], b: 2n, c: Object(3n) }, ['a', 'c'], 1); const own = 'toJSON' in BigInt.prototype; BigInt.prototype.toJSON = function () { return 'n' + this }; return [list, own, JSON.stringify({ a: 1n }, ['a']), JSON.stringify(2n)]`,
		value: `["{\n \"a\": [\n  1\n ],\n \"c\": 3\n}",false,"{\"a\":\"n1\"}","\"n2\""]`},
	{name: "bigints are plain digits in formats",
		code:   `const n = 12345678901234567890n; console.log('%j|%s|%o|%O|%d|%i|%s|%%|%c|%j', { q: 8n }, { q: 7n }, [7n], { q: 7n }, n, n, '7n', 'color: red', n, '7n', { r: 7n }, 'end'); const c = {}; c.c = c; console.log('%j', c); console.log('100%', 1n); console.log('%% %d'); console.log('%d %s', 1.5)`,
		stdout: "{\"q\":8}|{ q: 7 }|[ 7, [length]: 1 ]|{ q: 7 }|12345678901234567890|12345678901234567890|7n|%||12345678901234567890 7n { r: 7 } end\n[Circular]\n100% 1\n%% %d\n1.5 %s\n"},
	{name: "keys stay in order, and __proto__ is one of them",
		code: `const o = JSON.parse('{"b":1,"a":12345678901234567890,"__proto__":2}'); return [Object.keys(o), ({}).x]`, value: `[["b","a","__proto__"],null]`},
	{name: "a call's error has the line of the call", code: "const f = async () => {\n  await callMCPTool('a__fails', {});\n};\nawait f();",
		exit: sandbox.ExitThrew, says: "ToolError: no such file\n  at f (agent.ts:2:9)"},
	{name: "and its hint, and more", code: "try { await callMCPTool('a__fails', {}) } catch (e) { return [e instanceof ToolError, e instanceof Error, e.name, e.code, Object.keys(e)] }",
		value: `[true,true,"ToolError","not_found",["code"]]`},
	{name: "host functions", code: "await skills.call('s', 'start', { v: 1 }); return [(await tools.search('issues', { limit: 2 })).func, await store.set('k', 1n), (await results.get('r_1')).target]",
		value: `["tools.search",{"args":1,"func":"store.set","target":"k"},"r_1"]`},
	{name: "wrong arguments are said", code: "await store.get(7)", exit: sandbox.ExitThrew, says: "the key must be a text that is not empty, as in store.get('cursor')"},
	{name: "a cause and its lines", code: "function a() { throw new RangeError('inner') }\ntry { a() } catch (cause) { throw new Error('outer', { cause }) }",
		exit: sandbox.ExitThrew, says: "Error: outer\n  at agent.ts:2:35\ncaused by: RangeError: inner\n  at a (agent.ts:1:22)"},
	{name: "a name that a server has", code: "return await ecko({ n: 1 })", exit: sandbox.ExitThrew, says: "ReferenceError: ecko is not defined"},
	{name: "what there is not says what to use", code: "const r = typeof require === 'undefined' && (() => require);\ntry { r() } catch (e) { console.log(e.message) }\nawait fetch('https://example.com')",
		stdout: "require is not available: there are no packages here; import from './servers/…', or use callMCPTool\n", exit: sandbox.ExitThrew, says: "fetch is not available: there is no network here"},
	{name: "also to code that is made in the run", code: "return new Function('return process')()", exit: sandbox.ExitThrew, says: "hint: there is no process and no environment here"},
	{name: "nothing of Node is reachable by name", code: "return ['process', 'require', 'module', 'fetch', 'WebSocket', 'WebAssembly', 'Worker', 'navigator', 'localStorage'].filter((n) => n in globalThis)", value: "[]"},
	{name: "nor by import in code that is made in the run", code: "return await eval('import(\"node:fs\")').catch((e) => e.constructor.name)", value: `"TypeError"`},
	{name: "a stack has the program's lines alone", code: "console.log(new Error('x').stack)", stdout: "Error: x\n    at agent.ts:1:13\n"},
	{name: "a module of a skill and what it imports", code: "import { shout } from './skills/shout/scripts/shout.ts';\nreturn shout('a')", value: `"A!"`},
	{name: "JavaScript that is TypeScript", code: "interface A { a: 1 }\nreturn (1 as number)", value: "1"},
	{name: "what the engine of the broker does not know", code: "return ['e\\u0301'.match(/^[\\p{L}\\p{M}]+$/u) !== null, (() => { const s = new SharedArrayBuffer(8); return Atomics.add(new Int32Array(s), 0, 2) })(), new Intl.DisplayNames('en', { type: 'region' }).of('DE')]",
		value: `[true,0,"Germany"]`},
	{name: "and what older ones of Node do not", code: "return [Object.groupBy([1, 2], (x) => x % 2 ? 'odd' : 'even'), [3, 1].toSorted(), [1, 2].values().map((x) => x + 1).toArray(), [...new Set([1]).union(new Set([2]))], Promise.withResolvers().promise instanceof Promise]",
		value: `[{"odd":[1],"even":[2]},[1,3],[2,3],[1,2],true]`},
	{name: "console", code: "console.group('g'); console.log('%s is %d', 'x', 3n); console.groupEnd(); console.count(); console.assert(false, 'why'); console.error('e')",
		stdout: "g\n  x is 3\ndefault: 1\n", says: "Assertion failed: why\ne\n"},
	{name: "a timer that throws", code: "setTimeout(() => { throw new Error('late') }, 1); await new Promise((r) => setTimeout(r, 200))", exit: sandbox.ExitThrew, says: "Error: late\n  at agent.ts:1:26"},
	{name: "waiting for a timer is no loop", code: "await new Promise((r) => setTimeout(r, 1e6))", exit: sandbox.ExitTimeout, says: "while waiting for a timer (processor time: "},
	{name: "nor is waiting for a signal", code: "await new Promise((r) => AbortSignal.timeout(1e6).addEventListener('abort', r))", exit: sandbox.ExitTimeout, says: "hint: it was waiting, not computing"},
	{name: "an argument that is too large is told with its size", code: "await callMCPTool('a__b', { s: 'x'.repeat(2 ** 21) })", exit: sandbox.ExitThrew, says: "ToolError: argument of 2 MiB for a__b is over the limit of 1 MiB (config: sandbox.maxResult)"},
	{name: "more than a pipe holds is printed and returned", code: "console.log('x'.repeat(1 << 18)); return 'y'.repeat(1 << 18)",
		value: `"` + strings.Repeat("y", 1<<18) + `"`, stdout: strings.Repeat("x", 1<<18) + "\n"},
	{name: "a floating function goes on while it sleeps", code: "(async () => { await new Promise((r) => setTimeout(r, 20)); console.log('later') })(); return 1", value: "1", stdout: "later\n"},
	{name: "a result that is no data", code: "const a = {}; a.a = a; return a", exit: sandbox.ExitThrew, says: "the returned value cannot be written as JSON: TypeError: Converting circular structure"},
	{name: "a pattern that Node does not take", code: "return /(?<a>x)(?<a>y)/.test('x')", exit: sandbox.ExitRefused, says: "agent.ts: Invalid regular expression"},
	{name: "frames cannot be forged", code: "console.log('D\\0\\0\\0\\0\\0\\0\\0\\x06\\0\\0\\0\\x02{}'); Object.prototype.toJSON = () => 'x'; Array.prototype.push = Array.prototype.map = String.prototype.slice = () => { throw 1 }; Buffer.concat = null; return { a: 1 }",
		value: `"x"`, stdout: "D\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x02{}\n"},
}

// shout are the modules of a skill.
var shout = []sandbox.Module{
	{Path: "skills/shout/scripts/shout", Source: "import { upper } from './lib';\nexport const shout = (s: string): string => upper(s) + '!';\n"},
	{Path: "skills/shout/scripts/lib", Source: "export function upper(s: string): string { return s.toUpperCase(); }\n"},
}

// nodeAnswer is a host that echoes, and has a tool that fails.
func nodeAnswer(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
	switch {
	case c.Target == "a__fails":
		return nil, &sandbox.CallError{Name: "ToolError", Message: "no such file", Fields: json.RawMessage(`{"code":"not_found"}`)}
	case c.Target == "a__deep":
		return json.RawMessage(strings.Repeat(`{"d":[`, 4500) + `{"n":12345678901234567890}` + strings.Repeat(`]}`, 4500)), nil
	case c.Func == "call":
		return c.Args, nil
	}
	args := c.Args
	if args == nil {
		args = json.RawMessage("null")
	}
	return json.Marshal(map[string]any{"func": c.Func, "target": c.Target, "args": args})
}

func TestNode(t *testing.T) {
	r := NewNode(nodeOptions(t))
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, tt := range nodeCases {
		t.Run(tt.name, func(t *testing.T) {
			limits := sandbox.Limits{ResultBytes: 1 << 20}
			if tt.exit == sandbox.ExitTimeout {
				limits.Timeout = 2 * time.Second
			}
			tt.try(t, r, sandbox.Request{Call: nodeAnswer, Modules: shout, Limits: limits})
		})
	}
}

// Every global of the image's Node is known to the bundler, which would otherwise
// say of a script that uses it that it is not defined.
func TestGlobalsOfNodeAreKnown(t *testing.T) {
	r := NewNode(nodeOptions(t))
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{Code: "return Object.getOwnPropertyNames(globalThis)"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal(res.Value, &names); err != nil {
		t.Fatal(err)
	}
	known := func(_ context.Context, p sandbox.Parsed) sandbox.Verdict {
		for _, n := range p.Names {
			t.Errorf("%s is said to be unknown", n.Name)
		}
		return sandbox.Verdict{}
	}
	if _, err := r.Run(t.Context(), sandbox.Request{Code: "return [" + strings.Join(names, ", ") + "].length", Check: known}); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutAnImageNodeIsRefused(t *testing.T) {
	o := options(t)
	o.Image = "mcpbroker/sandbox-node:none"
	r := NewNode(o)
	defer r.Close()
	if _, err := r.Run(t.Context(), sandbox.Request{Code: "1"}); !errors.Is(err, ErrNoImage) {
		t.Errorf("error %v, want %v", err, ErrNoImage)
	}
	res, err := r.Run(t.Context(), sandbox.Request{Language: sandbox.Python, Code: "1"})
	if err != nil || res.ExitCode != sandbox.ExitRefused {
		t.Errorf("Python: %+v, %v; want a refusal", res, err)
	}
}

// The process that bundles is no container, and must have all else that is
// required.
// Without a process that waits, a run takes as long as one takes to start.
func TestTheBundlerWaitsAsContainersDo(t *testing.T) {
	for _, spares := range []int{-1, 0, 1, 3} {
		n := NewNode(&Options{Spares: spares}).(*nodeRunner)
		defer n.Close()
		if got := host.PoolSize(bundlerOptions(&n.opts).Spares); got != host.PoolSize(spares) {
			t.Errorf("with Spares %d, %d processes of the bundler wait, want %d", spares, got, host.PoolSize(spares))
		}
	}
}

func TestTheBundlerHasWhatIsRequired(t *testing.T) {
	o := options(t)
	o.Image = "mcpbroker/sandbox-node:none"
	o.Require = []string{LayerContainer, "moat"}
	r := NewNode(o)
	defer r.Close()
	_, err := r.Run(t.Context(), sandbox.Request{Code: "1"})
	if missing, ok := errors.AsType[*sandbox.LayerError](err); !ok || len(missing.Missing) != 1 || missing.Missing[0].Name != "moat" {
		t.Errorf("error %v, want one about the moat alone", err)
	}
}

// callWhileBundling is the main of a bundler that a program has taken over: it
// makes a call, and ends with what comes of it.
func callWhileBundling() {
	r, w := wire.NewReader(os.Stdin, 1<<20), wire.NewWriter(os.Stdout)
	r.Next() // hello
	w.Write(wire.TypeReady, 0)
	r.Next() // exec
	w.WriteCall(1, sandbox.Call{Func: "call", Target: "a__b"})
	f, _ := r.Next()
	w.WriteDone(wire.Done{ExitCode: sandbox.ExitThrew, Error: f.Type.String() + ": " + wire.DecodeError(f.Payload).Error()})
	r.Next() // until it is killed
}

func TestTheBundlerCallsNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := NewNode(&Options{Executable: self})
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{Code: "return 1", Call: func(context.Context, sandbox.Call) (json.RawMessage, error) {
		t.Error("a tool was called")
		return nil, nil
	}})
	if want := "error: there is nothing to call here"; err != nil || !strings.HasPrefix(res.Error, want) {
		t.Errorf("%+v, %v; want %q", res, err, want)
	}
}
