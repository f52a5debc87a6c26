function* chunks(list, n) { for (let i = 0; i < list.length; i += n) yield list.slice(i, i + n); }
const zip = function* (...ls) { for (let i = 0; ls.every((l) => i < l.length); i++) yield ls.map((l) => l[i]); };
const range = (n) => ({ *[Symbol.iterator]() { for (let i = 0; i < n; i++) yield i; } });
console.log(JSON.stringify([...chunks([1, 2, 3, 4, 5], 2)]), JSON.stringify([...zip([1, 2], ['a', 'b'])]), [...range(4)].map((x) => x ** 2).join(), Math.max(...range(7)));
const [first, , third = 'none', ...rest] = range(6); console.log(first, third, rest.join());
const delayed = async function* () { for (const x of [3, 1]) { await new Promise((r) => setTimeout(r, x)); yield x; } }; let s = ''; for await (const x of delayed()) s += x; console.log(s);
