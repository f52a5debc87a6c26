// Runs one JavaScript program for a host that speaks frames on stdin and stdout.
//
// It runs inside a container, which is what contains the program: nothing here is
// a defence, and the host trusts nothing that comes out.
'use strict';
const process = require('node:process');
const timers = require('node:timers');
const vm = require('node:vm');
const { from, alloc, concat } = require('node:buffer').Buffer;
const { send, listen } = require('wire');
const json = require('json');
const { flush, hasPrinted } = require('output');
const trace = require('trace');
const globals = require('globals');
const reads = require('reads');
const host = require('host');
const races = require('races');
const clock = require('clock');
const texts = require('texts');
const whole = require('lib/plain')();

const VERSION = 1;
const OK = 0;
const THREW = 1;
const REFUSED = 2;
const STUCK = 13;
const TIMEOUT = 124;

const { apply } = Reflect;
const { inspect, types: { isDate, isPromise } } = require('node:util');
const { then } = main.Promise.prototype;
const { now } = Date;
const exit = process.reallyExit.bind(process);
const on = process.on.bind(process);

let input;
let order;
let bundle;
let state = 'waits'; // then 'runs', 'drains', 'over'
let outcome = { code: OK, value: undefined, error: '', notes: [] };
let result; // the returned value, or the reason of the rejection
let failed = false;
let graceEnd = 0;
let graceOver = false;
const floating = new Set(); // promises of statements that nobody awaits
let lateCalls = [];
let lostTimers = 0; // timers of races that something else has won
const unhandled = new Map(); // reasons of unhandled rejections, by promise

// end reports how the program ended, and ends the process.
function end({ code, value, error, notes }) {
  if (state === 'over') return;
  state = 'over';
  flush();
  const header = from(JSON.stringify({ exit_code: code, error: error.slice(0, 60000), notes: notes.slice(0, 100), reads: reads.notes }), 'utf8');
  const length = alloc(4);
  length.writeUInt32BE(header.length);
  send('D', 0, concat([length, header]), value ?? alloc(0));
  exit(0);
}

const fail = (code, error) => end({ code, value: undefined, error, notes: [...outcome.notes] });

// late is called when the time is up, if need be on top of a loop.
function late() {
  if (state === 'drains' && (outcome.code !== OK || outcome.value !== undefined || !goesOn(Infinity))) return drained();
  let where = trace.stopped(late);
  if (where) {
    where = ' at ' + where;
  } else if (host.calls.size > 0) {
    const names = [...new Set([...host.calls.values()].map(host.nameOf))].sort();
    where = ' while waiting for ' + names.slice(0, 3).join(', ') + (names.length > 3 ? ' and ' + (names.length - 3) + ' more' : '');
  } else if (globals.timers() > 0) {
    where = ' while waiting for a timer';
  }
  fail(TIMEOUT, 'time limit of ' + order.timeout_ns / 1e9 + ' s reached' + where);
}

// encoded returns a value as JSON; undefined if JSON cannot represent it.
function encoded(value) {
  if (value === undefined) return undefined;
  const text = typeof value === 'object' && value !== null ? whole(json.stringify, value, bundle.getters) : json.stringify(value);
  return text === undefined ? undefined : from(text, 'utf8');
}

// settle takes the result as it is when the program's function has ended; then
// what is still under way gets its time.
function settle(value, rejected) {
  if (state !== 'runs') return;
  result = value;
  failed = rejected;
  if (rejected) {
    outcome.code = THREW;
    outcome.error = trace.describe(value);
  } else {
    take(value);
  }
  state = 'drains';
  graceEnd = now() + order.grace_ns / 1e6;
  lateCalls = [...host.calls.values()];
  lostTimers = races.noteLost(lateCalls, globals.timers(), isPending);
  for (const call of lateCalls) call.late = true;
  timers.setTimeout(() => {
    graceOver = true;
    look();
  }, order.grace_ns / 1e6).unref(); // without anything else, the end is at once
  changed();
}

function take(value) {
  try {
    outcome.value = encoded(value);
  } catch (error) {
    if (bundle.implicit) return; // a last expression that JSON cannot write is not a result
    outcome.code = THREW;
    outcome.error = texts.unwritable + trace.describe(error).split('\n')[0] + texts.plainData;
    return;
  }
  const max = order.result_bytes;
  if (outcome.value?.length > max) {
    outcome.error = 'result of ' + host.size(outcome.value.length) + ' is over the limit of ' + host.size(max) +
      ' (config: sandbox.maxResult): return a summary, or print what is needed';
    outcome.code = THREW;
    outcome.value = undefined;
  }
  const note = returned(value);
  if (note && !(bundle.implicit && hasPrinted())) outcome.notes.push(note);
}

// returned describes how a result that JSON cannot represent was written; '' if JSON can.
function returned(value) {
  if (typeof value === 'function' || typeof value === 'symbol') return texts[typeof value];
  if (isDate(value) && outcome.value?.toString() === 'null') return texts.date;
  return typeof value === 'number' && !(value - value === 0) ? value + texts.number : '';
}

// changed is called whenever a call has begun or ended, or a timer was due.
function changed() {
  if (host.calls.size > 0) input.ref();
  else input.unref();
  // The code that waits for it runs first.
  if (state === 'drains') timers.setImmediate(() => timers.setImmediate(look));
}

