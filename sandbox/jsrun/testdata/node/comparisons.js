// Comparisons in a row, but none of a comparison.
const [a, b, c] = [5, 3, 1];
console.log(1 < 2 === true, a > b && b > c, 1 > (a, b) || c >= b);
class Box { #x; static has(o) { return #x in o } }
console.log('a' in { a: 1 }, [] instanceof Array, 0 in [1], Box.has(new Box()) === true, Box.has({}) < 1);
const list = [1, 2, 3], limits = { low: 0, high: 2 };
console.log(list.filter((n) => limits.low < n && n <= limits.high), list.map((n) => 3 > n ? n > limits['low'] : 3 < n), [a < b, b < c, c < a], `${1 < 2} ${3 > 2}`);
for (let i = 0; i < 2 && i < 4; i++) console.log(i, i / 2 < 1 / 2, { x: i < 1, y: i > 1 });
if (a > b || a < b === b < c) console.log('either'); else console.log('neither');
