// Approvals and pins: what waits for me. All by keyboard.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Call, get, onNews, onServers, type Pin, type Run, type RunCall, send } from './api';
import { differences } from './diff';
import { attempt, Block, Cmd, count, Empty, later, many, pretty, Problem, Status, Time, titleOf, useKeys, useLoad, who } from './ui';

interface Waiting { run: Run; call: RunCall; last?: Call }

async function waiting(signal: AbortSignal): Promise<Waiting[]> {
  const { runs } = await get<{ runs: Run[] }>('approvals', {}, signal);
  const all = await Promise.all(runs.map((r) => get<{ run: Run; calls: RunCall[] }>('runs/' + r.run_id, {}, signal)));
  return Promise.all(all.flatMap(({ run, calls }) => calls.filter((c) => c.state === 'asked').map(async (call) => ({ run, call, last: await lastOf(call.tool, signal) }))));
}

// lastOf is the last call of a tool that went through, if its arguments were recorded.
async function lastOf(tool: string, signal: AbortSignal): Promise<Call | undefined> {
  try {
    const { calls } = await get<{ calls: Call[] }>('calls', { q: tool, status: 'ok', limit: 20 }, signal);
    return calls.find((c) => c.id === tool && c.args !== undefined);
  } catch { return undefined; /* the decision does not need it */ }
}

function Compared({ last, args }: { last: Call; args: unknown }) {
  const list = differences(last.args, args);
  return <><p>{list.length ? 'What differs from' : 'The same arguments as'} the last call that went through, <Time at={last.started} />:</p>
    {list.length > 0 && <ul class="diff mono">{list.map((c) => <li key={c.path}><b>{c.path}</b> {c.was !== undefined && <del>{brief(c.was)}</del>} {c.is !== undefined && <ins>{brief(c.is)}</ins>}</li>)}</ul>}</>;
}

function keyOf(w: Waiting): string {
  return w.run.run_id + ' ' + w.call.n;
}

function brief(v: unknown): string {
  const text = typeof v === 'string' ? JSON.stringify(v) : JSON.stringify(v) ?? '';
  return text.length > 200 ? text.slice(0, 200) + ' …' : text;
}

// What is longer than this is folded.
const foldedLines = 12, foldedChars = 800;

// folded is the beginning of a long text, and "" of a short one.
function folded(text: string): string {
  const lines = text.split('\n');
  return lines.length > foldedLines || text.length > foldedChars ? lines.slice(0, foldedLines).join('\n').slice(0, foldedChars) : '';
}

// argumentsOf is what a card shows of the arguments of a call, and whether that is all.
function argumentsOf(w: Waiting, shown: boolean): { text: string; all: boolean; rest: string } {
  const text = w.call.args === undefined ? '' : pretty(w.call.args), short = shown ? '' : folded(text);
  const rest = w.call.bytes ? `${count(w.call.bytes)} bytes` : `${many(text.split('\n').length, 'line')}, ${count(text.length)} characters`;
  return { text: short || text, all: !w.call.bytes && !short, rest };
}

// Around shows the part of a script that makes a call, and the whole script on demand.
const around = 3;
function Around({ code, line }: { code: string; line?: number }) {
  const lines = code.replace(/\n$/, '').split('\n');
  const from = line ? Math.max(1, line - around) : 1, to = line ? Math.min(lines.length, line + around) : 0;
  return <>
    {line && <Block label="The script around the call" text={lines.slice(from - 1, to).join('\n')} numbered from={from} here={line} />}
    {(!line || to - from + 1 < lines.length) && <details><summary>The whole script, {many(lines.length, 'line')}</summary><Block label="The whole script" text={code} numbered here={line} /></details>}
  </>;
}

