console.log(new Date(1e15).toISOString(), new Date(-1e15).toISOString(), new Date(8.64e15).toISOString(), JSON.stringify(new Date(1e15)), new Date(1e15).toJSON(), new Date(0).toISOString(), new Date(1e15), [new Date(-1e15)]);
console.log(Date.prototype.toISOString.name, new Date('+033658-09-27T01:46:40.000Z').getTime());
console.log('I'.toLocaleLowerCase(), 'ß'.toLocaleUpperCase('de'), 'Ab'.toLocaleUpperCase('en-US'), 'i'.toUpperCase());
const d = new Date('2024-07-05T04:07:09Z'), w = new Date('2024-01-05T04:07:09Z');
for (const l of ['en-US', 'en-GB', 'en-IE']) for (const n of ['short', 'long']) console.log(l, d.toLocaleTimeString(l, { timeZone: 'Europe/Dublin', timeZoneName: n, hour: 'numeric', minute: '2-digit' }), w.toLocaleTimeString(l, { timeZone: 'Europe/Dublin', timeZoneName: n, hour: 'numeric', minute: '2-digit' }));
for (const z of ['US/Pacific', 'US/Eastern', 'US/Central', 'EST', 'MST', 'HST', 'EST5EDT', 'PST8PDT', 'GB', 'Eire', 'Japan', 'CET', 'Zulu', 'Singapore', 'US/Hawaii', 'US/Michigan', 'Canada/Pacific', 'NZ'])
  for (const n of ['short', 'long'])
    console.log(z, new Intl.DateTimeFormat('en', { timeZone: z }).resolvedOptions().timeZone, ...[d, w].map((x) => x.toLocaleTimeString('en-US', { timeZone: z, timeZoneName: n })));

