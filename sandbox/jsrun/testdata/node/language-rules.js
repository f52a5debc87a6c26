console.log(new Date(1e15).toISOString(), new Date(-1e15).toISOString(), new Date(8.64e15).toISOString(), JSON.stringify(new Date(1e15)), new Date(1e15).toJSON(), new Date(0).toISOString(), new Date(1e15), [new Date(-1e15)]);
console.log(Date.prototype.toISOString.name, new Date('+033658-09-27T01:46:40.000Z').getTime());
console.log('a,b'.localeCompare('ab', 'en', { ignorePunctuation: true }), "co-op".localeCompare('coop','en',{ignorePunctuation:true}), 'a b'.localeCompare('ab', undefined, { ignorePunctuation: true }), 'a.b'.localeCompare('ac','en',{ignorePunctuation:true}), new Intl.Collator('en',{ignorePunctuation:true}).compare('$1','1'), new Intl.Collator('en',{ignorePunctuation:true}).resolvedOptions().ignorePunctuation, '...'.localeCompare('', 'en', {ignorePunctuation:true}), '+a'.localeCompare('a','en',{ignorePunctuation:true}), ['b','-a','c',' d'].sort(new Intl.Collator('en',{ignorePunctuation:true}).compare), 'a,b'.localeCompare('ab', 'en'));
console.log('I'.toLocaleLowerCase('tr'), 'iı'.toLocaleUpperCase('tr'), 'DİYARBAKIR'.toLocaleLowerCase('tr-TR'), 'i'.toLocaleUpperCase(['tr']), 'I'.toLocaleLowerCase(), 'ß'.toLocaleUpperCase('de'), 'ΑΣ'.toLocaleLowerCase('el'), 'άέ'.toLocaleUpperCase('el'), 'Ab'.toLocaleUpperCase('en-US'), 'i'.toUpperCase());
const d = new Date('2024-07-05T04:07:09Z'), w = new Date('2024-01-05T04:07:09Z');
for (const l of ['en-US', 'en-GB', 'en-IE']) for (const n of ['short', 'long']) console.log(l, d.toLocaleTimeString(l, { timeZone: 'Europe/Dublin', timeZoneName: n, hour: 'numeric', minute: '2-digit' }), w.toLocaleTimeString(l, { timeZone: 'Europe/Dublin', timeZoneName: n, hour: 'numeric', minute: '2-digit' }));
for (const z of ['US/Pacific', 'US/Eastern', 'US/Central', 'EST', 'MST', 'HST', 'EST5EDT', 'PST8PDT', 'GB', 'Eire', 'Japan', 'CET', 'Zulu', 'Singapore', 'US/Hawaii', 'US/Michigan', 'Canada/Pacific', 'NZ'])
  for (const n of ['short', 'long'])
    console.log(z, new Intl.DateTimeFormat('en', { timeZone: z }).resolvedOptions().timeZone, ...[d, w].map((x) => x.toLocaleTimeString('en-US', { timeZone: z, timeZoneName: n })));

// In Finnish the name of a day is inflected beside its date.
for (const d of [1, 2, 4]) for (const month of [undefined, 'numeric', 'long'])
  console.log(new Date(Date.UTC(2026, 10, d)).toLocaleDateString('fi-FI', { weekday: 'long', day: 'numeric', month, year: 'numeric', timeZone: 'UTC' }));
