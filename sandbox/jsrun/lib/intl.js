// Intl. What formats is in Go; the classes here hold it.
(function (native) {
  'use strict';
  const { makeNumber, makeDate, makeCollator, makePlural, phrases, locales, displayName, parseLocale, zones } = native;
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

  const text = (parts) => parts.map((p) => p.value).join('');

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
      const [a, b] = [this.formatToParts(from), this.formatToParts(to)];
      if (text(a) === text(b)) return text(a);
      if (!this.#f.resolved().locale.startsWith('en')) return text(a) + ' – ' + text(b);
      const [end, start] = shared(a, b);
      const dash = /\d$/.test(text(a.slice(0, end))) && b[start].type === 'day' && start === 0 ? '–' : '\u2009–\u2009';
      return text(a.slice(0, end)) + dash + text(b.slice(start));
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

  // shared says how much of two dates English writes once: where the first one
  // ends, and where the second one begins.
  const shared = (a, b) => {
    const whole = [a.length, 0];
    const at = (type) => a.findIndex((p) => p.type === type);
    const differs = (type) => a[at(type)]?.value !== b[at(type)]?.value;
    if (a.length !== b.length || a.some((p, i) => p.type !== b[i].type)) return whole;
    const [hour, day, month] = [at('hour'), at('day'), at('month')];
    if (hour >= 0) {
      if (['year', 'month', 'day', 'weekday'].some(differs)) return whole;
      return at('dayPeriod') === a.length - 1 && !differs('dayPeriod') ? [a.length - 2, hour] : [a.length, hour];
    }
    if (differs('year') || day < 0 || month < 0 || at('weekday') >= 0 || /^\d/.test(a[month].value)) return whole;
    return differs('month') ? [Math.max(day, month) + 1, Math.min(day, month)] : [day + 1, day];
  };

  const choice = (options, name, values) => {
    const value = options?.[name] ?? values[0];
    if (!values.includes(value)) throw new RangeError('Value ' + value + ' out of range for Intl options property ' + name);
    return value;
  };
  const styles = ['long', 'short', 'narrow'];

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

  const codes = { region: /^(?:[a-z]{2}|\d{3})$/i, language: /^[a-z]{2,8}(?:-[a-z0-9]{2,8})*$/i, script: /^[a-z]{4}$/i, currency: /^[a-z]{3}$/i };
  const canonical = {
    region: (code) => code.toUpperCase(),
    language: (code) => locales([code], true)[0],
    script: (code) => code[0].toUpperCase() + code.slice(1).toLowerCase(),
    currency: (code) => code.toUpperCase(),
  };
  class DisplayNames {
    #tags;
    #type;
    #fallback;
    #style;
    constructor(tags, options) {
      if (options?.type === undefined) throw new TypeError('Required option "type" must not be undefined');
      this.#type = choice(options, 'type', Object.keys(codes));
      this.#fallback = choice(options, 'fallback', ['code', 'none']);
      this.#style = choice(options, 'style', styles);
      this.#tags = tags;
    }
    of(code) {
      code = String(code);
      if (!codes[this.#type].test(code)) throw new RangeError('Invalid argument to Intl.DisplayNames.prototype.of');
      code = canonical[this.#type](code);
      const name = displayName(this.#tags, this.#type, code);
      return name ?? (this.#fallback === 'none' ? undefined : code);
    }
    resolvedOptions() {
      return { locale: locales(this.#tags, true)[0] ?? 'en-US', style: this.#style, type: this.#type, fallback: this.#fallback };
    }
  }

  class Locale {
    #parsed;
    constructor(tag, options) {
      if (typeof tag !== 'string' && !(tag instanceof Locale)) throw new TypeError('First argument to Intl.Locale constructor can\'t be empty or missing');
      const { language, script, region } = parseLocale(String(tag));
      const wanted = [options?.language ?? language, options?.script ?? script, options?.region ?? region];
      this.#parsed = parseLocale(wanted.filter(Boolean).join('-'));
    }
    get language() { return this.#parsed.language; }
    get script() { return this.#parsed.script; }
    get region() { return this.#parsed.region; }
    get baseName() { return this.#parsed.baseName; }
    maximize() { return new Locale(this.#parsed.maximal); }
    minimize() {
      const { language, script, region } = parseLocale(this.#parsed.maximal);
      const same = [language, language + '-' + region, language + '-' + script].find((tag) => parseLocale(tag).maximal === this.#parsed.maximal);
      return new Locale(same ?? this.#parsed.maximal);
    }
    toString() { return this.#parsed.baseName; }
  }

  const all = {};
  for (const Class of [NumberFormat, DateTimeFormat, Collator]) all[Class.name] = callable(supported(Class));
  for (const Class of [PluralRules, RelativeTimeFormat, ListFormat, Segmenter, DisplayNames]) all[Class.name] = supported(Class);
  all.Locale = Locale;
  tag(Locale);
  const values = {
    timeZone: zones,
    currency: () => 'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KWD MXN MYR NGN NOK NZD PEN PHP PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR'.split(' '),
    calendar: () => ['gregory'],
    collation: () => ['default'],
    numberingSystem: () => ['latn'],
    unit: () => 'acre bit byte celsius centimeter day degree fahrenheit foot gigabit gigabyte gram hectare hour inch kilobit kilobyte kilogram kilometer liter megabit megabyte meter mile milliliter millimeter millisecond minute month ounce percent petabyte pound second terabyte week yard year'.split(' '),
  };
  all.supportedValuesOf = (key) => {
    if (!Object.hasOwn(values, key)) throw new RangeError('Invalid key : ' + key);
    return values[key]();
  };
  all.getCanonicalLocales = (list) => locales(list, true);
  const Intl = {};
  for (const name of Object.keys(all)) {
    Object.defineProperty(Intl, name, { value: all[name], writable: true, enumerable: false, configurable: true });
  }
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  return { Intl };
});
