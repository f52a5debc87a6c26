class LRU {
  constructor(max) { this.max = max; this.map = new Map(); }
  get(k) { if (!this.map.has(k)) return undefined; const v = this.map.get(k); this.map.delete(k); this.map.set(k, v); return v; }
  set(k, v) { this.map.delete(k); this.map.set(k, v); if (this.map.size > this.max) this.map.delete(this.map.keys().next().value); return this; }
  *[Symbol.iterator]() { yield* this.map; }
  get [Symbol.toStringTag]() { return 'LRU'; }
}
const c = new LRU(2).set('a', 1).set('b', 2);
c.get('a'); c.set('c', 3);
console.log([...c], String(c), c.get('b'), Object.prototype.toString.call(c));
console.log(c);
function topo(graph) {
  const done = new Set(), path = new Set(), out = [];
  const visit = (n) => {
    if (done.has(n)) return;
    if (path.has(n)) throw new Error('cycle: ' + [...path, n].join(' -> '));
    path.add(n);
    for (const m of graph[n] ?? []) visit(m);
    path.delete(n); done.add(n); out.push(n);
  };
  Object.keys(graph).forEach(visit);
  return out;
}
console.log(topo({ app: ['db', 'log'], db: ['conf'], log: ['conf'], conf: [] }));
try { topo({ a: ['b'], b: ['c'], c: ['a'] }); } catch (e) { console.log(e.message); }
const levenshtein = (a, b) => {
  let prev = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) row[j] = Math.min(row[j - 1] + 1, prev[j] + 1, prev[j - 1] + (a[i - 1] !== b[j - 1]));
    prev = row;
  }
  return prev[b.length];
};
console.log(levenshtein('kitten', 'sitting'), levenshtein('', 'abc'), ['color', 'cool', 'collar'].map((w) => [w, levenshtein('colour', w)]).sort((x, y) => x[1] - y[1]));
outer: for (let i = 0; i < 5; i++) { for (let j = 0; j < 5; j++) { if (j === 3) continue outer; if (i === 2) break outer; if ((i + j) % 2) console.log(i, j); } }
block: { if (c) break block; console.log('never'); }
const heap = []; const push = (x) => { heap.push(x); heap.sort((a, b) => a.p - b.p); };
const dijkstra = (g, s) => { const dist = { [s]: 0 }; push({ n: s, p: 0 }); while (heap.length) { const { n, p } = heap.shift(); if (p > dist[n]) continue; for (const [m, w] of Object.entries(g[n] ?? {})) { const q = p + w; if (q < (dist[m] ?? Infinity)) { dist[m] = q; push({ n: m, p: q }); } } } return dist; };
console.log(dijkstra({ A: { B: 1, C: 4 }, B: { C: 2, D: 5 }, C: { D: 1 } }, 'A'));
const memo = (f, m = new Map()) => (n) => m.get(n) ?? (m.set(n, f(n)), m.get(n));
const fib = memo((n) => (n < 2n ? n : fib(n - 1n) + fib(n - 2n)));
console.log(String(fib(90n)), typeof fib(10n));
