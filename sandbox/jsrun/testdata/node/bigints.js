const id = 1152921504606846977n;
console.log(id.toString(), (id >> 22n).toString(), String(BigInt('9007199254740993') + 2n), typeof id, BigInt.asUintN(8, 257n).toString(), (2n ** 100n).toLocaleString('en-US'), Number.MAX_SAFE_INTEGER, 5n > 4, 10n === BigInt(10));
const fact = (n) => (n < 2n ? 1n : n * fact(n - 1n)); console.log(fact(25n).toString(), (-7n / 2n).toString(), parseInt('zz', 36));
