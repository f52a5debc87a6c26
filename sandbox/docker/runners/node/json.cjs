// JSON with integers of any size: one that a number cannot hold is read as a
// bigint, and a bigint is written as the same digits.
'use strict';
const process = require('node:process');
const revive = require('lib/revive')();
const { apply } = Reflect;
const { parse: nativeParse, stringify: nativeStringify, rawJSON } = main;
const { defineProperty } = Object;
const { isArray } = Array;
const digits = main.BigInt.prototype.toString;
const Items = main.Array;
const Fields = main.Object;

// LONG matches the start of a long integer; most ids in texts do not match.
const LONG = /(?:^|[\s,:[])-?[0-9]{16}/;
const INTEGER = /^-?[0-9]+$/;

const own = (object, key, value) =>
  defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

// exact reads text that is known to be JSON.
function exact(text) {
  let at = 0;
  const code = () => text.charCodeAt(at);
  const blank = () => {
    for (let c = code(); c === 32 || c === 10 || c === 13 || c === 9; c = code()) at++;
  };
  const string = () => {
    const start = at++;
    for (let c = code(); c !== 34; c = code()) at += c === 92 ? 2 : 1;
    return nativeParse(text.slice(start, ++at));
  };
  const scalar = () => {
    const start = at;
    for (let c = code(); at < text.length && c !== 44 && c !== 93 && c !== 125 && c > 32; c = code()) at++;
    const token = text.slice(start, at);
    if (token.length > 15 && INTEGER.test(token)) {
      const n = Number(token);
      return Number.isSafeInteger(n) ? n : BigInt(token);
    }
    return nativeParse(token);
  };
  let inner = null; // the array or object that is open; nesting uses no stack
  for (;;) {
    blank();
    let c = code();
    let value;
    if (inner !== null && c === inner.close) {
      at++;
      value = inner.made;
      inner = inner.outer;
    } else {
      if (inner !== null && c === 44) {
        at++;
        blank();
      }
      if (inner?.close === 125) {
        inner.key = string();
        blank();
        at++; // :
        blank();
      }
      c = code();
      if (c === 91 || c === 123) {
        at++;
        inner = { outer: inner, made: c === 91 ? new Items() : new Fields(), close: c + 2, key: '' };
        continue;
      }
      value = c === 34 ? string() : scalar();
    }
    if (inner === null) return value;
    own(inner.made, inner.close === 93 ? inner.made.length : inner.key, value);
  }
}

function parse(text, reviver) {
  text = '' + text;
  const plain = nativeParse(text); // or throws, in the words of V8
  if (!LONG.test(text)) return typeof reviver === 'function' ? nativeParse(text, reviver) : plain;
  const value = exact(text);
  return typeof reviver === 'function' ? revive(value, reviver) : value;
}

// Where the engine cannot write digits as they are, a text that no program knows
// represents them.
let mark;
const marked = () => (mark ??= '\u0001' + process.hrtime.bigint() + Math.random() + ':');

function stringify(value, replacer, space) {
  try {
    return nativeStringify(value, replacer, space);
  } catch (error) {
    if (!('' + error?.message).includes('BigInt')) throw error;
  }
  const call = typeof replacer === 'function';
  const choose = isArray(replacer) ? chooser(replacer) : (item) => item;
  let used = false;
  const text = nativeStringify(value, function (key, item) {
    if (call) item = apply(replacer, this, [key, item]);
    if (typeof item !== 'bigint') return choose(item);
    used = true;
    return rawJSON ? rawJSON(apply(digits, item, [])) : marked() + apply(digits, item, []);
  }, space);
  if (!used || rawJSON) return text;
  return spelled(text, nativeStringify(marked()));
}

const boxes = [main.globalThis.String, main.globalThis.Number, main.globalThis.Boolean, main.BigInt];
const isRaw = main.globalThis.JSON.isRawJSON ?? (() => false);

// chooser implements a list in place of a replacer: it returns an object with only
// the properties of the list, in its order.
function chooser(list) {
  const names = new Set();
  for (const name of list) {
    if (['string', 'number'].includes(typeof name) || boxes.some((b, i) => i < 2 && name instanceof b)) names.add('' + name);
  }
  const chosen = new Map(); // one for each object, so that a cycle is noticed
  const descriptor = { value: undefined, writable: true, enumerable: true, configurable: true };
  return (item) => {
    if (typeof item !== 'object' || item === null || isArray(item) || isRaw(item) || boxes.some((b) => item instanceof b)) return item;
    if (!chosen.has(item)) {
      chosen.set(item, new Proxy({}, {
        ownKeys: () => [...names],
        getOwnPropertyDescriptor: () => descriptor,
        get: (_, name) => item[name],
      }));
    }
    return chosen.get(item);
  };
}

// spelled removes the marks, written as JSON, and the quotes.
function spelled(text, open) {
  const start = open.slice(0, -1);
  let out = '';
  for (let at = 0; ; ) {
    const next = text.indexOf(start, at);
    if (next < 0) return out + text.slice(at);
    const end = text.indexOf('"', next + start.length);
    out += text.slice(at, next) + text.slice(next + start.length, end);
    at = end + 1;
  }
}

function install() {
  const hidden = (name, value) =>
    defineProperty(main.globalThis.JSON, name, { value, writable: true, enumerable: false, configurable: true });
  hidden('parse', (text, reviver) => parse(text, reviver));
  hidden('stringify', (value, replacer, space) => stringify(value, replacer, space));
}

module.exports = { parse, stringify, install };
