// Uint8Array.from(text, (c) => c.charCodeAt(0)): goja's takes objects only.
(function () {
  'use strict';
  const typed = Object.getPrototypeOf(Uint8Array);
  const fromObject = typed.from;
  Object.defineProperty(typed, 'from', {
    value: function from(source, ...rest) {
      if (source === undefined || source === null) throw new TypeError('Cannot convert undefined or null to object');
      return fromObject.call(this, typeof source === 'string' ? Array.from(source) : Object(source), ...rest);
    },
    writable: true,
    enumerable: false,
    configurable: true,
  });
  return {};
});
