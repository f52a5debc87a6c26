const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const merge = (a, b) => Object.entries(b).reduce((o, [k, v]) => ({ ...o, [k]: isObject(v) && isObject(o[k]) ? merge(o[k], v) : v }), { ...a });
const copy = structuredClone({ d: new Date(0), m: new Map([['k', [1, 2]]]), s: new Set([1]), n: { x: undefined } });
console.log(JSON.stringify(merge({ a: { b: 1, c: [1] }, z: 1 }, { a: { c: [2], d: null } })), copy.d.toISOString(), copy.m.get('k')[1], copy.s.has(1), 'x' in copy.n);
const flat = (o, p = '') => Object.entries(o).flatMap(([k, v]) => isObject(v) ? flat(v, p + k + '.') : [[p + k, v]]);
console.log(JSON.stringify(Object.fromEntries(flat({ a: { b: { c: 1 } }, d: [2] }))), JSON.stringify({ u: undefined, f() {}, n: NaN, d: new Date(0), nested: { toJSON: () => 'j' } }, null, 2));
