interface Page<T> { items: T[]; next?: string }
const data = Array.from({ length: 7 }, (_, i) => ({ id: i + 1, name: `item ${i + 1}` }));
async function fetchPage(cursor = '0', size = 3): Promise<Page<(typeof data)[number]>> { const at = Number(cursor); const items = data.slice(at, at + size); return { items, next: at + size < data.length ? String(at + size) : undefined }; }
async function* everything(): AsyncGenerator<(typeof data)[number], number, void> { let cursor: string | undefined; let pages = 0; do { const page: Page<(typeof data)[number]> = await fetchPage(cursor); yield* page.items; cursor = page.next; pages++; } while (cursor); return pages; }
const ids: number[] = []; const it = everything(); let step; while (!(step = await it.next()).done) ids.push(step.value.id); console.log(ids.join(), step.value);
const batches = await Promise.all(['0', '3', '6'].map(async (c) => (await fetchPage(c)).items.length)); console.log(batches, batches.reduce((a, b) => a + b));
