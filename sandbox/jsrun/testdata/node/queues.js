// Queues and lists that grow, in every kind of array.
const q = [1, 2, 3]; console.log(q.shift(), q, q.unshift(8, 9), q, q.pop(), q, [].shift(), [].pop(), [].unshift(), q.unshift(), q.length);
const holes = [, 1, , 2]; console.log(holes.shift(), holes.length, 0 in holes, 1 in holes, holes.unshift('x'), 2 in holes, holes.pop(), holes);
const like = { 0: 'a', 1: 'b', length: 2 }; console.log([].shift.call(like), like, [].unshift.call(like, 'y', 'z'), like, [].pop.call(like), like);
for (const list of [Object.freeze([1]), Object.seal([1]), Object.preventExtensions([1]), Object.defineProperty([1], 'length', { writable: false })]) {
  for (const f of ['pop', 'shift', 'unshift']) try { console.log(f, list[f](2), list.length) } catch (e) { console.log(f, e.name, list.length) }
}
console.log([].pop.name, [].shift.length, [].unshift.length, String([].unshift), Object.keys(Array.prototype), typeof [].shift.prototype);
class Stack extends Array { } const stack = Stack.from([1, 2, 3]); console.log(stack.shift(), stack.pop(), stack instanceof Stack, stack.length, [...stack]);
const both = []; for (let i = 0; i < 40; i++) { both.unshift(i); both.push(-i); if (i % 3 === 0) { both.pop(); both.shift(); } } console.log(both.join(' '), both.length, both.slice(0, 3), both.indexOf(-38), both.includes(undefined));
const other = []; for (let i = 0; i < 20; i++) { other.unshift(i); both.unshift(i); } const kept = other.slice(); other.unshift('first'); console.log(other.join(), kept.join(), both.length, both[0], both.at(-1));
const order = []; for (const x of [1, 2, 3]) { order.unshift(x); for (const y of order) if (order.length < 9) order.push(y + 1); } console.log(order);
const seen = [0]; for (let at = 0, next = [0]; next.length; at++) { const n = next.shift(); for (const m of [2 * n + 1, 2 * n + 2]) if (m < 50) { seen.push(m); next.push(m); } } console.log(seen.length, seen.slice(-3));
let list = []; for (let i = 0; i < 5; i++) list = [...list, i, ...list.slice(0, 1)]; console.log(list, [...list], [0, ...list, ...'ab', ...new Set([7, 7]), ...new Map([[1, 2]]), 9], [, ...list.slice(7), , 3]);
console.log([...list, list.push('late'), ...list].length, [...list, ...(list.length = 0, list)].length, [...[, 1]], 0 in [...[, 1]], [...(function* () { yield* [1, 2] })()], [...list, 1]);
const odd = [1, 2]; odd[Symbol.iterator] = function* () { yield 'mine' }; console.log([...odd, 0], [...[], ...odd], [...odd]);
try { [0, ...undefined] } catch (e) { console.log(e.name) } try { [...{}] } catch (e) { console.log(e.name) } try { [...(function* () { yield 1; throw new Error('late') })(), 2] } catch (e) { console.log(e.message) }
const f = (...rest) => [rest.length, ...rest, ...arguments0()]; function arguments0() { return [...arguments, 'none'] } console.log(f(1, 2), Math.max(...[...f(3), 5].filter(Number)), [...[...[...[1], 2], 3], 4]);
const steps = Object.getPrototypeOf([][Symbol.iterator]()), next = steps.next; steps.next = function () { const s = next.call(this); return s.done ? s : { value: s.value * 2, done: false } }; const twice = [...[1, 2], 3]; steps.next = next; console.log(twice);
