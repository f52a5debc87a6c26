// The output of the program: gathered for a moment, and sent in frames.
'use strict';
const { Console } = require('node:console');
const { inspect, formatWithOptions } = require('node:util');
const { send } = require('wire');
const { stringify } = require('json');

const METHODS = ['log', 'info', 'debug', 'warn', 'error', 'trace', 'dir', 'dirxml', 'table', 'assert', 'group',
  'groupCollapsed', 'groupEnd', 'count', 'countReset', 'time', 'timeEnd', 'timeLog', 'clear'];
const BYTES = 16 << 10;
const PAUSE = 20; // milliseconds
const { now } = Date;
const { defineProperty } = Object;
const { from, concat } = require('node:buffer').Buffer;
const later = require('node:timers').setImmediate;

let parts = [];
let size = 0;
let stream = 'O';
let sent = 0;
let waits = false;
let printed = false;

function flush() {
  const all = concat(parts);
  parts = [];
  size = 0;
  sent = now();
  for (let at = 0; at < all.length; at += BYTES) send(stream, 0, all.subarray(at, at + BYTES));
}

function print(to, text) {
  if (to !== stream) {
    flush();
    stream = to;
  }
  printed ||= to === 'O';
  const bytes = from(text, 'utf8');
  parts.push(bytes);
  size += bytes.length;
  if (size >= BYTES || now() - sent > PAUSE) {
    flush();
  } else if (!waits) {
    waits = true;
    later(() => {
      waits = false;
      flush();
    });
  }
}

const options = { depth: 4, colors: false };
const BIG = /(['"`])(?:\\.|(?!\1)[^\\])*\1|(?<![\w$.])(-?[0-9]+)n\b/gs;

// plain writes a bigint as an integer, as everything else here does.
function plain(value) {
  if (typeof value === 'bigint') return '' + value;
  if (typeof value === 'string') return value;
  return digitsOnly(inspect(value, options));
}

const digitsOnly = (text) => (/[0-9]n/.test(text) ? text.replace(BIG, (all, quote, digits) => digits ?? all) : text);

function format(args) {
  if (typeof args[0] !== 'string' || args.length < 2) return args.map(plain).join(' ');
  let used = 1;
  const text = args[0].replace(/%([sdifjoOc%])/g, (all, kind) => {
    if (kind === '%') return '%';
    return used < args.length ? directed(all, args[used++]) : all;
  });
  return [text, ...args.slice(used).map(plain)].join(' ');
}

// directed writes a value as a directive such as %d says.
function directed(directive, value) {
  if (typeof value === 'bigint' && directive !== '%c') return '' + value;
  if (directive === '%j') {
    try {
      return '' + stringify(value);
    } catch {
      // a cycle, which has a text of its own
    }
  }
  const text = formatWithOptions(options, directive, value);
  return typeof value === 'string' && directive === '%s' ? text : digitsOnly(text);
}

function makeConsole() {
  const sink = (to) => ({ write: (text) => print(to, text) });
  const base = new Console({ stdout: sink('O'), stderr: sink('e'), ignoreErrors: false, colorMode: false, inspectOptions: { depth: 4 } });
  const console = new main.Object();
  const { log, warn } = base;
  for (const name of ['log', 'info', 'debug']) base[name] = (...args) => log(format(args));
  for (const name of ['warn', 'error']) base[name] = (...args) => warn(format(args));
  base.clear = () => {};
  for (const name of METHODS) defineProperty(console, name, { value: base[name], writable: true, enumerable: false, configurable: true });
  return console;
}

module.exports = { flush, makeConsole, hasPrinted: () => printed };
