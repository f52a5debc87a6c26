// The globals of the program: the language, and of Node what needs no system.
'use strict';
const timers = require('node:timers');
const { makeConsole } = require('output');

const { globalThis } = main;
const { defineProperty, getOwnPropertyNames } = Object;
const { now } = Date;

const hidden = (object, name, value) =>
  defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });

// The names of Node that programs may use. The language's own names are those of a
// realm that nothing was added to, such as that of this module.
const KEPT = new Set(['AbortController', 'AbortSignal', 'Blob', 'Buffer', 'Crypto', 'CryptoKey', 'CustomEvent', 'DOMException',
  'Event', 'EventTarget', 'SubtleCrypto', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'atob', 'btoa', 'crypto',
  'global', 'performance', 'queueMicrotask', 'structuredClone']);
const LANGUAGE = new Set(getOwnPropertyNames((0, eval)('globalThis')));
LANGUAGE.delete('WebAssembly');

function strip() {
  for (const name of getOwnPropertyNames(globalThis)) {
    if (!KEPT.has(name) && !LANGUAGE.has(name)) delete globalThis[name];
  }
  if (!('crypto' in globalThis)) {
    defineProperty(globalThis, 'crypto', { get: () => require('node:crypto').webcrypto, enumerable: false, configurable: true });
  }
}

// The timers that are set, by what setTimeout and setInterval have returned: when they
// are due, whether they repeat, and whether a statement of the program has set them.
const pending = new Map();
const MAX_DELAY = 2 ** 31 - 1;

// addTimers defines the timers. fired is called after every timeout.
function addTimers(fired) {
  const delay = (ms) => Math.min(Math.max(Number(ms) || 0, 0), MAX_DELAY);
  hidden(globalThis, 'setTimeout', (callback, ms, ...args) => {
    if (typeof callback !== 'function') return timers.setTimeout(callback, ms);
    const t = timers.setTimeout(() => {
      pending.delete(t);
      fired();
      callback(...args);
    }, delay(ms));
    pending.set(t, { due: now() + delay(ms), repeats: false, kept: false });
    return t;
  });
  hidden(globalThis, 'setInterval', (callback, ms, ...args) => {
    if (typeof callback !== 'function') return timers.setInterval(callback, ms);
    const every = Math.max(delay(ms), 1);
    const state = { due: now() + every, repeats: true, kept: false };
    const t = timers.setInterval(() => {
      state.due = now() + every;
      fired();
      callback(...args);
    }, every);
    pending.set(t, state);
    return t;
  });
  hidden(globalThis, 'setImmediate', (callback, ...args) => timers.setImmediate(callback, ...args));
  const clear = (t) => {
    if (typeof t === 'number' || typeof t === 'string') t = [...pending.keys()].find((p) => +p === +t) ?? t;
    pending.delete(t);
    timers.clearTimeout(t);
    if (typeof t === 'object') timers.clearImmediate(t);
  };
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) hidden(globalThis, name, (t) => clear(t));
}

// addSignalTimeouts keeps a program running while it waits for AbortSignal.timeout,
// which Node does not. A program that has ended does not wait for it.
function addSignalTimeouts() {
  const { AbortSignal } = globalThis;
  const { timeout } = AbortSignal;
  hidden(AbortSignal, 'timeout', (ms) => {
    const signal = timeout(ms);
    const t = timers.setTimeout(() => pending.delete(t), Math.min(ms, MAX_DELAY));
    pending.set(t, { due: Infinity, repeats: false, kept: false });
    return signal;
  });
}

const some = (is) => [...pending.values()].some(is);

// keep records that a statement of the program has set a timer.
function keep(t) {
  const state = pending.get(t);
  if (state) state.kept = true;
  return state !== undefined;
}

// timerBefore says whether a timer is due before a time that fires once, or that a
// statement has set; keptBefore, whether one that fires once and a statement has set.
const timerBefore = (end) => some((t) => (!t.repeats || t.kept) && t.due <= end);
const keptBefore = (end) => some((t) => !t.repeats && t.kept && t.due <= end);

// kept returns the number of timers that statements have set.
const kept = (repeats) => [...pending.values()].filter((t) => t.kept && t.repeats === repeats).length;

function install(fired) {
  strip();
  // Symbols that the using statements compiled by esbuild look for.
  for (const name of ['dispose', 'asyncDispose']) {
    if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol('Symbol.' + name) });
  }
  for (const [owner, methods] of Object.entries(require('lib/builtins')())) {
    const object = owner === 'String' ? String.prototype : globalThis[owner];
    for (const name of Object.keys(methods)) if (!(name in object)) hidden(object, name, methods[name]);
  }
  if (!('Iterator' in globalThis)) {
    const { Iterator, ...methods } = require('lib/iterator')();
    hidden(globalThis, 'Iterator', Iterator);
    for (const name of Object.keys(methods)) hidden(Iterator.prototype, name, methods[name]);
  }
  require('lib/newer')();
  addTimers(fired);
  hidden(globalThis, 'retry', require('lib/retry')().retry);
  addSignalTimeouts();
  hidden(globalThis, 'console', makeConsole());
}

module.exports = { install, hidden, keep, kept, timerBefore, keptBefore, timers: () => pending.size };
