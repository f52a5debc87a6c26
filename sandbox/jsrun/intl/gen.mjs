// Writes what Intl needs to know of each locale to NAME.json.gz, from what Node's
// own Intl answers: node gen.mjs. The data are those of CLDR (Unicode, Inc.,
// Unicode License v3); a Node with full ICU is needed.
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const locales = `en-US en-GB en-CA en-AU en-IN en-NZ en-IE en-ZA de-DE de-AT de-CH fr-FR fr-CA fr-CH es-ES es-MX it-IT pt-BR pt-PT nl-NL
  sv-SE pl-PL ja-JP zh-CN zh-TW ko-KR`.trim().split(/\s+/);
const currencies = `USD EUR GBP JPY CNY INR CHF CAD AUD NZD SEK NOK DKK PLN CZK HUF RON BGN TRY RUB UAH BRL MXN ARS CLP COP PEN ZAR KRW TWD HKD
  SGD THB IDR MYR PHP VND ILS AED SAR EGP NGN KES ISK KWD`.trim().split(/\s+/);
const relativeUnits = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
const styles = ['long', 'short', 'narrow'];
const zones = `America/New_York America/Chicago America/Denver America/Los_Angeles America/Phoenix America/Anchorage Pacific/Honolulu America/Toronto
  America/Sao_Paulo Europe/London Europe/Dublin Europe/Berlin Europe/Paris Europe/Madrid Europe/Rome Europe/Zurich Europe/Vienna Europe/Amsterdam
  Europe/Stockholm Europe/Warsaw Europe/Athens Europe/Helsinki Europe/Kiev Europe/Moscow Europe/Istanbul Asia/Tokyo Asia/Shanghai Asia/Hong_Kong
  Asia/Singapore Asia/Kolkata Asia/Dubai Asia/Seoul Australia/Sydney Pacific/Auckland Africa/Johannesburg UTC`.trim().split(/\s+/);

const join = (parts, name) => parts.map((p) => name(p) ?? p.value).join('');
const numeric = new Set(['integer', 'group', 'decimal', 'fraction']);
// pattern writes parts with {n} in the place of the number.
function pattern(parts, more = {}) {
  let out = '';
  let number = false;
  for (const p of parts) {
    if (numeric.has(p.type)) {
      if (!number) out += '{n}';
      number = true;
    } else out += more[p.type] ?? p.value;
  }
  return out;
}
const samples = [0, 1, 2, 3, 5, 11, 20, 21, 1.5, 100, 1000000];

function numbers(locale) {
  const f = (options) => new Intl.NumberFormat(locale, options);
  const part = (parts, type) => parts.find((p) => p.type === type)?.value ?? '';
  const big = f({}).formatToParts(-1234567890.5);
  const groups = big.filter((p) => p.type === 'integer').map((p) => p.value.length);
  const out = {
    decimal: part(big, 'decimal'), group: part(big, 'group'), minus: part(big, 'minusSign'),
    plus: part(f({ signDisplay: 'always' }).formatToParts(1), 'plusSign'),
    primary: groups.at(-1), secondary: groups.at(-2),
    minGrouping: f({}).formatToParts(1234).some((p) => p.type === 'group') ? 1 : 2,
    nan: f({}).format(NaN),
  };
  const sign = { minusSign: '{-}' };
  out.negative = pattern(f({}).formatToParts(-5), sign);
  out.percent = pattern(f({ style: 'percent' }).formatToParts(0.05), { percentSign: '{%}' });
  out.percentNegative = pattern(f({ style: 'percent' }).formatToParts(-0.05), { percentSign: '{%}', ...sign });
  out.percentSign = part(f({ style: 'percent' }).formatToParts(0.05), 'percentSign');
  const money = (n, display) =>
    pattern(f({ style: 'currency', currency: 'USD', currencyDisplay: display }).formatToParts(n), { currency: '{c}', ...sign });
  out.currency = {};
  for (const display of ['symbol', 'code']) {
    out.currency[display] = [money(5, display), money(-5, display)];
  }
  out.currency.name = pattern(f({ style: 'currency', currency: 'USD', currencyDisplay: 'name' }).formatToParts(5), { currency: '{c}' });
  // A symbol of letters keeps a distance that a sign does not.
  const lettered = f({ style: 'currency', currency: 'CHF' }).formatToParts(5);
  out.currency.lettered = [pattern(lettered, { currency: '{c}' }), pattern(f({ style: 'currency', currency: 'CHF' }).formatToParts(-5), { currency: '{c}', ...sign })];
  const rules = new Intl.PluralRules(locale);
  out.currencies = {};
  for (const currency of currencies) {
    const of = (currencyDisplay, n) => part(f({ style: 'currency', currency, currencyDisplay, maximumFractionDigits: 2, minimumFractionDigits: 0 }).formatToParts(n), 'currency');
    const names = {};
    for (const n of samples) names[rules.select(n)] ??= of('name', n);
    out.currencies[currency] = [of('symbol', 5), of('narrowSymbol', 5), shorten(names)];
  }
  out.compact = {};
  for (const compactDisplay of ['short', 'long']) {
    out.compact[compactDisplay] = [];
    for (let e = 3; e < 15; e++) {
      const forms = {};
      let zeros = 0;
      for (const n of [1, 2, 3, 5, 1.5, 7.2]) {
        const parts = f({ notation: 'compact', compactDisplay }).formatToParts(n * 10 ** e);
        if (n === 1) zeros = e + 1 - parts.filter((p) => p.type === 'integer').map((p) => p.value).join('').length;
        const shown = n * 10 ** (e - zeros);
        forms[rules.select(shown)] ??= pattern(parts);
      }
      out.compact[compactDisplay].push([zeros, shorten(forms)]);
    }
  }
  return out;
}
// shorten leaves out the forms that are as "other".
const shorten = (forms) => {
  const out = { other: forms.other ?? Object.values(forms)[0] };
  for (const [k, v] of Object.entries(forms)) if (v !== out.other) out[k] = v;
  return out;
};

