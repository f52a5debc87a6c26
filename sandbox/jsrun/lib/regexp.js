// A constructor of regular expressions that knows \p{…} and the flags d and v.
(function (native) {
  'use strict';
  const { spellOut, indices } = native;
  const Original = RegExp;
  const { apply, construct } = Reflect;
  const { exec } = Original.prototype;
  const flagsOf = Object.getOwnPropertyDescriptor(Original.prototype, 'flags').get;
  const sourceOf = Object.getOwnPropertyDescriptor(Original.prototype, 'source').get;

  // What the flag d adds to one regular expression; the others stay as fast as
  // they are.
  const addIndices = (regexp) => {
    const source = apply(sourceOf, regexp, []);
    const flags = apply(flagsOf, regexp, []);
    const add = (name, descriptor) => Object.defineProperty(regexp, name, { ...descriptor, enumerable: false, configurable: true });
    add('flags', { get: () => 'd' + flags });
    add('hasIndices', { get: () => true });
    add('exec', {
      writable: true,
      value: function (text) {
        const match = apply(exec, this, ['' + text]);
        if (match) match.indices = indices(source, flags, match.input, match.index);
        return match;
      },
    });
    return regexp;
  };
  const make = (pattern, flags, target) => {
    const copied = pattern instanceof Original;
    const wanted = flags === undefined && copied ? pattern.flags : flags;
    const located = typeof wanted === 'string' && wanted.includes('d');
    if (copied) pattern = apply(sourceOf, pattern, []);
    if (located && wanted.lastIndexOf('d') !== wanted.indexOf('d')) {
      throw new SyntaxError("Invalid flags supplied to RegExp constructor '" + wanted + "'");
    }
    let list = [pattern, located ? wanted.replace('d', '') : wanted];
    if (typeof list[0] === 'string' && typeof list[1] === 'string') list = spellOut(list[0], list[1]);
    const regexp = construct(Original, list, target);
    return located ? addIndices(regexp) : regexp;
  };
  const Constructor = function RegExp(pattern, flags) {
    if (!new.target && pattern instanceof Original && flags === undefined) return pattern;
    return make(pattern, flags, !new.target || new.target === Constructor ? Original : new.target);
  };
  // goja writes a slash of the pattern as a number.
  Object.defineProperty(Original.prototype, 'source', {
    get: function () {
      const written = (part) => (part[0] === '[' ? part.replace(/\\u002f/g, '/') : part === '\\u002f' ? '\\/' : part);
      return apply(sourceOf, this, []).replace(/\[(?:\\.|[^\]\\])*\]|\\u002f|\\./g, written);
    },
    enumerable: false,
    configurable: true,
  });
  if (!('hasIndices' in Original.prototype)) {
    Object.defineProperty(Original.prototype, 'hasIndices', { get: () => false, enumerable: false, configurable: true });
  }
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
