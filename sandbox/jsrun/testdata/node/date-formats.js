const d = new Date('2024-03-09T22:05:07.089Z');
const opts = [{ dateStyle: 'full' }, { dateStyle: 'long', timeStyle: 'short' }, { dateStyle: 'medium' }, { dateStyle: 'short', timeStyle: 'medium' }, { timeStyle: 'long' }, { timeStyle: 'full', timeZone: 'America/New_York' }, { weekday: 'long' }, { weekday: 'short', month: 'short', day: 'numeric' }, { year: 'numeric', month: 'long' }, { year: '2-digit', month: '2-digit', day: '2-digit' }, { month: 'long' }, { month: 'narrow' }, { hour: 'numeric' }, { hour: '2-digit', minute: '2-digit', hour12: false }, { hour: 'numeric', minute: '2-digit', hour12: true }, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }, { timeZoneName: 'short' }, { day: 'numeric', month: 'numeric' }, { year: 'numeric', month: 'short', day: 'numeric', hour: 'numeric', minute: 'numeric', timeZone: 'Asia/Kolkata', timeZoneName: 'short' }, { hourCycle: 'h23', hour: '2-digit', minute: '2-digit' }, { timeZoneName: 'shortOffset', timeZone: 'Asia/Kolkata' }];
for (const locale of ['en-US', 'en-GB', 'de-DE', 'ja-JP']) for (const o of opts) console.log(locale, JSON.stringify(o), JSON.stringify(d.toLocaleString(locale, { timeZone: 'UTC', ...o })));
for (const l of ['en-US', 'de', 'sv-SE', 'en-CA', 'fr-CA', 'pt-BR', 'zh-CN', 'ko-KR']) console.log(l, d.toLocaleDateString(l, { timeZone: 'UTC' }), d.toLocaleTimeString(l, { timeZone: 'UTC' }), d.toLocaleString(l, { timeZone: 'UTC' }));
const parts = Object.fromEntries(new Intl.DateTimeFormat('en-US', { timeZone: 'America/Los_Angeles', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }).formatToParts(d).map((p) => [p.type, p.value]));
console.log(parts);
const offset = (tz, at) => { const s = new Intl.DateTimeFormat('en-US', { timeZone: tz, timeZoneName: 'longOffset' }).formatToParts(at).find((p) => p.type === 'timeZoneName').value; return s; };
for (const tz of ['UTC', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Chatham', 'Europe/London']) console.log(tz, offset(tz, d), offset(tz, new Date('2024-07-01')));
const f = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });
console.log(f.formatRange(new Date('2023-12-31'), new Date('2024-01-05')));
console.log(Intl.DateTimeFormat().resolvedOptions().timeZone, new Intl.DateTimeFormat('de').resolvedOptions().locale);
try { new Date().toLocaleString('en-US', { timeZone: 'Mars/Phobos' }); } catch (e) { console.log(e.name + ': ' + e.message); }
try { new Date().toLocaleString('en-US', { month: 'big' }); } catch (e) { console.log(e.name); }
console.log(Intl.supportedValuesOf('timeZone').includes('Europe/Paris'), Intl.getCanonicalLocales('EN-us'));
