// URL and URLSearchParams. Parsing is done in Go.
(function (native) {
  'use strict';
  const { parse, decode, encode } = native;

  class URLSearchParams {
    #list = [];
    #url = null;
    constructor(init = '') {
      if (init === null || (typeof init !== 'object' && typeof init !== 'function')) {
        const text = String(init);
        this.#list = decode(text[0] === '?' ? text.slice(1) : text);
      } else if (typeof init[Symbol.iterator] === 'function') {
        for (const pair of init) {
          const [name, value, ...more] = pair;
          if (more.length || [...pair].length !== 2) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
          this.#list.push([String(name), String(value)]);
        }
      } else {
        for (const name of Object.keys(init)) this.#list.push([name, String(init[name])]);
      }
    }
    static of(url, query) {
      const params = new URLSearchParams(query);
      params.#url = url;
      return params;
    }
    static reset(params, query) {
      params.#list = decode(query);
    }
    #changed() {
      this.#url?.(this.toString());
    }
    get size() {
      return this.#list.length;
    }
    append(name, value) {
      this.#list.push([String(name), String(value)]);
      this.#changed();
    }
    delete(name, value) {
      this.#list = this.#list.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)));
      this.#changed();
    }
    get(name) {
      return this.#list.find(([n]) => n === String(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v);
    }
    has(name, value) {
      return this.#list.some(([n, v]) => n === String(name) && (value === undefined || v === String(value)));
    }
    set(name, value) {
      name = String(name);
      const first = this.#list.find(([n]) => n === name);
      if (!first) return this.append(name, value);
      first[1] = String(value);
      this.#list = this.#list.filter((pair) => pair === first || pair[0] !== name);
      this.#changed();
    }
    sort() {
      this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed();
    }
    forEach(f, self) {
      for (const [name, value] of this.#list) f.call(self, value, name, this);
    }
    *entries() {
      for (const [name, value] of this.#list) yield [name, value];
    }
    *keys() {
      for (const [name] of this.#list) yield name;
    }
    *values() {
      for (const [, value] of this.#list) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return encode(this.#list);
    }
    get [Symbol.toStringTag]() {
      return 'URLSearchParams';
    }
  }
  const { of, reset } = URLSearchParams;
  delete URLSearchParams.of;
  delete URLSearchParams.reset;

  const invalid = (input, base) => {
    const error = new TypeError('Invalid URL');
    error.code = 'ERR_INVALID_URL';
    error.input = input;
    if (base !== undefined) error.base = base;
    return error;
  };

  // A part of a URL is set by parsing the whole anew; what does not parse
  // changes nothing.
  class URL {
    #u;
    #params;
    constructor(input, base) {
      if (arguments.length === 0) throw new TypeError('The "url" argument must be specified');
      input = String(input);
      this.#u = parse(input, base === undefined ? null : String(base));
      if (!this.#u) throw invalid(input, base === undefined ? undefined : String(base));
    }
    static canParse(input, base) {
      return !!parse(String(input), base === undefined ? null : String(base));
    }
    static parse(input, base) {
      return URL.canParse(input, base) ? new URL(input, base) : null;
    }
    #set(part, value) {
      const u = parse(this.#u.href, null, part, String(value));
      if (!u) return;
      this.#u = u;
      if (this.#params && part !== 'query') reset(this.#params, u.search.slice(1));
    }
    get href() {
      return this.#u.href;
    }
    set href(value) {
      const u = parse(String(value), null);
      if (!u) throw invalid(String(value));
      this.#u = u;
      if (this.#params) reset(this.#params, u.search.slice(1));
    }
    get origin() {
      return this.#u.origin;
    }
    get searchParams() {
      return (this.#params ??= of((query) => this.#set('query', query), this.#u.search));
    }
    toString() {
      return this.#u.href;
    }
    toJSON() {
      return this.#u.href;
    }
    static {
      for (const part of ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']) {
        Object.defineProperty(URL.prototype, part, {
          get() {
            return this.#u[part];
          },
          set(value) {
            this.#set(part, value);
          },
          enumerable: true,
          configurable: true,
        });
      }
    }
    get [Symbol.toStringTag]() {
      return 'URL';
    }
  }
  return { URL, URLSearchParams };
});
