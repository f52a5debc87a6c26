// A constructor of regular expressions that knows \p{…} and the flag v.
(function (native) {
  'use strict';
  const { spellOut } = native;
  const Original = RegExp;
  const { construct } = Reflect;
  const spell = (list) =>
    typeof list[0] === 'string' && typeof list[1] === 'string' ? spellOut(list[0], list[1]) : list;
  const Constructor = function RegExp(pattern, flags) {
    if (!new.target) return pattern instanceof Original && flags === undefined ? pattern : construct(Original, spell([pattern, flags]));
    return construct(Original, spell([pattern, flags]), new.target === Constructor ? Original : new.target);
  };
  const own = (name, value) =>
    Object.defineProperty(Constructor, name, { value, writable: true, enumerable: false, configurable: true });
  Object.setPrototypeOf(Constructor, Original);
  Object.defineProperty(Constructor, 'prototype', { value: Original.prototype, writable: false });
  own('escape', function escape(text) {
    if (typeof text !== 'string') throw new TypeError('RegExp.escape: the argument must be a string');
    const hex = (c) => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0');
    return text
      .replace(/[\^$\\.*+?()[\]{}|/]/g, '\\$&')
      .replace(/[,\-=<>#&!%:;@~'`"]/g, hex)
      .replace(/[\t\n\v\f\r]/g, (c) => '\\' + { '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' }[c])
      .replace(/ /g, '\\x20')
      .replace(/^[0-9a-zA-Z]/, hex);
  });
  Object.defineProperty(Original.prototype, 'constructor', { value: Constructor, writable: true, enumerable: false, configurable: true });
  return { RegExp: Constructor };
});
