const f = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });
const d = (s) => new Date(s + 'T00:00:00Z');
for (const [a, b] of [['2024-01-01', '2024-01-05'], ['2024-01-01', '2024-02-05'], ['2023-12-31', '2024-01-05'], ['2024-01-01', '2024-01-01']]) console.log(f.formatRange(d(a), d(b)));
const t = new Intl.DateTimeFormat('en-US', { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });
console.log(t.formatRange(new Date('2024-01-01T09:00Z'), new Date('2024-01-01T11:30Z')), '|', t.formatRange(new Date('2024-01-01T09:00Z'), new Date('2024-01-01T13:30Z')));
console.log(new Intl.DateTimeFormat('en-US', { month: 'long', day: 'numeric', timeZone: 'UTC' }).formatRange(d('2024-03-01'), d('2024-03-09')), '|', new Intl.DateTimeFormat('en-US', { dateStyle: 'short', timeZone: 'UTC' }).formatRange(d('2024-03-01'), d('2024-03-09')), '|', new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).formatRange(d('2024-03-01'), d('2024-04-09')));
console.log(new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).formatRange(3, 5), new Intl.NumberFormat('en-US').formatRange(1000, 2000));
