// Servers: what works, what to do about the rest, and which there are.
import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get, type Ledger, type NewServer, onServers, send, type Server, type ServerDetail, session, type Setting } from './api';
import { address, attempt, Block, Cmd, count, Empty, Facts, many, ms, Problem, size, Status, Table, Text, Time, useLoad } from './ui';

const weekAgo = () => new Date(Date.now() - 7 * 86_400_000).toISOString();

export function Servers() {
  const name = address.value.path[1];
  return name ? <ServerPage key={name} name={name} /> : <ServerList />;
}

// words are what a state means to a person. A server that is not connected starts with
// the next call.
const words: Record<string, string> = { ready: 'working', idle: 'idle', cached: 'idle', stopped: 'idle' };
const meaning: Record<string, string> = {
  working: 'It is connected.', idle: 'It is not running, and starts with the next call.', starting: 'It is being connected.', failed: 'It could not be connected.',
  'needs sign-in': 'It wants to know who you are.', disabled: 'It is in the config, and not used.',
};
const inWords = (status: string) => words[status] ?? status;
const State = ({ of }: { of: Server }) => <span title={meaning[inWords(of.status)]}><Status value={inWords(of.status)} /></span>;

const disabled = (s: Server) => s.status === 'disabled';
const needsLook = (s: Server) => !disabled(s) && (!!s.error || !!s.held || s.status === 'failed' || s.status === 'needs sign-in');

// notes are what was said about the server that was added last.
const notes = signal<{ server: string; notes: string[] } | null>(null);

function ServerList() {
  const { value, error, again } = useLoad((s) => get<{ servers: Server[]; total_tools: number }>('servers', {}, s), '');
  const open = useSignal(false), adding = useSignal(false), find = useSignal('');
  const use = useLoad((s) => get<Ledger>('stats', { since: weekAgo() }, s), '');
  useEffect(() => onServers(() => void again()), []);
  const of = (name: string) => use.value.value?.tools.filter((t) => t.server === name); // undefined until it is known
  const all = value.value?.servers ?? [], off = all.filter(disabled).length, broken = all.filter(needsLook).length;
  const needle = find.value.toLowerCase();
  const rows = all.filter((s) => !needle || [s.name, s.description, inWords(s.status)].some((t) => t?.toLowerCase().includes(needle)));
  const flip = (s: Server) => attempt(async () => { await enable(s.name, disabled(s)); await again(); });
  return <>
    <header><div class="row"><h1>Servers</h1>{mayChange() && <button aria-expanded={adding.value} onClick={() => { adding.value = !adding.value; }}>Add a server</button>}</div>
      <p class="summary">{all.length > 0 && <>{many(all.length, 'server')}, {many(value.value?.total_tools ?? 0, 'tool')}{off > 0 && <>, {count(off)} disabled</>}, {broken ? <strong>{count(broken)} {broken === 1 ? 'needs' : 'need'} a look</strong> : 'all well'}</>}</p></header>
    {adding.value && <AddServer onAdded={again} />}
    <Problem error={error.value} />
    {value.value && all.length === 0 && <Empty title="No server is configured."><Cmd>broker import claude-code</Cmd> takes over those of a client; <Cmd>broker servers add NAME -- COMMAND</Cmd> adds one.</Empty>}
    {all.length > 12 && <form class="filters" onSubmit={(e) => e.preventDefault()}><Text label="Find" id="find" value={find.value} onInput={(v) => { find.value = v; }} placeholder="name, what it does or state" /></form>}
    {all.length > 0 && rows.length === 0 && <Empty title="No server matches." />}
    {rows.length > 0 && <Table label="Servers" rows={rows} rowKey={(s) => s.name} onOpen={(s) => '#/servers/' + encodeURIComponent(s.name)} note={(s) => s.error || s.held || s.changed} columns={[
      { name: 'Server', cell: (s) => s.name, below: (s) => s.description && <span class="clip">{s.description}</span> },
      { name: 'Status', cell: (s) => <State of={s} /> },
      { name: 'Tools', number: true, cell: (s) => (disabled(s) ? '' : count(s.tool_count)) },
      { name: 'Calls, 7 days', number: true, low: true, cell: (s) => { const used = of(s.name); return used && count(used.reduce((n, t) => n + t.calls, 0)); } },
      { name: 'Errors', number: true, low: true, cell: (s) => { const n = of(s.name)?.reduce((n, t) => n + t.errors, 0); return n ? <strong>{count(n)}</strong> : n?.toString(); } },
      { name: 'Last call', low: true, cell: (s) => { const used = of(s.name); return used && <Time at={used.map((t) => t.last_call).sort().at(-1)} />; } },
      { name: '', cell: (s) => mayChange() && <button onClick={() => flip(s)}>{disabled(s) ? 'Enable' : 'Disable'}<span class="sr"> {s.name}</span></button> },
    ]} />}
    <details onToggle={(e) => { open.value = e.currentTarget.open; }}><summary>Configuration in force</summary>{open.value && <Settings />}</details>
  </>;
}

