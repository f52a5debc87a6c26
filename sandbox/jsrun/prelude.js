// The part of the surface that is easier to say in JavaScript. It runs before
// the program and keeps what it needs of the built-ins for itself, so that a
// program that replaces them breaks nothing but itself. It returns what the
// Go side needs. Frames of this file are cut out of traces. mendAll prepares the
// errors of a value for being read.
(function (mendAll) {
  'use strict';
  const { apply } = Reflect;
  const { defineProperty, keys } = Object;
  const { stringify, rawJSON } = JSON;
  const then = Promise.prototype.then;
  const resolved = Promise.resolve();
  const text = BigInt.prototype.toString;

  const hidden = (object, name, value) =>
    defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });

  // A bigint is written as a plain integer. A replacer sees the bigint itself.
  let replacing = false;
  const integer = (n) => rawJSON(apply(text, n, []));
  hidden(BigInt.prototype, 'toJSON', function toJSON() {
    return replacing ? this : integer(this);
  });
  const isArray = Array.isArray;
  const toJSON = (value, replacer, space) => {
    if (isArray(replacer)) mendAll(value);
    if (typeof replacer !== 'function') return stringify(value, replacer, space);
    const before = replacing;
    replacing = true;
    try {
      return stringify(value, function (key, item) {
        const replaced = apply(replacer, this, [key, item]);
        return typeof replaced === 'bigint' ? integer(replaced) : replaced;
      }, space);
    } finally {
      replacing = before;
    }
  };
  hidden(JSON, 'stringify', function stringify(value, replacer, space) {
    return toJSON(value, replacer, space);
  });

  hidden(globalThis, 'queueMicrotask', function queueMicrotask(callback) {
    if (typeof callback !== 'function') throw new TypeError('queueMicrotask: the argument must be a function');
    apply(then, resolved, [() => void callback()]);
  });

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

  class ToolError extends Error {}
  hidden(ToolError.prototype, 'name', 'ToolError');
  hidden(globalThis, 'ToolError', ToolError);

  const newError = (name, message, fields, trace) => {
    const error = name === 'ToolError' ? new ToolError(message) : new Error(message);
    if (name && name !== 'ToolError') hidden(error, 'name', name);
    for (const key of keys(fields)) {
      defineProperty(error, key, { value: fields[key], writable: true, enumerable: true, configurable: true });
    }
    hidden(error, 'stack', error.name + ': ' + message + '\n' + trace);
    return error;
  };

  const iterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  const steps = Object.getPrototypeOf([][Symbol.iterator]());
  // What object[key] += x, templates and concat do, for the Go side.
  const members = {
    fill: (value, rest) => `${value}${rest}`,
    concat: (value, ...rest) => value.concat(...rest),
    key: (object, key) => (object === undefined || object === null ? object[key] : ownKeys({ [key]: 0 })[0]),
    get: (object, key) => object[key],
    set: (object, key, value) => void (object[key] = value),
  };
  return { ...members, Map, Set, iterator, steps, toList: (value) => [...value], ToolError, classes: { Error, TypeError, RangeError, SyntaxError }, newError, own, add: (a, b) => a + b, stringify: (value) => toJSON(value) };
});
