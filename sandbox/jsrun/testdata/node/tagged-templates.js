const html = (s, ...v) => s.reduce((out, part, i) => out + part + (i < v.length ? String(v[i]).replace(/[<>&]/g, (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;' })[c]) : ''), ''); console.log(html`<p>${'<script>'} & ${1 + 1}</p>`); const sql = (s, ...v) => ({ text: s.join('?'), values: v }); console.log(sql`SELECT * FROM t WHERE id = ${5} AND name = ${"O'Brien"}`); const dedent = (s, ...v) => { const t = String.raw(s, ...v).replace(/^\n/, ''); const m = Math.min(...t.split('\n').filter((l) => l.trim()).map((l) => l.match(/^ */)[0].length)); return t.split('\n').map((l) => l.slice(m)).join('\n').trimEnd(); }; console.log(dedent`
    one
      two ${3}
    four
`); console.log(`a${`b${'c'}`}`, `line1
line2`.split('\n').length, `\u{1F600}`.length, `\${x}`, ((s) => s.raw[0])`\n\x41`, ((s) => Object.isFrozen(s))`x`, `${[1, 2]}`, `${{ toString: () => 'obj' }}`); const same = () => ((s) => s)`k`; console.log(same() === same());
