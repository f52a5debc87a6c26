const order = []; setTimeout(() => order.push('t10'), 10); setTimeout(() => order.push('t0'), 0); queueMicrotask(() => order.push('micro')); Promise.resolve().then(() => order.push('then')); order.push('sync');
let ticks = 0; await new Promise((r) => { const i = setInterval(() => { if (++ticks === 3) { clearInterval(i); r(); } }, 2); });
await new Promise((r) => setTimeout(r, 30));
const t0 = performance.now(); await new Promise((r) => setTimeout(r, 5));
console.log(order.join(), ticks, performance.now() - t0 >= 4);
const debounce = (fn, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(() => fn(...a), ms); }; }; let calls = 0; const d = debounce(() => calls++, 3); d(); d(); d(); await new Promise((r) => setTimeout(r, 20)); console.log(calls);
