async function pool(items, limit, fn) {
  const results = new Array(items.length); let next = 0, active = 0, most = 0;
  const worker = async () => { while (next < items.length) { const i = next++; most = Math.max(most, ++active); results[i] = await fn(items[i]); active--; } };
  await Promise.all(Array.from({ length: limit }, worker));
  return { results, most };
}
const { results, most } = await pool([5, 1, 4, 2, 3], 2, async (n) => { await new Promise((r) => setTimeout(r, n)); return n * n; });
const settled = await Promise.allSettled([Promise.resolve(1), Promise.reject(new TypeError('no')), Promise.any([Promise.reject(1), Promise.resolve(2)])]);
console.log(results.join(), most, settled.map((s) => s.status[0] + (s.value ?? s.reason.message)).join());
const timeout = (p, ms) => Promise.race([p, new Promise((_, no) => setTimeout(() => no(new Error('timeout')), ms))]);
console.log(await timeout(new Promise(() => {}), 5).catch((e) => e.message));
