const env = typeof process === 'undefined' || !process.env ? {} : {};
const isNode = typeof window === 'undefined' && typeof document === 'undefined';
const config = { retries: env.RETRIES ?? 3, ...(env.DEBUG && { debug: true }) };
console.log(JSON.stringify(config), isNode, config?.nested?.deep ?? 'none', config.fn?.() ?? 'no fn', [null, undefined, 0, '', 'x'].map((v) => v ?? 'd').join('|'), Number.isInteger(5.0), Object.is(-0, 0), [10, 9, 1].sort().join(), [, 1].length, typeof null, void 0 === undefined, ((a, b = a + 1, ...c) => a + b + c.length)(1));
outer: for (const i of [1, 2, 3]) { for (const j of [1, 2, 3]) { if (j === 2) continue outer; if (i === 3) break outer; console.log(i, j); } }
let x = null; x ??= 5; x ||= 6; x &&= 7; switch (x) { case 7: console.log('seven'); default: console.log('fell'); }
