const dn = (l, type, o) => new Intl.DisplayNames(l, { type, ...o });
for (const l of ['en', 'de', 'fr', 'ja', 'pt-BR']) {
  console.log(l, ['US', 'DE', 'JP', 'GB', 'BR', 'CN', 'IN', 'FR', 'UN', '419'].map((c) => dn([l], 'region').of(c)).join());
  console.log(['en', 'de', 'fr', 'ja', 'zh-Hans', 'pt-BR', 'en-US', 'es', 'de-LU', 'zh-Hant'].map((c) => dn([l], 'language').of(c)).join());
  console.log(['USD', 'EUR', 'JPY', 'GBP', 'CHF'].map((c) => dn([l], 'currency').of(c)).join(), dn(l, 'script').of('Latn'));
}
console.log(dn('en', 'region').of('ZZ'), dn('en', 'region', { fallback: 'none' }).of('XY'), dn('en', 'language').of('tlh'), dn('en', 'language').of('EN-gb'));
try { dn('en', 'region').of('nope!'); } catch (e) { console.log(e.name); }
try { new Intl.DisplayNames('en'); } catch (e) { console.log(e.name); }
console.log(new Intl.Locale('en-Latn-US').language, new Intl.Locale('zh-Hant-TW').region, new Intl.Locale('zh-TW').script, String(new Intl.Locale('de').maximize()), new Intl.Locale('zh').maximize().baseName, new Intl.Locale('en-Latn-US').minimize().toString(), new Intl.Locale('fr', { region: 'CA' }).baseName);
const zones = Intl.supportedValuesOf('timeZone');
console.log(zones.length > 400, zones.includes('Europe/Paris'), zones.includes('America/New_York'), zones[0], Intl.supportedValuesOf('currency').includes('EUR'));
try { Intl.supportedValuesOf('planet'); } catch (e) { console.log(e.name); }
console.log(Number(2n ** 64n), Number('12'), Number(), Number(-5n), [1n, '2', null].map(Number).join(), (5).constructor === Number, new Number(7) + 1, Number.MAX_SAFE_INTEGER, Number.isInteger(5), typeof Number('x'), Number.prototype.toFixed.call(1.005, 1), Number(new Date(5)), Object(3) instanceof Number);
