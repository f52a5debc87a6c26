const L = /\p{L}+/u, V = /[\p{L}_]/gu;
const c = new RegExp(L), g = new RegExp(L, 'gu'), s = new RegExp(L.source, L.flags), v = new RegExp(V);
console.log(s.test('é'), 'Zoë 東京'.match(g), 'Zoë'.match(c)[0], 'äbC'.match(v), L.flags);
console.log([...'äbC'.matchAll(V)].map(String), 'äbC'.replace(V, '_'), 'a1ä2'.split(/\p{L}/u), structuredClone(L).test('é'), RegExp('\\p{Lu}', 'u').test('É'));
console.log(/a\/b[/]/, /a\/b[/]/.source, new RegExp('a/b').source, /\/\//u, /(?:)/.source, new RegExp('').source, /\n/.source, new RegExp('\n').source);
console.log(JSON.stringify({ a: L }), L.toString === RegExp.prototype.toString, Object.prototype.toString.call(L), V.test('Ä'), V.lastIndex, new RegExp(V.source, 'gu').source === V.source);
console.log('a ä'.split(/\p{L}*/u), 'aä1'.replace(/\p{L}*/gu, '-'), 'aä1'.match(/\p{L}*/gu));
