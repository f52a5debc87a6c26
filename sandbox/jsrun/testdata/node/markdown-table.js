const rows = [{ name: 'Zoë', qty: 3, price: 1234.5 }, { name: 'Bob | Co', qty: 12, price: 0.1 + 0.2 }, { name: '東京', qty: null, price: undefined }];
const cols = Object.keys(rows[0]);
const esc = (s) => String(s ?? '').replaceAll('|', '\\|');
const width = cols.map((c) => Math.max(c.length, ...rows.map((r) => esc(r[c]).length)));
const line = (cells) => '| ' + cells.map((c, i) => c.padEnd(width[i])).join(' | ') + ' |';
console.log([line(cols), line(width.map((w) => '-'.repeat(w))), ...rows.map((r) => line(cols.map((c) => esc(r[c]))))].join('\n'));
console.log('abc'.padStart(6, '12'), '|' + 'x'.padEnd(4) + '|', 'abc'.at(-1), 'a-b-c'.split('-', 2), 'abc'.substring(2, 0), 'abc'.substr(-2, 1), 'abc'.slice(2, 1) === '');
console.log('Hello World'.replace(/o/g, (m, off) => m + off), 'aaa'.lastIndexOf('a'), 'x'.repeat(3), ' \u00a0\ttrim\n'.trim(), 'ß'.toUpperCase(), 'İ'.toLowerCase().length, 'ÅÄÖ'.toLowerCase());
console.log('camelCaseString'.replace(/([A-Z])/g, '_$1').toLowerCase(), 'snake_case_here'.replace(/_(\w)/g, (_, c) => c.toUpperCase()), 'the quick fox'.replace(/\b\w/g, (c) => c.toUpperCase()));
console.log('2024-01-15'.replace(/(\d+)-(\d+)-(\d+)/, '$3/$2/$1'), 'John Smith'.replace(/(?<f>\w+) (?<l>\w+)/, '$<l>, $<f>'), 'a.b.c'.replace('.', '$&$&'), "x".replace('x', "$$"));
console.log('Crème Brûlée'.normalize('NFD').replace(/[\u0300-\u036f]/g, ''), 'Hello, Wörld! Ünïcode'.normalize('NFKD').replace(/[^\w\s-]/g, '').trim().toLowerCase().replace(/[-\s]+/g, '-'));
const wrap = (s, n) => s.replace(new RegExp(`(?![^\\n]{1,${n}}$)([^\\n]{1,${n}})\\s`, 'g'), '$1\n');
console.log(wrap('The quick brown fox jumps over the lazy dog and runs away', 20));
console.log('%s is %d years and %i, %f, %j %O %%', 'Bob', 42.5, 42.9, '1.5', { a: 1 }, [1], 'extra');
console.log([..."👍🏽é"].length, "👍🏽".length, 'z\u0301'.normalize().length, '\u{1F600}'.codePointAt(0).toString(16), String.fromCodePoint(128512), 'a\u0000b'.length);
console.log(['b', 'a', 'C', 'ä', 'Z', '10', '9', '_'].sort(), ['b', 'a', 'C', 'ä', 'Z', '10', '9', '_'].sort((a, b) => a.localeCompare(b)), ['file10', 'file2', 'File1'].sort(new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' }).compare));
console.log('résumé'.localeCompare('resume', 'en', { sensitivity: 'base' }), 'a'.localeCompare('b'), 'a'.localeCompare('A'), 'a' < 'B');
console.log(String.raw`a\n${1 + 1}`, `line
two`, 'a\
b');
