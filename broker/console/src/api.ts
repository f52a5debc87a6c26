// The HTTP interface and the stream of news. Types are those of the commands'
// --json: see docs/console.md.
import { signal } from '@preact/signals';

export interface Execution {
  id: string; client?: string; client_info?: string; language?: string; status: string; exit_code: number;
  started: string; ended?: string; duration_ms: number; cpu_ms?: number; prepared_ms?: number; queued_ms?: number; opened_ms?: number; calls: number; bytes_in: number; bytes_out: number;
  code?: string; code_hash?: string; error?: string;
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
export interface ServerDetail { server: Server; since?: string; pid?: number; version?: string; protocol?: string; use: ToolStats[]; stderr: string[] }
export interface SkillUse { skill: string; activations: number; reads: number; tool_calls: number; errors: number; last_use: string }
export interface Day { day: string; executions: number; calls: number; bytes_in: number; bytes_out: number; bytes_kept: number }
export interface Ledger {
  executions: number; by_status: Record<string, number>; calls: number; errors: number; bytes_in: number; bytes_out: number; bytes_kept: number;
  tools: ToolStats[]; days: Day[]; tokens_saved: { definitions_per_turn: number; results: number }; skills: SkillUse[];
}
export interface Explained { name: string; kind?: string; score: number; held: number; words: { word: string; as: string; score: number; named?: boolean }[] }
export interface Explanation { answer: string; bytes: number; tokens: number; ms: number; hits: Explained[] }
export interface Run { run_id: string; client?: string; principal?: string; started: string; expires?: string; status: string; calls: number; code?: string }
export interface Setting { key: string; value: string; from: string }
export interface SavedScript { name: string; version: number; warning?: string; description?: string; input?: { type: string } }
export interface RunCall { n: number; tool: string; args?: unknown; why: string; state?: string; class?: string; digest?: string; decided_by?: string }
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
  return read<T>(await fetch('/api/' + path + (text ? '?' + text : ''), { signal }));
}

export async function send<T>(path: string, body: unknown, method = 'POST', signal?: AbortSignal): Promise<T> {
  return read<T>(await fetch('/api/' + path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal }));
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

// open exchanges the token in the address for a session. Without one there may be
// a session already.
export async function open(): Promise<void> {
  const token = /^#token=([A-Z0-9]+)/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, '', location.pathname + '#/executions');
  const res = await fetch('session', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) });
  if (!res.ok) signedOut.value = (await res.text()).trim();
}

// session says who has signed in to the console, and whether people can.
export const session = signal<{ sign_in?: boolean; name?: string; changes?: boolean }>({});
export async function whoIsIn(): Promise<void> {
  const res = await fetch('session');
  if (res.ok) session.value = (await res.json()) as typeof session.value;
}
export async function signOut(): Promise<void> {
  const res = await fetch('sign-out', { method: 'POST' });
  if (res.ok) location.reload(); else problem.value = (await res.text()).trim();
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

// follow connects the stream; browsers connect again by themselves, and say what
// they have seen. A stream after one that was given up does not know that.
export function follow(missed = false): void {
  const source = new EventSource('/api/stream');
  let again = missed;
  source.addEventListener('news', (e) => {
    live.value = true;
    const news = JSON.parse((e as MessageEvent<string>).data) as News;
    news.missed ||= missed;
    missed = false;
    for (const f of listeners) f(news);
  });
  const servers = () => { for (const f of serverListeners) f(); };
  source.addEventListener('servers', servers);
  source.onopen = () => {
    live.value = true;
    if (again) servers(); // they may have changed while nothing was connected
    again = true;
  };
  source.onerror = () => {
    live.value = false;
    // A browser gives up on an answer that is no stream: too many pages, or no session.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 3000, true);
  };
}
