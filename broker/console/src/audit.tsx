// Audit: who called what with what outcome. The filters are in the address, and the
// export has exactly what is shown.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type Call, get, onNews, type Server } from './api';
import { CallPanel } from './executions';
import { attempt, Cmd, count, Download, Empty, later, many, ms, param, Problem, Searching, Select, setQuery, Status, Table, Text, Time, useLoad } from './ui';

const page = 100;
const names = ['q', 'server', 'tool', 'status', 'class', 'client', 'since'] as const;
const spans: Record<string, number> = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

export function Audit() {
  const values = Object.fromEntries(names.map((n) => [n, param(n)])) as Record<(typeof names)[number], string>;
  const typed = JSON.stringify(values);
  const settled = useSignal(typed);
  const settle = useMemo(() => later(() => { settled.value = JSON.stringify(Object.fromEntries(names.map((n) => [n, param(n)]))); }, 100), []);
  useEffect(settle, [typed]);
  const filter = () => {
    const f = JSON.parse(settled.value) as typeof values;
    return { ...f, since: spans[f.since] ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - spans[f.since]!).toISOString() : '' };
  };
  const rows = useSignal<Call[]>([]);
  const more = useSignal(false);
  const fresh = useSignal(0);
  const open = useSignal(0);
  const searching = useSignal(0);
  const servers = useLoad((s) => get<{ servers: Server[] }>('servers', {}, s), '');
  // A search of a large record answers in parts.
  const query = async (had: Call[], before?: number, signal?: AbortSignal) => {
    for (let list = had; ;) {
      const part = await get<{ calls: Call[]; searched?: number }>('calls', { ...filter(), limit: page - (list.length - had.length), before }, signal);
      list = [...list, ...part.calls];
      if (signal?.aborted) return;
      rows.value = list;
      const full = list.length - had.length >= page;
      if (!part.searched || full) {
        more.value = full; searching.value = 0;
        return;
      }
      before = searching.value = part.searched;
    }
  };
  const loaded = useLoad(async (signal) => { fresh.value = 0; await query([], undefined, signal); return true; }, settled.value);
  useEffect(() => onNews((n) => { fresh.value += n.calls.length; }), []);
  const exportURL = (format: string) => {
    const q = new URLSearchParams(Object.entries(filter()).filter(([, v]) => v));
    q.set('before', String((rows.value[0]?.n ?? 0) + 1));
    q.set('limit', String(rows.value.length));
    q.set('format', format);
    return '/api/calls?' + q;
  };
  const filtered = names.some((n) => values[n]);
  return <>
    <header><h1>Audit</h1><p class="summary">{rows.value.length > 0 && <>{many(rows.value.length, 'call')}{more.value ? ' and more' : ''}, {count(rows.value.filter((c) => c.status !== 'ok').length)} not ok</>}</p></header>
    <form class="filters" onSubmit={(e) => e.preventDefault()}>
      <Text label="Find" id="find" value={values.q} onInput={(v) => setQuery('q', v)} placeholder="tool, decision, error or arguments" />
      <Select label="Server" value={values.server} onChange={(v) => setQuery('server', v)} options={[...new Set(['', values.server, ...(servers.value.value?.servers ?? []).map((s) => s.name)])]} />
      <Select label="Status" value={values.status} onChange={(v) => setQuery('status', v)} options={['', 'ok', 'error', 'denied', 'cancelled', 'timeout']} />
      <Select label="Class" value={values.class} onChange={(v) => setQuery('class', v)} options={['', 'read', 'write', 'destructive']} />
      <Select label="Since" value={values.since} onChange={(v) => setQuery('since', v)} options={[['', 'ever'], 'hour', 'day', 'week']} />
      {(['tool', 'client'] as const).map((n) => values[n] && <button key={n} type="button" class="chip" onClick={() => setQuery(n, '')}>{n} {values[n]} <span aria-hidden="true">×</span><span class="sr"> remove filter</span></button>)}
    </form>
    <Problem error={loaded.error.value} />
    <Searching to={searching.value} />
    {loaded.value.value && !searching.value && rows.value.length === 0 && (filtered
      ? <Empty title="No call matches these filters."><a href="#/audit">Show all</a></Empty>
      : <Empty title="No tool has been called yet.">Calls of scripts and of <Cmd>broker call</Cmd> are recorded and shown here.</Empty>)}
    {rows.value.length > 0 && <div class="row"><p class="dim">Export what is shown: <Download at={exportURL('jsonl')}>JSON lines</Download>, <Download at={exportURL('csv')}>CSV</Download></p>
      {fresh.value > 0 && <button onClick={() => void loaded.again()}>{many(fresh.value, 'new call')}</button>}</div>}
    {rows.value.length > 0 && <Table label="Calls" rows={rows.value} rowKey={(c) => String(c.n)} selected={String(open.value)} note={(c) => c.error && open.value !== c.n && <span class="clip">{c.error}</span>} under={(c) => <CallPanel c={c} />} columns={[
      { name: 'Tool', cell: (c) => <button class="link mono" aria-expanded={open.value === c.n} onClick={() => { open.value = open.value === c.n ? 0 : (c.n ?? 0); }}>{c.server}.{c.tool}</button> },
      { name: 'When', cell: (c) => <Time at={c.started} /> },
      { name: 'Status', cell: (c) => <Status value={c.status} /> },
      { name: 'Took', number: true, low: true, cell: (c) => ms(c.duration_ms) },
      { name: 'Class', low: true, cell: (c) => c.class },
      { name: 'Policy', low: true, cell: (c) => c.decision && <span class={c.decision.startsWith('allow') ? 'dim' : ''} title={c.decision}>{c.decision.split(' ')[0]}</span> },
      { name: 'Client', low: true, cell: (c) => c.client && <button class="link" onClick={() => setQuery('client', c.client ?? '')}>{c.client}</button> },
      { name: 'Execution', low: true, cell: (c) => c.execution && <a class="mono" href={'#/x/' + c.execution}>{c.execution.slice(0, 14)}</a> },
    ]} />}
    {more.value && <p><button onClick={() => attempt(() => query(rows.value, rows.value.at(-1)?.n))}>Load older</button></p>}
  </>;
}
