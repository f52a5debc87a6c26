// The part of Web Crypto that needs no keys kept anywhere: random values,
// digests and HMAC.
(function (native) {
  'use strict';
  const { random, digest, hmac } = native;
  const view = (data) => {
    if (data instanceof ArrayBuffer) return [data, 0, data.byteLength];
    if (ArrayBuffer.isView(data)) return [data.buffer, data.byteOffset, data.byteLength];
    throw new TypeError('the data must be an ArrayBuffer or a view of one, such as new TextEncoder().encode(text)');
  };
  const nameOf = (algorithm) => String(algorithm?.name ?? algorithm).toUpperCase();
  const hash = (algorithm) => {
    const name = nameOf(algorithm);
    if (!['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'].includes(name)) {
      throw new DOMException('Unrecognized algorithm name: ' + name, 'NotSupportedError');
    }
    return name;
  };
  class CryptoKey {
    #secret;
    constructor(secret, algorithm, extractable, usages) {
      this.#secret = secret;
      this.type = 'secret';
      this.algorithm = algorithm;
      this.extractable = extractable;
      this.usages = usages;
    }
    static secret(key) {
      return key.#secret;
    }
  }
  const { secret } = CryptoKey;
  delete CryptoKey.secret;
  const unsupported = (what) => {
    throw new DOMException(what + ' is not supported here: there are digests and HMAC', 'NotSupportedError');
  };
  const sign = (key, data) => hmac(key.algorithm.hash.name, secret(key), ...view(data));

  class SubtleCrypto {
    async digest(algorithm, data) {
      return digest(hash(algorithm), ...view(data));
    }
    async importKey(format, data, algorithm, extractable, usages) {
      if (format !== 'raw' || nameOf(algorithm) !== 'HMAC') unsupported('importKey of ' + format + ' ' + nameOf(algorithm));
      const [buffer, start, length] = view(data);
      return new CryptoKey(buffer.slice(start, start + length),
        { name: 'HMAC', hash: { name: hash(algorithm.hash) }, length: length * 8 }, !!extractable, [...usages]);
    }
    async exportKey(format, key) {
      if (format !== 'raw' || !key.extractable) throw new DOMException('key is not extractable', 'InvalidAccessError');
      return secret(key).slice(0);
    }
    async sign(algorithm, key, data) {
      if (nameOf(algorithm) !== 'HMAC') unsupported('sign with ' + nameOf(algorithm));
      return sign(key, data);
    }
    async verify(algorithm, key, signature, data) {
      if (nameOf(algorithm) !== 'HMAC') unsupported('verify with ' + nameOf(algorithm));
      const want = new Uint8Array(sign(key, data));
      const got = new Uint8Array(...view(signature));
      return want.length === got.length && want.every((b, i) => b === got[i]);
    }
  }
  for (const name of ['encrypt', 'decrypt', 'generateKey', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey']) {
    SubtleCrypto.prototype[name] = async () => unsupported(name);
  }

  class Crypto {
    get subtle() {
      return subtle;
    }
    getRandomValues(array) {
      if (!ArrayBuffer.isView(array) || array instanceof Float32Array || array instanceof Float64Array || array instanceof DataView) {
        throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
      }
      if (array.byteLength > 65536) {
        throw new DOMException('The requested length exceeds 65,536 bytes', 'QuotaExceededError');
      }
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(new Uint8Array(random(array.byteLength)));
      return array;
    }
    randomUUID() {
      const b = new Uint8Array(random(16));
      b[6] = (b[6] & 15) | 64;
      b[8] = (b[8] & 63) | 128;
      const hex = Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    }
  }
  const subtle = new SubtleCrypto();
  return { crypto: new Crypto(), Crypto, SubtleCrypto, CryptoKey };
});
