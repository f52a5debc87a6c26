// The HTTP interface and the stream of news. Types are those of the commands'
// --json: see docs/console.md.
import { signal } from '@preact/signals';

export interface Execution {
  id: string; client?: string; client_info?: string; language?: string; status: string; exit_code: number;
  started: string; ended?: string; duration_ms: number; cpu_ms?: number; prepared_ms?: number; queued_ms?: number; opened_ms?: number; calls: number; bytes_in: number; bytes_out: number;
  code?: string; code_hash?: string; error?: string; answer?: unknown;
}
export interface Call {
  n?: number; client?: string; execution?: string; seq: number; server: string; tool: string; id?: string; status: string; class?: string; decision?: string;
  started: string; duration_ms: number; waited_ms?: number; line?: number; arg_bytes: number; result_bytes: number; error?: string; args?: unknown; result?: unknown;
}
export interface Event { time: string; kind: string; server: string; name?: string; client?: string; failed?: boolean; detail: string }
export interface Server {
  name: string; description?: string; transport: string; status: string; tool_count: number; error?: string; changed?: string; held?: string;
  tools?: string[]; instances?: string; instances_why?: string; package?: string; skills?: number;
}
export interface ToolStats {
  server: string; tool: string; calls: number; errors: number; p50_ms: number; p99_ms: number; max_ms: number; arg_bytes: number; result_bytes: number; last_call: string;
}
export interface NewServer { name: string; description?: string; command?: string; args?: string[]; env?: Record<string, string>; url?: string; headers?: Record<string, string> }
export interface ServerDetail { server: Server; since?: string; pid?: number; version?: string; protocol?: string; use: ToolStats[]; stderr: string[] }
export interface SkillUse { skill: string; activations: number; reads: number; tool_calls: number; errors: number; last_use: string }
export interface Day { day: string; executions: number; calls: number; bytes_in: number; bytes_out: number; bytes_kept: number }
export interface Ledger {
  executions: number; by_status: Record<string, number>; calls: number; errors: number; bytes_in: number; bytes_out: number; bytes_kept: number;
  tools: ToolStats[]; days: Day[]; tokens_saved: { definitions_per_turn: number; results: number }; skills: SkillUse[];
}
export interface Explained { name: string; kind?: string; score: number; held: number; words: { word: string; as: string; score: number; named?: boolean }[] }
export interface Explanation { answer: string; bytes: number; tokens: number; ms: number; hits: Explained[] }
export interface Run { run_id: string; client?: string; client_info?: string; principal?: string; started: string; expires?: string; status: string; calls: number; code?: string }
export interface Setting { key: string; value: string; from: string }
export interface SavedScript { name: string; version: number; warning?: string; description?: string; input?: { type: string } }
export interface RunCall { n: number; tool: string; line?: number; args?: unknown; why: string; state?: string; class?: string; digest?: string; decided_by?: string; bytes?: number }
export interface Pin {
  server: string; kind: string; title: string; state: string; held: boolean; verdict: string; seen: string;
  findings?: { where: string; verdict: string; kinds: string[] }[]; changes?: { where: string; text: string }[];
}
export interface Skill {
  name: string; description: string; version?: string; origin: string; category: string; plugin?: string; state: string; enabled: boolean; location: string;
  diagnostics: { severity?: string; message: string }[];
}
export interface Plugin { name: string; version?: string; description?: string; enabled: boolean; servers: { name: string }[]; skills: string[]; commands: { name: string }[]; problems: { message: string }[] }
export interface Answer {
  exit_code: number; result?: unknown; stdout?: string; stderr?: string; run_id?: string; duration_ms: number; hint?: string; truncated?: boolean; ref?: string;
  tools_called: { tool: string; status: string; ms: number; n?: number; error?: string }[];
}

// signedOut is set when the broker does not know this browser.
export const signedOut = signal('');
// problem is the last thing that did not work.
export const problem = signal('');

export async function get<T>(path: string, query: Record<string, string | number | undefined> = {}, signal?: AbortSignal): Promise<T> {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== '') q.set(k, String(v));
  const text = q.toString();
  return read<T>(await ask('/api/' + path + (text ? '?' + text : ''), { signal }));
}

export async function send<T>(path: string, body: unknown, method = 'POST', signal?: AbortSignal): Promise<T> {
  return read<T>(await ask('/api/' + path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal }));
}

// The key of the session: what the page has beside the cookie, which browsers send to
// every port of this host. Storage and channel are those of this origin.
const keyName = 'broker-console-key';
const keyOf = (): string => sessionStorage.getItem(keyName) ?? '';
const tabs = new BroadcastChannel(keyName);
let keyHeard = (): void => { /* nobody waits for one */ };
function keep(key: string): void {
  sessionStorage.setItem(keyName, key);
  keyHeard();
}
tabs.onmessage = (e: MessageEvent<{ key?: string }>) => {
  if (!e.data.key) {
    if (keyOf() && !signedOut.value) tabs.postMessage({ key: keyOf() });
  } else if (e.data.key !== keyOf()) {
    keep(e.data.key);
    if (signedOut.value) location.reload();
  }
};