// mayChange reports whether the session may change something, as far as the page knows.
const mayChange = () => session.value.changes !== false;

const enable = (name: string, enabled: boolean) => send('servers/' + encodeURIComponent(name), { enabled }, 'PUT');

// AddServer writes a server into the config, as broker servers add does.
function AddServer({ onAdded }: { onAdded: () => Promise<void> }) {
  const error = useSignal(''), busy = useSignal(false), runs = useSignal('');
  const remote = /^https?:\/\//i.test(runs.value.trim());
  const add = async (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim();
    busy.value = true;
    error.value = '';
    try {
      const pairs = pairsOf(text('pairs'), remote ? ':' : '=');
      const [command = '', ...args] = remote ? [] : wordsOf(text('runs'));
      const server: NewServer = remote ? { name: text('name'), url: text('runs'), headers: pairs } : { name: text('name'), command, args, env: pairs };
      if (text('description')) server.description = text('description');
      const added = await send<{ server: string; notes?: string[] }>('servers', server);
      notes.value = { server: added.server, notes: added.notes ?? [] };
      await onAdded();
      location.hash = '#/servers/' + encodeURIComponent(added.server);
    } catch (e) { error.value = (e as Error).message; } finally { busy.value = false; }
  };
  return <form class="filters card" onSubmit={(e) => { e.preventDefault(); void add(new FormData(e.currentTarget)); }}>
    <label class="field"><span>Name</span><input name="name" required maxLength={64} placeholder="notes" autocomplete="off" spellcheck={false} /></label>
    <label class="field grow"><span>Command, or address</span><input name="runs" required placeholder="npx -y @example/notes, or https://…" autocomplete="off" spellcheck={false} value={runs.value} onInput={(e) => { runs.value = e.currentTarget.value; }} /></label>
    <label class="field grow"><span>What it does, for search</span><input name="description" maxLength={300} placeholder="Notes of the team" autocomplete="off" /></label>
    <label class="field full"><span>{remote ? 'Headers, one on a line' : 'Environment variables, one on a line'}</span><textarea name="pairs" rows={2} placeholder={remote ? 'Authorization: Bearer ${NOTES_TOKEN}' : 'NOTES_TOKEN=${NOTES_TOKEN}'} autocomplete="off" spellcheck={false} /></label>
    <button class="primary" disabled={busy.value}>{busy.value ? 'Adding …' : 'Add the server'}</button>
    <Problem error={error.value} />
    <p class="dim">{remote ? 'It is written into the config, and connected at once.' : 'It is written into the config, and the command runs at once, as you, on the machine of the broker.'} Write <Cmd>{'${NAME}'}</Cmd> for a secret: it is read from the environment, and <Cmd>{'${keyring:NAME}'}</Cmd> from the keyring.</p>
  </form>;
}

