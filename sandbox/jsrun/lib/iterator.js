// Iterator and its helpers. The methods come to %IteratorPrototype% one by one,
// when they are first called.
(function () {
  'use strict';
  const prototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  const hidden = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });

  const callable = (f, name) => {
    if (typeof f !== 'function') throw new TypeError('Iterator.prototype.' + name + ': the argument must be a function');
  };
  const close = (it) => {
    const f = it.return;
    if (f !== undefined) f.call(it);
  };
  const count = (n, name) => {
    n = Number(n);
    if (!(n >= 0)) throw new RangeError(name + ' takes a number that is not negative');
    return Math.trunc(n);
  };
  // run goes through an iterator and closes it if the loop ends before it does.
  const run = (it, each) => {
    const next = it.next;
    for (let i = 0; ; i++) {
      const step = next.call(it);
      if (step.done) return;
      let more;
      try {
        more = each(step.value, i);
      } catch (error) {
        try {
          close(it);
        } catch {}
        throw error;
      }
      if (more === false) return close(it);
    }
  };
  const helper = (it, generator) => {
    const steps = generator();
    const object = Object.create(helpers);
    hidden(object, 'next', () => steps.next());
    hidden(object, 'return', () => steps.return());
    return object;
  };
  const helpers = Object.create(prototype);
  Object.defineProperty(helpers, Symbol.toStringTag, { value: 'Iterator Helper', configurable: true });

  // each is a generator over an iterator that closes it when it is left.
  const each = function* (it) {
    const next = it.next;
    let done = false;
    try {
      for (;;) {
        const step = next.call(it);
        if (step.done) {
          done = true;
          return;
        }
        yield step.value;
      }
    } finally {
      if (!done) close(it);
    }
  };
  const inner = (value) => {
    const method = value[Symbol.iterator];
    return method === undefined ? value : method.call(value);
  };

  const methods = {
    map(f) {
      callable(f, 'map');
      const it = this;
      return helper(it, function* () {
        let i = 0;
        for (const value of each(it)) yield f(value, i++);
      });
    },
    filter(f) {
      callable(f, 'filter');
      const it = this;
      return helper(it, function* () {
        let i = 0;
        for (const value of each(it)) if (f(value, i++)) yield value;
      });
    },
    take(limit) {
      limit = count(limit, 'take');
      const it = this;
      return helper(it, function* () {
        let left = limit;
        if (left === 0) return close(it);
        for (const value of each(it)) {
          yield value;
          if (--left === 0) return;
        }
      });
    },
    drop(limit) {
      limit = count(limit, 'drop');
      const it = this;
      return helper(it, function* () {
        let left = limit;
        for (const value of each(it)) {
          if (left > 0) left--;
          else yield value;
        }
      });
    },
    flatMap(f) {
      callable(f, 'flatMap');
      const it = this;
      return helper(it, function* () {
        let i = 0;
        for (const value of each(it)) yield* each(inner(f(value, i++)));
      });
    },
    reduce(f, ...initial) {
      callable(f, 'reduce');
      let value = initial[0];
      let empty = initial.length === 0;
      run(this, (item, i) => {
        value = empty ? item : f(value, item, i);
        empty = false;
      });
      if (empty) throw new TypeError('Reduce of a done iterator with no initial value');
      return value;
    },
    toArray() {
      const list = [];
      run(this, (value) => void list.push(value));
      return list;
    },
    forEach(f) {
      callable(f, 'forEach');
      run(this, (value, i) => void f(value, i));
    },
    some(f) {
      callable(f, 'some');
      let found = false;
      run(this, (value, i) => !(found = !!f(value, i)));
      return found;
    },
    every(f) {
      callable(f, 'every');
      let all = true;
      run(this, (value, i) => (all = !!f(value, i)));
      return all;
    },
    find(f) {
      callable(f, 'find');
      let found;
      run(this, (value, i) => {
        if (!f(value, i)) return true;
        found = value;
        return false;
      });
      return found;
    },
  };

  function Iterator() {
    if (new.target === undefined || new.target === Iterator) throw new TypeError('Iterator is abstract: extend it');
  }
  hidden(Iterator, 'from', function from(value) {
    const it = typeof value === 'string' ? value[Symbol.iterator]() : inner(value);
    if (it instanceof Iterator) return it;
    const object = Object.create(wrappers);
    hidden(object, 'next', () => it.next());
    hidden(object, 'return', () => (it.return ? it.return() : { value: undefined, done: true }));
    return object;
  });
  Object.defineProperty(Iterator, 'prototype', { value: prototype, writable: false });
  hidden(prototype, 'constructor', Iterator);
  const wrappers = Object.create(prototype);
  return { Iterator, ...methods };
});
