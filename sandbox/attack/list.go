package attack

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// The groups of attacks, by what they go for.
const (
	groupTime   = "time"   // never to end
	groupNative = "native" // never to end, inside a built-in that nothing interrupts
	groupMemory = "memory" // to use up memory
	groupStack  = "stack"  // to overflow a stack
	groupFlood  = "flood"  // to drown the host in output or calls
	groupEscape = "escape" // to reach something outside, or to leave something behind

	groupFrames  = "frames"  // to confuse the host by frames that no runner sends
	groupProcess = "process" // to start, or to end, processes and threads
)

// Groups returns the names of the groups, of all kinds.
func Groups() []string {
	return []string{groupTime, groupNative, groupMemory, groupStack, groupFlood, groupEscape, groupFrames, groupProcess}
}

// contained is what an escape returns that got nowhere.
const contained = `"contained"`

// List returns the attacks of a kind. Each is a few lines that a model could be
// talked into, or write by mistake.
func List(k Kind) []Attack {
	if k != Python {
		return slices.Concat(timeAttacks, nativeAttacks, memoryAttacks, stackAttacks(), floodAttacks, escapeAttacks)
	}
	var all []Attack
	for _, g := range []struct {
		name string
		list []Attack
	}{
		{groupTime, pythonTime}, {groupNative, pythonNative}, {groupMemory, pythonMemory}, {groupStack, pythonStack},
		{groupFlood, pythonFlood}, {groupEscape, pythonEscape}, {groupFrames, pythonFrames}, {groupProcess, pythonProcess},
	} {
		for _, a := range g.list {
			a.Group, a.Language = g.name, sandbox.Python
			all = append(all, a)
		}
	}
	return all
}

var timeAttacks = []Attack{
	{Name: "an endless loop", Group: groupTime, Tame: true, Code: `while (true) {}`},
	{Name: "an endless loop of awaits", Group: groupTime, Tame: true, Code: `while (true) await null`},
	{Name: "an endless chain of promises", Group: groupTime, Tame: true, Code: `await new Promise(() => { const f = () => Promise.resolve().then(f); f() })`},
	{Name: "an endless chain of timers", Group: groupTime, Tame: true, Code: `await new Promise(() => { const f = () => setTimeout(f, 0); f() })`},
	{Name: "an endless generator", Group: groupTime, Tame: true, Code: `function* g() { for (;;) yield 1 } for (const x of g()) {}`},
	{Name: "a loop that catches everything", Group: groupTime, Tame: true, Code: `for (;;) try { for (;;); } catch {} finally { for (;;); }`},
	{Name: "a loop in a comparison", Group: groupTime, Tame: true, Code: `[2, 1].sort(() => { for (;;); })`},
	{Name: "a loop in a thenable", Group: groupTime, Tame: true, Code: `await { then() { for (;;); } }`},
	{Name: "a loop in what is thrown", Group: groupTime, Tame: true, Code: `throw { get message() { for (;;); }, get name() { for (;;); }, toString() { for (;;); } }`},
	{Name: "a loop in what is rejected", Group: groupTime, Tame: true, Code: `await Promise.reject({ get stack() { for (;;); }, toString() { for (;;); } })`},
	{Name: "a loop in what is returned", Group: groupTime, Tame: true, Code: `return { toJSON() { for (;;); } }`},
	{Name: "a loop in what is printed", Group: groupTime, Tame: true, Code: `console.log({ get a() { for (;;); }, toJSON() { for (;;); } }); for (;;);`},
	{Name: "a proxy whose keys never end", Group: groupTime, Tame: true, Code: `return new Proxy({}, { ownKeys() { for (;;); } })`},
	{Name: "a timer that goes on after the end", Group: groupTime, Tame: true, Code: `const f = () => setTimeout(f, 1); f(); return 1`},
}

