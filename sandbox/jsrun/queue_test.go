package jsrun

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// What is no queue, or is more than one, stays an array.
func TestQueuesAreArraysToTheProgram(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"a queue", "const q = [1, 2]; const seen = []; while (q.length) { seen.push(q.shift()); if (seen.length < 5) q.push(seen.length * 10) } return [seen, q.shift(), q.length]", "[[1,2,10,20,30,40],null,0]"},
		{"both ends", "const q = Array.from({ length: 4 }, (_, i) => i); q.unshift(-2, -1); q.push(4, 5); const a = [q.pop(), q.shift()]; q.unshift('x'); return [a, q.length, q.pop(), q.shift(), q.shift(), q.shift(), q.shift(), q.shift(), q.pop(), q.length]", `[[5,-2],7,4,"x",-1,0,1,2,3,0]`},
		{"only in front", "const q = []; q.unshift(1); q.unshift(2, 3); return [q.pop(), q.pop(), q.shift(), q.pop(), q.unshift(), q.push()]", "[1,3,2,null,0,0]"},
		{"workers", "const q = [1, 2, 3], out = []; await Promise.all([0, 1].map(async () => { while (q.length > 0) { const x = q.shift(); await null; out.push(x) } })); return out.sort()", "[1,2,3]"},
		{"returned", "const q = [1, 2]; q.shift(); return q", "[2]"},
		{"spread", "const q = [1, 2]; q.shift(); return [...q, 3]", "[2,3]"},
		{"an index", "const q = [1, 2]; q.shift(); return q[0]", "2"},
		{"another method", "const q = [1, 2]; q.shift(); return q.map((x) => x * 2)", "[4]"},
		{"a length that is set", "const q = [1, 2]; q.shift(); q.length = 0; return q.length", "0"},
		{"a length that is counted down", "const q = [1, 2, 3]; q.shift(); q.length--; return q.length", "1"},
		{"another name", "const q = [1, 2]; const p = q; q.shift(); return p", "[2]"},
		{"a function's", "const q = [1, 2]; const f = (l) => Array.isArray(l); q.shift(); return f(q)", "true"},
		{"bound again", "let q = [1, 2]; q.shift(); q = { length: 7 }; return q.length", "7"},
		{"an object's", "const q = Object.keys({ a: 1, b: 2 }); q.shift(); return q.length", "1"},
		{"in a closure", "const q = [1]; const take = () => q?.shift(); return [take(), take()]", "[1,null]"},
		{"eval", "const q = [1, 2]; q.shift(); return eval('q')", "[2]"},
		{"a name in two functions", "const f = () => { const q = [1, 2]; q.shift(); return q.length }; const g = (q) => q; return [f(), g([3])]", "[1,[3]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, lang := range []sandbox.Language{sandbox.JavaScript, sandbox.TypeScript} {
				if out := Run(t.Context(), Program{Language: lang, Code: tt.code}, &memHost{}); string(out.Value) != tt.want {
					t.Errorf("%s: Run = %+v, want %s", lang, out, tt.want)
				}
			}
		})
	}
}
