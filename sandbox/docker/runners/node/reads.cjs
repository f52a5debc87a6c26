// Notices reads of unknown properties. Between the objects of an answer whose shape
// is known and Object.prototype lies another object, which sees only reads of
// properties that the object itself does not have.
'use strict';
const { nearest } = require('nearest');
const { advise, caller, place } = require('trace');

const MAX_READS = 10;
const MAX_SHAPED = 256 << 10; // bytes of an answer whose reads are watched
const SHOWN_FIELDS = 8;
const { getPrototypeOf, setPrototypeOf } = Object;
const ordinary = main.Object.prototype;
const MEDIA_MARK = '"ref":"r_'; // in every answer with an image, a sound or a file
const MAX_MEDIA_DEPTH = 8;

let shapes = {};
let plain = new Set(); // places of reads whose value is used as it comes
let media = null; // how package script describes images, sounds and files
const mediaShapes = new Map(); // by target
const prototypes = new Map(); // by shape
const listed = new Set(); // shapes of elements of lists, and of what is in them
const ours = new Set();
const seen = new Set();
const notes = [];

function watch(value, target, payload) {
  if (payload.length > MAX_SHAPED) return value;
  mark(value, shapes[target], target);
  if (media && payload.includes(MEDIA_MARK)) markMedia(value, target, 0);
  return value;
}

// markMedia makes reads of the bytes of images, sounds and files noticed.
function markMedia(value, target, depth) {
  if (typeof value !== 'object' || value === null || depth > MAX_MEDIA_DEPTH) return;
  const keys = Object.keys(value);
  const isMedia = keys.includes('size') && keys.includes('ref') && keys.every((k) => media.fields.includes(k));
  if (!isMedia) return keys.forEach((key) => markMedia(value[key], target, depth + 1));
  if (typeof value.ref === 'string' && value.ref.startsWith('r_')) setPrototypeOf(value, prototypeFor(mediaShape(target), target));
}

function mediaShape(target) {
  if (!mediaShapes.has(target)) {
    mediaShapes.set(target, { c: true, p: Object.fromEntries([...media.fields, ...media.other].map((name) => [name, {}])) });
  }
  return mediaShapes.get(target);
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
  if (shape.o || Object.keys(shape.p ?? {}).length === 0) return;
  if (inList) listed.add(shape);
  setPrototypeOf(value, prototypeFor(shape, target));
}

function prototypeFor(shape, target) {
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

// missed handles a read of a property that an object does not have itself.
function missed(shape, target, property, receiver, below) {
  if (property === '__proto__') return ordinary;
  if (property in ordinary) return Reflect.get(ordinary, property, receiver);
  if (typeof property !== 'string' || Object.hasOwn(shape.p, property) || property === 'then' || property === 'toJSON') return undefined;
  const at = caller(below);
  if (!at) return undefined;
  // Engines differ in whether a read stands at its dot or at the name behind it.
  const used = plain.has(at[0] + ':' + at[1]) || plain.has(at[0] + ':' + (at[1] + 1));
  if (shape === mediaShapes.get(target) && media.bytes.includes(property)) {
    const message = property + media.message;
    if (used) throw advise(new main.TypeError(message), media.hint);
    note(at, property, message.slice((property + ' is undefined').length) + '; ' + media.hint);
    return undefined;
  }
  const names = Object.keys(shape.p).sort();
  const near = nearest(property, names, 2);
  // It asked, and was answered; records often have fields that others lack.
  if (near.length === 0 && (!used || listed.has(shape))) return undefined;
  if (shape.c && used && near.length > 0) {
    throw new main.TypeError(property + ' is not a field of what ' + target.replace('\x1f', '.') + ' answers' + wayOut(names, near));
  }
  note(at, property, wayOut(names, near));
  return undefined;
}

function note(at, property, rest) {
  const shown = property.length > 60 ? property.slice(0, 60) + '…' : property;
  if (seen.has(shown) || notes.length === MAX_READS) return;
  seen.add(shown);
  notes.push('line ' + (place(...at)?.[0] ?? '?') + ': ' + shown + ' is undefined' + rest);
}

function wayOut(names, near) {
  if (near.length > 0) return '; did you mean ' + near.join(' or ') + '?';
  if (names.length > SHOWN_FIELDS) return '; there are ' + names.slice(0, SHOWN_FIELDS).join(', ') + ' and ' + (names.length - SHOWN_FIELDS) + ' more';
  return '; there is ' + names.join(', ');
}

function install(bundle) {
  shapes = bundle.shapes ?? {};
  plain = new Set(bundle.plain ?? []);
  media = bundle.media;
}

module.exports = { install, watch, notes };
