// Executions: what did the agent do. A list, one execution with its waterfall, one call.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Call, type Execution, get, onNews } from './api';
import { about, address, attempt, Block, Cmd, count, Empty, Facts, later, many, ms, param, pretty, Problem, Searching, Select, setQuery, size, Status, Table, Text, Time, titleOf, useLoad, who } from './ui';

const page = 100;
const statuses = ['', 'running', 'done', 'failed', 'refused', 'timeout', 'cancelled', 'interrupted', 'waiting'];
export const kept = (e: Execution) => Math.max(0, e.bytes_in - e.bytes_out);

export function Executions() {
  const q = param('q'), status = param('status'), server = param('server');
  const rows = useSignal<Execution[]>([]);
  const more = useSignal(false);
  const searching = useSignal('');
  const heard = useRef<Execution[]>([]);
  // add puts news where they belong.
  const add = (list: Execution[]) => {
    if (!list.length || q || server) return false;
    const changed = new Map(list.map((e) => [e.id, e]));
    const old = rows.value.map((e) => (changed.has(e.id) ? { code: e.code, ...changed.get(e.id)! } : e));
    const fresh = [...changed.values()].filter((e) => !old.some((o) => o.id === e.id));
    rows.value = [...fresh, ...old].filter((e) => !status || e.status === status).sort((a, b) => (a.started < b.started ? 1 : -1));
    return fresh.length > 0;
  };
  // A search of a large record answers in parts.
  const query = async (before: Execution[], until?: string, signal?: AbortSignal) => {
    const had = before.length;
    for (let list = before; ;) {
      heard.current = [];
      const part = await get<{ executions: Execution[]; searched?: string }>('executions', { q, status, server, limit: page - (list.length - had), until }, signal);
      list = [...list, ...part.executions];
      if (signal?.aborted) return;
      rows.value = list;
      add(heard.current); // what was answered may be older than that
      searching.value = part.searched ?? '';
      if (!part.searched || list.length - had >= page) {
        more.value = list.length - had >= page;
        searching.value = '';
        return;
      }
      until = part.searched;
    }
  };
  const loaded = useLoad(async (signal) => { await query([], undefined, signal); return true; }, [q, status, server].join('\n'));
  useEffect(() => {
    const reload = later(() => void loaded.again(), 150);
    // News are without the scripts.
    const scripts = later(() => void attempt(async () => {
      const { executions } = await get<{ executions: Execution[] }>('executions', { status, limit: page });
      const code = new Map(executions.map((e) => [e.id, e.code]));
      rows.value = rows.value.map((e) => (e.code ? e : { ...e, code: code.get(e.id) }));
    }), 1000);
    return onNews((n) => {
      if (n.missed) return reload();
      if (!n.executions.length) return;
      if (q || server) return reload();
      heard.current.push(...n.executions);
      if (add(n.executions)) scripts();
    });
  }, [q, status, server]);
  const needle = q.toLowerCase();
  const shown = useMemo(() => rows.value.filter((e) => (!status || e.status === status)
    // What is loaded is filtered at once; code is searched by the broker only.
    && (!needle || loaded.value.value || [e.id, e.client, e.client_info, e.error].some((t) => t?.toLowerCase().includes(needle)))), [rows.value, q, status]);
  const bad = shown.filter((e) => e.status !== 'done' && e.status !== 'running').length;
  const filtered = q || status || server;
  return <>
    <header><h1>Executions</h1><p class="summary">{shown.length > 0 && <>{many(shown.length, 'execution')}{more.value ? ' and more' : ''}, {bad ? <strong>{count(bad)} not done</strong> : 'all done'},{' '}{size(shown.reduce((n, e) => n + kept(e), 0))} kept out of the model</>}</p></header>
    <form class="filters" onSubmit={(e) => e.preventDefault()}>
      <Text label="Find" id="find" value={q} onInput={(v) => setQuery('q', v)} placeholder="id, client, error or code" />
      <Select label="Status" value={status} onChange={(v) => setQuery('status', v)} options={statuses} />
      {server && <button type="button" class="chip" onClick={() => setQuery('server', '')}>calls to {server} <span aria-hidden="true">×</span><span class="sr"> remove filter</span></button>}
    </form>
    <Problem error={loaded.error.value} />
    <Searching to={searching.value} />
    {loaded.value.value && !searching.value && shown.length === 0 && (filtered
      ? <Empty title="Nothing matches these filters."><a href="#/executions">Show all</a></Empty>
      : <Empty title="No script has run yet.">Connect a client with <Cmd>broker install claude-code</Cmd>, or run one here: <a href="#/runner">Runner</a>. Each run appears on this page while it runs.</Empty>)}
    {shown.length > 0 && <Table label="Executions" rows={shown} rowKey={(e) => e.id} onOpen={(e) => '#/x/' + e.id} note={(e) => e.error && <span class="clip bad">{e.error}</span>} columns={[
      { name: 'Script', wide: true, cell: (e) => <span class="line">{titleOf(e.code) || e.id}</span> },
      { name: 'Started', cell: (e) => <Time at={e.started} /> },
      { name: 'Status', cell: (e) => <Status value={e.status} /> },
      { name: 'Took', number: true, low: true, cell: (e) => (e.status === 'running' ? '' : ms(e.duration_ms)) },
      { name: 'Calls', number: true, low: true, cell: (e) => count(e.calls) },
      { name: 'Kept out', number: true, low: true, cell: (e) => size(kept(e)) },
      { name: 'Client', low: true, cell: who },
    ]} />}
    {more.value && <p><button onClick={() => attempt(() => query(rows.value, rows.value.at(-1)?.started))}>Load older</button></p>}
  </>;
}

