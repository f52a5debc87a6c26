// Built-ins that goja does not have yet, by the object that has them; String is
// its prototype.
(function () {
  'use strict';
  const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  return {
    Promise: {
      withResolvers() {
        let resolve, reject;
        const promise = new this((yes, no) => {
          resolve = yes;
          reject = no;
        });
        return { promise, resolve, reject };
      },
      try(f, ...args) {
        return new this((resolve) => resolve(f(...args)));
      },
    },
    Object: {
      groupBy(items, key) {
        const groups = Object.create(null);
        let index = 0;
        for (const item of items) {
          const k = key(item, index++);
          (groups[typeof k === 'symbol' ? k : String(k)] ??= []).push(item);
        }
        return groups;
      },
    },
    Map: {
      groupBy(items, key) {
        const groups = new Map();
        let index = 0;
        for (const item of items) {
          const k = key(item, index++);
          const group = groups.get(k);
          if (group) group.push(item);
          else groups.set(k, [item]);
        }
        return groups;
      },
    },
    Array: {
      async fromAsync(source, map, self) {
        const list = [];
        const add = async (item) => list.push(map ? await map.call(self, item, list.length) : item);
        const method = source[Symbol.asyncIterator];
        if (method) {
          const iterator = method.call(source);
          for (let step = await iterator.next(); !step.done; step = await iterator.next()) await add(step.value);
          return list;
        }
        for (const item of source[Symbol.iterator] ? source : Array.from(source)) await add(await item);
        return list;
      },
    },
    String: {
      isWellFormed() {
        return String(this).search(half) < 0;
      },
      toWellFormed() {
        return String(this).replace(half, '\ufffd');
      },
    },
    Error: {
      isError(value) {
        return Object.prototype.toString.call(value) === '[object Error]';
      },
    },
    globalThis: {
      structuredClone(value) {
        const seen = new Map();
        const refuse = (what) => {
          throw new DOMException(what + ' could not be cloned.', 'DataCloneError');
        };
        const clone = (v) => {
          if (typeof v === 'function' || typeof v === 'symbol') refuse(String(v));
          if (typeof v !== 'object' || v === null) return v;
          if (seen.has(v)) return seen.get(v);
          const keep = (copy) => {
            seen.set(v, copy);
            return copy;
          };
          if (v instanceof Date) return keep(new Date(v.getTime()));
          if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
          if (v instanceof Map) {
            const copy = keep(new Map());
            v.forEach((item, key) => copy.set(clone(key), clone(item)));
            return copy;
          }
          if (v instanceof Set) {
            const copy = keep(new Set());
            v.forEach((item) => copy.add(clone(item)));
            return copy;
          }
          if (v instanceof ArrayBuffer) return keep(v.slice(0));
          if (v instanceof DataView) return keep(new DataView(clone(v.buffer), v.byteOffset, v.byteLength));
          if (ArrayBuffer.isView(v)) return keep(new v.constructor(clone(v.buffer), v.byteOffset, v.length));
          if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet) refuse('#<' + v.constructor.name + '>');
          if (v instanceof Number || v instanceof String || v instanceof Boolean) return keep(Object(v.valueOf()));
          let copy = {};
          if (Array.isArray(v)) copy = new Array(v.length);
          else if (v instanceof Error) {
            const Class = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[v.name] ?? Error;
            copy = new Class(v.message);
            for (const name of ['stack', 'cause']) {
              if (!(name in v)) continue;
              const value = name === 'cause' ? clone(v.cause) : v.stack;
              Object.defineProperty(copy, name, { value, writable: true, enumerable: false, configurable: true });
            }
            return keep(copy);
          }
          keep(copy);
          for (const key of Object.keys(v)) copy[key] = clone(v[key]);
          return copy;
        };
        return clone(value);
      },
    },
  };
});
