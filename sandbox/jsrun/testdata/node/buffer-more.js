const b = Buffer.from([1,2,3,4,5,6,7,8]);
console.log(b.readUIntBE(0,3), b.readUIntLE(1,6), b.readIntBE(0,2), b.readIntLE(2,5), Buffer.from([0xff,0xfe,0xfd]).readIntBE(0,3), Buffer.from([0xff,0xfe,0xfd]).readIntLE(0,3), Buffer.from([0xff,0xfe,0xfd]).readUIntLE(0,3));
const w = Buffer.alloc(12); console.log(w.writeUIntBE(0x123456, 0, 3), w.writeUIntLE(0x123456, 3, 3), w.writeIntBE(-2, 6, 3), w.writeIntLE(-3, 9, 3), w.toString('hex'));
console.log(Buffer.from([1,2,3,4]).swap16(), Buffer.from([1,2,3,4]).swap32(), Buffer.from([1,2,3,4,5,6,7,8]).swap64());
try { Buffer.from([1]).swap16(); } catch (e) { console.log(e.name, e.message, e.code); }
try { b.readUIntBE(6, 3); } catch (e) { console.log(e.name, e.code); }
try { b.readUIntBE(0, 7); } catch (e) { console.log(e.name, e.code); }
try { w.writeUIntBE(0x1000000, 0, 3); } catch (e) { console.log(e.name, e.code); }
console.log(b.lastIndexOf(5), Buffer.from('abcabc').lastIndexOf('abc'), Buffer.from('abcabc').lastIndexOf('bc', 3), Buffer.from('abc').lastIndexOf('x'), Buffer.from('abcabc').lastIndexOf(Buffer.from('c'), -2), Buffer.from('abcabc').indexOf('c', -1), Buffer.from('abcabc').lastIndexOf('a', -7));
console.log(Buffer.of(1,2,300), Buffer.of() instanceof Buffer, Buffer.copyBytesFrom(new Uint16Array([1, 258])), Buffer.copyBytesFrom(new Uint16Array([1, 258, 3]), 1, 1), Buffer.copyBytesFrom(new Uint8Array([1,2,3]), 1));
console.log(b.readUintBE(0,2), w.writeUintLE(1,0,1), w.length, b.readUInt8(1), b.readUint8(1));
