const start = new Date('2024-01-29T00:00:00Z');
const days = Array.from({ length: 5 }, (_, i) => new Date(start.getTime() + i * 86400000).toISOString().slice(0, 10));
const monthEnd = (y, m) => new Date(Date.UTC(y, m, 0)).getUTCDate();
const diff = (a, b) => Math.round((Date.parse(b) - Date.parse(a)) / 86400000);
console.log(days.join(' '), [1, 2, 3].map((m) => monthEnd(2024, m)).join(), diff('2024-02-01', '2024-03-01'));
const week = (d) => { const t = new Date(d); t.setUTCDate(t.getUTCDate() + 4 - (t.getUTCDay() || 7)); return Math.ceil(((t - Date.UTC(t.getUTCFullYear(), 0, 1)) / 86400000 + 1) / 7); };
console.log(['2024-01-01', '2024-12-30', '2021-01-03'].map((d) => week(d)).join());