export function Approvals() {
  const runs = useLoad(waiting, '');
  const pins = useLoad((s) => get<{ pins: Pin[] }>('pins', {}, s), '');
  const at = useSignal(0);
  const reasons = useSignal<Record<string, string>>({});
  const whole = useSignal<Record<string, RunCall>>({}); // long calls that were read whole
  const unfolded = useSignal<Record<string, boolean>>({}); // and those that are shown whole
  const decided = useSignal<{ run: string; text: string; resumed?: string } | null>(null);
  useEffect(() => {
    const again = later(() => void runs.again(), 150);
    const stop = onNews((n) => { if (n.missed || n.executions.length) again(); });
    const stopServers = onServers(() => void pins.again());
    return () => { stop(); stopServers(); };
  }, []);
  const list = (runs.value.value ?? []).map((w) => ({ ...w, call: whole.value[keyOf(w)] ?? w.call }));
  const all = pins.value.value?.pins ?? [];
  const held = all.filter((p) => p.held || p.state !== 'approved');
  const items = list.length + held.length;
  const here = Math.max(0, Math.min(at.value, items - 1));
  useEffect(() => { document.getElementById('item-' + here)?.scrollIntoView({ block: 'nearest' }); }, [here]);

  const isShown = (w: Waiting) => argumentsOf(w, !!unfolded.value[keyOf(w)]).all;
  const showWhole = (w: Waiting) => attempt(async () => {
    unfolded.value = { ...unfolded.value, [keyOf(w)]: true };
    if (!w.call.bytes) return;
    const { calls } = await get<{ calls: RunCall[] }>('runs/' + w.run.run_id, { whole: 'true' });
    const call = calls.find((c) => c.n === w.call.n && c.state === 'asked');
    if (call) whole.value = { ...whole.value, [keyOf(w)]: call };
    else await runs.again();
  });
  const decide = (w: Waiting | undefined, approve: boolean, forRun = false, always = false) => w && attempt(async () => {
    if (approve && !isShown(w)) return showWhole(w); // nobody approves what was not shown
    const reason = approve ? '' : reasons.value[w.run.run_id + w.call.n] ?? '';
    await send(`runs/${w.run.run_id}/decide`, { approve, for_run: forRun, always, reason, calls: [w.call.n], digests: [w.call.digest ?? ''] });
    delete whole.value[keyOf(w)];
    decided.value = { run: w.run.run_id, text: `${approve ? 'Approved' : 'Denied'}: ${w.call.tool}` };
    await runs.again();
  });
  const resume = (run: string) => attempt(async () => {
    decided.value = { run, text: 'The run goes on …' };
    const r = await send<{ answer: { exit_code: number }; execution?: string }>(`runs/${run}/resume`, {});
    decided.value = { run, text: `The run ended with exit code ${r.answer.exit_code}`, resumed: r.execution };
    await runs.again();
  });
  const pin = (p: Pin | undefined, action: string) => p && attempt(async () => {
    await send('pins', { server: p.server, title: p.title, action, seen: p.seen });
    await pins.again();
  });
  useKeys({
    j: () => { at.value = Math.min(here + 1, items - 1); }, k: () => { at.value = Math.max(0, here - 1); },
    a: () => (here < list.length ? decide(list[here], true) : pin(held[here - list.length], 'approve')),
    r: () => decide(list[here], true, true),
    d: () => (here < list.length ? decide(list[here], false) : pin(held[here - list.length], 'block')),
  });
  return <>
    <header><h1>Approvals and pins</h1><p class="summary">{items ? <strong>{many(items, 'decision')} waiting</strong> : 'nothing waits for you'}</p></header>
    {items > 0 && <p class="dim keys"><kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> approve, <kbd>r</kbd> approve for this run, <kbd>d</kbd> deny or block</p>}
    {decided.value && <p role="status" class="notice">{decided.value.text}. {decided.value.resumed ? <a href={'#/x/' + decided.value.resumed}>Show it</a>
      : decided.value.text.startsWith('The') ? null : <><button onClick={() => resume(decided.value!.run)}>Resume the run here</button> or let the client go on with it.</>}</p>}
    <h2>Calls</h2>
    <Problem error={runs.error.value} />
    {runs.value.value && list.length === 0 && <Empty title="No call waits for a decision.">Rules with <Cmd>"action": "ask"</Cmd> in the policy of the config make calls wait here. Such a call shows within a second.</Empty>}
    <ol class="cards">{list.map((w, i) => {
      const shown = argumentsOf(w, !!unfolded.value[keyOf(w)]);
      return <li key={w.run.run_id + w.call.n} id={'item-' + i} class={i === here ? 'card current' : 'card'} aria-current={i === here}>
      <div class="row"><h3 class="mono">{w.call.tool}</h3><span class="tag">{w.call.class}</span></div>
      <p>{w.call.why[0]?.toUpperCase() + w.call.why.slice(1)}. Asked by <b>{who(w.run)}</b>, <Time at={w.run.started} />; expires <Time at={w.run.expires} />.</p>
      <div class="actions">
        <button class="primary" disabled={!shown.all} onClick={() => decide(w, true)}>Approve once</button>
        <button disabled={!shown.all} onClick={() => decide(w, true, true)}>Approve for this run</button>
        <button disabled={!shown.all} onClick={() => decide(w, true, true, true)}>Always</button>
        <span class="deny"><button class="danger" onClick={() => decide(w, false)}>Deny</button>
          <input aria-label={'Why to deny ' + w.call.tool} maxLength={120} placeholder="why, for the model" value={reasons.value[w.run.run_id + w.call.n] ?? ''}
            onInput={(e) => { reasons.value = { ...reasons.value, [w.run.run_id + w.call.n]: e.currentTarget.value }; }} onKeyDown={(e) => { if (e.key === 'Enter') void decide(w, false); }} /></span>
      </div>
      {shown.text && <><h4>Arguments</h4><Block key={shown.all ? 'all' : 'cut'} label={'Arguments of ' + w.call.tool} text={shown.text} open /></>}
      {!shown.all && <p>This is the beginning of {shown.rest}. What is not shown cannot be approved. <button onClick={() => showWhole(w)}>Show all of it</button></p>}
      {w.last && w.call.args !== undefined && !w.call.bytes && <Compared last={w.last} args={w.call.args} />}
      {w.run.code && <><h4>{w.call.line ? `Line ${w.call.line} of the script` : 'Script'}</h4><p class="dim">{titleOf(w.run.code)}</p><Around code={w.run.code} line={w.call.line} /></>}
      </li>;
    })}</ol>
    <h2>What servers offer</h2>
    <Problem error={pins.error.value} />
    {pins.value.value && held.length === 0 && <Empty title={all.length ? `All ${count(all.length)} tools, prompts and other things are as they were approved.` : 'Nothing is known of any server yet.'}>
      {all.length ? 'What changes, or hides instructions, is held back and shown here.' : <>Add a server with <Cmd>broker servers add</Cmd>.</>}</Empty>}
    <ol class="cards">{held.map((p, n) => {
      const i = list.length + n;
      return <li key={p.server + '.' + p.title} id={'item-' + i} class={i === here ? 'card current' : 'card'} aria-current={i === here}>
        <div class="row"><h3 class="mono">{p.server}.{p.title}</h3><Status value={p.state} />{p.held && <span class="tag">held back</span>}</div>
        <div class="actions"><button class="primary" onClick={() => pin(p, 'approve')}>{p.state === 'gone' ? 'Forget it' : 'Approve as it is now'}</button>
          {p.state !== 'blocked' && p.state !== 'gone' && <button class="danger" onClick={() => pin(p, 'block')}>Block</button>}</div>
        {p.changes?.length ? <><p>What differs from what was approved:</p><ul class="plain">{p.changes.map((c) => <li key={c.where + c.text} class="mono">{c.text}</li>)}</ul></> : null}
        {p.findings?.length ? <><p>What the scan found:</p><ul class="plain">{p.findings.map((f) => <li key={f.where}><span class="mono">{f.where}</span>: {f.verdict} ({f.kinds.join(', ')})</li>)}</ul></> : null}
      </li>;
    })}</ol>
  </>;
}
