// A small report as agents are asked for them.
const orders = [
  { id: 'A-1', customer: 'Müller GmbH', total: 1234.5, currency: 'EUR', placed: '2024-03-09T23:30:00Z', items: [{ sku: 'x', qty: 2 }, { sku: 'y', qty: 1 }] },
  { id: 'A-2', customer: 'ACME, Inc.', total: 99, currency: 'USD', placed: '2024-03-10T08:00:00Z', items: [{ sku: 'x', qty: 5 }] },
  { id: 'A-3', customer: 'ACME, Inc.', total: 0.1 + 0.2, currency: 'USD', placed: null, items: [] },
];
const money = ({ total, currency }) => new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(total);
const when = (iso) => (iso ? new Date(iso).toLocaleString('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'America/New_York' }) : 'n/a');
for (const o of orders) console.log(`${o.id.padEnd(5)}${o.customer.padEnd(14)}${money(o).padStart(12)}  ${when(o.placed)}`);
const bySku = orders.flatMap((o) => o.items).reduce((m, { sku, qty }) => m.set(sku, (m.get(sku) ?? 0) + qty), new Map());
console.log(bySku, [...bySku].sort(([, a], [, b]) => b - a).map(([s, n]) => `${s}×${n}`).join(' '));
const summary = Object.fromEntries(Object.entries(orders.reduce((g, o) => ({ ...g, [o.customer]: [...(g[o.customer] ?? []), o] }), {})).map(([c, os]) => [c, { count: os.length, ids: os.map((o) => o.id), last: os.map((o) => o.placed).filter(Boolean).sort().at(-1) ?? null }]));
console.log(JSON.stringify(summary, null, 2));
console.log(summary);
const days = Array.from({ length: 3 }, (_, i) => new Date(Date.UTC(2024, 1, 28 + i)).toISOString().slice(0, 10));
console.log(days, days.map((d) => new Date(d).toLocaleDateString('en-US', { weekday: 'short', timeZone: 'UTC' })));
console.log(`| id | total |\n|---|---:|\n${orders.map((o) => `| ${o.id} | ${o.total.toFixed(2)} |`).join('\n')}`);
