const at = new Date('2024-03-31T00:30:00Z');
for (const tz of ['UTC', 'Europe/London', 'America/Los_Angeles', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Sao_Paulo', 'Pacific/Chatham', 'America/Argentina/Buenos_Aires']) {
  const f = (h) => new Intl.DateTimeFormat('sv-SE', { timeZone: tz, dateStyle: 'short', timeStyle: 'medium' }).format(new Date(at.getTime() + h * 3600e3));
  console.log(tz, f(0), f(1), f(24 * 120));
}
const offset = (tz, d) => (new Date(d.toLocaleString('en-US', { timeZone: tz })) - new Date(d.toLocaleString('en-US', { timeZone: 'UTC' }))) / 60000;
console.log(offset('Asia/Kolkata', at), offset('America/New_York', at), new Intl.DateTimeFormat('en-US', { timeZone: 'Europe/Paris', timeZoneName: 'longOffset', hour: 'numeric' }).format(at));
