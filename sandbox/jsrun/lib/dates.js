// Names of the time zone, which is always UTC, as other engines have them, and
// years of more than four digits in ISO times.
(function () {
  'use strict';
  const { apply } = Reflect;
  for (const name of ['toString', 'toTimeString']) {
    const original = Date.prototype[name];
    const named = { [name]() { return apply(original, this, []).replace('(UTC)', '(Coordinated Universal Time)'); } }[name];
    Object.defineProperty(Date.prototype, name, { value: named, writable: true, enumerable: false, configurable: true });
  }
  const iso = Date.prototype.toISOString;
  const { toISOString } = {
    toISOString() {
      return apply(iso, this, []).replace(/^([+-])(\d{5})-/, '$10$2-');
    },
  };
  Object.defineProperty(Date.prototype, 'toISOString', { value: toISOString, writable: true, enumerable: false, configurable: true });
  return {};
});
