class Emitter {
  #handlers = new Map();
  on(name, f) { (this.#handlers.get(name) ?? this.#handlers.set(name, new Set()).get(name)).add(f); return () => this.off(name, f); }
  off(name, f) { this.#handlers.get(name)?.delete(f); return this; }
  once(name, f) { const off = this.on(name, (...a) => { off(); f(...a); }); return off; }
  emit(name, ...args) { const hs = [...(this.#handlers.get(name) ?? [])]; hs.forEach((h) => h.apply(this, args)); return hs.length > 0; }
}
const e = new Emitter();
const off = e.on('data', (x) => console.log('data', x));
e.once('data', function (x) { console.log('once', x, this === e); });
console.log(e.emit('data', 1), e.emit('data', 2), e.emit('none'));
off();
console.log(e.emit('data', 3));
const debounce = (f, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(() => f(...a), ms); }; };
const throttle = (f, ms) => { let last = -Infinity; return (...a) => { const now = performance.now(); if (now - last >= ms) { last = now; f(...a); } }; };
const d = debounce((x) => console.log('debounced', x), 10);
d(1); d(2); d(3);
const t = throttle((x) => console.log('throttled', x), 1000);
t(1); t(2);
await new Promise((r) => setTimeout(r, 40));
const target = new EventTarget();
target.addEventListener('ping', (ev) => console.log(ev.type, ev.detail, ev instanceof Event), { once: true });
console.log(target.dispatchEvent(new CustomEvent('ping', { detail: { n: 1 } })), target.dispatchEvent(new CustomEvent('ping')));
const order = [];
setTimeout(() => order.push('timeout 0'), 0);
setImmediate(() => order.push('immediate'));
queueMicrotask(() => order.push('microtask'));
Promise.resolve().then(() => order.push('then'));
(async () => { order.push('sync'); await null; order.push('after await'); })();
order.push('end');
await new Promise((r) => setTimeout(r, 20));
console.log(order.slice(0, 5).join(' > '), order.slice(5).sort().join());
let n = 0;
await new Promise((done) => { const i = setInterval(() => { if (++n === 3) { clearInterval(i); done(); } }, 1); });
console.log(n);
