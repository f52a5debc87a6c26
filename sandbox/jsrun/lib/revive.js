// What a function makes of a value that was parsed, from the leaves up: the second
// half of a JSON.parse that is not the engine's own.
(function () {
  'use strict';
  const { apply } = Reflect;
  const { defineProperty, keys } = Object;
  const { isArray } = Array;

  return (root, reviver) => {
    const walk = (holder, key) => {
      const value = holder[key];
      if (typeof value === 'object' && value !== null) {
        const names = isArray(value) ? value.length : keys(value);
        for (let i = 0, n = isArray(value) ? names : names.length; i < n; i++) {
          const name = isArray(value) ? '' + i : names[i];
          const item = walk(value, name);
          if (item === undefined) delete value[name];
          else defineProperty(value, name, { value: item, writable: true, enumerable: true, configurable: true });
        }
      }
      return apply(reviver, holder, [key, value]);
    };
    return walk({ '': root }, '');
  };
});
