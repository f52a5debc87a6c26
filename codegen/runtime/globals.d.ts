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
/** Results of earlier scripts that were too long for the answer. */
declare const results: {
  get<T = any>(ref: string, options?: { path?: string; offset?: number; limit?: number }): Promise<T>;
};
