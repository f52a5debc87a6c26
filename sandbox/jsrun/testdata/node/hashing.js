const hex = (buf) => [...new Uint8Array(buf)].map((b) => b.toString(16).padStart(2, '0')).join('');
const enc = new TextEncoder();
for (const a of ['SHA-1', 'SHA-256', 'SHA-512']) console.log(a, hex(await crypto.subtle.digest(a, enc.encode('héllo wörld'))));
const key = await crypto.subtle.importKey('raw', enc.encode('secret'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
const mac = await crypto.subtle.sign('HMAC', key, enc.encode('payload'));
console.log(hex(mac), await crypto.subtle.verify('HMAC', key, mac, enc.encode('payload')), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
let h = 0x811c9dc5; for (const c of 'fnv') { h ^= c.charCodeAt(0); h = Math.imul(h, 0x01000193) >>> 0; } console.log(h.toString(16));
