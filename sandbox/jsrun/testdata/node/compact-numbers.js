for (const n of [0, 999, 1000, 1234, 15300, 999999, 1.5e6, 2.25e9]) console.log(new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(n), n.toLocaleString());
const bytes = (n) => { const u = ['B', 'KB', 'MB', 'GB']; let i = 0; while (n >= 1024 && i < 3) { n /= 1024; i++; } return n.toFixed(i ? 1 : 0) + ' ' + u[i]; };
console.log([512, 2048, 5e6, 7e9].map(bytes).join(', '), (1e21).toLocaleString(), (255).toString(16), (0.1 + 0.2).toPrecision(3));
