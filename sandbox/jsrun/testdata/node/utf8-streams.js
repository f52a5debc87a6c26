// Decode a stream of bytes chunk by chunk, and split it into lines.
const bytes = new TextEncoder().encode('naïve café — 東京\nsecond line 👩‍🚀\nlast');
async function* chunks(all, size) {
  for (let i = 0; i < all.length; i += size) yield all.subarray(i, i + size);
}
async function* lines(source) {
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  for await (const chunk of source) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split('\n');
    rest = parts.pop();
    yield* parts;
  }
  rest += decoder.decode();
  if (rest) yield rest;
}
for (const size of [1, 3, 5, 1000]) {
  const out = [];
  for await (const line of lines(chunks(bytes, size))) out.push(line);
  console.log(size, out);
}
console.log(new TextDecoder().decode(new Uint8Array([0x61, 0xff, 0xe2, 0x82, 0x62])));
try {
  new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff]));
} catch (e) {
  console.log(e.name, e instanceof TypeError);
}
console.log(new TextDecoder('utf-16le').decode(new Uint8Array([0x41, 0, 0x3d, 0xd8, 0, 0xde])));
console.log(new TextDecoder('latin1').decode(new Uint8Array([0xe9, 0x41])), new TextDecoder('latin1').encoding);
console.log(new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x68, 0x69])).length);
console.log(new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x68])).length);
const { read, written } = new TextEncoder().encodeInto('aé東', new Uint8Array(4));
console.log(read, written);
const view = new DataView(new ArrayBuffer(16));
view.setFloat32(0, 1.5); view.setInt16(4, -2, true); view.setBigUint64(8, 2n ** 63n);
console.log(view.getUint8(0), view.getUint16(4), String(view.getBigInt64(8)), [...new Uint8Array(view.buffer, 0, 6)].join(' '));
