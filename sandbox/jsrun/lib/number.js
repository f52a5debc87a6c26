// Number of a bigint, which goja takes the lowest 64 bits of.
(function () {
  'use strict';
  const Original = Number;
  const { apply, construct } = Reflect;
  const { toString } = BigInt.prototype;
  const of = (v) => Original(typeof v === 'bigint' ? apply(toString, v, []) : v);
  const Constructor = function Number(v) {
    const n = arguments.length === 0 ? 0 : of(v);
    return new.target ? construct(Original, [n], new.target === Constructor ? Original : new.target) : n;
  };
  Object.setPrototypeOf(Constructor, Function.prototype);
  const all = Object.getOwnPropertyDescriptors(Original);
  delete all.length;
  delete all.name;
  Object.defineProperties(Constructor, all);
  Object.defineProperty(Original.prototype, 'constructor', { value: Constructor, writable: true, enumerable: false, configurable: true });
  return { Number: Constructor };
});
