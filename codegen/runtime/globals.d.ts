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

declare function setTimeout<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
declare function clearTimeout(timer?: number): void;
declare function setInterval<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
declare function clearInterval(timer?: number): void;
declare function setImmediate<A extends unknown[]>(callback: (...args: A) => void, ...args: A): number;
declare function clearImmediate(timer?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;