const when = new Date(Date.UTC(2003, 1, 5, 3, 4, 7)); // a Wednesday
const utc = { timeZone: 'UTC', calendar: 'gregory', numberingSystem: 'latn' };

function dates(locale) {
  const parts = (options, at = when) => new Intl.DateTimeFormat(locale, { ...utc, ...options }).formatToParts(at);
  const part = (type, options, at) => parts(options, at).find((p) => p.type === type)?.value;
  const month = (i) => new Date(Date.UTC(2003, i, 5));
  const day = (i) => new Date(Date.UTC(2003, 1, 2 + i));
  const out = { months: {}, weekdays: {} };
  const twelve = [...Array(12).keys()];
  for (const style of styles) {
    out.months[style] = twelve.map((i) => part('month', { month: style, day: 'numeric' }, month(i)) ?? '');
    out.months['alone-' + style] = twelve.map((i) => part('month', { month: style }, month(i)) ?? '');
    out.weekdays[style] = twelve.slice(0, 7).map((i) => part('weekday', { weekday: style, day: 'numeric', month: 'long' }, day(i)) ?? '');
    out.weekdays['alone-' + style] = twelve.slice(0, 7).map((i) => part('weekday', { weekday: style }, day(i)) ?? '');
  }
  const periods = [part('dayPeriod', { hour: 'numeric', hour12: true }), part('dayPeriod', { hour: 'numeric', hour12: true }, new Date(Date.UTC(2003, 1, 5, 15)))];
  out.periods = periods.map((p) => p ?? '');
  out.hour12 = !!new Intl.DateTimeFormat(locale, { hour: 'numeric' }).resolvedOptions().hour12;

  const code = (p, resolved) => {
    switch (p.type) {
      case 'year': return p.value.length === 2 ? '{yy}' : '{y}';
      case 'day': return p.value[0] === '0' ? '{dd}' : '{d}';
      case 'hour': {
        const wide = p.value[0] === '0' ? 2 : 1;
        return '{' + (resolved.hour12 ? 'h' : 'H').repeat(wide) + '}';
      }
      case 'minute': return p.value[0] === '0' ? '{mm}' : '{m}';
      case 'second': return p.value[0] === '0' ? '{ss}' : '{s}';
      case 'dayPeriod': return '{a}';
      case 'timeZoneName': return '{z}';
      case 'month':
        if (p.value === '2') return '{M}';
        if (p.value === '02') return '{MM}';
        for (const [k, names] of Object.entries(out.months)) if (resolved.month && k.endsWith(resolved.month) && names[1] === p.value) return '{' + (k.startsWith('alone') ? 'L' : 'M').repeat({ long: 4, short: 3, narrow: 5 }[resolved.month]) + '}';
        for (const [k, names] of Object.entries(out.months)) if (names[1] === p.value) return '{' + (k.startsWith('alone') ? 'L' : 'M').repeat({ long: 4, short: 3, narrow: 5 }[k.replace('alone-', '')]) + '}';
        return p.value;
      case 'weekday':
        for (const [k, names] of Object.entries(out.weekdays)) if (resolved.weekday && k.endsWith(resolved.weekday) && names[3] === p.value) return '{' + (k.startsWith('alone') ? 'c' : 'E').repeat({ long: 4, short: 3, narrow: 5 }[resolved.weekday]) + '}';
        for (const [k, names] of Object.entries(out.weekdays)) if (names[3] === p.value) return '{' + (k.startsWith('alone') ? 'c' : 'E').repeat({ long: 4, short: 3, narrow: 5 }[k.replace('alone-', '')]) + '}';
        // In Finnish, what happens on a Wednesday does so keskiviikkona: the name, with the same ending for all days.
        for (const [k, names] of Object.entries(out.weekdays)) if (k.endsWith('long') && p.value.startsWith(names[3])) return '{' + (k.startsWith('alone') ? 'c' : 'E').repeat(4) + '}' + p.value.slice(names[3].length);
        return p.value;
    }
    return undefined;
  };
  const of = (options) => {
    const f = new Intl.DateTimeFormat(locale, { ...utc, ...options });
    const resolved = f.resolvedOptions();
    return join(f.formatToParts(when), (p) => code(p, resolved));
  };
  out.date = {};
  const letters = { undefined: '', numeric: 'n', '2-digit': '2', short: 's', long: 'l', narrow: 'a' };
  for (const weekday of [undefined, ...styles]) for (const year of [undefined, 'numeric', '2-digit']) for (const mon of [undefined, 'numeric', '2-digit', ...styles]) for (const d of [undefined, 'numeric', '2-digit']) {
    if (!weekday && !year && !mon && !d) continue;
    const key = [weekday, year, mon, d].map((x) => letters[x] || '-').join('');
    out.date[key] = of({ weekday, year, month: mon, day: d });
  }
  out.time = {};
  for (const hour of [undefined, 'numeric', '2-digit']) for (const minute of [undefined, 'numeric', '2-digit']) for (const second of [undefined, 'numeric', '2-digit']) {
    if (!hour && !minute && !second) continue;
    const key = [hour, minute, second].map((x) => letters[x] || '-').join('');
    out.time[key] = hour ? [of({ hour, minute, second, hour12: true }), of({ hour, minute, second, hour12: false })] : [of({ minute, second })];
  }
  out.glue = {};
  const time = { hour: 'numeric', minute: 'numeric' };
  for (const [name, date] of Object.entries({ weekday: { weekday: 'short' }, numeric: { year: 'numeric', month: 'numeric', day: 'numeric' },
    short: { year: 'numeric', month: 'short', day: 'numeric' }, long: { year: 'numeric', month: 'long', day: 'numeric' },
    full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' } })) {
    const [d, t, both] = [of(date), of(time), of({ ...date, ...time })];
    out.glue[name] = both.replace(d, '{1}').replace(t, '{0}');
    if (!out.glue[name].includes('{1}') || !out.glue[name].includes('{0}')) out.glue[name] = '{1}, {0}';
  }
  out.dateStyle = {};
  out.timeStyle = {};
  out.styleGlue = {};
  for (const s of ['full', 'long', 'medium', 'short']) {
    out.dateStyle[s] = of({ dateStyle: s });
    out.timeStyle[s] = of({ timeStyle: s });
    const both = of({ dateStyle: s, timeStyle: 'short' });
    out.styleGlue[s] = both.replace(out.dateStyle[s], '{1}').replace(of({ timeStyle: 'short' }), '{0}');
  }
  out.zoneWithTime = of({ ...time, timeZoneName: 'short' }).replace(of(time), '{0}');
  out.zoneWithDate = of({ year: 'numeric', month: 'numeric', day: 'numeric', timeZoneName: 'short' }).replace(of({ year: 'numeric', month: 'numeric', day: 'numeric' }), '{1}');
  out.fraction = part('literal', { second: 'numeric', fractionalSecondDigits: 3 }) ?? '.';
  out.zones = {};
  const name = (timeZone, timeZoneName, at) => new Intl.DateTimeFormat(locale, { timeZone, timeZoneName }).formatToParts(at).find((p) => p.type === 'timeZoneName').value;
  const winter = new Date(Date.UTC(2024, 0, 15));
  const summer = new Date(Date.UTC(2024, 6, 15));
  out.gmt = name('Etc/GMT-3', 'short', winter).replace(/[+−-].*/, '');
  for (const zone of zones) {
    const offset = (at) => name(zone, 'shortOffset', at);
    const standard = offset(winter).length <= 0 ? winter : zone.match(/Australia|Auckland/) ? summer : winter;
    const daylight = standard === winter ? summer : winter;
    out.zones[zone] = [name(zone, 'short', standard), name(zone, 'long', standard)];
    if (offset(winter) !== offset(summer)) out.zones[zone].push(name(zone, 'short', daylight), name(zone, 'long', daylight));
  }
  return out;
}

function phrases(locale) {
  const rules = new Intl.PluralRules(locale);
  const out = { relative: {} };
  for (const style of styles) {
    out.relative[style] = {};
    for (const unit of relativeUnits) {
      const f = new Intl.RelativeTimeFormat(locale, { style, numeric: 'always' });
      const forms = (sign) => {
        const all = {};
        for (const n of samples) all[rules.select(n)] ??= pattern(f.formatToParts(sign * n, unit));
        return shorten(all);
      };
      const auto = new Intl.RelativeTimeFormat(locale, { style, numeric: 'auto' });
      const words = {};
      for (const n of [-2, -1, 0, 1, 2]) if (!auto.formatToParts(n, unit).some((p) => p.type === 'integer')) words[n] = auto.format(n, unit);
      out.relative[style][unit] = [forms(-1), forms(1), words];
    }
  }
  return out;
}

const write = (name, text) => writeFileSync(new URL(name + '.json.gz', import.meta.url), gzipSync(text, { level: 9 }));
for (const locale of locales) {
  write(locale, JSON.stringify({ number: numbers(locale), date: dates(locale), ...phrases(locale) }) + '\n');
}
