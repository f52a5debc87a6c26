// Intl. What formats is in Go; the classes here hold it.
(function (native) {
  'use strict';
  const { makeNumber, makeDate, makeCollator, makePlural, makeRelative, locales } = native;
  const tag = (Class) =>
    Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: 'Intl.' + Class.name, configurable: true });
  const supported = (Class) => {
    Object.defineProperty(Class, 'supportedLocalesOf', { value: (list) => locales(list), writable: true, configurable: true });
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
  }

  class PluralRules {
    #f;
    constructor(tags, options) {
      this.#f = makePlural(tags, options);
    }
    select(n) {
      return this.#f.select(Number(n));
    }
  }

  const choice = (options, name, values) => {
    const value = options?.[name] ?? values[0];
    if (!values.includes(value)) throw new RangeError('Intl option ' + name + ': "' + value + '" is not supported here; there are ' + values.join(', '));
    return value;
  };
  const styles = ['long', 'short', 'narrow'];

  class RelativeTimeFormat {
    #f;
    #style;
    #numeric;
    constructor(tags, options) {
      this.#f = makeRelative(tags);
      this.#style = choice(options, 'style', styles);
      this.#numeric = choice(options, 'numeric', ['always', 'auto']);
    }
    format(value, unit) {
      return this.#f.format(this.#style, String(unit), Number(value), this.#numeric);
    }
  }

  const all = {};
  for (const Class of [NumberFormat, DateTimeFormat, Collator]) all[Class.name] = callable(supported(Class));
  for (const Class of [PluralRules, RelativeTimeFormat]) all[Class.name] = supported(Class);
    // What is not here says so, and what to do instead.
  const missing = {
    DisplayNames: 'keep the names that you need in an object',
    DurationFormat: 'write the units that you need as text',
    ListFormat: "use list.join(', ')",
    Locale: "take the tag apart with tag.split('-')",
    Segmenter: 'use [...text] for characters and text.split(/\\s+/) for words',
    getCanonicalLocales: 'write tags as in en-US',
    supportedValuesOf: 'name the values that you need',
  };
  const refuse = (name, instead) => {
    throw new Error(name + ' is not supported here: ' + instead);
  };
  for (const name of Object.keys(missing)) {
    all[name] = { [name]: function () { refuse('Intl.' + name, missing[name]); } }[name];
  }
  const without = (Class, name, instead) => {
    const value = { [name]() { refuse(name + ' of Intl.' + Class.name, instead); } }[name];
    Object.defineProperty(Class.prototype, name, { value, writable: true, configurable: true });
  };
  for (const Class of [NumberFormat, DateTimeFormat]) {
    for (const name of ['formatRange', 'formatRangeToParts']) without(Class, name, 'format both ends and put a dash between them');
  }
  for (const Class of [NumberFormat, RelativeTimeFormat]) without(Class, 'formatToParts', 'take what format returns');
  for (const Class of [NumberFormat, Collator, PluralRules, RelativeTimeFormat]) without(Class, 'resolvedOptions', 'keep the options that you gave');
  const Intl = {};
  for (const name of Object.keys(all)) {
    Object.defineProperty(Intl, name, { value: all[name], writable: true, enumerable: false, configurable: true });
  }
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  return { Intl };
});
