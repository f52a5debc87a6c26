const m = /(?<year>\d{4})-(?<month>\d\d)(-(?<day>\d\d))?/d.exec('on 2024-05, é😀 2023-01-02');
console.log(m[0], m.index, JSON.stringify(m.indices), JSON.stringify(m.indices.groups), m.indices.length);
console.log(m.hasIndices, /a/d.hasIndices, /a/.hasIndices, /a/dgi.flags, String(/a/gd), /x/d instanceof RegExp);
for (const match of '😀a1 b22'.matchAll(/([a-z])(\d+)/dg)) console.log(match.index, match.indices[1].join(), match.indices[2].join());
for (const match of '😀a1 b22'.matchAll(/([a-z])(\d+)/dgu)) console.log(match.index, match.indices.map((p) => p.join('-')).join(' '));
console.log('a1'.match(/(a)(b)?/d).indices, 'xay'.replace(/a/d, 'b'), 'a,b'.split(/,/d), /b/d.test('abc'), 'zab'.search(/a/d));
const re = new RegExp('(?<w>\\w+)', 'gd');
let r; while ((r = re.exec('ab cd'))) console.log(r[0], r.indices.groups.w, re.lastIndex);
console.log(/(?<=\$)(\d+)(?!\d)/d.exec('pay $42 now').indices[1], /y/dy.exec('xy'), /é(.)/dui.exec('CAFÉS').indices[1]);
const copy = new RegExp(/a(b)/d); console.log(copy.flags, copy.exec('ab').indices[1], new RegExp(copy, 'g').flags);
const highlight = (text, pattern) => { const { indices } = pattern.exec(text) ?? {}; if (!indices) return text; const [s, e] = indices.groups.key; return text.slice(0, s) + '[' + text.slice(s, e) + ']' + text.slice(e); };
console.log(highlight('name: value', /^(?<key>\w+):/d));
try { new RegExp('a', 'dd'); } catch (e) { console.log(e.message); }
console.log(/[\p{L}--[a-z]]+/v.exec('abcÄÖüXyz')[0], /[\w&&[^\d_]]+/v.exec('12ab_c')[0], /[[a-c][x-z]]+/v.exec('--azbyq')[0], /^[\q{abc|d|}x]$/v.test('abc'), /[^\p{L}\s]+/v.exec('ab cd!?')[0]);
console.log('A1b2'.replace(/[\p{Lu}\p{Nd}]/gv, '_'), /\p{Emoji_Presentation}/v.test('😀'), /^\p{RGI_Emoji}$/v.test('👨‍👩‍👧'), /[\p{Script=Greek}&&\p{Lu}]/v.exec('αβΓ')[0], /[\[\]\-\&]+/v.exec('a[]-&')[0]);
