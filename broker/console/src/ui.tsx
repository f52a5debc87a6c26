// What the screens share: the address, times and sizes, tables and states.
import { signal, useSignal } from '@preact/signals';
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { file, problem } from './api';

// An Address is what stands after the #: a path and its parameters.
export interface Address { path: string[]; query: URLSearchParams }

function readAddress(): Address {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.replace(/\/+$/, '').split('/').map(decoded), query: new URLSearchParams(query) };
}

// decoded is a part of an address; one that is not encoded right stays as it is.
function decoded(part: string): string {
  try { return decodeURIComponent(part); } catch { return part; }
}
export const address = signal<Address>(readAddress());
export const moved = () => { address.value = readAddress(); };
addEventListener('hashchange', moved);

// setQuery changes one parameter of the address; typing does not fill the history.
export function setQuery(name: string, value: string): void {
  const { path, query } = address.value;
  const q = new URLSearchParams(query);
  if (value) q.set(name, value); else q.delete(name);
  const text = q.toString();
  history.replaceState(null, '', '#/' + path.map(encodeURIComponent).join('/') + (text ? '?' + text : ''));
  moved();
}
export const param = (name: string) => address.value.query.get(name) ?? '';

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dated = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export function Time({ at }: { at?: string }) {
  if (!at || at.startsWith('0001')) return <span class="dim">never</span>;
  const d = new Date(at);
  return <time dateTime={at} title={full.format(d)}>{d.toDateString() === new Date().toDateString() ? clock.format(d) : dated.format(d)}</time>;
}

