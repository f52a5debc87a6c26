const text = 'Zoë paid 12,50 € in Kraków — “naïve” 東京タワー 🎉👍🏽';
console.log(text.match(/\p{L}+/gu).join('|'), text.replace(/[^\p{L}\p{N}\s]/gu, '').trim(), text.match(/\p{Emoji_Presentation}/gu).length, /\p{Sc}/u.exec(text).index);
const slug = (s) => s.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
console.log(slug('  Crème Brûlée & Über-Straße! '), [...'añb'].length, 'ﬁ'.normalize('NFKC'), /^\p{Lu}/u.test('Ärger'), 'straße'.toUpperCase());
