// What the Go side leaves to the engine: it is compiled when a program first
// needs some of it.
(function () {
  'use strict';
  // The enumerable keys of an object; one of an accessor with what it has.
  const { apply, ownKeys, getOwnPropertyDescriptor } = Reflect;
  const own = (object) => {
    const list = [];
    for (const key of ownKeys(object)) {
      const { enumerable, get, set } = getOwnPropertyDescriptor(object, key) ?? {};
      if (!enumerable) continue;
      list[list.length] = get || set ? [key, get && set ? 'Getter/Setter' : get ? 'Getter' : 'Setter'] : key;
    }
    return list;
  };
  return { own, add: (a, b) => a + b };
});
