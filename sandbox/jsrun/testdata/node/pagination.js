const pages = { a: { items: [1, 2, 3], next: 'b' }, b: { items: [4, 5], next: 'c' }, c: { items: [6], next: null } };
const list = async ({ cursor = 'a' } = {}) => { await null; return pages[cursor]; };
async function* all() { let cursor; do { const page = await list({ cursor }); yield* page.items; cursor = page.next; } while (cursor); }
const out = [];
for await (const item of all()) out.push(item);
let cursor, n = 0; const more = [];
while (true) { const { items, next } = await list(cursor ? { cursor } : undefined); more.push(...items); n++; if (!next) break; cursor = next; }
console.log(out.join(), more.length, n);
