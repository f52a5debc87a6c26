package jsrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// page is the shape of a list of issues, as it is learned or declared.
func page(closed bool) map[string]*sandbox.Shape {
	leaf := func(names ...string) *sandbox.Shape {
		s := &sandbox.Shape{Props: map[string]*sandbox.Shape{}, Closed: closed}
		for _, n := range names {
			s.Props[n] = &sandbox.Shape{}
		}
		return s
	}
	issue := leaf("id", "title", "url", "closedAt")
	issue.Props["user"] = leaf("login", "name")
	top := leaf("total", "nextCursor", "labels")
	top.Props["issues"] = &sandbox.Shape{Elem: issue}
	return map[string]*sandbox.Shape{"echo__echo": top}
}

const getPage = `const r = await callMCPTool('echo__echo', { total: 2, labels: { any: 1 }, issues: [{ id: 1, title: 'a', user: { login: 'x' } }, { id: 2, title: 'b', user: null }] });` + "\n"

func TestReadsOfUnknownPropertiesAreNoted(t *testing.T) {
	tests := []struct {
		name, code string
		want       []string
	}{
		{"misspelt", "return r.isues", []string{"line 2: isues is undefined; did you mean issues?"}},
		{"nothing near", "return r.zebra", []string{"line 2: zebra is undefined; there is issues, labels, nextCursor, total"}},
		{"deep", "\nreturn r.issues.map(i => i.titel)", []string{"line 3: titel is undefined; did you mean title?"}},
		{"deeper", "return r.issues[0].user.logn", []string{"line 2: logn is undefined; did you mean login?"}},
		{"destructured", "const { isues } = r; return isues", []string{"line 2: isues is undefined; did you mean issues?"}},
		{"each once", "return [r.isues, r.isues, r.totall]", []string{"line 2: isues is undefined; did you mean issues?", "line 2: totall is undefined; did you mean total?"}},
		{"tested and near", "return r.isues ?? r.issues.length", []string{"line 2: isues is undefined; did you mean issues?"}},
		{"in TypeScript", "const xs: number[] = r.issues.map((i: any) => i.ids as number); return xs", []string{"line 2: ids is undefined; did you mean id?"}},

		{"a field that only some records have", "return r.issues.map(i => [i.transparency, i.user?.pronouns])", nil},
		{"logical assignment", "r.zebra ??= 6; r.giraffe ||= 7; return r.zebra + r.giraffe", nil},
		{"a default", "const { zebra = 5 } = r; return zebra", nil},
		{"known and absent", "return [r.nextCursor, r.issues[0].closedAt, r.issues[0].user.name]", nil},
		{"tested and not near", "return r.error ? 1 : r.data ?? r.zebra?.x ?? (r.zebra === undefined && !r.zebra) ? 2 : 3", nil},
		{"tested in a filter", "return r.issues.filter(i => i.zebra).length", nil},
		{"an object of which nothing is known", "return r.labels.zebra", []string{"the script returned undefined"}},
		{"an index that is not there", "return [r.issues[7], r.issues['x']]", nil},
		{"a name that is computed", "const k = 'zebra'; return r[k]", []string{"the script returned undefined"}},
		{"what every object has", "return [typeof r.toString, typeof r.hasOwnProperty, typeof r.constructor, r.then, r.toJSON, r[Symbol.iterator]]", nil},
		{"in", "return 'zebra' in r", nil},
		{"set first", "r.zebra = 1; return r.zebra", nil},
		{"a copy", "const c = { ...r }; return c.zebra", []string{"the script returned undefined"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, _ := checked(t, sandbox.TypeScript, getPage+tt.code, false, sandbox.Verdict{Shapes: page(false)})
			if diff := cmp.Diff(tt.want, out.Reads); diff != "" || out.ExitCode != 0 {
				t.Errorf("exit %d %s (-want +got):\n%s", out.ExitCode, out.Error, diff)
			}
		})
	}
}

