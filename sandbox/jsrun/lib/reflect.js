// What names the properties of an error reads them, or lets the program do so.
(function (native) {
  'use strict';
  const { mend } = native;
  const wrap = (object, name) => {
    const original = object[name];
    const wrapped = { [name](target, ...rest) { return original(mend(target), ...rest); } }[name];
    Object.defineProperty(wrapped, 'length', { value: original.length, configurable: true });
    Object.defineProperty(object, name, { value: wrapped, writable: true, enumerable: false, configurable: true });
  };
  for (const name of ['getOwnPropertyNames', 'getOwnPropertyDescriptor', 'getOwnPropertyDescriptors']) wrap(Object, name);
  for (const name of ['ownKeys', 'getOwnPropertyDescriptor']) wrap(Reflect, name);
  return {};
});
