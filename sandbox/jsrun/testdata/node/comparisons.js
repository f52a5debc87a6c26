// Chains of comparisons are read from the left.
console.log(1 < 2 < 3, 3 > 2 > 1, 3 < 2 < 1, 1 < (2 < 3), (3 > 2) > 1, 0 <= -1 <= 0, 3 >= 2 >= 1);
const [a, b, c] = [5, 3, 1];
console.log(a > b > c, a > (b > c), a < b < c < 4, a < (b < c) < 4, a < (b < (c < 4)), (a < b) < (c < 4), (a) < (b) < (c)); console.log(1 > (a, b) > (b, c));
class Box { #x; static has(o) { return #x in o } }
console.log('a' in { a: 1 } in { true: 1 }, [] instanceof Array instanceof Object, 1 < 2 in { true: 0 }, 1 < (0 in [1]), Box.has(new Box()) > false, Box.has({}) < 1);
const list = [1, 2, 3], limits = { low: 0, high: 2 };
console.log(list.filter((n) => limits.low < n <= limits.high), list.map((n) => 3 > n > limits['low']), `${1 < 2 < 3} ${3 > 2 > (1 < 0)}`);
let calls = ''; const at = (name, value) => { calls += name; return value };
console.log(at('x', 3) > at('y', 2) > at('z', 1), calls, 1 + 1 < 2 << 1 < 2, -1 < +2 < -3, !(1 < 2 < 1), typeof 1 < 'o' < 'p', /[(]/.test('(') < 2 < 3);
for (let i = 0, n = 0 < 1 < 2; i < 2 < 3 && i < 4; i++) console.log(i, n, i / 2 < (1 / 2) < 2);
if (a > b > c || a < b === b < c) console.log('either'); else console.log('neither');
