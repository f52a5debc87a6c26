const rows = [['name', 'stars', 'language'], ['mcp', 1200, 'Go'], ['goja', 5400, 'Go'], ['esbuild', 38000, 'Go']];
const w = rows[0].map((_, i) => Math.max(...rows.map((r) => String(r[i]).length)));
let md = '';
rows.forEach((r, n) => { md += '| ' + r.map((c, i) => typeof c === 'number' ? String(c).padStart(w[i]) : c.padEnd(w[i])).join(' | ') + ' |\n'; if (n === 0) md += '|' + w.map((x) => '-'.repeat(x + 2)).join('|') + '|\n'; });
console.log(md + 'total ' + rows.slice(1).reduce((s, [, n]) => s + n, 0));