var nativeAttacks = []Attack{
	{Name: "a huge array is filled", Group: groupNative, Code: `new Array(2 ** 32 - 1).fill(0)`},
	{Name: "a huge array is joined", Group: groupNative, Code: `new Array(2 ** 32 - 1).join("x")`},
	{Name: "a huge array is made", Group: groupNative, Code: `Array.from({ length: 2 ** 32 - 1 })`},
	{Name: "a huge array is reversed", Group: groupNative, Code: `const a = []; a[2 ** 32 - 2] = 1; a.reverse()`},
	{Name: "a huge array is sorted", Group: groupNative, Code: `new Array(1e8).fill(0).map(Math.random).sort()`},
	{Name: "a huge array-like is searched", Group: groupNative, Code: `Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)`},
	{Name: "a huge integer", Group: groupNative, Code: `2n ** (2n ** 34n)`},
	{Name: "a huge integer is read", Group: groupNative, Code: `BigInt("9".repeat(5e7)).toString()`},
	{Name: "a pattern that looks ahead and backtracks", Group: groupNative, Code: `/^(?=(a+)+$)(a+)+$/.test("a".repeat(60) + "b")`},
	{Name: "a pattern that refers back and backtracks", Group: groupNative, Code: `/^(x+x+)+\1y$/.test("x".repeat(60))`},
	{Name: "a pattern that would backtrack elsewhere", Group: groupNative, Tame: true, Code: `return /^(a+)+$/.test("a".repeat(1e5) + "b") ? "wrong" : "contained"`, Want: contained},
	{Name: "text that doubles when it is replaced", Group: groupNative, Code: `let s = "aa".repeat(2 ** 20); for (;;) s = s.replaceAll("a", "aa")`},
	{Name: "JSON that doubles with each level", Group: groupNative, Code: `let o = [1]; for (let i = 0; i < 60; i++) o = [o, o]; JSON.stringify(o)`},
}

var memoryAttacks = []Attack{
	{Name: "text that doubles", Group: groupMemory, Code: `let s = "x"; for (;;) s += s`},
	{Name: "arrays for ever", Group: groupMemory, Code: `const a = []; for (;;) a.push(new Array(1e6).fill(1))`},
	{Name: "objects for ever", Group: groupMemory, Code: `const a = []; for (;;) a.push({ a: {}, b: [1, 2, 3], c: "x" + a.length })`},
	{Name: "a map for ever", Group: groupMemory, Code: `const m = new Map(); for (let i = 0; ; i++) m.set("k" + i, { i })`},
	{Name: "promises for ever", Group: groupMemory, Code: `const a = []; for (;;) a.push(new Promise(() => {}).then(() => a))`},
	{Name: "timers for ever", Group: groupMemory, Code: `for (;;) setTimeout(() => {}, 1e9)`},
	{Name: "bound functions for ever", Group: groupMemory, Code: `let f = () => 1; for (;;) f = f.bind(null, 1, 2, 3)`},
	{Name: "a generator is spread for ever", Group: groupMemory, Code: `[...(function* () { for (;;) yield {} })()]`},
	{Name: "one huge buffer", Group: groupMemory, Code: `const b = new Uint8Array(8e9); b.fill(1)`},
	{Name: "large buffers", Group: groupMemory, Code: `const a = []; for (;;) a.push(new Uint8Array(2 ** 28).fill(1))`},
	{Name: "huge text is repeated", Group: groupMemory, Code: `const a = []; for (;;) a.push("x".repeat(2 ** 29) + a.length)`},
	{Name: "huge wide text", Group: groupMemory, Code: `"\u1234".repeat(2 ** 30).length`},
	{Name: "huge text is split", Group: groupMemory, Code: `"x".repeat(1e8).split("")`},
	{Name: "a huge message is thrown", Group: groupMemory, Code: `throw new Error("x".repeat(2 ** 28))`},
	{Name: "a huge result", Group: groupMemory, Code: `return "x".repeat(2 ** 28)`},
	{Name: "a huge argument of a call", Group: groupMemory, Code: `await callMCPTool("demo__echo", { s: "x".repeat(5e7) })`},
}

