// Search: why did the model, or did it not, find a tool.
import { signal, useSignal } from '@preact/signals';
import { type Explained, type Explanation, get, type Server } from './api';
import { Block, Cmd, count, Empty, later, many, param, Problem, save, Select, setQuery, size, Table, Text, useLoad } from './ui';
import { useEffect, useMemo } from 'preact/hooks';

const kept = 'broker.cases';
const cases = signal<string[]>((sessionStorage.getItem(kept) ?? '').split('\n').filter(Boolean));

export function Search() {
  const q = param('q'), server = param('server'), detail = param('detail'), limit = param('limit');
  const settled = useSignal(q);
  const settle = useMemo(() => later(() => { settled.value = param('q'); }, 150), []);
  useEffect(settle, [q]);
  const servers = useLoad((s) => get<{ servers: Server[] }>('servers', {}, s), '');
  const found = useLoad((s) => get<Explanation>('search', { q: settled.value, server, detail, limit }, s), [settled.value, server, detail, limit].join('\n'));
  const x = found.value.value;
  const manifest = useLoad((s) => get<{ id: string; server: string; tool: string }[] | object>('manifest', {}, s), '');
  const right = useSignal<string[]>([]);
  useEffect(() => { right.value = []; }, [settled.value]);
  const toolOf = (id: string) => { const m = Array.isArray(manifest.value.value) ? manifest.value.value.find((t) => t.id === id) : undefined; return m && m.server + '/' + m.tool; };
  const keep = () => {
    const line = JSON.stringify({ query: settled.value, relevant: right.value, set: 'console' });
    cases.value = [...cases.value.filter((c) => (JSON.parse(c) as { query: string }).query !== settled.value), line];
    sessionStorage.setItem(kept, cases.value.join('\n'));
    right.value = [];
  };
  return <>
    <header><h1>Search</h1><p class="summary">What a model finds with <code>search_tools</code>, why, and what it reads.</p></header>
    <form class="filters" onSubmit={(e) => e.preventDefault()}>
      <Text label="Query" id="find" value={q} onInput={(v) => setQuery('q', v)} placeholder="list open issues" />
      <Select label="Server" value={server} onChange={(v) => setQuery('server', v)} options={['', ...(servers.value.value?.servers ?? []).map((s) => s.name)]} />
      <Select label="Detail" value={detail} onChange={(v) => setQuery('detail', v)} options={[['', 'desc'], 'name', 'full']} />
    </form>
    <Problem error={found.error.value} />
    {x && <>
      <h2>Hits</h2>
      {x.hits.length ? <Table<Explained> label="Score of each hit" rows={x.hits} rowKey={(h) => (h.kind ?? '') + h.name} columns={[
        { name: 'Hit', cell: (h) => <span class="mono">{h.kind ? h.kind + ' ' : ''}{h.name}</span> },
        { name: 'Score', number: true, cell: (h) => h.score.toFixed(2) },
        { name: 'Words held', number: true, cell: (h) => Math.round(h.held * 100) + ' %' },
        { name: 'From', low: true, wide: true, cell: (h) => <span>{h.words.map((w, i) => <span key={w.word}>{i > 0 && ', '}{w.word}{w.as !== w.word && <span class="dim"> as {w.as}</span>} {w.score.toFixed(2)}{w.named && <span class="tag">in the name</span>}</span>)}</span> },
        { name: 'Right', cell: (h) => { const tool = !h.kind && toolOf(h.name); return tool && <label class="tick"><input type="checkbox" checked={right.value.includes(tool)} onChange={(e) => { right.value = e.currentTarget.checked ? [...right.value, tool] : right.value.filter((t) => t !== tool); }} /><span class="sr">{h.name} is a right answer</span></label>; } },
      ]} /> : <Empty title={settled.value ? 'No tool has any of these words.' : 'Type what a tool should do.'}>{settled.value
        ? <>The answer below says what is near. <Cmd>broker eval QUERIES.jsonl</Cmd> measures your own queries.</> : 'Without a query the answer lists what there is.'}</Empty>}
      {x.hits.length > 0 && <p class="dim">Each word adds its weight times its rarity. Holding more words of the query adds up to 50 %, a name that the query covers up to 60 %; an exact name comes first. {count(x.hits.length)} shown.</p>}
      <div class="row"><h2>Answer to the model</h2><p class="dim">{size(x.bytes)}, {many(x.tokens, 'token')}, in {x.ms || 'under 1'} ms</p></div>
      <Block label="Answer" text={x.answer} />
    </>}
    {(right.value.length > 0 || cases.value.length > 0) && <div class="actions">
      {right.value.length > 0 && <button class="primary" onClick={keep}>Keep as an eval case</button>}
      {cases.value.length > 0 && <><button onClick={() => save('queries.jsonl', cases.value.join('\n') + '\n')}>Download {many(cases.value.length, 'case')}</button>
        <span class="dim">for <Cmd>broker eval queries.jsonl</Cmd></span></>}</div>}
  </>;
}
