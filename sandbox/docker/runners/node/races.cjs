// Records the promises of each Promise.race and Promise.any, so that the run does not
// wait for a call that has lost one.
'use strict';
const { hidden } = require('globals');
const { apply } = Reflect;

// Pairs of a promise and the one that it was made of by then, catch and finally,
// which may be itself.
const racers = [];
const origins = new WeakMap();
let racing = false;

function install() {
  const { Promise } = main;
  const original = Promise.prototype.then;
  const { then } = {
    then(...handlers) {
      const made = apply(original, this, handlers);
      const origin = origins.get(this) ?? this;
      if (racing) racers.push([this, origin]);
      else origins.set(made, origin);
      return made;
    },
  };
  hidden(Promise.prototype, 'then', then);
  for (const name of ['race', 'any']) {
    const first = Promise[name];
    const method = {
      [name](list) {
        racing = true;
        try {
          return apply(first, this, [list]);
        } finally {
          racing = false;
        }
      },
    }[name];
    hidden(Promise, name, method);
  }
}

// noteLost notes which calls under way nobody waits for any more. A promise of an
// async function, or of Promise.all, may have lost too, and no promise says which
// calls it waits for: then it is all of them but those that are statements. As many
// of these promises as there are timers are taken to wait for a timer; it returns
// how many.
function noteLost(calls, timers, isPending) {
  let unknown = 0;
  for (const [promise, origin] of racers) {
    if (!isPending(promise)) continue;
    const call = calls.find((c) => c.promise === origin);
    if (call) call.lost = true;
    else unknown++;
  }
  const lostTimers = Math.min(unknown, timers);
  for (const call of calls) call.lost ||= unknown > lostTimers && !call.stated;
  return lostTimers;
}

module.exports = { install, noteLost };
