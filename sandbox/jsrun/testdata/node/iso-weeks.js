const iso = (d) => { const t = new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate())); t.setUTCDate(t.getUTCDate() + 4 - (t.getUTCDay() || 7)); const y = t.getUTCFullYear(); return `${y}-W${String(Math.ceil(((t - Date.UTC(y, 0, 1)) / 864e5 + 1) / 7)).padStart(2, '0')}`; };
for (const s of ['2020-12-31', '2021-01-01', '2021-01-04', '2024-12-30', '2026-01-01', '2016-02-29']) console.log(s, iso(new Date(s)), new Date(s).toUTCString());
const formats = ['2024-02-30', '2024-2-3', '2024-02-03T10:00', '2024-02-03 10:00', '2024-02-03T10:00:00+02:00', 'Feb 3, 2024', '3 Feb 2024 10:00 GMT', 'Sat, 03 Feb 2024 10:00:00 GMT', '02/03/2024', '2024/02/03', '2024-02-03T10:00:00.123456Z', '20240203', 'February 3 2024 5:06 PM', 'Sat Feb 03 2024 10:00:00 GMT+0100 (CET)', '2024-W05', 'not a date', '', '2024', '2024-02', '1/2/24', '2024-02-03T24:00:00Z', '2024-02-03T10:00Z', 'Sat Feb 3 10:00:00 2024', '3 February 2024', '2024-02-03T10:00:00-0500', 'Feb 3 2024 EST', '12:30', '2024-13-01', '1.2.2024', 'Thu, 01 Jan 1970 00:00:00 +0000', '0'];
for (const f of formats) { const d = new Date(f); console.log(JSON.stringify(f), isNaN(d) ? 'Invalid' : d.toISOString()); }
const d = new Date(Date.UTC(2024, 0, 31, 12));
d.setUTCMonth(1); console.log(d.toISOString());
console.log(new Date(2024, 1, 30).toISOString(), new Date(99, 0).getFullYear(), new Date(0, 0, 0).toISOString(), new Date(8.64e15 + 1).getTime(), new Date(2024, 0, 1, 0, 0, 0, -1).toISOString());
const addMonths = (d, n) => { const r = new Date(d); const day = r.getUTCDate(); r.setUTCDate(1); r.setUTCMonth(r.getUTCMonth() + n); r.setUTCDate(Math.min(day, new Date(Date.UTC(r.getUTCFullYear(), r.getUTCMonth() + 1, 0)).getUTCDate())); return r; };
console.log([1, 2, 13, -1, -11].map((n) => addMonths(new Date('2024-01-31'), n).toISOString().slice(0, 10)).join());
console.log(String(new Date(NaN)), new Date(0).toString(), new Date(0).toDateString(), new Date(0).toTimeString(), new Date(0).toJSON(), JSON.stringify({ d: new Date(NaN) }));
try { new Date(NaN).toISOString(); } catch (e) { console.log(e.name, e.message); }
console.log(new Date(0).getTimezoneOffset(), new Date(2024, 5, 15) - new Date('2024-06-15'), Date.UTC(2024), +new Date('1969-12-31T23:59:59.999Z'), new Date('2024-03-10') > new Date('2024-03-09'));
console.log([new Date(0)], { d: new Date(NaN) }, new Date(1e12));
const daysBetween = (a, b) => Math.round((new Date(b) - new Date(a)) / 864e5);
console.log(daysBetween('2024-02-28', '2024-03-01'), daysBetween('2023-02-28', '2023-03-01'));
const age = (b, now) => now.getUTCFullYear() - b.getUTCFullYear() - (now < new Date(Date.UTC(now.getUTCFullYear(), b.getUTCMonth(), b.getUTCDate())));
console.log(age(new Date('1990-06-15'), new Date('2024-06-14')), age(new Date('1990-06-15'), new Date('2024-06-15')));
const business = (s, n) => { const d = new Date(s); while (n) { d.setUTCDate(d.getUTCDate() + 1); if (d.getUTCDay() % 6) n--; } return d.toISOString().slice(0, 10); };
console.log(business('2024-03-01', 5), typeof Date(), Date.length, new Date(2020, 0, 1, 1).valueOf());