export function ms(n: number): string {
  if (n < 1) return n.toFixed(2) + ' ms';
  if (n < 1000) return n.toFixed(n < 10 ? 1 : 0) + ' ms';
  return n < 60_000 ? (n / 1000).toFixed(n < 10_000 ? 2 : 1) + ' s' : (n / 60_000).toFixed(1) + ' min';
}
export function size(n: number): string {
  if (n < 1000) return n + ' B';
  if (n < 1_000_000) return (n / 1000).toFixed(n < 10_000 ? 1 : 0) + ' kB';
  return (n / 1_000_000).toFixed(1) + ' MB';
}
export const count = (n: number) => n.toLocaleString();
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
export const about = (n: number) => 'about ' + short.format(n);
export const many = (n: number, what: string) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;
export function pretty(v: unknown): string {
  return typeof v === 'string' ? v : JSON.stringify(v, null, 2);
}
// save gives the browser a file.
export function save(name: string, content: string | Blob): void {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(typeof content === 'string' ? new Blob([content], { type: 'application/jsonl' }) : content);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

// Download is a link to a file that only the page can get.
export function Download({ at, children }: { at: string; children: ComponentChildren }) {
  return <a href={at} download onClick={(e) => { e.preventDefault(); void attempt(async () => { save(...await file(at)); }); }}>{children}</a>;
}

// attention maps what is not as it should be to how much it matters.
const attention: Record<string, string> = {
  failed: 'bad', refused: 'bad', timeout: 'bad', error: 'bad', interrupted: 'bad', denied: 'warn', cancelled: 'warn', waiting: 'warn', running: 'busy',
  starting: 'busy', blocked: 'bad', changed: 'warn', new: 'warn', 'needs sign-in': 'warn', unknown: 'warn', disabled: 'off',
};
export function Status({ value }: { value: string }) {
  const level = attention[value] ?? '';
  return <span class={'status ' + level}>{level && level !== 'off' && <span class="dot" aria-hidden="true" />}{value}</span>;
}

// who is the name of a client: what it calls itself, and whose token it has, which
// nobody can choose.
export function who({ client, client_info: info }: { client?: string; client_info?: string }): string {
  return info && client && client !== 'stdio' && client !== info ? `${info} (${client})` : info || client || 'unknown';
}

// titleOf is the first line of a script that says something, without what makes it a
// comment.
export function titleOf(code: string | undefined): string {
  for (const line of (code ?? '').split('\n', 200)) {
    const text = line.trim();
    if (!text || text.startsWith('import ') || /^[/*#'"]+$/.test(text)) continue;
    const plain = text.replace(/^(\/\/+|\/\*+|\*+|#+!?|"""|\'\'\')\s*/, '').replace(/\s*(\*\/|"""|\'\'\')$/, '') || text;
    return plain.length > 120 ? plain.slice(0, 119) + '…' : plain;
  }
  return '';
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><p class="title">{title}</p>{children && <div>{children}</div>}</div>;
}

export const Cmd = ({ children }: { children: string }) => <code class="cmd">{children}</code>;

export function Facts({ list }: { list: [string, ComponentChildren][] }) {
  return <dl class="facts">{list.filter(([, v]) => v !== undefined && v !== '' && v !== null).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

// Block is a text that scrolls by itself, also by keyboard.
const shownAtOnce = 20_000;
export function Block({ label, text: whole, numbered, open, from = 1, here }: { label: string; text: string; numbered?: boolean; open?: boolean; from?: number; here?: number }) {
  const all = useSignal(!!open);
  const long = whole.length > shownAtOnce && !all.value;
  const text = long ? whole.slice(0, shownAtOnce) : whole;
  return <><pre class={'block' + (numbered ? ' numbered' : '')} style={from > 1 ? `counter-reset:line ${from - 1}` : undefined} tabIndex={0} role="region" aria-label={label}>
    {numbered ? text.replace(/\n$/, '').split('\n').map((l, i) => <span key={i} class={i + from === here ? 'here' : undefined}>{l + '\n'}</span>) : text}
  </pre>{long && <p class="dim">The first {count(shownAtOnce)} of {count(whole.length)} characters. <button onClick={() => { all.value = true; }}>Show all</button></p>}</>;
}

export function Select({ label, value, onChange, options }: { label: string; value: string; onChange: (v: string) => void; options: (string | [string, string])[] }) {
  return <label class="field"><span>{label}</span>
    <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
      {options.map((o) => { const [v, text] = typeof o === 'string' ? [o, o || 'any'] : o; return <option key={v} value={v}>{text}</option>; })}
    </select></label>;
}
export function Text({ label, value, onInput, placeholder, id }: { label: string; value: string; onInput: (v: string) => void; placeholder?: string; id?: string }) {
  return <label class="field grow"><span>{label}</span>
    <input type="search" id={id} value={value} placeholder={placeholder} onInput={(e) => onInput(e.currentTarget.value)} autocomplete="off" spellcheck={false} /></label>;
}

// A Table names its columns; low ones are left out where there is little room, and
// where all rows have nothing in them.
export interface Column<T> { name: string; cell: (row: T) => ComponentChildren; below?: (row: T) => ComponentChildren; low?: boolean; number?: boolean; wide?: boolean }
// One row may be open: what is under it follows it. What a narrow screen has no
// columns for may stand below the first one, as note.
export function Table<T>({ label, columns: all, rows, rowKey, onOpen, selected, under, note }:
  { label: string; columns: Column<T>[]; rows: T[]; rowKey: (row: T) => string; onOpen?: (row: T) => string; selected?: string; under?: (row: T) => ComponentChildren; note?: (row: T) => ComponentChildren }) {
  const columns = all.filter((c) => !c.low || rows.some((r) => c.cell(r)));
  const cls = (c: Column<T>) => [c.low && 'low', c.number && 'number', c.wide && 'wide'].filter(Boolean).join(' ');
  return <div class="scroll" role="region" aria-label={label} tabIndex={0}><table>
    <thead><tr>{columns.map((c) => <th key={c.name} scope="col" class={cls(c)}>{c.name}</th>)}</tr></thead>
    <tbody>{rows.map((r) => {
      const key = rowKey(r), open = selected === key;
      const below = note?.(r);
      return <Fragment key={key}><tr class={(open ? 'selected' : '') + (below ? ' noted' : '')}>
        {columns.map((c, i) => <td key={c.name} class={cls(c)}>{i === 0 && onOpen ? <a href={onOpen(r)}>{c.cell(r)}</a> : c.cell(r)}{c.below?.(r)}</td>)}
      </tr>
        {below && <tr class="note"><td colSpan={columns.length}>{below}</td></tr>}
        {open && under && <tr class="under"><td colSpan={columns.length}>{under(r)}</td></tr>}</Fragment>;
    })}</tbody></table></div>;
}

// useLoad loads now, and again when a key changes or again is called. What comes
// late for an earlier key is dropped, and the last value stays while it loads.
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, key: string) {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal('');
  const abort = useRef<AbortController>(undefined);
  const latest = useRef(load);
  latest.current = load;
  const again = async () => {
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    try {
      const v = await latest.current(mine.signal);
      if (!mine.signal.aborted) { value.value = v; error.value = ''; }
    } catch (e) {
      if (!mine.signal.aborted) error.value = (e as Error).message;
    }
  };
  // Before the page is painted, not after: a frame less to wait for.
  useLayoutEffect(() => { void again(); return () => abort.current?.abort(); }, [key]);
  return { value, error, again };
}

// attempt does what a button says, and shows what went wrong.
export async function attempt(f: () => Promise<unknown>): Promise<void> {
  problem.value = '';
  try { await f(); } catch (e) { problem.value = (e as Error).message; }
}

export function Searching({ to }: { to: string | number }) {
  return to ? <p role="status" class="dim">Looking through what is older than {typeof to === 'string' ? <Time at={to} /> : <>call {count(to)}</>} …</p> : null;
}

export function Problem({ error }: { error: string }) {
  return error ? <p role="alert" class="problem">{error}</p> : null;
}

// later calls f when it has not been called for a moment.
export function later(f: () => void, wait: number): () => void {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(f, wait) as unknown as number; };
}

export function useKeys(keys: Record<string, () => void>) {
  const current = useRef(keys);
  current.current = keys;
  useLayoutEffect(() => {
    const on = (e: KeyboardEvent) => {
      const t = e.target as HTMLElement;
      if (e.metaKey || e.ctrlKey || e.altKey || t.closest('input, select, textarea, [contenteditable], .editor')) return;
      const f = current.current[e.key];
      if (f) { e.preventDefault(); f(); }
    };
    addEventListener('keydown', on);
    return () => removeEventListener('keydown', on);
  }, []);
}

export { useSignal };