func TestReadsThatADeclaredShapeRulesOutThrow(t *testing.T) {
	tests := []struct {
		name, code, want string // want is the error; "" means that it does not throw
	}{
		{"plain", "return r.isues", "TypeError: isues is not a field of what echo__echo answers; did you mean issues?\n  at agent.ts:2:"},
		{"in a call", "return r.issues.map(i => i.titel)", "titel is not a field of what echo__echo answers; did you mean title?"},
		{"by text", "return r['isues']", "isues is not a field"},
		{"caught", "try { return r.isues } catch (e) { return e.message }", ""},
		{"optional", "return r.isues?.length", ""},
		{"otherwise", "return r.isues ?? 1", ""},
		{"or", "return r.isues || 1", ""},
		{"and", "return r.isues && 1", ""},
		{"not", "return !r.isues", ""},
		{"if", "if (r.isues) return 1", ""},
		{"nested in a condition", "if (r.total > 1 && (r.isues || r.zebra)) return 1", ""},
		{"typeof", "return typeof r.isues", ""},
		{"compared", "return r.isues === undefined", ""},
		{"conditional", "return r.isues ? 1 : 2", ""},
		{"default", "const { isues = 1 } = r; return isues", ""},
		{"isArray", "return Array.isArray(r.isues)", ""},
		{"filter", "return r.issues.filter(i => i.zebra).length", ""},
		{"known", "return r.nextCursor", ""},
		{"nothing near", "const v = r.zebra; if (v) throw v; return [r.zebra].filter(Boolean)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, _ := checked(t, sandbox.TypeScript, getPage+tt.code, false, sandbox.Verdict{Shapes: page(true)})
			if (tt.want == "") != (out.ExitCode == 0) || !strings.Contains(out.Error, tt.want) {
				t.Errorf("exit %d, %q, want %q", out.ExitCode, out.Error, tt.want)
			}
		})
	}
}

// Nothing else about the objects is different from plain JavaScript.
func TestWatchedObjectsAreOrdinary(t *testing.T) {
	code := getPage + `
const plain = { total: 2 };
const copy = structuredClone(r);
return {
  json: JSON.stringify(r) === '{"total":2,"labels":{"any":1},"issues":[{"id":1,"title":"a","user":{"login":"x"}},{"id":2,"title":"b","user":null}]}',
  keys: Object.keys(r).join(),
  forIn: (() => { const k = []; for (const x in r) k.push(x); return k.join() })(),
  entries: Object.entries(r.issues[0]).length,
  spread: JSON.stringify({ ...r.issues[0] }),
  identity: r.issues === r.issues && r.issues[0] === r.issues[0] && new Set([r, r]).size === 1,
  array: Array.isArray(r.issues),
  prototype: Object.getPrototypeOf(r) === Object.prototype && Reflect.getPrototypeOf(r) === Object.prototype && r.__proto__ === Object.prototype,
  plain: Object.getPrototypeOf(plain) === Object.prototype && Object.getPrototypeOf([]) === Array.prototype,
  instance: r instanceof Object && r.constructor === Object && Object.prototype.isPrototypeOf(r),
  tag: String(r) + Object.prototype.toString.call(r),
  own: r.hasOwnProperty('total') && !r.hasOwnProperty('zebra') && Object.hasOwn(r, 'total'),
  set: (r.added = 1, r.added === 1 && delete r.added && !('added' in r)),
  frozen: Object.isFrozen(Object.freeze(r)),
  clone: JSON.stringify(copy) === JSON.stringify(r) && copy !== r,
  awaited: (await r) === r,
}`
	out, _, _ := checked(t, sandbox.JavaScript, code, false, sandbox.Verdict{Shapes: page(true)})
	if out.ExitCode != 0 {
		t.Fatal(out.Error)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Value, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"keys": "total,labels,issues", "forIn": "total,labels,issues", "entries": 3.0, "spread": `{"id":1,"title":"a","user":{"login":"x"}}`,
		"tag": "[object Object][object Object]",
	}
	for k, v := range got {
		if w, ok := want[k]; ok && v != w || !ok && v != true {
			t.Errorf("%s is %v", k, v)
		}
	}
	if out.Reads != nil {
		t.Errorf("reads noted: %q", out.Reads)
	}
}

// What a watched answer costs beside one that nobody watches.
func BenchmarkWatchedAnswer(b *testing.B) {
	var items []string
	for range 200 {
		items = append(items, `{"id":1,"title":"a title","url":"https://example.org/1","user":{"login":"x","name":"y"}}`)
	}
	answer := json.RawMessage(`{"total":200,"issues":[` + strings.Join(items, ",") + `]}`)
	for name, shapes := range map[string]map[string]*sandbox.Shape{"plain": nil, "watched": page(false)} {
		b.Run(name, func(b *testing.B) {
			r := newRuntime()
			if err := r.setUp(); err != nil {
				b.Fatal(err)
			}
			r.reads.shapes = shapes
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				v, err := fromJSON(r.vm, string(answer))
				if err != nil {
					b.Fatal(err)
				}
				r.watch(v, r.shapeOf("echo__echo", len(answer)), "echo__echo")
			}
		})
	}
}
