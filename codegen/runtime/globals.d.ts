/** Calls a tool by its id, such as "github__list_issues". */
declare const callMCPTool: typeof import('./helpers/callMCPTool').callMCPTool;
declare const ToolError: typeof import('./helpers/types').ToolError;
type ToolError = import('./helpers/types').ToolError;

/** What log, info and debug print is the script's stdout; the others print to stderr. */
declare const console: {
  log(...data: unknown[]): void;
  info(...data: unknown[]): void;
  debug(...data: unknown[]): void;
  warn(...data: unknown[]): void;
  error(...data: unknown[]): void;
  trace(...data: unknown[]): void;
  assert(condition?: unknown, ...data: unknown[]): void;
  table(data?: unknown, columns?: string[]): void;
  dir(item?: unknown): void;
  group(...data: unknown[]): void;
  groupEnd(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...data: unknown[]): void;
  timeEnd(label?: string): void;
};

declare function setTimeout(callback: (...args: any[]) => void, ms?: number, ...args: any[]): number;
declare function clearTimeout(timer?: number): void;
declare function setInterval(callback: (...args: any[]) => void, ms?: number, ...args: any[]): number;
declare function clearInterval(timer?: number): void;
declare function setImmediate(callback: (...args: any[]) => void, ...args: any[]): number;
declare function clearImmediate(timer?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;

/** Calls f again if its error is retryable, after as long as the server asks for. */
declare function retry<T>(f: () => T | Promise<T>, options?: { times?: number; maxWaitMs?: number }): Promise<T>;
/** What search_tools and its details tell, inside of a script. */
declare const tools: {
  search(query: string, options?: { server?: string; detail?: 'name' | 'desc' | 'full'; limit?: number }): Promise<any>;
  describe(name: string): Promise<any>;
};
/** Values that are kept from one script to the next. */
declare const store: {
  get<T = any>(key: string): Promise<T | undefined>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<boolean>;
  keys(): Promise<string[]>;
};
/** Results of earlier scripts that were too long for the answer, and the images, sounds and files of results. */
declare const results: {
  get(ref: string, options: { encoding: 'base64' }): Promise<string>;
  get<T = any>(ref: string, options?: { path?: string; offset?: number; limit?: number }): Promise<T>;
};
/** Skills: their files as text, and their tools. */
declare const skills: {
  read(name: string, path: string): Promise<string>;
  call<T = any>(name: string, tool: string, input?: unknown): Promise<T>;
};

declare const performance: {
  now(): number;
  readonly timeOrigin: number;
};
declare function atob(data: string): string;
declare function btoa(data: string): string;
declare class TextEncoder {
  encode(input?: string): Uint8Array;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(init?: string | Record<string, string> | Iterable<[string, string]> | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, name: string, parent: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}
declare class AbortSignal {
  static abort(reason?: unknown): AbortSignal;
  static timeout(ms: number): AbortSignal;
  static any(signals: AbortSignal[]): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: any;
};
/** Much of Node's: from, alloc, concat, toString, base64 and hex. */
declare function Buffer(...args: any[]): any;
declare namespace Buffer {
  function from(data: any, encoding?: string): any;
  function alloc(size: number): any;
  function concat(list: any[]): any;
  function byteLength(text: string, encoding?: string): number;
  function isBuffer(value: unknown): boolean;
}
