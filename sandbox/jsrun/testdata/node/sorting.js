const names = ['Zoe', 'ähnlich', 'Ärger', 'anna', 'Anna', 'item10', 'item2', 'éclair', 'zoo'];
console.log([...names].sort().join(), [...names].sort((a, b) => a.localeCompare(b)).join(), [...names].sort(new Intl.Collator('de', { numeric: true, sensitivity: 'base' }).compare).join());
const people = [{ n: 'b', a: 2 }, { n: 'a', a: 2 }, { n: 'c', a: 1 }];
console.log(people.toSorted((x, y) => x.a - y.a || x.n.localeCompare(y.n)).map((p) => p.n).join(''), ['a2', 'a10', 'a1'].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).join(), 'résumé'.localeCompare('resume', 'en', { sensitivity: 'base' }));
