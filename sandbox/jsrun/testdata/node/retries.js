const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let tries = 0;
const flaky = async () => { if (++tries < 4) throw Object.assign(new Error('HTTP 503'), { status: 503 }); return 'ok after ' + tries; };
async function withRetry(fn, { retries = 5, base = 1, factor = 2 } = {}) {
  for (let attempt = 0; ; attempt++) {
    try { return await fn(); } catch (e) {
      if (attempt >= retries || e.status < 500) throw e;
      const delay = Math.min(base * factor ** attempt, 8);
      console.log(`attempt ${attempt + 1} failed: ${e.message}, waiting ${delay}`);
      await sleep(delay);
    }
  }
}
console.log(await withRetry(flaky));
try { await withRetry(async () => { throw Object.assign(new Error('HTTP 404'), { status: 404 }); }); } catch (e) { console.log('gave up:', e.message); }
