// Names of the time zone, which is always UTC, as other engines have them.
(function () {
  'use strict';
  const { apply } = Reflect;
  for (const name of ['toString', 'toTimeString']) {
    const original = Date.prototype[name];
    const named = { [name]() { return apply(original, this, []).replace('(UTC)', '(Coordinated Universal Time)'); } }[name];
    Object.defineProperty(Date.prototype, name, { value: named, writable: true, enumerable: false, configurable: true });
  }
  return {};
});
