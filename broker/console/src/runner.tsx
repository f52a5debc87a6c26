// Runner: write and run a script, with what the model would get beside it.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type Answer, type Call, type Execution, get, type SavedScript, send } from './api';
import type { Editor, Name } from './editor';
import { Waterfall } from './executions';
import { attempt, Block, Cmd, Empty, many, ms, param, pretty, Problem, Select } from './ui';

const draft = 'broker.runner';
const first = `// Functions of your servers complete as you type.
// What you return goes to the model.
const found = await tools.search('list issues');
return found;
`;

export function Runner() {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const stop = useRef<AbortController>(undefined);
  const language = useSignal('typescript');
  const running = useSignal(false);
  const error = useSignal('');
  const answer = useSignal<Answer | undefined>(undefined);
  const saving = useSignal(false);
  const saved = useSignal<SavedScript | undefined>(undefined);
  const keep = (form: FormData) => attempt(async () => {
    saved.value = await send<SavedScript>('scripts', { name: form.get('name'), description: form.get('description'), code: editor.current?.text() ?? '' });
    saving.value = false;
  });
  const record = useSignal<{ execution: Execution; calls: Call[] } | undefined>(undefined);
  const run = async (plan = false) => {
    if (running.value || !editor.current) return;
    stop.current = new AbortController();
    running.value = true; error.value = ''; answer.value = undefined; record.value = undefined;
    try {
      const r = await send<{ answer: Answer; execution?: string }>('execute', { code: editor.current.text(), language: language.value, plan }, 'POST', stop.current.signal);
      answer.value = r.answer;
      if (r.execution) record.value = await get('executions/' + r.execution);
    } catch (e) {
      error.value = stop.current.signal.aborted ? 'Stopped: the script and its calls were killed.' : (e as Error).message;
    } finally { running.value = false; }
  };
  const from = param('from');
  useEffect(() => {
    let gone = false;
    void (async () => {
      const [{ edit }, start] = await Promise.all([import('./editor'), from ? get<{ execution: Execution }>('executions/' + from).then((v) => v.execution) : undefined]);
      if (gone || !box.current) return;
      if (start?.language) language.value = start.language;
      editor.current = edit(box.current, start?.code ?? sessionStorage.getItem(draft) ?? first, () => void run());
      get<Manifest>('manifest').then((m) => editor.current?.complete(namesOf(m)), () => { /* without, nothing completes */ });
    })();
    return () => {
      gone = true;
      stop.current?.abort();
      if (editor.current) { sessionStorage.setItem(draft, editor.current.text()); editor.current.close(); }
    };
  }, [from]);
  const a = answer.value;
  return <>
    <header><h1>Runner</h1><p class="summary">Runs in the sandbox, with the policy that models have. <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs, <kbd>Esc</kbd> then <kbd>Tab</kbd> leaves the editor.</p></header>
    <div class="filters">
      <Select label="Language" value={language.value} onChange={(v) => { language.value = v; }} options={['typescript', 'javascript', 'python']} />
      <button class="primary" onClick={() => void run()} disabled={running.value}>{running.value ? 'Running …' : 'Run'}</button>
      <button onClick={() => void run(true)} disabled={running.value || language.value === 'python'} title="Read, and list what would be written">Plan</button>
      {running.value && <button onClick={() => stop.current?.abort()}>Stop</button>}
      {language.value !== 'python' && <button aria-expanded={saving.value} onClick={() => { saving.value = !saving.value; saved.value = undefined; }}>Save …</button>}
    </div>
    {saving.value && <form class="filters card" onSubmit={(e) => { e.preventDefault(); void keep(new FormData(e.currentTarget)); }}>
      <label class="field"><span>Name</span><input name="name" required pattern="[A-Za-z][A-Za-z0-9_]*" maxLength={64} placeholder="staleIssues" title="Letters, digits and _, with a letter first" autocomplete="off" spellcheck={false} /></label>
      <label class="field grow"><span>What it does, for search</span><input name="description" maxLength={300} placeholder="List stale issues" autocomplete="off" /></label>
      <button class="primary">Save the script</button>
      <p class="dim">Models find saved scripts and call them. One of the same name becomes a new version.</p></form>}
    {saved.value && <p role="status" class="notice">Saved {saved.value.name}, version {saved.value.version}. In scripts: <Cmd>{`await scripts.${saved.value.name}(${saved.value.input ? 'input' : ''})`}</Cmd>; in a terminal: <Cmd>{'broker run ' + saved.value.name}</Cmd></p>}
    {saved.value?.warning && <p role="alert" class="problem">{saved.value.warning}</p>}
    <div class="split"><div class="editor" ref={box} />
      <div aria-live="polite">
        <Problem error={error.value} />
        {!a && !error.value && <Empty title={running.value ? 'Running …' : 'Nothing has run yet.'}>{!running.value && <>The result, what was printed, and each call appear here. Calls that the policy asks about wait under <a href="#/approvals">Approvals</a>.</>}</Empty>}
        {a && <>
          <p class={a.exit_code ? 'problem' : 'dim'}>Exit code {a.exit_code}, {ms(a.duration_ms)}, {many(a.tools_called.reduce((n, t) => n + (t.n ?? 1), 0), 'call')}</p>
          {a.run_id && <p class="notice">It waits for a decision: <a href="#/approvals">Approvals</a></p>}
          {a.result !== undefined && <><h2>Result</h2><Block label="Result" text={pretty(a.result)} /></>}
          {a.stdout && <><h2>Printed</h2><Block label="Printed" text={a.stdout} /></>}
          {a.stderr && <><h2>Errors</h2><Block label="Errors" text={a.stderr} /></>}
          {a.hint && <p class="dim">{a.hint}</p>}
        </>}
        {record.value && <><Waterfall execution={record.value.execution} calls={record.value.calls} />
          <p><a href={'#/x/' + record.value.execution.id}>Link to this execution</a></p></>}
      </div></div>
  </>;
}

type Manifest = { id: string; file: string; export: string }[];

// namesOf are the functions of a manifest and the namespaces that they are in.
function namesOf(m: Manifest): Name[] {
  const list: Name[] = ['search', 'describe'].map((name) => ({ name, detail: 'tools', of: 'tools' }));
  const spaces = new Set<string>();
  for (const t of m) {
    const of = (t.file.split('/')[1] ?? '').replace(/[^A-Za-z0-9]+(.)?/g, (_m, c: string | undefined) => c?.toUpperCase() ?? '');
    if (!spaces.has(of)) list.push({ name: of, detail: 'server' });
    spaces.add(of);
    list.push({ name: t.export, detail: t.id, of });
  }
  return list;
}