function look() {
  if (state !== 'drains') return;
  const inGrace = !graceOver && ([...host.calls.values()].some((call) => !call.lost) || globals.timers() > lostTimers && globals.timerBefore(graceEnd));
  if (order.grace_ns === 0 || !(inGrace || goesOn(clock.deadline()))) drained();
}

// floats gets what statements start and nobody awaits: that is meant, and the run
// goes on until it has ended. What is left behind in other ways, such as the timer
// of a Promise.race, is not worth waiting for, but for the grace period.
const floats = {
  set of(value) {
    const call = [...host.calls.values()].find((c) => c.promise === value);
    if (call) call.stated = true;
    else if (!globals.keep(value) && isPending(value)) floating.add(value);
  },
};

// isPending asks without adding a handler, which would make a rejection count as
// caught, or as uncaught a second time.
const isPending = (value) => isPromise(value) && inspect(value, { depth: 0, customInspect: false }).includes('{ <pending>');

// goesOn reports whether something that a statement has started is still running.
const goesOn = (deadline) =>
  globals.keptBefore(deadline) || (host.calls.size > 0 || globals.timers() > 0) && [...floating].some(isPending);

// drained ends the run: nothing is under way any more, or its time is over.
function drained() {
  if (state !== 'drains') return;
  for (const call of host.calls.values()) if (!call.late) lateCalls.push(call);
  if (!(failed && host.thrown.has(result))) outcome.notes.push(...lateNotes(), ...timerNotes());
  if (bundle.implicit && hasPrinted()) outcome.value = undefined;
  addRejections();
  end(outcome);
}

// lateNotes describes the ends of the calls that were still running when the program
// ended, grouped by outcome, as the Go function script.LateNote does.
function lateNotes() {
  const open = new Set(host.calls.values());
  const fates = new Map();
  for (const call of lateCalls) {
    const fate = open.has(call) ? 'cancelled' : call.failed ? 'failed: ' + call.end : 'ended';
    if (fate === 'ended' && ['store.set', 'store.delete'].includes(host.nameOf(call))) continue; // its effect has taken place
    const key = JSON.stringify([host.nameOf(call), fate]);
    fates.set(key, (fates.get(key) ?? 0) + 1);
  }
  return [...fates].map(([key, n]) => {
    const [name, fate] = JSON.parse(key);
    const text = n > 1 ? texts.lateCalls : texts.lateCall;
    return fill(text.note, { n, name, end: text[fate] ?? fate });
  }).sort();
}

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// timerNotes describes the timers of statements that have not fired.
function timerNotes() {
  const notes = globals.kept(true) > 0 ? [texts.interval] : [];
  const n = globals.kept(false);
  if (n > 0) notes.push(fill(n > 1 ? texts.timeouts : texts.timeout, { n }));
  return notes;
}

// addRejections adds the unhandled rejections: the first is the program's error
// unless it has one.
function addRejections() {
  for (const reason of unhandled.values()) {
    if (typeof reason === 'object' && reason !== null && host.late.has(reason)) continue;
    const text = trace.describe(reason);
    const first = text.split('\n')[0];
    if (outcome.code === OK) {
      outcome.code = THREW;
      outcome.value = undefined;
      outcome.error = text + texts.uncaught;
    } else if (!outcome.error.includes(first)) {
      outcome.notes.push(texts.alsoUncaught + first);
    }
  }
}

// idle is called when nothing can happen any more.
function idle() {
  if (state === 'drains') return drained();
  if (state !== 'runs') return undefined;
  addRejections();
  if (outcome.code !== OK) return end(outcome);
  return fail(STUCK, texts.stuck);
}

function threw(error) {
  if (state === 'drains' && outcome.code !== OK) return drained();
  return fail(THREW, trace.describe(error));
}

const absent = (name) => {
  throw new main.Error(name + ' is not available: ' + bundle.withheld[name]);
};

function run(payload) {
  order = JSON.parse(payload.toString('utf8'));
  bundle = order.bundle;
  state = 'runs';
  trace.install(bundle);
  reads.install(bundle);
  if (/\.(race|any)\b/.test(bundle.code)) races.install();
  host.limitArguments(order.result_bytes);
  clock.start(order.timeout_ns / 1e6, late);
  on('uncaughtException', threw);
  on('unhandledRejection', (reason, promise) => unhandled.set(promise, reason));
  on('rejectionHandled', (promise) => unhandled.delete(promise));
  on('beforeExit', idle);
  changed();
  let script;
  try {
    script = new vm.Script(bundle.code, { filename: bundle.file });
  } catch (error) {
    return fail(REFUSED, bundle.file + ': ' + error.message + '\n0 tools called');
  }
  try {
    let program;
    script.runInThisContext()((f) => { program = f; }, main.globalThis.callMCPTool, host.ToolError, absent, floats);
    apply(then, program(), [(value) => settle(value, false), (reason) => settle(reason, true)]);
  } catch (error) {
    threw(error);
  }
  return undefined;
}

const handlers = {
  H(payload) {
    if (JSON.parse(payload.toString('utf8')).version !== VERSION) gone();
    globals.install(changed);
    json.install();
    send('Y', 0);
    host.install(changed); // while nothing waits for it
    clock.prepare();
  },
  E: run,
  P: clock.pause,
  U: clock.resume,
  R: (payload, id) => host.answer(id, payload, false),
  X: (payload, id) => host.answer(id, payload, true),
};

function handle(type, id, payload) {
  if (state !== 'over') handlers[type]?.(payload, id);
}

const gone = () => exit(1);

module.exports = { start: () => (input = listen(handle, gone)) };
