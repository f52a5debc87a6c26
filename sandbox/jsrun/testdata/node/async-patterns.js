const sleep = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
const retry = async (f, { tries = 3, base = 1, factor = 2 } = {}) => { const log = []; for (let i = 1; ; i++) { try { return { value: await f(i), log }; } catch (e) { log.push(`${i}: ${e.message}`); if (i === tries) throw Object.assign(new Error('gave up', { cause: e }), { log }); await sleep(base * factor ** i); } } };
console.log(await retry(async (i) => { if (i < 3) throw new Error('flaky'); return 'ok'; }));
try { await retry(async () => { throw new TypeError('down'); }, { tries: 2 }); } catch (e) { console.log(e.message, e.cause.name, e.log); }
async function* pages(total, size) { for (let p = 0; p * size < total; p++) { await sleep(0); yield Array.from({ length: Math.min(size, total - p * size) }, (_, i) => p * size + i); } }
const all = []; for await (const page of pages(7, 3)) all.push(...page); console.log(all.join());
const pool = async (items, n, f) => { const out = []; let i = 0, running = 0, peak = 0; await Promise.all(Array.from({ length: n }, async () => { while (i < items.length) { const at = i++; running++; peak = Math.max(peak, running); out[at] = await f(items[at]); running--; } })); return { out, peak }; };
console.log(await pool([1, 2, 3, 4, 5], 2, async (x) => { await sleep(1); return x * x; }));
const results = await Promise.allSettled([1, sleep(1, 'b'), Promise.reject(new Error('no')), (async () => { throw 'str'; })()]);
console.log(results.map((r) => r.status + ':' + (r.value ?? r.reason?.message ?? r.reason)));
console.log(await Promise.race([sleep(30, 'slow'), sleep(1, 'fast')]), await Promise.any([Promise.reject(1), sleep(1, 'any')]));
try { await Promise.any([Promise.reject(new Error('a')), Promise.reject(new Error('b'))]); } catch (e) { console.log(e.name, e.message, e.errors.map((x) => x.message), e instanceof AggregateError); }
const withTimeout = (p, ms) => Promise.race([p, new Promise((_, rej) => setTimeout(() => rej(new Error(`timeout ${ms}`)), ms))]);
try { await withTimeout(sleep(50), 2); } catch (e) { console.log(e.message); }
const c = new AbortController(); const work = new Promise((_, rej) => c.signal.addEventListener('abort', () => rej(c.signal.reason))); c.abort(new Error('stop')); try { await work; } catch (e) { console.log(e.message, c.signal.aborted); }
try { AbortSignal.abort().throwIfAborted(); } catch (e) { console.log(e.name, e.message, e.code); }
const order = []; const p = (async () => { order.push(1); await null; order.push(3); })(); order.push(2); await p; console.log(order.join());
console.log(await new Promise((r) => r(sleep(1, 'chained'))).finally(() => console.log('fin')).then((x) => x + '!'));
const thenable = { then(ok) { ok('thenable'); } }; console.log(await thenable, await Promise.resolve(thenable));
const q = []; const mutex = { p: Promise.resolve(), run(f) { return (this.p = this.p.then(f, f)); } }; await Promise.all([3, 1, 2].map((n) => mutex.run(async () => { await sleep(n); q.push(n); }))); console.log(q.join());
async function* gen() { try { yield 1; yield 2; } finally { console.log('closed'); } } for await (const x of gen()) { console.log(x); break; }
const merged = []; for await (const x of [sleep(2, 'a'), 'b', sleep(1, 'c')]) merged.push(x); console.log(merged.join());
const it = { from: 1, to: 3, async *[Symbol.asyncIterator]() { for (let i = this.from; i <= this.to; i++) yield i; } }; for await (const x of it) console.log(x);
console.log(await (async () => { try { return await Promise.reject(1); } catch { return "caught"; } finally { console.log("finally"); } })());
const cache = new Map(); const memo = (k) => cache.get(k) ?? cache.set(k, sleep(1, k.toUpperCase())).get(k); console.log(await Promise.all([memo('a'), memo('a'), memo('b')]), cache.size);
const { promise, resolve } = (() => { let resolve; const promise = new Promise((r) => (resolve = r)); return { promise, resolve }; })(); setTimeout(resolve, 1, 42); console.log(await promise);
