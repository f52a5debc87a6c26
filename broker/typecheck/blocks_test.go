package typecheck

import (
	"strings"
	"testing"
)

// All of these run, and a compiler has something to say about most of them.
var valid = []string{
	// lists, objects and variables that begin empty
	"const rows = []; rows.push(await forecast({ location: 'Chicago' })); return rows;",
	"const acc = []; acc[0] = await forecast({ location: 'Chicago' }); acc[1] = 'x'; return acc;",
	"const acc = {}; acc[0] = 1; acc['x'] = 2; return acc;",
	"const out = { items: [] }; out.items.push(await listIssues({ owner: 'o', repo: 'r' })); return out.items[0].title;",
	"const out = { best: null, n: 0 }; out.best = { a: 1 }; out.n = 'many'; return out.best.a;",
	"let best = null; for (const n of [1, 2]) { const r = await forecast({ location: 'Chicago', days: n }); if (!best || r.high > best.high) best = { high: r.high, n }; } return best.n;",
	"let best = null; [1, 2].forEach(n => { best = { n } }); return best.n;",
	"let best; [1].forEach(n => { best = n }); return best + 1;",
	"const seen = { a: 1 }; for (const k of ['a', 'b']) seen[k] = (seen[k] ?? 0) + 1; return seen;",
	// objects that grow
	"const opts = { location: 'Chicago' as any }; opts.days = 2; await forecast(opts);",
	"const opts = { owner: 'o' }; opts.repo = 'r'; await listIssues(opts); await github.listIssues(opts);",
	"const opts = { owner: 'o' }; Object.assign(opts, { repo: 'r' }); await listIssues({ ...opts });",
	"const result = await forecast({ location: 'Chicago' }); result.note = 'x'; result.count ??= 1; return result.note;",
	"const result = await forecast({ location: 'Chicago' }); Object.assign(result, { note: 'x' }); return result.note;",
	"const r = await forecast({ location: 'Chicago' }); return r.low ?? r.high;",
	"const r = await forecast({ location: 'Chicago' }); if (r.error) throw new Error(r.error); return r.rows.map(x => ({ ...x, n: 1 }));",
	"const e = new Error('x'); e.code = 'E'; if (e.code !== 'E') throw e;",
	"const list = [1]; list.total = 1; return list.total;",
	"let best = { score: 0 }; best = { score: 1, name: 'x' }; return best.name;",
	"type Output = { a: number }; const o: Output = { a: 1 }; return o.b;",
	// strings that are no other than the right ones
	"let loc = 'Chicago'; await forecast({ location: loc });",
	"for (const loc of ['Chicago', 'New York']) await forecast({ location: loc });",
	"return Promise.all(['Chicago', 'New York'].map(location => forecast({ location })));",
	"return Promise.all(['Chicago'].map(async location => { const r = await github.forecast({ location }); return r.high; }));",
	"const opts = { location: 'Chicago' }; await forecast(opts); await forecast({ ...opts, days: 1 });",
	"const args = [{ owner: 'o', repo: 'r', state: 'OPEN' }]; for (const a of args) await listIssues(a);",
	"await listIssues({ owner: 'o', repo: 'r', state: ['OPEN', 'CLOSED'][0] });",
	"await listIssues({ owner: 'o', repo: 'r', state: 'open'.toUpperCase() });",
	"const m = /(o)/.exec('o'); await listIssues({ owner: m[1], repo: m.groups?.r });",
	// variables that change their type
	"let n = ''; n = 5; await forecast({ location: 'Chicago', days: n });",
	"let id = ''; for (const r of [JSON.parse('{\"id\":1}')]) id = r.id; await forecast({ location: 'Chicago', days: id });",
	"const o = { id: '' }; o.id = JSON.parse('1'); await forecast({ location: 'Chicago', days: o.id });",
	"let n = 0; n++; n = `${n} items`; return n;",
	"const q = { 'days': '' }; q['days'] = JSON.parse('1'); await forecast({ location: 'Chicago', days: q.days });",
	// calls with other arguments than types foresee
	"function g(a, b) { return a } return g(1) + g(1, 2, 3);",
	"return [parseInt(5.5), Math.max('3', 1), isNaN('x'), ['a'].includes(1), new Set(['a']).has(1), ['a'].concat(1), encodeURIComponent(null)];",
	"await forecast({ location: 'Chicago', days: parseInt(3.7), ids: ['a'].concat(1).map(Number) });",
	"await forecast({ location: 'Chicago', since: new Date(0) });",
	"await forecast({ location: 'Chicago', ids: [1, null].filter(Boolean) });",
	"const days = [1, 'x'].find(x => typeof x === 'number'); await forecast({ location: 'Chicago', days });",
	"function f(x: number) { return x } return f('5');",
	"const o = { a: 1, a: 2 }; if (console.log(o)) return 1; return 'x' - 1;",
	"const forecastOf = { forecast(o) { return o } }; return forecastOf.forecast({ location: 'Paris' });",
	"const p = forecast({ location: 'Chicago' }); p.label = 'x'; return (await p).high;",
	"const cache = {}; const r = cache.x || (cache.x = forecast({ location: 'Chicago' })); return (await r).high;",
	"const re = /[(/]/g, s = `${'('}`; /* ( */ return s.replace(re, '') // (\n",
}

func TestValidJavaScriptPasses(t *testing.T) {
	c := real(t)
	for _, code := range valid {
		for _, d := range check(t, c, code) {
			if d.Blocks {
				t.Errorf("%s\nTS%d %s", code, d.Code, d.Message)
			}
		}
	}
}

func TestWhatIsWrongForCertainIsStillFound(t *testing.T) {
	c := real(t)
	for _, code := range []string{
		"await Promise.all([1, 2].map(n => forecast({ location: 'Chicago', days: String(n) })));",
		"const days = 'five'; await github.forecast({ location: 'Chicago', days });",
		"const r = await forecast({ location: 'Chicago', days: forecast({ location: 'Chicago' }) });",
		"let n = 0\nawait forecast({ location: 'Paris', days: n })",
		"const names = ['a', 'b']; await forecast({ location: 'Chicago', ids: names });",
		"const r = await forecast({ location: 'Chicago' }); return r.hihg.toFixed(1);",
		"const rows = forecast({ location: 'Chicago' }); return rows.rows.length;",
	} {
		blocked := false
		for _, d := range check(t, c, code) {
			blocked = blocked || d.Blocks
		}
		if !blocked {
			t.Errorf("%s\nhas nothing that blocks", code)
		}
	}
}

func TestBracketsAreThoseOfTheProgram(t *testing.T) {
	const text = "f({ a: '(', b: /[/(]/ , c: `${g('}`')}(` }, /* { */ x / 2 / (y)) // {\n=> { z }"
	var got strings.Builder
	for _, b := range bracketsOf(text) {
		got.WriteString(string(text[b.start]) + string(text[b.end]))
		if b.body {
			got.WriteString("!")
		}
	}
	if want := "(){}(){}!"; got.String() != want {
		t.Errorf("brackets %s, want %s", got.String(), want)
	}
}

func FuzzBlocks(f *testing.F) {
	for _, code := range valid[:8] {
		f.Add(code, 10, "Type 'string' is not assignable to type 'number'.")
	}
	f.Fuzz(func(t *testing.T, code string, at int, line string) {
		j := newJudge(Program{Source: code})
		for _, number := range []int{2339, 2322, 2741, 2353} {
			j.blocks(number, min(max(at, 0), len(code)), []string{line})
		}
	})
}