export function ExecutionPage() {
  const id = address.value.path[1] ?? '';
  const { value, error, again } = useLoad((s) => get<{ execution: Execution; calls: Call[] }>('executions/' + encodeURIComponent(id), {}, s), id);
  useEffect(() => {
    const reload = later(() => void again(), 80);
    return onNews((n) => { if (n.missed || n.executions.some((e) => e.id === id) || n.calls.some((c) => c.execution === id)) reload(); });
  }, [id]);
  const v = value.value;
  if (!v || v.execution.id !== id) return <><header><h1>Execution</h1></header><Problem error={error.value} /></>;
  const e = v.execution;
  return <>
    <header><p class="crumb"><a href="#/executions">Executions</a> / <span class="mono">{e.id}</span></p><h1>{titleOf(e.code) || e.id}</h1></header>
    <Problem error={error.value} />
    <Facts list={[['Status', <Status value={e.status} />], ['Exit code', e.status === 'running' ? '' : String(e.exit_code)], ['Started', <Time at={e.started} />], ['Took', e.status === 'running' ? '' : ms(e.duration_ms)],
      ['Prepared', e.prepared_ms ? ms(e.prepared_ms) : ''], ['Queue', e.queued_ms && e.queued_ms >= 1 ? ms(e.queued_ms) : ''], ['Sandbox', e.opened_ms ? ms(e.opened_ms) : ''], ['Processor', e.cpu_ms ? ms(e.cpu_ms) : ''], ['Client', who(e)], ['Into the script', size(e.bytes_in)], ['To the model', size(e.bytes_out)], ['Kept out', size(kept(e))]]} />
    {e.error && <><h2>Error</h2><Block label="Error" text={e.error} /></>}
    {e.status !== 'running' && <Received e={e} />}
    <Waterfall execution={e} calls={v.calls} />
    <section id="script"><div class="row"><h2>Script</h2>{e.code && <a href={'#/runner?from=' + e.id}>Open in Runner</a>}</div>
      {e.code ? <Block label="Script" text={e.code} numbered /> : <Empty title="The script was not recorded."><Cmd>{'"audit": {"code": false}'}</Cmd> in the config leaves it out.</Empty>}</section>
  </>;
}

// bytesPerToken is the estimate for texts that are not there to be counted.
const bytesPerToken = 4;

// Received is what went to the model, as far as it was recorded.
function Received({ e }: { e: Execution }) {
  return <section class="received"><div class="row"><h2>What the model received</h2><p class="dim">{size(e.bytes_out)}, {about(Math.ceil(e.bytes_out / bytesPerToken))} tokens</p></div>
    {e.answer !== undefined ? <Block label="What the model received" text={pretty(e.answer)} />
      : <p class="dim">The answer itself is not recorded. <Cmd>{'"audit": {"payloads": true}'}</Cmd> in the config keeps answers, arguments and results, without what looks like a secret.</p>}</section>;
}

// Rows are laid out fifty at a time, when they come into view.
const rowsAtOnce = 50;

