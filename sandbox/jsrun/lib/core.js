// What the Go side leaves to the engine: it is compiled when a program first
// needs some of it.
(function () {
  'use strict';
  // The enumerable keys of an object; one of an accessor with what it has.
  const { ownKeys, getOwnPropertyDescriptor } = Reflect;
  const own = (object) => {
    const list = [];
    for (const key of ownKeys(object)) {
      const { enumerable, get, set } = getOwnPropertyDescriptor(object, key) ?? {};
      if (!enumerable) continue;
      list[list.length] = get || set ? [key, get && set ? 'Getter/Setter' : get ? 'Getter' : 'Setter'] : key;
    }
    return list;
  };
  return {
    own,
    add: (a, b) => a + b,
    toList: (value) => [...value],
    // What object[key] += x, templates and concat do.
    fill: (value, rest) => `${value}${rest}`,
    concat: (value, ...rest) => value.concat(...rest),
    key: (object, key) => (object === undefined || object === null ? object[key] : ownKeys({ [key]: 0 })[0]),
    get: (object, key) => object[key],
    set: (object, key, value) => void (object[key] = value),
  };
});
