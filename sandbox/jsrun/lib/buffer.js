// Buffer, as Node has it.
(function (native) {
  'use strict';
  const { toBytes, toText, toBase64, fromBase64 } = native;
  const encodings = { utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', latin1: 'latin1', binary: 'latin1',
    ascii: 'ascii', ucs2: 'utf16le', 'ucs-2': 'utf16le', utf16le: 'utf16le', 'utf-16le': 'utf16le' };
  const encodingOf = (name) => {
    if (name === undefined || name === null || name === '') return 'utf8';
    const known = encodings[String(name).toLowerCase()];
    if (!known) throw new TypeError('Unknown encoding: ' + name);
    return known;
  };
  const encode = (text, name) => {
    const encoding = encodingOf(name);
    if (encoding === 'base64' || encoding === 'base64url') return fromBase64(text, false);
    return toBytes(text, encoding === 'ascii' ? 'latin1' : encoding);
  };
  const from = (array) => Object.setPrototypeOf(array, Buffer.prototype);

  function Buffer(value, encoding, length) {
    return typeof value === 'number' ? Buffer.alloc(value) : Buffer.from(value, encoding, length);
  }
  Object.setPrototypeOf(Buffer, Uint8Array);
  Object.defineProperty(Buffer, 'prototype', { value: Object.create(Uint8Array.prototype), writable: false });

  const statics = {
    from(value, encoding, length) {
      if (typeof value === 'string') return from(new Uint8Array(encode(value, encoding)));
      if (value instanceof ArrayBuffer) return from(new Uint8Array(value, encoding ?? 0, length ?? value.byteLength - (encoding ?? 0)));
      if (typeof value !== 'object' || value === null) {
        throw new TypeError('The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object.');
      }
      if (value.type === 'Buffer' && Array.isArray(value.data)) return from(Uint8Array.from(value.data));
      return from(Uint8Array.from(value));
    },
    alloc(size, fill, encoding) {
      const b = from(new Uint8Array(size));
      return fill === undefined ? b : b.fill(fill, 0, size, encoding);
    },
    allocUnsafe: (size) => from(new Uint8Array(size)),
    isBuffer: (value) => value instanceof Buffer,
    isEncoding: (name) => Object.hasOwn(encodings, String(name).toLowerCase()),
    byteLength: (value, encoding) => (typeof value === 'string' ? encode(value, encoding).byteLength : value.byteLength),
    compare: (a, b) => a.compare(b),
    concat(list, size = list.reduce((n, b) => n + b.length, 0)) {
      const all = from(new Uint8Array(size));
      let at = 0;
      for (const b of list) {
        if (at >= size) break;
        all.set(b.length > size - at ? b.subarray(0, size - at) : b, at);
        at += b.length;
      }
      return all;
    },
  };

  const methods = {
    toString(encoding, start = 0, end = this.length) {
      const name = encodingOf(encoding);
      start = Math.max(0, Math.min(start, this.length));
      const n = Math.max(start, Math.min(end, this.length)) - start;
      const offset = this.byteOffset + start;
      if (name === 'base64' || name === 'base64url') return toBase64(this.buffer, offset, n, name === 'base64url');
      return toText(this.buffer, offset, n, name)[0];
    },
    toLocaleString(encoding, start, end) {
      return this.toString(encoding, start, end);
    },
    toJSON() {
      return { type: 'Buffer', data: Array.from(this) };
    },
    equals(other) {
      return this.compare(other) === 0;
    },
    compare(other) {
      const n = Math.min(this.length, other.length);
      for (let i = 0; i < n; i++) if (this[i] !== other[i]) return this[i] < other[i] ? -1 : 1;
      return Math.sign(this.length - other.length);
    },
    slice(start, end) {
      return this.subarray(start, end);
    },
    subarray(start, end) {
      return from(Uint8Array.prototype.subarray.call(new Uint8Array(this.buffer, this.byteOffset, this.length), start, end));
    },
    write(text, offset = 0, length, encoding) {
      if (typeof offset === 'string') [encoding, offset] = [offset, 0];
      else if (typeof length === 'string') [encoding, length] = [length, undefined];
      const b = new Uint8Array(encode(text, encoding));
      const n = Math.min(b.length, length ?? Infinity, this.length - offset);
      this.set(b.subarray(0, n), offset);
      return n;
    },
    copy(target, at = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    },
    fill(value, start = 0, end = this.length, encoding) {
      if (typeof start === 'string') [encoding, start, end] = [start, 0, this.length];
      if (typeof value === 'number') return Uint8Array.prototype.fill.call(this, value, start, end);
      const b = typeof value === 'string' ? new Uint8Array(encode(value, encoding)) : value;
      for (let i = start; i < end; i++) this[i] = b.length ? b[(i - start) % b.length] : 0;
      return this;
    },
    indexOf(value, start = 0, encoding) {
      if (typeof value === 'number') return Uint8Array.prototype.indexOf.call(this, value & 255, start);
      const b = typeof value === 'string' ? Buffer.from(value, encoding) : value;
      for (let i = Math.max(0, start < 0 ? start + this.length : start); i + b.length <= this.length; i++) {
        let k = 0;
        while (k < b.length && this[i + k] === b[k]) k++;
        if (k === b.length) return i;
      }
      return -1;
    },
    includes(value, start, encoding) {
      return this.indexOf(value, start, encoding) >= 0;
    },
  };

  // readUInt16LE and the like, by means of DataView.
  const view = (b) => new DataView(b.buffer, b.byteOffset, b.byteLength);
  const kinds = { Int8: 1, Uint8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, BigInt64: 8, BigUint64: 8, Float32: 4, Float64: 8 };
  const nodeNames = { Float32: 'Float', Float64: 'Double', BigUint64: 'BigUInt64' };
  for (const [kind, size] of Object.entries(kinds)) {
    const name = nodeNames[kind] ?? kind.replace('Uint', 'UInt');
    for (const order of size === 1 ? [''] : ['LE', 'BE']) {
      const little = order === 'LE';
      const check = (b, offset) => {
        if (offset < 0 || offset + size > b.length) throw new RangeError('The value of "offset" is out of range');
      };
      const read = function (offset = 0) {
        check(this, offset);
        return view(this)['get' + kind](offset, little);
      };
      const write = function (value, offset = 0) {
        check(this, offset);
        view(this)['set' + kind](offset, value, little);
        return offset + size;
      };
      for (const n of new Set([name, name.replace('UInt', 'Uint')])) {
        methods['read' + n + order] = read;
        methods['write' + n + order] = write;
      }
    }
  }
  const define = (object, all) => {
    for (const name of Object.keys(all)) {
      Object.defineProperty(object, name, { value: all[name], writable: true, enumerable: false, configurable: true });
    }
  };
  define(Buffer, statics);
  define(Buffer.prototype, { constructor: Buffer, ...methods });
  return { Buffer };
});
