const rtf = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const now = Date.UTC(2024, 5, 15, 12);
const ago = (iso) => { let s = (Date.parse(iso) - now) / 1000; for (const [unit, n] of [['second', 60], ['minute', 60], ['hour', 24], ['day', 7], ['week', 4.34], ['month', 12], ['year', Infinity]]) { if (Math.abs(s) < n) return rtf.format(Math.round(s), unit); s /= n; } };
console.log(['2024-06-15T11:59:30Z', '2024-06-15T09:00:00Z', '2024-06-14T12:00:00Z', '2024-06-01T12:00:00Z', '2023-01-01T00:00:00Z', '2024-06-16T12:00:00Z'].map(ago).join(' | '));
