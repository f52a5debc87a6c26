const L = /\p{L}+/u, V = /[\p{L}--[a-z]]/gv;
console.log(L, String(L), L.source.length, L.source, L.flags,  `${V}`, V.source, V.flags, V.unicodeSets, L.unicodeSets, [L], { V });
const c = new RegExp(L), g = new RegExp(L, 'gu'), s = new RegExp(L.source, L.flags), v = new RegExp(V), d = new RegExp(V, 'dv');
console.log(c, g, s, v, d, 'Zoë 東京'.match(g), 'Zoë'.match(c)[0], 'äbC'.match(v), d.exec('aB').indices[0]);
console.log([...'äbC'.matchAll(V)].map(String), 'äbC'.replace(V, '_'), 'a1ä2'.split(/\p{L}/u), structuredClone(L), RegExp('\\p{Lu}', 'u'), new RegExp('[\\p{Lu}]', 'v'));
console.log(/a\/b[/]/, /a\/b[/]/.source, new RegExp('a/b').source, /\p{L}\/\//u, /(?:)/.source, new RegExp('').source, /x/v.source, /x/v, /\n/.source, new RegExp('\n').source);
console.log(JSON.stringify({ a: L }), L.toString === RegExp.prototype.toString, Object.prototype.toString.call(L), /\P{L}/dgu, V.test('Ä'), V.lastIndex, new RegExp(V.source, 'gv').source === V.source);
console.log('a ä'.split(/\p{L}*/u), 'aä1'.replace(/\p{L}*/gu, '-'), 'aä1'.match(/\p{L}*/gv));
