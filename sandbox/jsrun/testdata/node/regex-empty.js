console.log("axb".replace(/x*/g,"-"), "one two".match(/\w*/g), "x1y22".replace(/\d*/g,"#"), "a\n\n  \nb\n".match(/^\s*$/gm));
console.log([..."axb".matchAll(/x*/g)].map((m) => m.index + m[0]), 'äxb'.replace(/x*/g, '-'), 'äxb'.split(/x*/), 'axb'.split(/x*/), 'a1b22c'.split(/(\d*)/));
console.log('axb'.replace(/x*/gy, '-'), 'axxb'.replaceAll(/x*/g, (m, i) => `[${m}${i}]`), '😀x😀'.replace(/x*/gu, '-'), '😀x😀'.replace(/x*/g, '-').length);
console.log('aBcD'.split(/(?=[A-Z])/), 'abc'.split(/(?:)/), ''.split(/x*/), ''.split(/x/), 'abc'.split(/(?:)/, 2), '😀a'.split(/(?:)/u), 'a, b,c'.split(/,?\s*/), 'abc'.split(/$/), 'a\nb'.split(/^/m), 'test'.split(/(?:)/, -1));
console.log('abc'.replace(/$/g, '!'), 'a\nb'.replace(/^/gm, '> '), 'aaa'.replace(/a??/g, '-'), 'abc'.replace(/(?<n>b)?/g, '[$<n>]'), 'abc'.replace(/b*/g, '$&$&'));
const re = /\s*/g; re.lastIndex = 2; console.log('a b'.replace(re, '_'), re.lastIndex, 'a b'.match(re), 'abc'.search(/x*/g), Object.keys(re), re);
console.log('a b'.replace(/\s+/g, '_'), 'x'.match(/y*?/g), '1234567'.replace(/\B(?=(\d{3})+(?!\d))/g, ','), 'camelCaseText'.replace(/([A-Z])|$/g, '_$1'));
console.log(RegExp.prototype[Symbol.replace].name, RegExp.prototype[Symbol.match].name);
let m, n = 0; const w = /\w*/g; while ((m = w.exec('ab c')) && n++ < 9) { if (m[0] === '') w.lastIndex++; console.log(m.index, m[0]); }
console.log('äxb'.split(/x*/))
