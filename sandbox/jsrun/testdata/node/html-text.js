const html = '<h1 class="t">Title &amp; more</h1><p>Some <b>bold</b> text&nbsp;here.</p><a href="/x?a=1&amp;b=2">link</a><script>bad()</script>';
const decode = (s) => s.replace(/&(amp|lt|gt|quot|nbsp|#\d+);/g, (m, e) => ({ amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' })[e] ?? String.fromCodePoint(+e.slice(1)));
const text = decode(html.replace(/<script[\s\S]*?<\/script>/gi, '').replace(/<\/?(h\d|p)[^>]*>/gi, '\n').replace(/<[^>]+>/g, '')).replace(/\n{2,}/g, '\n').trim();
console.log(JSON.stringify(text), [...html.matchAll(/href="([^"]+)"/g)].map((m) => decode(m[1])).join());
const escape = (s) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`); console.log(escape(`<a b='c'>&"`));
