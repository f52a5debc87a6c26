// Servers: what works, and what to do about the rest.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get, type Ledger, onServers, send, type Server, type ServerDetail, type Setting } from './api';
import { address, attempt, Block, Cmd, count, Empty, Facts, many, ms, Problem, size, Status, Table, Time, useLoad } from './ui';

const weekAgo = () => new Date(Date.now() - 7 * 86_400_000).toISOString();

export function Servers() {
  const name = address.value.path[1];
  return name ? <ServerPage name={name} /> : <ServerList />;
}

function ServerList() {
  const { value, error, again } = useLoad((s) => get<{ servers: Server[]; total_tools: number }>('servers', {}, s), '');
  const open = useSignal(false);
  const use = useLoad((s) => get<Ledger>('stats', { since: weekAgo() }, s), '');
  useEffect(() => onServers(() => void again()), []);
  const of = (name: string) => use.value.value?.tools.filter((t) => t.server === name); // undefined until it is known
  const rows = value.value?.servers ?? [];
  const broken = rows.filter((s) => s.error || s.held).length;
  return <>
    <header><h1>Servers</h1><p class="summary">{rows.length > 0 && <>{many(rows.length, 'server')}, {many(value.value?.total_tools ?? 0, 'tool')}, {broken ? <strong>{count(broken)} {broken === 1 ? 'needs' : 'need'} a look</strong> : 'all well'}</>}</p></header>
    <Problem error={error.value} />
    {value.value && rows.length === 0 && <Empty title="No server is configured."><Cmd>broker import claude-code</Cmd> takes over those of a client; <Cmd>broker servers add NAME -- COMMAND</Cmd> adds one.</Empty>}
    {rows.length > 0 && <Table label="Servers" rows={rows} rowKey={(s) => s.name} onOpen={(s) => '#/servers/' + encodeURIComponent(s.name)} note={(s) => s.error || s.held || s.changed} columns={[
      { name: 'Server', cell: (s) => s.name },
      { name: 'Status', cell: (s) => <Status value={s.status} /> },
      { name: 'Tools', number: true, cell: (s) => count(s.tool_count) },
      { name: 'Calls, 7 days', number: true, cell: (s) => { const used = of(s.name); return used && count(used.reduce((n, t) => n + t.calls, 0)); } },
      { name: 'Errors', number: true, low: true, cell: (s) => { const n = of(s.name)?.reduce((n, t) => n + t.errors, 0); return n ? <strong>{count(n)}</strong> : n?.toString(); } },
      { name: 'Last call', low: true, cell: (s) => { const used = of(s.name); return used && <Time at={used.map((t) => t.last_call).sort().at(-1)} />; } },
      { name: 'What it does', low: true, wide: true, cell: (s) => s.description && <span class="clip">{s.description}</span> },
    ]} />}
    <details onToggle={(e) => { open.value = e.currentTarget.open; }}><summary>Configuration in force</summary>{open.value && <Settings />}</details>
  </>;
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
  return <>
    <header><p class="crumb"><a href="#/servers">Servers</a></p><div class="row"><h1>{name}</h1><button onClick={retry} disabled={trying.value}>{trying.value ? 'Connecting …' : 'Connect again'}</button></div></header>
    <Problem error={error.value} />
    {d && <>
      {d.server.error && <p class="problem" role="alert">{d.server.error}</p>}
      {d.server.held && <p class="notice">{d.server.held} <a href="#/approvals">Decide</a></p>}
      <Facts list={[['Status', <Status value={d.server.status} />], ['Since', d.since ? <Time at={d.since} /> : ''], ['Transport', d.server.transport], ['Runs', d.server.package], ['Process', d.pid ? String(d.pid) : ''], ['Version', d.version],
        ['Protocol', d.protocol], ['Instances', d.server.instances], ['Tools', count(d.server.tool_count)]]} />
      <h2>Calls in the last 7 days</h2>
      {d.use.length ? <Table label="Calls by tool" rows={d.use} rowKey={(t) => t.tool} onOpen={(t) => `#/audit?server=${encodeURIComponent(name)}&tool=${encodeURIComponent(t.tool)}`} columns={[
        { name: 'Tool', cell: (t) => t.tool }, { name: 'Calls', number: true, cell: (t) => count(t.calls) },
        { name: 'Errors', number: true, cell: (t) => (t.errors ? <strong>{count(t.errors)}</strong> : '0') },
        { name: 'p50', number: true, cell: (t) => ms(t.p50_ms) }, { name: 'p99', number: true, cell: (t) => ms(t.p99_ms) },
        { name: 'Results', number: true, low: true, cell: (t) => size(t.result_bytes) }, { name: 'Last', low: true, cell: (t) => <Time at={t.last_call} /> },
      ]} /> : <Empty title="No script has called it." />}
      <h2>What it wrote to stderr</h2>
      {d.stderr.length ? <Block label="stderr" text={d.stderr.join('\n')} /> : <Empty title="Nothing so far."><Cmd>{'broker servers logs ' + name}</Cmd> starts it and shows what it says.</Empty>}
      <h2>Tools</h2>
      {d.server.tools?.length ? <ul class="columns mono">{d.server.tools.map((t) => <li key={t}><a href={`#/search?q=${encodeURIComponent(t)}&detail=full&limit=1`}>{t}</a></li>)}</ul>
        : <Empty title="Its tools are not known."><Cmd>{'broker servers test ' + name}</Cmd> says why.</Empty>}
    </>}
  </>;
}
