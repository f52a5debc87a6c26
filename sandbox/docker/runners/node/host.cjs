// The program's calls to its host, which become frames.
'use strict';
const { send, prefixed } = require('wire');
const { parse, stringify } = require('json');
const { here } = require('trace');
const { flush } = require('output');
const { hidden } = require('globals');
const { watch } = require('reads');
const { from, alloc } = require('node:buffer').Buffer;

const { Error: MainError, Promise: MainPromise, globalThis } = main;
const define = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

const calls = new Map(); // calls under way, by id
let last = 0;
let limit = Infinity;
let changed = () => {};

// ToolError is of the program's realm, so that it is an Error there.
const ToolError = main.Function('return class ToolError extends Error {}')();
hidden(ToolError.prototype, 'name', 'ToolError');

const thrown = new WeakSet(); // errors of calls
const late = new WeakSet(); // errors of calls that the program did not await

function newError({ name, message = '', fields }, trace) {
  const error = name === 'ToolError' ? new ToolError(message) : new MainError(message);
  if (name && name !== 'ToolError') hidden(error, 'name', name);
  for (const key of Object.keys(fields ?? {})) define(error, key, fields[key]);
  const frames = trace();
  hidden(error, 'stack', error.name + ': ' + message + (frames ? '\n' + frames : ''));
  thrown.add(error);
  return error;
}

const nonEmpty = (v) => typeof v === 'string' && v !== '';
const refuse = (message) => {
  throw new MainError(message);
};

// A target of the two names of a tool is joined as sandbox.JoinTarget joins it.
const SEPARATOR = '\x1f';
const shown = (target) => target.replace(SEPARATOR, '.');

// The readers turn the arguments of a function into [target, argument].
function readTool(args, example) {
  if (!nonEmpty(args[0])) refuse('callMCPTool: the first argument must be a tool id, as in ' + example);
  let [target, input] = args;
  if (typeof input === 'string') [target, input] = [target + SEPARATOR + input, args[2]];
  if (input === undefined || input === null) return [target];
  if (typeof input !== 'object' && typeof input !== 'function') refuse('callMCPTool: the arguments of ' + shown(target) + ' must be an object');
  return [target, input];
}

function readText(args, example) {
  const text = typeof args[0] === 'string' ? args.shift() : '';
  if (args[0] === undefined || args[0] === null) return [text];
  return typeof args[0] === 'object' ? [text, args[0]] : refuse('use it as in ' + example);
}

const READERS = {
  tool: readTool,
  text: readText,
  key: ([key, value], example) => nonEmpty(key) ? [key, value] : refuse('the key must be a text that is not empty, as in ' + example),
  texts: (args, example) => nonEmpty(args[0]) && nonEmpty(args[1]) ? [args[0], args.slice(1)] : refuse('use it as in ' + example),
  nothing: () => [''],
};

function size(n) {
  for (const [unit, name] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
    if (n >= unit) return (n / unit).toFixed(1).replace('.0', '') + ' ' + name;
  }
  return n + ' bytes';
}

function start(call, target, input) {
  const text = input === undefined ? undefined : stringify(input);
  const args = text === undefined ? alloc(0) : from(text, 'utf8');
  if (args.length > limit) {
    return { name: 'ToolError', fields: { code: 'argument_too_large', retryable: false },
      message: `argument of ${size(args.length)} for ${shown(target).slice(0, 200)} is over the limit of ${size(limit)} (config: sandbox.maxResult): send it in parts` };
  }
  flush();
  call.target = target;
  calls.set(++last, call);
  send('C', last, prefixed(call.func, 2), prefixed(target, 4), args);
  changed();
  return null;
}

function bind({ call: func, takes, example }) {
  const read = READERS[takes];
  const bound = (...args) => {
    const call = { func, target: '', trace: here(bound), late: false, end: '' };
    return call.promise = new MainPromise((resolve, reject) => {
      call.resolve = resolve;
      call.reject = reject;
      const failed = start(call, ...read(args, example));
      if (failed) reject(newError(failed, call.trace));
    });
  };
  return bound;
}

// answer settles a call.
function answer(id, payload, failed) {
  const call = calls.get(id);
  if (!call) return;
  calls.delete(id);
  const text = payload.toString('utf8');
  if (failed) {
    const told = parse(text);
    const error = newError(told, call.trace);
    call.end = told.message ?? '';
    call.failed = true;
    if (call.late) late.add(error);
    call.reject(error);
  } else {
    try {
      call.resolve(text === '' ? undefined : watch(parse(text), call.target, payload));
    } catch (error) { // an answer that cannot be read fails its own call only
      call.reject(newError({ name: 'ToolError', message: 'the answer of ' + nameOf(call) + ' cannot be read: ' + error.message }, call.trace));
    }
  }
  changed();
}

const nameOf = (call) => (call.func === 'call' && shown(call.target)) || call.func;

function install(whenChanged) {
  changed = whenChanged;
  hidden(globalThis, 'ToolError', ToolError);
  for (const f of require('functions')) {
    if (f.object && !Object.hasOwn(globalThis, f.object)) hidden(globalThis, f.object, new main.Object());
    hidden(f.object ? globalThis[f.object] : globalThis, f.name, bind(f));
  }
}

const limitArguments = (bytes) => (limit = bytes);

module.exports = { install, limitArguments, answer, calls, nameOf, ToolError, size, thrown, late };
