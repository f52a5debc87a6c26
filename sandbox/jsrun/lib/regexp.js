// A constructor of regular expressions that knows \p{…}, and searches for all matches of what can match nothing.
(function (native) {
  'use strict';
  const { spellOut, canBeEmpty } = native;
  const Original = RegExp;
  const { apply, construct } = Reflect;
  const { exec } = Original.prototype;
  const flagsOf = Object.getOwnPropertyDescriptor(Original.prototype, 'flags').get;
  const sourceOf = Object.getOwnPropertyDescriptor(Original.prototype, 'source').get;

  const make = (pattern, flags, target) => {
    const copied = pattern instanceof Original;
    const wanted = flags === undefined && copied ? pattern.flags : flags;
    if (copied) pattern = apply(sourceOf, pattern, []);
    if (typeof pattern === 'string' && typeof wanted === 'string') pattern = spellOut(pattern, wanted);
    return construct(Original, [pattern, wanted], target);
  };
  const Constructor = function RegExp(pattern, flags) {
    if (!new.target && pattern instanceof Original && flags === undefined) return pattern;
    return make(pattern, flags, !new.target || new.target === Constructor ? Original : new.target);
  };
  const define = (name, descriptor) =>
    Object.defineProperty(Original.prototype, name, { ...descriptor, enumerable: false, configurable: true });
  // goja writes a slash of the pattern as a number.
  define('source', {
    get: function () {
      const slash = (part) => (part[0] === '[' ? part.replace(/\\u002f/g, '/') : part === '\\u002f' ? '\\/' : part);
      return apply(sourceOf, this, []).replace(/\[(?:\\.|[^\]\\])*\]|\\u002f|\\./g, slash);
    },
  });
  define('toString', {
    writable: true,
    value: function toString() {
      return '/' + this.source + '/' + this.flags;
    },
  });
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
  define('constructor', { value: Constructor, writable: true });

  // goja's quick search for all matches leaves out an empty one behind another
  // one, unless the pattern has a lookahead. What can match nothing gets one.
  const known = new Map(); // by source
  const empty = (regexp) => {
    const source = apply(sourceOf, regexp, []);
    let is = known.get(source);
    if (is === undefined) known.set(source, (is = canBeEmpty(source)));
    return is;
  };
  const twins = new Map();
  const twin = (regexp) => {
    const source = apply(sourceOf, regexp, []);
    const flags = apply(flagsOf, regexp, []);
    const key = flags + source;
    if (!twins.has(key)) twins.set(key, construct(Original, ['(?=)' + source, flags]));
    return twins.get(key);
  };
  const plain = (regexp) => regexp.exec === exec && Object.getPrototypeOf(regexp) === Original.prototype;
  for (const name of [Symbol.match, Symbol.replace]) {
    const quick = Original.prototype[name];
    const method = function (text, replacement) {
      let regexp = this;
      if (this instanceof Original && this.global && empty(this) && plain(this)) {
        this.lastIndex = 0;
        // With a property that is taken away goja goes step by step.
        if (this.sticky) delete this[''];
        else regexp = twin(this);
      }
      return apply(quick, regexp, [text, replacement]);
    };
    Object.defineProperty(method, 'name', { value: '[' + name.description + ']' });
    define(name, { value: method, writable: true });
  }

  const split = Original.prototype[Symbol.split];
  define(Symbol.split, {
    writable: true,
    value: function (text, limit) {
      if (!(this instanceof Original) || !empty(this)) return apply(split, this, [text, limit]);
      text = '' + text;
      return splitBy(make(this, apply(flagsOf, this, []).replace(/[gy]/g, '') + 'g', Original), text, limit === undefined ? 2 ** 32 - 1 : limit >>> 0);
    },
  });
  const splitBy = (regexp, text, limit) => {
    if (limit === 0) return [];
    if (text === '') return apply(exec, regexp, [text]) ? [] : [text];
    const parts = [];
    let from = 0; // where the part that is looked for begins
    for (let at = 0; at < text.length; ) {
      regexp.lastIndex = at;
      const match = apply(exec, regexp, [text]);
      if (!match || match.index >= text.length) break;
      if (regexp.lastIndex === from) {
        at = match.index + (regexp.unicode ? String.fromCodePoint(text.codePointAt(match.index)).length : 1);
        continue;
      }
      const found = [text.slice(from, match.index)];
      for (let i = 1; i < match.length; i++) found.push(match[i]);
      for (const part of found) {
        if (parts.push(part) === limit) return parts;
      }
      at = from = regexp.lastIndex;
    }
    parts.push(text.slice(from));
    return parts;
  };
  return { RegExp: Constructor };
});