// heard asks the other tabs for the key. One that sleeps answers later, if at all.
function heard(): Promise<void> {
  return new Promise((done) => {
    keyHeard = done;
    tabs.postMessage({});
    setTimeout(done, 300);
  });
}

// ask is fetch with the key.
function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (keyOf()) headers.set('Broker-Console-Key', keyOf());
  return fetch(path, { ...init, headers });
}

// file reads what an address answers, and the name that it gives that.
export async function file(path: string): Promise<[name: string, content: Blob]> {
  const res = await ask(path);
  if (!res.ok) return read<never>(res);
  return [/filename="([^"]+)"/.exec(res.headers.get('Content-Disposition') ?? '')?.[1] ?? 'download', await res.blob()];
}

async function read<T>(res: Response): Promise<T> {
  if (res.ok) return (await res.json()) as T;
  let detail = res.statusText;
  try {
    const p = (await res.json()) as { code?: string; detail?: string };
    detail = p.detail ?? detail;
    if (p.code === 'no_session') signedOut.value = detail;
  } catch { /* what is no JSON has no detail */ }
  throw new Error(detail);
}

// open exchanges the token in the address for a session, or takes the key of a sign-in
// from it. Without either, this tab or another may have a session already.
export async function open(): Promise<void> {
  const [, kind, value] = /^#(token|key)=([A-Z0-9]+)/.exec(location.hash) ?? [];
  if (!value) {
    if (!keyOf()) await heard();
    return;
  }
  history.replaceState(null, '', location.pathname + '#/executions');
  let key: string | undefined = value;
  if (kind === 'token') {
    const res = await ask('session', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: value }) });
    if (!res.ok) {
      signedOut.value = (await res.text()).trim();
      return;
    }
    key = res.status === 200 ? ((await res.json()) as { key: string }).key : undefined;
  }
  if (!key) return;
  keep(key);
  tabs.postMessage({ key }); // the cookie of the other tabs is the new one, too
}

// session says who has signed in to the console, and whether people can.
export const session = signal<{ sign_in?: boolean; name?: string; changes?: boolean }>({});
export async function whoIsIn(): Promise<void> {
  const res = await ask('session');
  if (res.ok) session.value = (await res.json()) as typeof session.value;
}
export async function signOut(): Promise<void> {
  const res = await ask('sign-out', { method: 'POST' });
  if (!res.ok) { problem.value = (await res.text()).trim(); return; }
  sessionStorage.removeItem(keyName);
  location.reload();
}

export interface News { executions: Execution[]; calls: Call[]; events: Event[]; missed?: boolean }
// live says whether the stream of news is connected.
export const live = signal(false);
const listeners = new Set<(n: News) => void>();
const serverListeners = new Set<() => void>();

// onNews calls f with all news until the function that it returns is called.
export function onNews(f: (n: News) => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}
export function onServers(f: () => void): () => void {
  serverListeners.add(f);
  return () => serverListeners.delete(f);
}

// again is how long follow waits before it connects again.
const again = 3000;

// follow reads the stream of news, and connects again where it stopped. EventSource
// would do that by itself, but sends no header.
export async function follow(): Promise<void> {
  let position = '', missed = false;
  const servers = () => { for (const f of serverListeners) f(); };
  for (let first = true; ; first = false) {
    try {
      const res = await ask('/api/stream', { headers: position ? { 'Last-Event-ID': position } : {}, cache: 'no-store' });
      if (res.ok && res.body) {
        live.value = true;
        if (!first) servers(); // they may have changed while nothing was connected
        await events(res.body, (name, data, id) => {
          position = id || position;
          if (name === 'servers') servers();
          if (name !== 'news') return;
          const news = JSON.parse(data) as News;
          news.missed ||= missed;
          missed = false;
          for (const f of listeners) f(news);
        });
      }
    } catch { /* the connection is gone */ }
    live.value = false;
    missed ||= !position; // nobody knows what there was until now
    await new Promise((done) => setTimeout(done, again));
  }
}

// events calls f for each event of a stream until that ends.
async function events(body: ReadableStream<Uint8Array>, f: (name: string, data: string, id: string) => void): Promise<void> {
  const reader = body.getReader(), text = new TextDecoder();
  let rest = '', name = '', data = '', id = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + text.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [field, content] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)];
      if (line === '') {
        if (data) f(name, data, id);
        name = data = id = '';
      } else if (field === 'event') name = content;
      else if (field === 'id') id = content;
      else if (field === 'data') data += content;
    }
  }
}
