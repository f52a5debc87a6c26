// Text as bytes: TextEncoder, TextDecoder, atob and btoa.
(function (native) {
  'use strict';
  const { toBytes, toText, toBase64, fromBase64 } = native;
  const bytesOf = (data) => {
    if (data === undefined) return new Uint8Array(0);
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw new TypeError('The "input" argument must be an ArrayBuffer or a view of one');
  };

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(text = '') {
      return new Uint8Array(toBytes(String(text), 'utf8'));
    }
    encodeInto(text, target) {
      let read = 0;
      let written = 0;
      for (const character of String(text)) {
        const bytes = new Uint8Array(toBytes(character, 'utf8'));
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  const labels = { 'utf-8': 'utf8', utf8: 'utf8', 'unicode-1-1-utf-8': 'utf8', 'utf-16le': 'utf16le', 'utf-16': 'utf16le', 'iso-8859-1': 'windows1252',
    latin1: 'windows1252', ascii: 'windows1252', 'us-ascii': 'windows1252', 'windows-1252': 'windows1252' };
  const names = { utf8: 'utf-8', utf16le: 'utf-16le', windows1252: 'windows-1252' };
  class TextDecoder {
    #encoding;
    #rest = new Uint8Array(0);
    #started = false;
    constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      this.#encoding = labels[String(label).trim().toLowerCase()];
      if (!this.#encoding) throw new RangeError('The "' + label + '" encoding is not supported');
      this.fatal = !!fatal;
      this.ignoreBOM = !!ignoreBOM;
    }
    get encoding() {
      return names[this.#encoding];
    }
    decode(input, { stream = false } = {}) {
      let bytes = bytesOf(input);
      if (this.#rest.length) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
      }
      const [text, left] = toText(bytes.buffer, bytes.byteOffset, bytes.length, this.#encoding, this.fatal, stream);
      this.#rest = left ? bytes.slice(bytes.length - left) : new Uint8Array(0);
      const start = !this.#started && !this.ignoreBOM && text[0] === '\ufeff' ? 1 : 0;
      this.#started = stream;
      return start ? text.slice(1) : text;
    }
  }

  const refuse = (message) => {
    throw new DOMException(message, 'InvalidCharacterError');
  };
  function btoa(text) {
    text = String(text);
    if (/[^\0-\xff]/.test(text)) refuse('Invalid character');
    return toBase64(toBytes(text, 'latin1'), 0, text.length, false);
  }
  function atob(text) {
    const bytes = fromBase64(String(text).replace(/[\t\n\f\r ]/g, ''), true);
    if (bytes === null) refuse('The string to be decoded is not correctly encoded.');
    return toText(bytes, 0, bytes.byteLength, 'latin1')[0];
  }
  return { TextEncoder, TextDecoder, atob, btoa };
});
