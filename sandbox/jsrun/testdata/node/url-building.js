const u = new URL('/v1/search', 'https://api.example.com:8443/base/');
u.searchParams.set('q', 'a & b/c?'); u.searchParams.append('tag', 'ä'); u.searchParams.append('tag', 'x y'); u.hash = 'top';
console.log(u.href, u.host, u.searchParams.getAll('tag').join('|'), [...u.searchParams.keys()].join());
const link = (base, params) => `${base}?${new URLSearchParams(Object.entries(params).filter(([, v]) => v != null))}`;
console.log(link('https://x.io/p', { page: 2, sort: 'name desc', none: null }), encodeURIComponent('a b&c/d?é'), decodeURIComponent('%E2%82%AC'), new URL('../up?x=1#y', 'https://h.com/a/b/c').href);
console.log(JSON.stringify(Object.fromEntries(new URL('https://e.com/?a=1&b=%20x&c=').searchParams)), URL.canParse('nope'), new URL('https://user:pw@EXAMPLE.com/%7Ea/./b/').toString());
