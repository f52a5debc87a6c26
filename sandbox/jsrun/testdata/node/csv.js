const rows = [{ id: 1, name: 'Smith, "Al"', note: 'line\nbreak' }, { id: 2, name: 'Ünal', note: null }];
const esc = (v) => { const s = String(v ?? ''); return /[",\n]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s; };
let csv = Object.keys(rows[0]).join(',') + '\n';
for (const r of rows) csv += Object.values(r).map(esc).join(',') + '\n';
console.log(csv);
function parse(text) { const out = []; let row = [], cell = '', quoted = false; for (let i = 0; i < text.length; i++) { const c = text[i]; if (quoted) { if (c === '"' && text[i + 1] === '"') { cell += '"'; i++; } else if (c === '"') quoted = false; else cell += c; } else if (c === '"') quoted = true; else if (c === ',') { row.push(cell); cell = ''; } else if (c === '\n') { row.push(cell); out.push(row); row = []; cell = ''; } else cell += c; } return out; }
console.log(JSON.stringify(parse(csv)));
