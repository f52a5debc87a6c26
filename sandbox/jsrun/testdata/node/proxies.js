const log = [];
const p = new Proxy({ a: 1 }, { get(t, k, r) { log.push('get ' + String(k)); return Reflect.get(t, k, r); }, set(t, k, v) { if (typeof v !== 'number') throw new TypeError('numbers only'); t[k] = v; return true; }, has: (t, k) => k.startsWith('x') || k in t, deleteProperty(t, k) { log.push('del ' + k); return delete t[k]; }, ownKeys: (t) => [...Reflect.ownKeys(t), 'virtual'], getOwnPropertyDescriptor: (t, k) => Reflect.getOwnPropertyDescriptor(t, k) ?? { value: 'v', enumerable: true, configurable: true } });
p.b = 2; delete p.a;
console.log(p.b, 'xyz' in p, 'q' in p, Object.keys(p), { ...p }, log.join());
try { p.c = 'no'; } catch (e) { console.log(e.message); }
const deep = (o, path = []) => new Proxy(o, { get: (t, k) => (typeof t[k] === 'object' && t[k] ? deep(t[k], [...path, k]) : [...path, k].join('.') + '=' + t[k]) });
console.log(deep({ a: { b: { c: 1 } } }).a.b.c);
const neg = (arr) => new Proxy(arr, { get: (t, k, r) => (typeof k === 'string' && /^-\d+$/.test(k) ? t.at(Number(k)) : Reflect.get(t, k, r)) });
console.log(neg([1, 2, 3])[-1], neg([1, 2]).length, Array.isArray(neg([])), JSON.stringify(neg([1, 2])));
const api = new Proxy(function () {}, { apply: (t, self, args) => 'called ' + args.join(), construct: (t, [x]) => ({ made: x }), get: (t, name) => (...a) => `${name}(${a})` });
console.log(api(1, 2), new api(3), api.users(5));
const { proxy, revoke } = Proxy.revocable({}, {}); revoke();
try { proxy.x; } catch (e) { console.log(e.name); }
const wm = new WeakMap(), key = {}; wm.set(key, 'v'); console.log(wm.get(key), wm.has({}), new WeakSet([key]).has(key), new WeakRef(key).deref() === key);
try { wm.set('str', 1); } catch (e) { console.log(e.name); }
console.log(Reflect.ownKeys({ b: 1, a: 2, 1: 3, [Symbol.iterator]: 4, 0: 5 }), Reflect.has({ x: 1 }, 'x'), Reflect.apply(Math.max, null, [1, 3]), Reflect.construct(Date, [0]).getTime(), Reflect.getPrototypeOf([]) === Array.prototype, Reflect.defineProperty({}, 'x', { value: 1 }));
console.log(Object.fromEntries(Object.entries({ a: 1, b: 2 }).map(([k, v]) => [k, v * 2])), Object.assign({}, null, { a: 1 }, 'xy'), Object.is(NaN, NaN), Object.isFrozen(Object.freeze({})), Object.isSealed(Object.seal({ a: 1 })), Object.getOwnPropertyDescriptor({ get a() { return 1; } }, 'a'));
const frozen = Object.freeze({ a: { b: 1 } }); frozen.a.b = 2; try { frozen.a = 1; } catch (e) { console.log(e.message); } console.log(frozen);
console.log(typeof Symbol.asyncIterator, Symbol.for('x') === Symbol.for('x'), Symbol('d').description, Symbol('d').toString(), Object(Symbol.iterator) instanceof Symbol, Symbol.keyFor(Symbol.for('k')));
const tagged = (s, ...v) => s.raw.map((x, i) => x + (v[i] ?? '')).join('') + s.length; console.log(tagged`a${1}b\n${2}c`);
function args() { return [arguments.length, [...arguments], typeof arguments]; } console.log(args(1, 2), args.length, args.name, (() => {}).name, (function () {}).name === '', new Function('a', 'b', 'return a+b').length);
console.log([1, , 3], [undefined, null], new Array(3), [, 'a'], Array(2).fill().map((_, i) => i), { a: { b: {} } }, [[]], {}, [], [{}], 'str', ['it\'s', "q\"q", `b\`'"`, 'new\nline']);
console.log(new Map([['a', { b: 1 }], [{ k: 1 }, [1]]]), new Set(['x', 1, [2]]), new Map(), new Set(), Symbol('s'), null, undefined, true, -1.5, function named() {}, () => {}, /re/g, new Error('boom').message, ['a', null, undefined, true], Buffer.from('hi'), new Uint8Array([1, 2]), Object.create(null), Object.create({ inherited: 1 }), [Symbol('q')], new (class Foo { x = 1 })(), new (class extends Map {})([[1, 2]]), Promise.resolve(5), (async () => {})(), new Number(5), new String('s'), globalThis === global, [function () {}, class Q {}], { f() {}, g: class {} });
