// The console: its frame, and which screen is shown.
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { follow, get, live, onNews, onServers, open, type Pin, problem, type Run, session, signedOut, signOut, whoIsIn } from './api';
import { Approvals } from './approvals';
import { Audit } from './audit';
import { ExecutionPage, Executions } from './executions';
import { Ledger } from './ledger';
import { Runner } from './runner';
import { Search } from './search';
import { Servers } from './servers';
import { Skills } from './skills';
import { address, Cmd, later, moved, useKeys, useSignal } from './ui';

const screens = [
  { id: 'executions', name: 'Executions', key: 'e', show: Executions, page: 'audit' },
  { id: 'approvals', name: 'Approvals', key: 'p', show: Approvals, page: 'approvals' },
  { id: 'servers', name: 'Servers', key: 's', show: Servers, page: 'servers' },
  { id: 'search', name: 'Search', key: 'f', show: Search, page: 'search' },
  { id: 'audit', name: 'Audit', key: 'u', show: Audit, page: 'audit' },
  { id: 'ledger', name: 'Ledger', key: 'l', show: Ledger, page: 'how-it-works#what-it-saves' },
  { id: 'skills', name: 'Skills', key: 'i', show: Skills, page: 'skills' },
  { id: 'runner', name: 'Runner', key: 'w', show: Runner, page: 'code' },
];

// Unknown says that an address is not one of the console, and where to go on.
function Unknown() {
  return <><header><h1>Page not found</h1></header>
    <p>The console has nothing at <code class="mono">{'#/' + address.value.path.join('/').slice(0, 200)}</code>. It may have been moved, or mistyped.</p>
    <ul class="plain">{screens.map((s) => <li key={s.id}><a href={'#/' + s.id}>{s.name}</a></li>)}</ul></>;
}

function App() {
  const runs = useSignal(0), pins = useSignal(0);
  const waits = runs.value + pins.value;
  const go = useSignal(false);
  useEffect(() => {
    const quietly = (f: () => Promise<void>) => later(() => { f().catch(() => { /* the screen itself says what is wrong */ }); }, 300);
    const lookAtRuns = quietly(async () => { runs.value = (await get<{ runs: Run[] }>('approvals')).runs.length; });
    const lookAtPins = quietly(async () => { pins.value = (await get<{ pins: Pin[] }>('pins')).pins.filter((p) => p.held).length; });
    const look = () => { lookAtRuns(); lookAtPins(); };
    look();
    const stop = onNews((n) => { if (n.missed || n.executions.some((e) => e.status === 'waiting' || (runs.value > 0 && e.status !== 'running'))) lookAtRuns(); });
    const stopServers = onServers(lookAtPins);
    addEventListener('hashchange', look);
    return () => { stop(); stopServers(); removeEventListener('hashchange', look); };
  }, []);
  useKeys({
    g: () => { go.value = true; setTimeout(() => { go.value = false; }, 1000); },
    '/': () => document.getElementById('find')?.focus(),
    ...(go.value ? Object.fromEntries(screens.map((s) => [s.key, () => { go.value = false; location.hash = '#/' + s.id; }])) : {}),
  });
  const first = address.value.path[0] || 'executions';
  const id = first === 'x' ? 'executions' : first;
  const screen = screens.find((s) => s.id === id);
  useEffect(() => {
    document.title = (screen?.name ?? 'Page not found') + ' · broker';
    problem.value = '';
  }, [id]);
  if (signedOut.value) {
    return <main class="alone"><h1>This browser is not signed in</h1><p>{signedOut.value}</p>{session.value.sign_in ? <p><a href="sign-in">Sign in</a></p> : <p>Run <Cmd>broker console</Cmd> and open the address that it prints.</p>}</main>;
  }
  // Servers, skills and executions have pages of their own.
  const parts = address.value.path.length;
  const Screen = parts > (['x', 'servers', 'skills'].includes(first) ? 2 : 1) ? undefined : first !== 'x' ? screen?.show : parts === 2 ? ExecutionPage : undefined;
  return <>
    <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the content</a>
    <nav aria-label="Screens"><p class="brand">broker</p>
      <ul>{screens.map((s) => <li key={s.id}><a href={'#/' + s.id} aria-current={s.id === id ? 'page' : undefined} title={`g ${s.key}`}>{s.name}
        {s.id === 'approvals' && waits > 0 && <span class="badge">{waits}<span class="sr"> waiting</span></span>}</a></li>)}</ul>
      <p class="about"><a href={'docs/' + (screen?.page ?? '')} target="_blank">{screen ? 'About ' + screen.name : 'Documentation'}</a></p>
      {session.value.name && <p class="who">{session.value.name}{!session.value.changes && ' (view only)'} <button class="link" onClick={() => { void signOut(); }}>Sign out</button></p>}
      <p class={live.value ? 'live' : 'live off'} role="status">{live.value ? 'live' : 'not connected'}</p></nav>
    <main id="main" tabIndex={-1}>
      {problem.value && <p role="alert" class="problem">{problem.value} <button onClick={() => { problem.value = ''; }}>Close</button></p>}
      {Screen ? <Screen key={first} /> : <Unknown />}
    </main>
  </>;
}

await open();
moved();
render(<App />, document.getElementById('app')!);
whoIsIn().catch(() => { /* the screens say that nothing answers */ });
if (!signedOut.value) void follow();
