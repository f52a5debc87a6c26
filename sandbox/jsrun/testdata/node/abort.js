const c = new AbortController();
const job = (signal) => new Promise((yes, no) => { const t = setTimeout(() => yes('done'), 1000); signal.addEventListener('abort', () => { clearTimeout(t); no(signal.reason); }, { once: true }); });
setTimeout(() => c.abort(), 2);
try { await job(c.signal); } catch (e) { console.log(e.name, e.message, c.signal.aborted); }
console.log(AbortSignal.abort(new Error('mine')).reason.message, (() => { try { AbortSignal.abort().throwIfAborted(); } catch (e) { return e.code; } })());
const bus = new EventTarget(); bus.addEventListener('x', (e) => console.log('got', e.type, e.detail)); bus.dispatchEvent(Object.assign(new Event('x'), { detail: 7 }));
