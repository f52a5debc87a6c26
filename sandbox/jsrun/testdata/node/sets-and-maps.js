const a = new Set([1, 2, 3, 4]), b = new Set([3, 4, 5]);
console.log([...a].filter((x) => b.has(x)).join(), [...new Set([...a, ...b])].join(), [...a].filter((x) => !b.has(x)).join());
const dedupe = (xs, key) => [...new Map(xs.map((x) => [key(x), x])).values()];
console.log(JSON.stringify(dedupe([{ id: 1, v: 'a' }, { id: 2, v: 'b' }, { id: 1, v: 'c' }], (x) => x.id)), JSON.stringify(Object.fromEntries(new Map([['k', 1]]))), JSON.stringify([...new Map(Object.entries({ x: 1, y: 2 }))]));
const memo = new WeakMap(); const key = {}; memo.set(key, 1); console.log(memo.get(key), new WeakRef(key).deref() === key, [3, [4, [5, [6]]]].flat(Infinity).join(), [1, 2, 3, 4].findLast((x) => x % 2), [..."hello"].reduce((m, c) => m.set(c, (m.get(c) || 0) + 1), new Map()).get('l'), Array.from('abc', (c, i) => c + i).join(), [1, 2, 3].with(1, 9).join(), [5, 1].toReversed().join(), [1, 2, 3, 4].copyWithin(0, 2).join());