func stackAttacks() []Attack {
	return []Attack{
		{Name: "recursion", Group: groupStack, Tame: true, Code: `const f = () => f() + 1; f()`},
		{Name: "recursion through a getter", Group: groupStack, Tame: true, Code: `const o = { get a() { return this.a } }; o.a`},
		{Name: "recursion through a proxy", Group: groupStack, Tame: true, Code: `const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x`},
		{Name: "recursion through built-ins", Group: groupStack, Tame: true, Code: `const f = () => [1].map(f); f()`},
		{Name: "a cycle is flattened", Group: groupStack, Code: `const a = []; a.push(a); a.flat(Infinity)`},
		{Name: "a deep result", Group: groupStack, Code: `let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a`},
		{Name: "a deep value is printed", Group: groupStack, Code: `let a = {}; for (let i = 0; i < 1e6; i++) a = { a }; console.log(a); console.log(JSON.stringify(a))`},
		{Name: "a deep argument of a call", Group: groupStack, Code: `let a = []; for (let i = 0; i < 1e6; i++) a = [a]; await callMCPTool("demo__echo", { a })`},
		{Name: "eval of a million brackets", Group: groupStack, Code: `eval("(".repeat(1e6))`},
		{Name: "JSON of a million brackets", Group: groupStack, Code: `JSON.parse("[".repeat(1e6) + "]".repeat(1e6))`},
		{Name: "a pattern of a million brackets", Group: groupStack, Code: `new RegExp("(".repeat(1e6) + ")".repeat(1e6))`},
		{Name: "a program of brackets", Group: groupStack, Code: strings.Repeat("(", 200_000)},
		{Name: "a program of braces", Group: groupStack, Code: strings.Repeat("{", 50_000) + strings.Repeat("}", 50_000)},
	}
}

var floodAttacks = []Attack{
	{Name: "lines for ever", Group: groupFlood, Tame: true, Code: `for (;;) console.log("x")`},
	{Name: "long lines for ever", Group: groupFlood, Code: `const s = "x".repeat(1e7); for (;;) console.log(s)`},
	{Name: "errors for ever", Group: groupFlood, Tame: true, Code: `for (;;) console.error("x".repeat(1e4))`},
	{Name: "calls for ever", Group: groupFlood, Code: `for (;;) callMCPTool("demo__slow", {})`},
	{Name: "calls one after the other for ever", Group: groupFlood, Tame: true, Code: `for (;;) try { await callMCPTool("demo__echo", {}) } catch {}`},
	{Name: "calls with large arguments for ever", Group: groupFlood, Code: `const s = "x".repeat(1e6); for (;;) callMCPTool("demo__slow", { s })`},
	{Name: "long names of tools", Group: groupFlood, Tame: true, Code: `const n = "a.b__".repeat(8e4), all = []; for (let i = 0; i < 40; i++) all.push(callMCPTool(n + i, {}).catch(() => 0)); await Promise.all(all); return "contained"`, Want: contained},
	{Name: "huge names of tools for ever", Group: groupFlood, Code: `const n = "x".repeat(4e6); for (;;) try { await callMCPTool(n, {}) } catch {}`},
	{Name: "long names of everything for ever", Group: groupFlood, Code: `const n = "x".repeat(1e6), o = { path: n, server: n }; for (;;) for (const f of [() => tools.search(n, o), () => tools.search("x", o), () => tools.describe(n), () => results.get("r_x", o), () => store.get(n), () => store.set(n, n), () => skills.read("attack", n), () => skills.call("attack", n, o)]) f().catch(() => 0), await null`},
	{Name: "keys for ever", Group: groupFlood, Tame: true, Code: `for (let i = 0; i < 200; i++) await store.set("k" + i, "x".repeat(1e5)).catch(() => 0); for (;;) try { await store.keys() } catch {}`},
	{Name: "calls through a skill for ever", Group: groupFlood, Tame: true, Code: `for (;;) try { await skills.call("attack", "start", {}) } catch {}`},
	{Name: "calls through many skills at one time", Group: groupFlood, Code: `for (;;) skills.call("attack", "start", {}).catch(() => 0)`},
	{Name: "a call with a cycle", Group: groupFlood, Tame: true, Code: `const a = {}; a.a = a; await callMCPTool("demo__echo", a)`},
	{Name: "output that looks like the protocol", Group: groupFlood, Tame: true, Code: `console.log("D\0\0\0\0\0\0\0\x06\0\0\0\x02{}"); console.error("C\0\0\0\x01\0\0\0\x01x"); return "contained"`, Want: contained},
}

