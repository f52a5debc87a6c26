// Built-ins that the older ones of the supported versions of Node lack, as
// lib/builtins.js does for those that the broker's own engine lacks too.
(function () {
  'use strict';
  const define = (object, methods) => {
    for (const name of Object.keys(methods)) {
      if (!(name in object)) {
        Object.defineProperty(object, name, { value: methods[name], writable: true, enumerable: false, configurable: true });
      }
    }
  };
  define(Array.prototype, {
    toReversed() {
      return [...this].reverse();
    },
    toSorted(compare) {
      return [...this].sort(compare);
    },
    toSpliced(...args) {
      const copy = [...this];
      copy.splice(...args);
      return copy;
    },
    with(index, value) {
      const at = Math.trunc(index) || 0;
      const place = at < 0 ? this.length + at : at;
      if (place < 0 || place >= this.length) throw new RangeError('Invalid index : ' + index);
      const copy = [...this];
      copy[place] = value;
      return copy;
    },
  });
  const keys = (set) => ({ [Symbol.iterator]: () => set.keys() });
  define(Set.prototype, {
    union(other) {
      return new Set([...this, ...keys(other)]);
    },
    intersection(other) {
      return new Set([...this].filter((x) => other.has(x)));
    },
    difference(other) {
      return new Set([...this].filter((x) => !other.has(x)));
    },
    symmetricDifference(other) {
      const all = new Set(this);
      for (const x of keys(other)) if (!this.has(x)) all.add(x); else all.delete(x);
      return all;
    },
    isSubsetOf(other) {
      return [...this].every((x) => other.has(x));
    },
    isSupersetOf(other) {
      return [...keys(other)].every((x) => this.has(x));
    },
    isDisjointFrom(other) {
      return ![...this].some((x) => other.has(x));
    },
  });
  define(AbortSignal, {
    any(signals) {
      const all = new AbortController();
      for (const s of signals) {
        if (s.aborted) {
          all.abort(s.reason);
          break;
        }
        s.addEventListener('abort', () => all.abort(s.reason), { once: true });
      }
      return all.signal;
    },
  });
});
