// The globals of the program: the language, and of Node what needs no system.
'use strict';
const timers = require('node:timers');
const { makeConsole } = require('output');

const { globalThis } = main;
const { defineProperty, getOwnPropertyNames } = Object;
const { now } = Date;

const hidden = (object, name, value) =>
  defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });

function strip() {
  const known = new Set(require('names'));
  for (const name of getOwnPropertyNames(globalThis)) if (!known.has(name)) delete globalThis[name];
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
  const add = (name, repeats) => hidden(globalThis, name, (callback, ms, ...args) => {
    if (typeof callback !== 'function') return timers[name](callback, ms);
    const wait = repeats ? Math.max(delay(ms), 1) : delay(ms);
    const state = { due: now() + wait, repeats, kept: false };
    const t = timers[name](() => {
      if (repeats) state.due = now() + wait;
      else pending.delete(t);
      fired();
      callback(...args);
    }, wait);
    pending.set(t, state);
    return t;
  });
  add('setTimeout', false);
  add('setInterval', true);
  hidden(globalThis, 'setImmediate', (callback, ...args) => timers.setImmediate(callback, ...args));
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) {
    hidden(globalThis, name, (t) => {
      if (typeof t === 'number' || typeof t === 'string') t = [...pending.keys()].find((p) => +p === +t) ?? t;
      pending.delete(t);
      timers.clearTimeout(t);
      if (typeof t === 'object') timers.clearImmediate(t);
    });
  }
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
  const { String: strings, ...builtins } = require('lib/builtins')();
  const iterator = 'Iterator' in globalThis ? {} : require('lib/iterator')();
  const { Iterator, ...ofIterators } = iterator;
  if (Iterator) hidden(globalThis, 'Iterator', Iterator);
  const missing = { 'String.prototype': strings, 'Iterator.prototype': ofIterators, ...builtins, ...require('lib/newer')() };
  for (const [owner, methods] of Object.entries(missing)) {
    const object = owner.split('.').reduce((of, name) => of[name], globalThis);
    for (const name of Object.keys(methods)) if (!(name in object)) hidden(object, name, methods[name]);
  }
  addTimers(fired);
  hidden(globalThis, 'retry', require('lib/retry')().retry);
  addSignalTimeouts();
  hidden(globalThis, 'console', makeConsole());
}

module.exports = { install, hidden, keep, kept, timerBefore, keptBefore, timers: () => pending.size };
