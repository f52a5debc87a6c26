// Values whose content is not in properties, such as a Map or an Error, as plain data
// for JSON. They have a toJSON for as long as a result is written: what JSON.stringify
// gives a program stays as it is elsewhere.
(function () {
  'use strict';
  const { apply, ownKeys, getPrototypeOf, defineProperty, deleteProperty, getOwnPropertyDescriptor } = Reflect;
  const { keys } = Object;
  const { hasOwn } = Object;
  const iterator = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  const MapClass = Map;
  const SetClass = Set;
  const Bytes = Uint8Array;
  const mapForEach = Map.prototype.forEach;
  const setForEach = Set.prototype.forEach;
  const source = RegExp.prototype.toString;
  const plainPrototype = Object.prototype;
  const maxItems = 10000; // of an iterator, which may have no end

  const put = (object, key, value) => defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  const isPrimitive = (v) => (typeof v !== 'object' || v === null) && typeof v !== 'function' && typeof v !== 'symbol' && v !== undefined;

  // A program may have replaced the methods of lists.
  const append = (list, value) => put(list, list.length, value);

  // made are the plain values, so that one that holds itself is noticed.
  let made;
  const once = (value, plain, fill) => {
    const known = made.get(value);
    if (known !== undefined) return known;
    made.set(value, plain);
    return fill(plain) ?? plain;
  };

  function fromMap() {
    let named = true;
    const names = new SetClass();
    apply(mapForEach, this, [(_, key) => {
      if (!isPrimitive(key) || names.has(`${key}`)) named = false;
      else names.add(`${key}`);
    }]);
    return once(this, named ? {} : [], (plain) => {
      apply(mapForEach, this, [(value, key) => (named ? put(plain, `${key}`, value) : append(plain, [key, value]))]);
    });
  }

  function fromSet() {
    return once(this, [], (plain) => { apply(setForEach, this, [(value) => { append(plain, value); }]); });
  }

  function fromError() {
    return once(this, {}, (plain) => {
      const { name, message, cause, constructor } = this;
      put(plain, 'name', name === 'Error' && typeof constructor === 'function' && constructor.name ? constructor.name : name);
      put(plain, 'message', message);
      for (const key of keys(this)) {
        if (key !== 'name' && key !== 'message' && key !== 'stack') put(plain, key, this[key]);
      }
      if (cause !== undefined) put(plain, 'cause', cause);
      if (hasOwn(this, 'errors')) put(plain, 'errors', this.errors);
    });
  }

  function fromIterator() {
    if (keys(this).length > 0 || typeof this.next !== 'function') return this;
    return once(this, [], (plain) => {
      for (let step; plain.length < maxItems && !(step = this.next()).done; ) append(plain, step.value);
    });
  }

  // fromInstance has the getters of an instance that has no properties of its own.
  function fromInstance() {
    if (ownKeys(this).length > 0) return this;
    return once(this, {}, (plain) => {
      for (let p = getPrototypeOf(this); p && getPrototypeOf(p); p = getPrototypeOf(p)) {
        for (const key of ownKeys(p)) {
          if (typeof key !== 'string' || hasOwn(plain, key) || !getOwnPropertyDescriptor(p, key).get) continue;
          put(plain, key, this[key]);
        }
      }
    });
  }

  const conversions = [
    [Map.prototype, fromMap],
    [Set.prototype, fromSet],
    [Error.prototype, fromError],
    [RegExp.prototype, function () { return apply(source, this, []); }],
    [Promise.prototype, () => 'a promise: await is missing'],
    [ArrayBuffer.prototype, function () { return [...new Bytes(this)]; }],
    [iterator, fromIterator],
  ];

  // write calls stringify with a value while the conversions hold.
  return (stringify, value, withGetters) => {
    const list = [...conversions];
    if (['URL', 'URLSearchParams'].some((name) => getOwnPropertyDescriptor(globalThis, name)?.value)) { // they are in use
      append(list, [URLSearchParams.prototype, function () { return `${this}`; }]);
    }
    if (withGetters) append(list, [plainPrototype, fromInstance]);
    const added = [];
    made = new MapClass();
    try {
      for (const [prototype, f] of list) {
        if (hasOwn(prototype, 'toJSON')) continue;
        if (defineProperty(prototype, 'toJSON', { value: f, writable: true, enumerable: false, configurable: true })) append(added, prototype);
      }
      return stringify(value);
    } finally {
      for (const prototype of added) deleteProperty(prototype, 'toJSON');
      made = undefined;
    }
  };
});
