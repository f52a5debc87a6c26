class Counter { static #made = 0; #n = 0; static { Counter.label = 'counter'; } constructor() { Counter.#made++; } get value() { return this.#n; } inc(by = 1) { this.#n += by; return this; } static get made() { return Counter.#made; } toJSON() { return { n: this.#n }; } }
class Loud extends Counter { inc(by) { console.log('inc'); return super.inc(by); } get [Symbol.toStringTag]() { return 'Loud'; } }
const c = new Loud().inc().inc(4); console.log(c.value, Counter.made, JSON.stringify(c), `${c}`, Counter.label, c instanceof Counter);
const proxied = new Proxy({}, { get: (_, k) => `no ${String(k)}` }); console.log(proxied.thing, Reflect.ownKeys({ a: 1, [Symbol.iterator]: 2 }).length, Object.getOwnPropertyDescriptor(Counter.prototype, 'value').set === undefined);
