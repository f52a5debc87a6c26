// Intl. What formats is in Go; the classes here hold it.
(function (native) {
  'use strict';
  const { makeNumber, makeDate, makeCollator, makePlural, phrases, locales, currencyName } = native;
  const tag = (Class) =>
    Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: 'Intl.' + Class.name, configurable: true });
  const supported = (Class) => {
    Object.defineProperty(Class, 'supportedLocalesOf', { value: (list) => locales(list, false), writable: true, configurable: true });
    tag(Class);
    return Class;
  };
  // callable lets a class be called without new, as the older ones of Intl can be.
  const callable = (Class) =>
    new Function('Class', 'construct', `'use strict';
      const f = function ${Class.name}(...list) { return construct(Class, list, new.target && new.target !== f ? new.target : Class); };
      Object.defineProperty(f, 'prototype', { value: Class.prototype });
      Class.prototype.constructor = f;
      f.supportedLocalesOf = Class.supportedLocalesOf;
      return f;`)(Class, Reflect.construct);

  class NumberFormat {
    #f;
    #format;
    constructor(tags, options) {
      this.#f = makeNumber(tags, options);
    }
    get format() {
      return (this.#format ??= (n) => this.#f.format(typeof n === 'bigint' ? n : Number(n)));
    }
    formatToParts(n) {
      return this.#f.parts(typeof n === 'bigint' ? n : Number(n));
    }
    formatRange(from, to) {
      const [a, b] = [this.format(from), this.format(to)];
      return a === b ? '~' + a : a + (/[^\d.,\s]/.test(a) ? ' – ' : '–') + b;
    }
    resolvedOptions() {
      return this.#f.resolved();
    }
  }

  class DateTimeFormat {
    #f;
    #format;
    constructor(tags, options) {
      this.#f = makeDate(tags, options);
    }
    get format() {
      return (this.#format ??= (date) => this.#f.format(date === undefined ? undefined : Number(date)));
    }
    formatToParts(date) {
      return this.#f.parts(date === undefined ? undefined : Number(date));
    }
    formatRange(from, to) {
      const [a, b] = [this.format(from), this.format(to)];
      return a === b ? a : a + ' – ' + b;
    }
    resolvedOptions() {
      return this.#f.resolved();
    }
  }

  class Collator {
    #f;
    constructor(tags, options) {
      this.#f = makeCollator(tags, options);
    }
    get compare() {
      return this.#f.compare;
    }
    resolvedOptions() {
      return this.#f.resolved();
    }
  }

  class PluralRules {
    #f;
    constructor(tags, options) {
      this.#f = makePlural(tags, options);
    }
    select(n) {
      return this.#f.select(Number(n));
    }
    resolvedOptions() {
      return this.#f.resolved();
    }
  }

  const choice = (options, name, values) => {
    const value = options?.[name] ?? values[0];
    if (!values.includes(value)) throw new RangeError('Value ' + value + ' out of range for Intl options property ' + name);
    return value;
  };
  const styles = ['long', 'short', 'narrow'];
  const text = (parts) => parts.map((p) => p.value).join('');

  class RelativeTimeFormat {
    #phrases;
    #style;
    #numeric;
    constructor(tags, options) {
      this.#phrases = phrases(tags);
      this.#style = choice(options, 'style', styles);
      this.#numeric = choice(options, 'numeric', ['always', 'auto']);
    }
    format(value, unit) {
      return text(this.formatToParts(value, unit));
    }
    formatToParts(value, unit) {
      return this.#phrases.relative(this.#style, String(unit), Number(value), this.#numeric);
    }
    resolvedOptions() {
      return { locale: this.#phrases.locale, style: this.#style, numeric: this.#numeric, numberingSystem: 'latn' };
    }
  }

  class ListFormat {
    #phrases;
    #style;
    #type;
    constructor(tags, options) {
      this.#phrases = phrases(tags);
      this.#type = choice(options, 'type', ['conjunction', 'disjunction', 'unit']);
      this.#style = choice(options, 'style', styles);
    }
    format(list) {
      return text(this.formatToParts(list));
    }
    formatToParts(list) {
      const items = [...list];
      const [two, first, middle, last] = this.#phrases.list(this.#type, this.#style);
      const parts = [];
      items.forEach((item, i) => {
        if (typeof item !== 'string') throw new TypeError('Iterable yielded ' + String(item) + ' which is not a string');
        if (i > 0) {
          const between = items.length === 2 ? two : i === items.length - 1 ? last : i === 1 ? first : middle;
          parts.push({ type: 'literal', value: between });
        }
        parts.push({ type: 'element', value: item });
      });
      return parts;
    }
    resolvedOptions() {
      return { locale: this.#phrases.locale, type: this.#type, style: this.#style };
    }
  }

  // Characters as people count them: a base with its marks, joined pictures,
  // pairs of regional letters.
  const cluster = new RegExp('\\r\\n|' + native.clusters + '|[^]', 'gu');
  const pieces = {
    grapheme: cluster,
    word: new RegExp(native.words + '|[^]', 'gu'),
    sentence: /[^.!?。！？]*[.!?。！？]+["'”’)]*\s*|[^.!?。！？]+$/gu,
  };
  class Segmenter {
    #granularity;
    #locale;
    constructor(tags, options) {
      this.#locale = locales(tags, true)[0] ?? 'en-US';
      this.#granularity = choice(options, 'granularity', ['grapheme', 'word', 'sentence']);
    }
    segment(input) {
      input = String(input);
      const granularity = this.#granularity;
      return {
        *[Symbol.iterator]() {
          for (const m of input.matchAll(pieces[granularity])) {
            const one = { segment: m[0], index: m.index, input };
            if (granularity === 'word') one.isWordLike = m[1] !== undefined;
            yield one;
          }
        },
        containing(index = 0) {
          for (const one of this) if (index >= one.index && index < one.index + one.segment.length) return one;
        },
      };
    }
    resolvedOptions() {
      return { locale: this.#locale, granularity: this.#granularity };
    }
  }

  class DisplayNames {
    #tags;
    #options;
    constructor(tags, options) {
      if (options?.type === undefined) throw new TypeError('Required option "type" must not be undefined');
      if (options.type !== 'currency') throw new RangeError('Intl.DisplayNames has names of currencies only here');
      this.#tags = tags;
      this.#options = { ...options };
    }
    of(code) {
      code = String(code).toUpperCase();
      return currencyName(this.#tags, code) ?? (this.#options.fallback === 'none' ? undefined : code);
    }
    resolvedOptions() {
      return { locale: locales(this.#tags, true)[0] ?? 'en-US', type: 'currency', style: 'long', fallback: 'code' };
    }
  }

  const all = {};
  for (const Class of [NumberFormat, DateTimeFormat, Collator]) all[Class.name] = callable(supported(Class));
  for (const Class of [PluralRules, RelativeTimeFormat, ListFormat, Segmenter, DisplayNames]) all[Class.name] = supported(Class);
  all.getCanonicalLocales = (list) => locales(list, true);
  const Intl = {};
  for (const name of Object.keys(all)) {
    Object.defineProperty(Intl, name, { value: all[name], writable: true, enumerable: false, configurable: true });
  }
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  return { Intl };
});
