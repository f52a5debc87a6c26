const xs = [12.5, 3, 8, 21, 8, 15.25, 9];
const mean = xs.reduce((a, b) => a + b) / xs.length;
const sorted = [...xs].sort((a, b) => a - b);
const q = (p) => { const i = (sorted.length - 1) * p, lo = Math.floor(i); return sorted[lo] + (sorted[Math.ceil(i)] - sorted[lo]) * (i - lo); };
const sd = Math.sqrt(xs.reduce((s, x) => s + (x - mean) ** 2, 0) / (xs.length - 1));
console.log(mean.toFixed(3), q(0.5), q(0.9).toFixed(2), sd.toFixed(4), Math.max(...xs), Math.hypot(3, 4), Math.trunc(-4.7), Math.sign(-3), (5).toString(2).padStart(8, '0'), Number('0x1f'), parseFloat('3.14abc'), Number.parseInt('12px', 10));
