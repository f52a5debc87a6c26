const token = [{ alg: 'none' }, { sub: '42', name: 'Jürgen' }].map((o) => Buffer.from(JSON.stringify(o)).toString('base64url')).join('.') + '.';
const [, payload] = token.split('.');
console.log(token, JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')).name, btoa('plain'), atob('cGxhaW4='), Buffer.from('ff0a', 'hex').readUInt16BE(0));
console.log(new TextDecoder().decode(Uint8Array.from(atob('4oKs'), (c) => c.charCodeAt(0))), Buffer.concat([Buffer.from('a'), Buffer.alloc(2, 'z')]).toString(), Buffer.byteLength('€uro'));
