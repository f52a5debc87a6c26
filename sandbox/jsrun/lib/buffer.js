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
    of: (...bytes) => from(Uint8Array.of(...bytes)),
    copyBytesFrom(view, start = 0, length) {
      if (!ArrayBuffer.isView(view) || view instanceof DataView) throw new TypeError('The "view" argument must be an instance of TypedArray.');
      const part = view.slice(start, length === undefined ? undefined : start + length);
      return from(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    },
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
    lastIndexOf(value, start, encoding) {
      if (typeof start === 'string') [encoding, start] = [start, undefined];
      const b = typeof value === 'number' ? [value & 255] : typeof value === 'string' ? Buffer.from(value, encoding) : value;
      start = Math.trunc(start ?? this.length) || 0;
      for (let i = Math.min(start < 0 ? start + this.length : start, this.length - b.length); i >= 0; i--) {
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

  const failure = (error, code) => Object.assign(error, { code });
  const outOfRange = (name, value) => failure(new RangeError('The value of "' + name + '" is out of range. Received ' + value), 'ERR_OUT_OF_RANGE');

  // readUIntBE and the like: integers of one to six bytes.
  const bytesOf = (b, offset, n, little) => {
    if (typeof offset !== 'number' || typeof n !== 'number') {
      throw failure(new TypeError('The "' + (typeof offset === 'number' ? 'byteLength' : 'offset') + '" argument must be of type number.'), 'ERR_INVALID_ARG_TYPE');
    }
    if (!(n >= 1 && n <= 6)) throw outOfRange('byteLength', n);
    if (!(offset >= 0 && offset + n <= b.length)) throw outOfRange('offset', offset);
    return Array.from({ length: n }, (_, i) => (little ? offset + n - 1 - i : offset + i)); // the highest first
  };
  for (const little of [true, false]) {
    for (const signed of [true, false]) {
      const read = function (offset, n) {
        const value = bytesOf(this, offset, n, little).reduce((sum, i) => sum * 256 + this[i], 0);
        return signed && value >= 2 ** (8 * n - 1) ? value - 2 ** (8 * n) : value;
      };
      const write = function (value, offset, n) {
        const places = bytesOf(this, offset, n, little);
        value = +value;
        const top = 2 ** (signed ? 8 * n - 1 : 8 * n);
        if (value >= top || value < (signed ? -top : 0)) throw outOfRange('value', value);
        let rest = Math.trunc(value) + (value < 0 ? 2 ** (8 * n) : 0);
        for (const i of places.reverse()) {
          this[i] = rest % 256;
          rest = Math.floor(rest / 256);
        }
        return offset + n;
      };
      for (const name of signed ? ['Int'] : ['UInt', 'Uint']) {
        methods['read' + name + (little ? 'LE' : 'BE')] = read;
        methods['write' + name + (little ? 'LE' : 'BE')] = write;
      }
    }
  }
  for (const size of [2, 4, 8]) {
    methods['swap' + size * 8] = function () {
      if (this.length % size) throw failure(new RangeError('Buffer size must be a multiple of ' + size * 8 + '-bits'), 'ERR_INVALID_BUFFER_SIZE');
      for (let i = 0; i < this.length; i += size) this.subarray(i, i + size).reverse();
      return this;
    };
  }

  // readUInt16LE and the like, by means of DataView.
  const view = (b) => new DataView(b.buffer, b.byteOffset, b.byteLength);
  const kinds = { Int8: 1, Uint8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, BigInt64: 8, BigUint64: 8, Float32: 4, Float64: 8 };
  const nodeNames = { Float32: 'Float', Float64: 'Double', BigUint64: 'BigUInt64' };
  for (const [kind, size] of Object.entries(kinds)) {
    const name = nodeNames[kind] ?? kind.replace('Uint', 'UInt');
    for (const order of size === 1 ? [''] : ['LE', 'BE']) {
      const little = order === 'LE';
      const check = (b, offset) => {
        if (offset < 0 || offset + size > b.length) throw outOfRange('offset', offset);
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
