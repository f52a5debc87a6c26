const due = ['2024-03-10T14:30:00Z', '2024-07-04T09:05:00+02:00', '2023-12-31T23:59:59.999Z'];
for (const d of due) {
  const at = new Date(d);
  console.log(at.toLocaleDateString('en-US', { weekday: 'short', month: 'short', day: 'numeric', timeZone: 'America/New_York' }),
    at.toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit', timeZone: 'America/New_York', timeZoneName: 'short' }),
    at.toLocaleString('de-DE', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Europe/Berlin' }), at.toISOString());
}
const parts = Object.fromEntries(new Intl.DateTimeFormat('en-CA', { timeZone: 'Asia/Tokyo', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).formatToParts(new Date(0)).map((p) => [p.type, p.value]));
console.log(`${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}`);
