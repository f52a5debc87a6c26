const L = /\p{L}+/u, V = /[\p{L}_]/gu;
console.log(L, String(L), L.source.length, L.source, L.flags,  `${V}`, V.source, V.flags, [L], { V });
const c = new RegExp(L), g = new RegExp(L, 'gu'), s = new RegExp(L.source, L.flags), v = new RegExp(V);
console.log(c, g, s, v, 'Zoë 東京'.match(g), 'Zoë'.match(c)[0], 'äbC'.match(v));
console.log([...'äbC'.matchAll(V)].map(String), 'äbC'.replace(V, '_'), 'a1ä2'.split(/\p{L}/u), structuredClone(L), RegExp('\\p{Lu}', 'u'));
console.log(/a\/b[/]/, /a\/b[/]/.source, new RegExp('a/b').source, /\p{L}\/\//u, /(?:)/.source, new RegExp('').source, /\n/.source, new RegExp('\n').source);
console.log(JSON.stringify({ a: L }), L.toString === RegExp.prototype.toString, Object.prototype.toString.call(L), /\P{L}/gu, V.test('Ä'), V.lastIndex, new RegExp(V.source, 'gu').source === V.source);
console.log('a ä'.split(/\p{L}*/u), 'aä1'.replace(/\p{L}*/gu, '-'), 'aä1'.match(/\p{L}*/gu));
