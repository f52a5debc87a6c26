// retry calls a function again whose error says that this may help.
(function () {
  'use strict';
  const later = setTimeout;
  const maxTimes = 10;
  const longest = 60000; // that it waits at one time, in milliseconds
  const first = 500; // where the error does not say how long

  // retry gives what f gives, after at most times attempts. An error that is not retryable,
  // or whose time is longer than maxWaitMs, is thrown at once.
  const { retry } = {
    async retry(f, options) {
      if (typeof f !== 'function') throw new TypeError('retry takes a function, as in await retry(() => github.listIssues({ owner }))');
      const { times = 3, maxWaitMs = 30000 } = options ?? {};
      const attempts = Math.min(Math.max(Math.trunc(Number(times)) || 1, 1), maxTimes);
      const most = Math.min(Number(maxWaitMs) || 0, longest);
      for (let n = 1; ; n++) {
        try {
          return await f();
        } catch (error) {
          if (n === attempts || typeof error !== 'object' || error === null || error.retryable !== true) throw error;
          const said = Number(error.retryAfterMs) || 0;
          if (said > most) throw error;
          await new Promise((done) => later(done, Math.min(said || first * 2 ** (n - 1), most)));
        }
      }
    },
  };
  return { retry };
});