// wordsOf splits a command as a shell does, without its variables.
export function wordsOf(text: string): string[] {
  const list: string[] = [];
  for (const [, word = ''] of text.matchAll(/((?:[^\s"']+|"[^"]*"|'[^']*')+)/g)) list.push(word.replace(/"([^"]*)"|'([^']*)'/g, (_m, a?: string, b?: string) => a ?? b ?? ''));
  if (/["']/.test(text.replace(/"[^"]*"|'[^']*'/g, ''))) throw new Error('A quotation mark of the command has no end.');
  return list;
}

// pairsOf reads lines such as NAME=value.
function pairsOf(text: string, sep: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const [i, line] of text.split('\n').entries()) {
    const at = line.indexOf(sep);
    if (!line.trim()) continue;
    if (at < 1) throw new Error(`Line ${i + 1} is not like ${sep === '=' ? 'NAME=value' : 'Name: value'}.`);
    pairs[line.slice(0, at).trim()] = sep === ':' ? line.slice(at + 1).trim() : line.slice(at + 1);
  }
  return pairs;
}

// Settings: which values are in force, and where each is from.
function Settings() {
  const { value, error } = useLoad((s) => get<{ settings: Setting[] }>('config', {}, s), '');
  const rows = value.value?.settings;
  return <>
    <Problem error={error.value} />
    <p class="dim">Of credentials, and of what may hold some, only the names of references are shown. <a href="docs/configuration" target="_blank">All keys</a></p>
    {rows && <Table label="Configuration" rows={rows} rowKey={(s) => s.key + s.from} columns={[
      { name: 'Key', wide: true, cell: (s) => <span class="mono">{s.key}</span> },
      { name: 'Value', wide: true, cell: (s) => <span class="mono">{s.value}</span> },
      { name: 'From', cell: (s) => (s.from === 'default' ? <span class="dim">default</span> : s.from) },
    ]} />}
  </>;
}

function ServerPage({ name }: { name: string }) {
  const { value, error, again } = useLoad((s) => get<ServerDetail>('servers/' + encodeURIComponent(name), {}, s), name);
  const trying = useSignal(false);
  useEffect(() => onServers(() => void again()), [name]);
  const d = value.value;
  const retry = () => attempt(async () => {
    trying.value = true;
    try { value.value = await send<ServerDetail>(`servers/${encodeURIComponent(name)}/retry`, {}); } finally { trying.value = false; }
  });
  const off = !!d && disabled(d.server);
  const flip = () => attempt(async () => { await enable(name, off); await again(); });
  return <>
    <header><p class="crumb"><a href="#/servers">Servers</a></p><div class="row"><h1>{name}</h1>
      {d && mayChange() && <>{!off && <button onClick={retry} disabled={trying.value}>{trying.value ? 'Connecting …' : 'Connect again'}</button>}<button onClick={flip}>{off ? 'Enable' : 'Disable'}</button></>}</div>
      {d?.server.description && <p class="summary">{d.server.description}</p>}</header>
    <Problem error={error.value} />
    {notes.value?.server === name && !off && <div role="status" class="notice"><p>Added to the config.</p>{notes.value.notes.length > 0 && <ul class="plain">{notes.value.notes.map((n) => <li key={n}>{n}</li>)}</ul>}</div>}
    {off && <p class="notice">It is disabled: no model and no script sees it. Its settings are kept.</p>}
    {d && <>
      {d.server.error && <p class="problem" role="alert">{d.server.error}</p>}
      {d.server.held && <p class="notice">{d.server.held} <a href="#/approvals">Decide</a></p>}
      <Facts list={[['Status', <State of={d.server} />], ['Since', d.since ? <Time at={d.since} /> : ''], ['Transport', d.server.transport], ['Runs', d.server.package], ['Process', d.pid ? String(d.pid) : ''], ['Version', d.version],
        ['Protocol', d.protocol], ['Instances', d.server.instances], ['Tools', off ? '' : count(d.server.tool_count)]]} />
      <h2>Calls in the last 7 days</h2>
      {d.use.length ? <Table label="Calls by tool" rows={d.use} rowKey={(t) => t.tool} onOpen={(t) => `#/audit?server=${encodeURIComponent(name)}&tool=${encodeURIComponent(t.tool)}`} columns={[
        { name: 'Tool', cell: (t) => t.tool }, { name: 'Calls', number: true, cell: (t) => count(t.calls) },
        { name: 'Errors', number: true, cell: (t) => (t.errors ? <strong>{count(t.errors)}</strong> : '0') },
        { name: 'p50', number: true, cell: (t) => ms(t.p50_ms) }, { name: 'p99', number: true, cell: (t) => ms(t.p99_ms) },
        { name: 'Results', number: true, low: true, cell: (t) => size(t.result_bytes) }, { name: 'Last', low: true, cell: (t) => <Time at={t.last_call} /> },
      ]} /> : <Empty title="No script has called it." />}
      {!off && <><h2>What it wrote to stderr</h2>
      {d.stderr.length ? <Block label="stderr" text={d.stderr.join('\n')} /> : <Empty title="Nothing so far."><Cmd>{'broker servers logs ' + name}</Cmd> starts it and shows what it says.</Empty>}
      <h2>Tools</h2>
      {d.server.tools?.length ? <ul class="columns mono">{d.server.tools.map((t) => <li key={t}><a href={`#/search?q=${encodeURIComponent(t)}&detail=full&limit=1`}>{t}</a></li>)}</ul>
        : <Empty title="Its tools are not known."><Cmd>{'broker servers test ' + name}</Cmd> says why.</Empty>}</>}
    </>}
  </>;
}
