// Built-ins that the older ones of the supported versions of Node lack, as
// lib/builtins.js does for those that the broker's own engine lacks too.
(function () {
  'use strict';
  const keys = (set) => [...{ [Symbol.iterator]: () => set.keys() }];
  const copied = (list, change) => {
    const copy = [...list];
    change(copy);
    return copy;
  };
  return {
    'Array.prototype': {
      toReversed() { return [...this].reverse(); },
      toSorted(compare) { return [...this].sort(compare); },
      toSpliced(...args) { return copied(this, (list) => list.splice(...args)); },
      with(index, value) {
        const at = Math.trunc(index) || 0;
        const place = at < 0 ? this.length + at : at;
        if (place < 0 || place >= this.length) throw new RangeError('Invalid index : ' + index);
        return copied(this, (list) => { list[place] = value; });
      },
    },
    'Set.prototype': {
      union(other) { return new Set([...this, ...keys(other)]); },
      intersection(other) { return new Set([...this].filter((x) => other.has(x))); },
      difference(other) { return new Set([...this].filter((x) => !other.has(x))); },
      symmetricDifference(other) { return new Set([...this.difference(other), ...keys(other).filter((x) => !this.has(x))]); },
      isSubsetOf(other) { return [...this].every((x) => other.has(x)); },
      isSupersetOf(other) { return keys(other).every((x) => this.has(x)); },
      isDisjointFrom(other) { return ![...this].some((x) => other.has(x)); },
    },
    AbortSignal: {
      any(signals) {
        const all = new AbortController();
        for (const s of signals) {
          if (s.aborted) all.abort(s.reason);
          else s.addEventListener('abort', () => all.abort(s.reason), { once: true });
        }
        return all.signal;
      },
    },
  };
});
