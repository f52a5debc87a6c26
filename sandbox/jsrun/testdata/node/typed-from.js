for (const make of [() => Uint16Array.from('text'), () => Uint32Array.from('12', Number), () => Float64Array.from('4.'), () => Uint8ClampedArray.from('ab', (c) => c.charCodeAt(0) * 2), () => Int16Array.from(5), () => Int32Array.from(true), () => BigInt64Array.from('12'), () => BigUint64Array.from('ab'), () => Float32Array.from({ length: 2, 0: 'x', 1: 7 }), () => Int32Array.from(new Set(['1', 300]))]) {
  try { const made = make(); console.log(made.constructor.name, Array.from(made, String).join()); } catch (e) { console.log(e.name, e.message); }
}
for (const source of [null, undefined]) { try { Uint16Array.from(source); } catch (e) { console.log(e.name); } }
