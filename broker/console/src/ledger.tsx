// Ledger: what did it save.
import { useEffect, useRef } from 'preact/hooks';
import { type Day, get, type Ledger as Sums, type ToolStats } from './api';
import { about, Cmd, count, Empty, many, ms, param, Problem, Select, setQuery, size, Table, Time, useLoad } from './ui';

const days: Record<string, number> = { '': 30, week: 7, quarter: 90 };

export function Ledger() {
  const span = param('span');
  const { value, error } = useLoad((s) => get<Sums>('stats', { since: new Date(Date.now() - (days[span] ?? 30) * 86_400_000).toISOString() }, s), span);
  const l = value.value, spared = l?.tokens_saved.definitions_per_turn ?? 0;
  return <>
    <header><h1>Ledger</h1><p class="summary">What the model was spared.</p></header>
    <form class="filters" onSubmit={(e) => e.preventDefault()}><Select label="Period" value={span} onChange={(v) => setQuery('span', v)} options={[['week', '7 days'], ['', '30 days'], ['quarter', '90 days']]} /></form>
    <Problem error={error.value} />
    {l && <>
      <dl class="tiles">
        {spared < 0 ? <div><dt>Definitions, each turn</dt><dd>{count(-spared)} <small>tokens more</small></dd><dd class="dim">so few tools cost less than the broker's own</dd></div>
          : <div><dt>Definitions not sent, each turn</dt><dd>{count(spared)} <small>tokens</small></dd></div>}
        <div><dt>Results kept out</dt><dd>{size(l.bytes_kept)}</dd><dd class="dim">{about(l.tokens_saved.results)} tokens (estimate)</dd></div>
        <div><dt>Executions</dt><dd>{count(l.executions)}</dd><dd class="dim">{many(l.calls, 'call')}, {count(l.errors)} failed</dd></div>
      </dl>
      <details><summary>How this is computed</summary>
        <p><strong>Definitions:</strong> the tokens (o200k_base, counted) of name, description and input schema of all tools of all servers, less those of the broker's own tools. A client that connects to all servers sends them in each turn.</p>
        <p><strong>Results kept out:</strong> for each execution the bytes of results that came into the script ({size(l.bytes_in)} in all), less the bytes of its answer to the model ({size(l.bytes_out)}), where that is above zero. An interrupted execution counts nothing. Tokens are estimated at four bytes each.</p>
        <p>The same as JSON: <Cmd>broker audit stats --json</Cmd></p></details>
      {l.executions === 0 ? <Empty title="Nothing was executed in this period.">Scripts that read a lot and answer little save most. Try one in the <a href="#/runner">Runner</a>.</Empty> : <>
        <h2>By day</h2><Chart days={l.days} span={days[span] ?? 30} />
        <h2>By server</h2><Use of="Server" list={byServer(l.tools)} />
        <h2>By tool</h2><Use of="Tool" list={l.tools.map((t) => ({ ...t, name: t.server + '.' + t.tool }))} /></>}
    </>}
  </>;
}

interface Used { name: string; calls: number; errors: number; result_bytes: number; p50_ms?: number; last_call: string }

function byServer(tools: ToolStats[]): Used[] {
  const sums = new Map<string, Used>();
  for (const t of tools) {
    const s = sums.get(t.server) ?? { name: t.server, calls: 0, errors: 0, result_bytes: 0, last_call: '' };
    sums.set(t.server, { ...s, calls: s.calls + t.calls, errors: s.errors + t.errors, result_bytes: s.result_bytes + t.result_bytes, last_call: t.last_call > s.last_call ? t.last_call : s.last_call });
  }
  return [...sums.values()];
}

// Use shows what came from tools, or servers, most first.
function Use({ of, list }: { of: string; list: Used[] }) {
  if (!list.length) return <Empty title="No tool was called." />;
  return <Table<Used> label={'By ' + of.toLowerCase()} rows={list.toSorted((a, b) => b.result_bytes - a.result_bytes)} rowKey={(t) => t.name} columns={[
    { name: of, cell: (t) => <span class="mono">{t.name}</span> }, { name: 'Results', number: true, cell: (t) => size(t.result_bytes) },
    { name: 'Calls', number: true, cell: (t) => count(t.calls) }, { name: 'Errors', number: true, low: true, cell: (t) => (t.errors ? <strong>{count(t.errors)}</strong> : '0') },
    { name: 'p50', number: true, low: true, cell: (t) => t.p50_ms !== undefined && ms(t.p50_ms) }, { name: 'Last call', low: true, cell: (t) => <Time at={t.last_call} /> },
  ]} />;
}

// Chart draws what was kept out and what went to the model. The table beside it says
// the same to those who do not see it.
function Chart({ days, span }: { days: Day[]; span: number }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let stop = () => {};
    let gone = false;
    void import('./chart').then(({ draw }) => { if (!gone && box.current) stop = draw(box.current, days, span); });
    return () => { gone = true; stop(); };
  }, [days, span]);
  return <><p class="dim"><span class="key">kept out</span>, <span class="key out">to the model</span></p><div class="chart" ref={box} aria-hidden="true" />
    <details><summary>As a table</summary><Table<Day> label="By day" rows={[...days].reverse()} rowKey={(d) => d.day} columns={[
      { name: 'Day', cell: (d) => d.day }, { name: 'Kept out', number: true, cell: (d) => size(d.bytes_kept) }, { name: 'To the model', number: true, cell: (d) => size(d.bytes_out) },
      { name: 'Executions', number: true, cell: (d) => count(d.executions) }, { name: 'Calls', number: true, cell: (d) => count(d.calls) }]} /></details></>;
}
