const plural = (n, forms, pr) => `${n} ${forms[pr.select(n)]}`;
const en = new Intl.PluralRules('en'), ord = new Intl.PluralRules('en', { type: 'ordinal' }), pl = new Intl.PluralRules('pl');
console.log([0, 1, 2].map((n) => plural(n, { one: 'file', other: 'files' }, en)).join(', '), [1, 2, 3, 4, 11, 21, 102].map((n) => n + { one: 'st', two: 'nd', few: 'rd', other: 'th' }[ord.select(n)]).join(' '), [1, 2, 5, 22, 25].map((n) => plural(n, { one: 'plik', few: 'pliki', many: 'plików', other: 'pliku' }, pl)).join(', '));