// Waterfall shows when each call began and ended. A call that writes is marked in
// words, not by colour alone. A row has few elements: there may be 500.
export function Waterfall({ execution, calls }: { execution: Execution; calls: Call[] }) {
  const open = useSignal(-1);
  const toggle = (e: MouseEvent) => {
    const li = (e.target as Element).closest('button.call')?.parentElement as HTMLLIElement | undefined;
    if (li) open.value = open.value === li.value ? -1 : li.value;
  };
  const start = Date.parse(execution.started);
  const spans = calls.map((c) => { const at = Math.max(0, Date.parse(c.started) - start); return [at, at + c.duration_ms] as const; });
  const total = Math.max(execution.status === 'running' ? Date.now() - start : execution.duration_ms, ...spans.map((s) => s[1]), 1);
  const percent = (n: number) => Math.min(100, (100 * n) / total) + '%';
  const chunks = useMemo(() => Array.from({ length: Math.ceil(calls.length / rowsAtOnce) }, (_, i) => calls.slice(i * rowsAtOnce, (i + 1) * rowsAtOnce)), [calls]);
  const { prepared_ms: prepared = 0, queued_ms: queued = 0, opened_ms: opened = 0 } = execution, before = prepared + queued + opened;
  const part = (n: number) => Math.round((100 * n) / before) + '%';
  if (!calls.length) return <section><h2>Calls</h2><Empty title="This script called no tools." /></section>;
  const row = (c: Call, i: number) => {
    const writes = c.class && c.class !== 'read', ok = c.status === 'ok', [from = 0] = spans[i] ?? [];
    const name = <span title={c.server.length + c.tool.length > 30 ? c.server + '.' + c.tool : undefined}>{c.server}.<b>{c.tool}</b></span>;
    return <li key={c.seq} value={c.seq}>
      <button class="call" aria-expanded={open.value === c.seq}>
        {writes || !ok ? <span class="tagged">{name}{writes && <span class="tag">{c.class}</span>}{!ok && <Status value={c.status} />}</span> : name}
        <i class={ok ? writes ? 'writes' : undefined : 'bad'} style={`margin-left:${percent(from)};width:${percent(c.duration_ms)}` + (c.waited_ms ? `;--waited:${Math.round((100 * c.waited_ms) / c.duration_ms)}%` : '')} />
        <small>{ms(c.duration_ms)}</small>
      </button>
      {open.value === c.seq && <CallPanel c={c} />}
    </li>;
  };
  return <section><div class="row"><h2>Calls</h2><p class="dim">{many(calls.length, 'call')}; servers worked for {ms(covered(spans))} of {ms(total)}</p></div>
    <div class="axis" aria-hidden="true"><span>0</span><span>{ms(total / 2)}</span><span>{ms(total)}</span></div>
    {before > 0 && <div class="before" title={`Prepared ${ms(prepared)}, queue ${ms(queued)}, sandbox ${ms(opened)}`}><span>Before the script</span>
      <i style={`width:${percent(before)};--queue:${part(prepared)};--sandbox:${part(prepared + queued)}`} /><small>{ms(before)}</small></div>}
    {chunks.map((list, n) => <ol key={n} class="waterfall" style={`contain-intrinsic-size:auto ${list.length * 2.2}rem`} onClick={toggle}>{list.map((c, i) => row(c, n * rowsAtOnce + i))}</ol>)}</section>;
}

function covered(spans: (readonly [number, number])[]): number {
  let sum = 0, end = 0;
  for (const [a, b] of spans.toSorted((x, y) => x[0] - y[0])) {
    if (b > end) { sum += b - Math.max(a, end); end = b; }
  }
  return sum;
}

// toLine shows a line of the script, if that is on the page.
function toLine(n: number) {
  const lines = document.querySelectorAll('#script .numbered span');
  for (const [i, l] of lines.entries()) l.classList.toggle('here', i === n - 1);
  lines[n - 1]?.scrollIntoView({ block: 'center' });
}

export function CallPanel({ c }: { c: Call }) {
  const line = c.line && (document.getElementById('script') ? <button onClick={() => toLine(c.line ?? 0)}>{c.line}</button> : String(c.line));
  return <div class="panel">
    <Facts list={[['Tool', c.id ?? c.tool], ['Status', <Status value={c.status} />], ['Class', c.class], ['Policy', c.decision], ['Began', <Time at={c.started} />], ['Waited', c.waited_ms ? ms(c.waited_ms) : ''], ['Server', c.waited_ms ? ms(c.duration_ms - c.waited_ms) : ''], ['Line', line], ['Arguments', size(c.arg_bytes)], ['Result', size(c.result_bytes)]]} />
    {c.error && <><h3>Error</h3><Block label="Error of the call" text={c.error} /></>}
    {c.args !== undefined && <><h3>Arguments</h3><Block label="Arguments" text={pretty(c.args)} /></>}
    {c.result !== undefined && <><h3>Result</h3><Block label="Result" text={pretty(c.result)} /></>}
    {c.args === undefined && c.result === undefined && <p class="dim">Arguments and results are not recorded. <Cmd>{'"audit": {"payloads": true}'}</Cmd> in the config keeps them, without what looks like a secret.</p>}
  </div>;
}
