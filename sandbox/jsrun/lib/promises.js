// What handlers of rejected promises get is what a catch clause would: an error
// with the message and the trace that other engines have. What takes part in a
// race is noted, with the promise that it was made of by then, catch and finally.
(function (native) {
  'use strict';
  const { caught, raced } = native;
  const { apply } = Reflect;
  const origins = new WeakMap();
  const { get, set } = WeakMap.prototype;
  const define = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });

  let racing = false;
  const original = Promise.prototype.then;
  const { then } = {
    then(fulfilled, rejected) {
      const made = apply(original, this, [fulfilled, typeof rejected === 'function' ? (reason) => rejected(caught(reason)) : rejected]);
      const origin = apply(get, origins, [this]) ?? this;
      if (racing) raced(this, origin);
      else apply(set, origins, [made, origin]);
      return made;
    },
  };
  define(Promise.prototype, 'then', then);
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
    define(Promise, name, method);
  }
  return {};
});
