// The time limit. A loop that does not end keeps the main thread from looking at
// any clock; another thread does, and stops it as a debugger would, which lets
// it tell the line.
'use strict';
const timers = require('node:timers');
const { Worker } = require('node:worker_threads');
const { now } = Date;

const MARGIN = 40; // milliseconds that the main thread has to notice by itself
const LATE = Symbol.for('broker.late');

// watcher is the text of the other thread.
const watcher = `'use strict';
const { workerData: { shared } } = require('node:worker_threads');
const { Session } = require('node:inspector');
const session = new Session();
session.connectToMainThread();
const changes = new Int32Array(shared, 0, 1);
const deadline = new Float64Array(shared, 8, 1);
for (;;) {
  const change = Atomics.load(changes, 0);
  const left = deadline[0] + ${MARGIN} - Date.now();
  if (left <= 0) break;
  Atomics.wait(changes, 0, change, left);
}
session.on('Debugger.paused', () => {
  session.post('Runtime.evaluate', { expression: 'globalThis[Symbol.for("broker.late")]()' });
});
setInterval(() => {}, 1000); // answers do not keep this thread alive
session.post('Debugger.enable');
session.post('Debugger.pause');
`;

const shared = new SharedArrayBuffer(16);
const changes = new Int32Array(shared, 0, 1);
const deadline = new Float64Array(shared, 8, 1);
deadline[0] = Infinity;
let timer;
let left = Infinity; // while it stands still
let late;

function set(time) {
  deadline[0] = time;
  Atomics.add(changes, 0, 1);
  Atomics.notify(changes, 0);
  timers.clearTimeout(timer);
  if (time < Infinity) timer = timers.setTimeout(() => late(), Math.max(0, time - now())).unref();
}

// prepare starts the other thread, which waits.
function prepare() {
  new Worker(watcher, { eval: true, workerData: { shared }, env: {}, stdin: false }).unref();
}

// start begins to count; whenLate is called when the time is up, on top of what
// the main thread is doing if it does not end.
function start(milliseconds, whenLate) {
  late = whenLate;
  Object.defineProperty(main.globalThis, LATE, { value: whenLate });
  set(now() + milliseconds);
}

function pause() {
  left = deadline[0] - now();
  set(Infinity);
}

function resume() {
  set(now() + Math.max(left, 1));
}

module.exports = { prepare, deadline: () => deadline[0], start, pause, resume, stop: () => set(Infinity) };
