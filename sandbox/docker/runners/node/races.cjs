// The promises of each Promise.race and Promise.any, so that the run does not wait for
// a call that has lost one: each promise, and the one that it was made of by then,
// catch and finally, which may be itself.
'use strict';
const racers = [];

function install() {
  require('lib/promises')({ caught: (reason) => reason, raced: (promise, origin) => racers.push([promise, origin]) });
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
