// Traces in the program's own lines.
'use strict';
const { isNativeError } = require('node:util').types;
const { inspect } = require('node:util');
const { SourceMap } = require('node:module');
const texts = require('texts');
const { apply, get } = Reflect;
const toText = main.Error.prototype.toString;

const MAX_FRAMES = 12;
let bundle = null;
let map = null; // of the script from its second line on, as it was before its edits

// place is where something of the script stands in the program: [line, column],
// or nothing if it is not of the program.
function place(line, column) {
  if (bundle === null) return null;
  map ??= new SourceMap({ version: 3, sources: bundle.sources, names: [], mappings: bundle.mappings });
  column--;
  let moved = 0;
  for (const [at, from, by] of bundle.edits ?? []) if (at === line - 1 && from + moved + Math.max(by, 0) <= column) moved += by;
  const found = map.findEntry(line - 2, column - moved);
  if (found.generatedLine !== line - 2 || found.originalSource !== bundle.file) return null;
  const { originalLine, originalColumn } = found;
  return [originalLine + 1, (originalLine === 0 ? Math.max(0, originalColumn - bundle.before) : originalColumn) + 1];
}

// frames are those of the program, as lines.
function frames(list) {
  const shown = [];
  for (const f of list) {
    if (f.getFileName() !== bundle?.file) continue;
    const at = place(f.getLineNumber(), f.getColumnNumber());
    if (!at) continue;
    const where = bundle.file + ':' + at[0] + ':' + at[1];
    let name = f.getFunctionName();
    if (name && f.isConstructor()) name = 'new ' + name;
    if (name && f.isAsync?.()) name = 'async ' + name;
    shown.push(name ? name + ' (' + where + ')' : where);
    if (shown.length === MAX_FRAMES) break;
  }
  return shown;
}

let raw = false; // return the frames themselves

function prepare(error, list) {
  if (raw) return list;
  let head;
  try {
    head = apply(toText, error, []);
  } catch {
    head = 'Error';
  }
  return [head, ...frames(list).map((f) => '    at ' + f)].join('\n');
}

const { captureStackTrace } = main.Error;

// here returns the trace of the caller of below, without a head. It is made on
// first use.
function here(below) {
  const holder = new main.Object();
  captureStackTrace(holder, below);
  return () => {
    const stack = holder.stack;
    return typeof stack === 'string' ? stack.slice(stack.indexOf('\n') + 1 || stack.length) : '';
  };
}

// stack are the frames below, at most n.
function stack(below, n) {
  const { Error } = main;
  const limit = Error.stackTraceLimit;
  const holder = new main.Object();
  raw = true;
  try {
    Error.stackTraceLimit = n;
    captureStackTrace(holder, below);
    return Array.isArray(holder.stack) ? holder.stack : [];
  } finally {
    raw = false;
    Error.stackTraceLimit = limit;
  }
}

const ofProgram = (frame) => frame?.getFileName?.() === bundle.file;

// caller is where the program's code stands in the script that calls below, as
// [line, column]; nothing if it is not the program's code that does.
function caller(below) {
  const [frame] = stack(below, 1);
  return ofProgram(frame) ? [frame.getLineNumber(), frame.getColumnNumber()] : null;
}

// stopped is where the program stands whose run was stopped for below to be called.
function stopped(below) {
  for (const frame of stack(below, 200)) {
    const at = ofProgram(frame) && place(frame.getLineNumber(), frame.getColumnNumber());
    if (at) return bundle.file + ':' + at[0] + ':' + at[1];
  }
  return '';
}

const advice = new WeakMap(); // hints of errors, by error

// advise sets the hint of an error, and returns the error.
function advise(error, hint) {
  advice.set(error, hint);
  return error;
}

const FRAME = /^\s+at (.*)$/;

function describeValue(value, depth) {
  if (!isNativeError(value)) return texts.notAnError + inspect(value, { depth: 4 });
  let name = get(value, 'name') || 'Error';
  const made = get(value, 'constructor');
  if (name === 'Error' && made?.name) name = made.name; // a class of the program that sets no name
  const message = get(value, 'message');
  let text = '' + name;
  if (message) text += ': ' + message;
  const stack = get(value, 'stack');
  if (typeof stack === 'string') {
    const shown = stack.split('\n').filter((l) => FRAME.test(l) && l.includes(bundle.file + ':')).slice(0, 8);
    for (const l of shown) text += '\n  at ' + FRAME.exec(l)[1];
  }
  const own = name === 'ToolError' ? get(value, 'hint') : undefined; // of a call that failed
  const hint = advice.get(value) ?? hintFor('' + name, '' + message) ?? (typeof own === 'string' ? own : undefined);
  if (hint) text += '\nhint: ' + hint;
  if (depth >= 3) return text;
  const cause = get(value, 'cause');
  if (cause !== undefined) text += '\ncaused by: ' + describeValue(cause, depth + 1);
  const errors = get(value, 'errors');
  if (Array.isArray(errors)) {
    for (const e of errors.slice(0, 5)) text += '\n- ' + describeValue(e, depth + 1).replaceAll('\n', '\n  ');
  }
  return text;
}

function hintFor(name, message) {
  if (name === 'RangeError' && message.startsWith('Maximum call stack')) return 'a function calls itself without end, or too deeply: use a loop';
  if ((name === 'TypeError' || name === 'SyntaxError') && Object.hasOwn(bundle.messages, message)) return bundle.messages[message];
  const missing = name === 'ReferenceError' && /^(\S+) is not defined$/.exec(message)?.[1];
  return missing ? (bundle.hints?.[missing] ?? bundle.withheld[missing]) : undefined;
}

// describe returns a text for a thrown value.
function describe(value) {
  try {
    return describeValue(value, 0);
  } catch {
    return texts.undescribable;
  }
}

function install(program) {
  bundle = program;
  main.Error.stackTraceLimit = 30;
  main.Error.prepareStackTrace = prepare;
}

module.exports = { install, advise, describe, place, here, caller, stopped };
