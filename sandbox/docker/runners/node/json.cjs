// JSON with integers of any size: one that a number cannot hold is read as a
// bigint, and a bigint is written as the same digits. In between, a text that no
// program knows marks the digits, so that the engine's own functions do the rest.
'use strict';
const process = require('node:process');
const revive = require('lib/revive')();
const { apply } = Reflect;
const { parse: nativeParse, stringify: nativeStringify, BigInt } = main;
const { defineProperty, getOwnPropertyDescriptor, keys } = Object;
const { isArray } = Array;
const digits = BigInt.prototype.toString;

// LONG matches the start of a long integer; most ids in texts do not match.
const LONG = /(?:^|[\s,:[])-?[0-9]{16}/;
const INTEGER = /^-?[0-9]+$/;
const TOKEN = /\\.|"|-?[0-9][0-9.eE+-]*/g;

const mark = 'n' + process.hrtime.bigint() + ('' + Math.random()).slice(2) + ':';
const MARKED = new RegExp('"' + mark + '(-?[0-9]+)"', 'g');

// exact reads text that is known to be JSON. Nesting uses no stack.
function exact(text) {
  let inText = false;
  const marked = text.replace(TOKEN, (token) => {
    if (token === '"') inText = !inText;
    const plain = inText || token.length < 16 || !INTEGER.test(token) || Number.isSafeInteger(+token);
    return plain ? token : '"' + mark + token + '"';
  });
  const root = { value: nativeParse(marked) };
  const open = [root];
  for (let object; (object = open.pop()); ) {
    for (const key of keys(object)) {
      const value = object[key];
      if (typeof value === 'string' && value.startsWith(mark)) {
        defineProperty(object, key, { value: BigInt(value.slice(mark.length)) });
      } else if (typeof value === 'object' && value !== null) {
        open.push(value);
      }
    }
  }
  return root.value;
}

function parse(text, reviver) {
  text = '' + text;
  const plain = nativeParse(text); // or throws, in the words of V8
  if (!LONG.test(text)) return typeof reviver === 'function' ? nativeParse(text, reviver) : plain;
  const value = exact(text);
  return typeof reviver === 'function' ? revive(value, reviver) : value;
}

const hidden = (object, name, value) => defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
const marking = (value) => mark + apply(digits, value, []);

// listed writes the properties of a list: the engine asks a bigint what to write.
function listed(value, list, space) {
  const { prototype } = BigInt;
  const own = getOwnPropertyDescriptor(prototype, 'toJSON');
  hidden(prototype, 'toJSON', function () { return marking(this); });
  try {
    return nativeStringify(value, list, space);
  } finally {
    if (own) defineProperty(prototype, 'toJSON', own);
    else delete prototype.toJSON;
  }
}

function stringify(value, replacer, space) {
  try {
    return nativeStringify(value, replacer, space);
  } catch (error) {
    if (!('' + error?.message).includes('BigInt')) throw error;
  }
  const replace = (holder, key, item) => (typeof replacer === 'function' ? apply(replacer, holder, [key, item]) : item);
  const text = isArray(replacer) ? listed(value, replacer, space) : nativeStringify(value, function (key, item) {
    item = replace(this, key, item);
    return typeof item === 'bigint' ? marking(item) : item;
  }, space);
  return text?.replace(MARKED, '$1');
}

function install() {
  hidden(main.globalThis.JSON, 'parse', (text, reviver) => parse(text, reviver));
  hidden(main.globalThis.JSON, 'stringify', (value, replacer, space) => stringify(value, replacer, space));
}

module.exports = { parse, stringify, install };