// reach wraps an expression that yields what an escape got hold of.
func reach(expr string) string {
	return "let got; try { got = await (async () => (" + expr + "))() } catch {}\nreturn got ? String(got).slice(0, 200) : 'contained'"
}

var escapeAttacks = []Attack{
	{Name: "process through a constructor", Group: groupEscape, Tame: true, Code: reach(`[].constructor.constructor("return process")().env`), Want: contained},
	{Name: "modules through a constructor", Group: groupEscape, Tame: true, Code: reach(`[].constructor.constructor("return require")()("fs").readFileSync("/etc/passwd")`), Want: contained},
	{Name: "a file through import", Group: groupEscape, Tame: true, Code: `const fs = await import("fs"); return fs.readFileSync("/etc/passwd")`, Want: contained},
	{Name: "an absolute path through import", Group: groupEscape, Tame: true, Code: `import x from "/etc/hostname"; return x`, Want: contained},
	{Name: "a parent directory through import", Group: groupEscape, Tame: true, Code: `import x from "../../../../../../etc/passwd"; return x`, Want: contained},
	{Name: "a network through fetch", Group: groupEscape, Tame: true, Code: reach(`await fetch("http://127.0.0.1/")`), Want: contained},
	{Name: "other runtimes", Group: groupEscape, Tame: true, Code: `return ["Deno", "Bun", "WebAssembly", "XMLHttpRequest", "WebSocket", "Worker", "SharedWorker", "EventSource"].filter(n => { try { return typeof globalThis[n] === "function" || globalThis[n]?.version } catch { return false } }).join() || "contained"`, Want: contained},
	{Name: "a source map of the program from a file", Group: groupEscape, Code: "return 'contained'\n//# sourceMappingURL=file:///dev/zero", Want: contained},
	{Name: "a source map of eval from a file", Group: groupEscape, Code: `eval("1\n//# sourceMappingURL=file:///dev/zero"); new Function("return 1\n//# sourceMappingURL=/dev/zero")(); return "contained"`, Want: contained},
	{Name: "the caller's functions", Group: groupEscape, Tame: true, Code: `function f() { try { return f.caller || arguments.callee.caller } catch { return null } }; const c = f(); return c && /native|host/.test(String(c)) ? String(c) : "contained"`, Want: contained},
	{Name: "the host's stack frames", Group: groupEscape, Tame: true, Code: `Error.prepareStackTrace = (e, frames) => frames; const s = new Error("x").stack; return /\.go\b|\/home|\/usr/.test(String(s)) ? String(s) : "contained"`, Want: contained},
	{Name: "polluted prototypes", Group: groupEscape, Tame: true, Code: `Object.prototype.polluted = 1; Array.prototype.polluted = 1; globalThis.leftover = 1; Object.prototype.then = f => f(7); return "contained"`},
	{Name: "replaced built-ins", Group: groupEscape, Tame: true, Code: `JSON.stringify = JSON.parse = () => { throw 1 }; Promise.prototype.then = String = Error = undefined; globalThis.Promise = globalThis.Object = null; const r = await callMCPTool("demo__echo", { a: 1 }); return r.a === 1 ? "contained" : "the bridge was broken"`, Want: contained},
	{Name: "a symbol is thrown", Group: groupEscape, Tame: true, Code: `throw Symbol("x")`},
	{Name: "nothing is thrown", Group: groupEscape, Tame: true, Code: `throw undefined`},
	{Name: "a proxy is thrown that throws", Group: groupEscape, Tame: true, Code: `throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 }, has() { throw 4 } })`},
}
