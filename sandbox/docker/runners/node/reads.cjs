// Notices reads of properties that nobody knows. The objects of an answer whose
// shape is known have, in place of Object.prototype, an object between them and
// it, which is asked only for properties that the object itself does not have.
'use strict';
const { nearest } = require('nearest');
const { caller, place } = require('trace');

const MAX_READS = 10;
const MAX_SHAPED = 256 << 10; // bytes of an answer whose reads are watched
const SHOWN_FIELDS = 8;
const { getPrototypeOf, setPrototypeOf } = Object;
const ordinary = main.Object.prototype;

let shapes = {};
let plain = new Set(); // places of reads whose value is used as it comes
const prototypes = new Map(); // by shape
const listed = new Set(); // shapes of elements of lists, and of what is in them
const ours = new Set();
const seen = new Set();
const notes = [];

function watch(value, target, bytes) {
  const shape = bytes > MAX_SHAPED ? undefined : shapes[target];
  if (shape) mark(value, shape, target);
  return value;
}

const hasMore = (shape) => shape && (Object.keys(shape.p ?? {}).length > 0 || shape.e);

function mark(value, shape, target, inList) {
  if (typeof value !== 'object' || value === null || !shape) return;
  if (Array.isArray(value)) {
    if (hasMore(shape.e)) for (const item of value) mark(item, shape.e, target, true);
    return;
  }
  for (const name of Object.keys(shape.p ?? {})) {
    if (hasMore(shape.p[name]) && Object.hasOwn(value, name)) mark(value[name], shape.p[name], target, inList);
  }
  const prototype = prototypeFor(shape, target);
  if (prototype && inList) listed.add(shape);
  if (prototype) setPrototypeOf(value, prototype);
}

function prototypeFor(shape, target) {
  if (!shape.p || Object.keys(shape.p).length === 0 || shape.o) return null;
  let prototype = prototypes.get(shape);
  if (!prototype) {
    const handler = { get: (_, property, receiver) => missed(shape, target, property, receiver, handler.get) };
    prototype = new Proxy(new main.Object(), handler);
    if (prototypes.size === 0) hidePrototypes();
    prototypes.set(shape, prototype);
    ours.add(prototype);
  }
  return prototype;
}

// hidePrototypes makes the functions that tell an object's prototype tell the
// usual one.
function hidePrototypes() {
  for (const owner of [main.Object, main.globalThis.Reflect]) {
    const value = (object) => {
      const prototype = getPrototypeOf(object);
      return ours.has(prototype) ? ordinary : prototype;
    };
    Object.defineProperty(owner, 'getPrototypeOf', { value, writable: true, enumerable: false, configurable: true });
  }
}

// missed answers a read of a property that an object does not have itself.
function missed(shape, target, property, receiver, below) {
  if (property === '__proto__') return ordinary;
  if (property in ordinary) return Reflect.get(ordinary, property, receiver);
  if (typeof property !== 'string' || Object.hasOwn(shape.p, property) || property === 'then' || property === 'toJSON') return undefined;
  const at = caller(below);
  if (!at) return undefined;
  // Engines differ in whether a read stands at its dot or at the name behind it.
  const used = plain.has(at[0] + ':' + at[1]) || plain.has(at[0] + ':' + (at[1] + 1));
  const names = Object.keys(shape.p).sort();
  const near = nearest(property, names, 2);
  // It asked, and was answered; records often have fields that others lack.
  if (near.length === 0 && (!used || listed.has(shape))) return undefined;
  if (shape.c && used && near.length > 0) {
    throw new main.TypeError(property + ' is no field of what ' + target.replace('\x1f', '.') + ' answers' + wayOut(names, near));
  }
  const shown = property.length > 60 ? property.slice(0, 60) + '…' : property;
  if (!seen.has(shown) && notes.length < MAX_READS) {
    seen.add(shown);
    notes.push('line ' + (place(...at)?.[0] ?? '?') + ': ' + shown + ' is undefined' + wayOut(names, near));
  }
  return undefined;
}

function wayOut(names, near) {
  if (near.length > 0) return '; did you mean ' + near.join(' or ') + '?';
  if (names.length > SHOWN_FIELDS) return '; there are ' + names.slice(0, SHOWN_FIELDS).join(', ') + ' and ' + (names.length - SHOWN_FIELDS) + ' more';
  return '; there is ' + names.join(', ');
}

function install(bundle) {
  shapes = bundle.shapes ?? {};
  plain = new Set(bundle.plain ?? []);
}

module.exports = { install, watch, notes };
