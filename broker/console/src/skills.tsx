// Skills and plugins: which are installed, valid, used.
import { get, type Ledger, type Plugin, send, type Skill } from './api';
import { about, address, attempt, Block, Cmd, Empty, Facts, many, Problem, Status, Table, Time, useLoad } from './ui';

export function Skills() {
  const name = address.value.path[1];
  return name ? <SkillPage name={name} /> : <SkillList />;
}

// useUse loads what was done with each skill, and answers undefined until then.
function useUse() {
  const { value } = useLoad((s) => get<Ledger>('stats', {}, s), '');
  return (name: string) => value.value && (value.value.skills.find((u) => u.skill === name) ?? { skill: name, activations: 0, last_use: '' });
}

function SkillList() {
  const skills = useLoad((s) => get<{ skills: Skill[] }>('skills', {}, s), '');
  const plugins = useLoad((s) => get<{ plugins: Plugin[] }>('plugins', {}, s), '');
  const use = useUse();
  const list = skills.value.value?.skills ?? [], all = plugins.value.value?.plugins ?? [];
  const used = (s: Skill) => use(s.name);
  const warned = list.filter((s) => s.diagnostics.length).length;
  const flip = (kind: string, name: string, enabled: boolean) => attempt(async () => {
    await send(`${kind}/${encodeURIComponent(name)}`, { enabled }, 'PUT');
    await Promise.all([skills.again(), plugins.again()]);
  });
  return <>
    <header><h1>Skills and plugins</h1><p class="summary">{list.length > 0 && <>{many(list.length, 'skill')}, {warned ? <strong>{warned} with warnings</strong> : 'all valid'}</>}</p></header>
    <h2>Skills</h2>
    <Problem error={skills.error.value} />
    {skills.value.value && list.length === 0 && <Empty title="No skill is installed."><Cmd>broker skills install PATH</Cmd> installs one; servers and plugins may bring some.</Empty>}
    {list.length > 0 && <Table<Skill> label="Skills" rows={list} rowKey={(s) => s.origin + s.name} onOpen={(s) => '#/skills/' + encodeURIComponent(s.name)} columns={[
      { name: 'Skill', cell: (s) => s.name }, { name: 'State', cell: (s) => <Status value={s.state} /> },
      { name: 'Warnings', number: true, cell: (s) => (s.diagnostics.length ? <strong>{s.diagnostics.length}</strong> : '0') },
      { name: 'Used', number: true, low: true, cell: (s) => used(s)?.activations.toString() }, { name: 'Last use', low: true, cell: (s) => used(s) && <Time at={used(s)?.last_use} /> },
      { name: 'From', low: true, cell: (s) => s.origin }, { name: 'What it does', low: true, wide: true, cell: (s) => <span class="dim">{s.description}</span> },
      { name: '', cell: (s) => <button onClick={() => flip('skills', s.name, !s.enabled)}>{s.enabled ? 'Disable' : 'Enable'}<span class="sr"> {s.name}</span></button> },
    ]} />}
    <h2>Plugins</h2>
    <Problem error={plugins.error.value} />
    {plugins.value.value && all.length === 0 && <Empty title="No plugin is installed."><Cmd>broker plugins install PATH</Cmd> installs one and shows what it would start first.</Empty>}
    {all.length > 0 && <Table<Plugin> label="Plugins" rows={all} rowKey={(p) => p.name} columns={[
      { name: 'Plugin', cell: (p) => p.name }, { name: 'Version', low: true, cell: (p) => p.version }, { name: 'Brings', cell: (p) => `${many(p.servers.length, 'server')}, ${many(p.skills.length, 'skill')}, ${many(p.commands.length, 'command')}` },
      { name: 'Problems', low: true, wide: true, cell: (p) => p.problems.map((x) => x.message).join('; ') },
      { name: '', cell: (p) => <button onClick={() => flip('plugins', p.name, !p.enabled)}>{p.enabled ? 'Disable' : 'Enable'}<span class="sr"> {p.name}</span></button> },
    ]} />}
  </>;
}

interface Detail extends Skill { files: { path: string; size: number }[]; tools: { name: string; description: string }[]; allowed_tools?: string[] }

function SkillPage({ name }: { name: string }) {
  const at = 'skills/' + encodeURIComponent(name);
  const skill = useLoad((s) => get<{ skill?: Detail } & Detail>(at, {}, s), name);
  const text = useLoad((s) => get<{ content?: string; text?: string }>(at + '/files/SKILL.md', {}, s), name);
  const v = skill.value.value?.skill ?? skill.value.value;
  const used = useUse()(name), source = text.value.value?.content ?? text.value.value?.text;
  return <>
    <header><p class="crumb"><a href="#/skills">Skills</a></p><h1>{name}</h1></header>
    <Problem error={skill.error.value} />
    {v && <>
      <p>{v.description}</p>
      <Facts list={[['State', <Status value={v.state} />], ['Version', v.version], ['From', v.origin], ['Plugin', v.plugin],
        ['Tools it may call', v.allowed_tools?.join(', ')], ['Tokens', source && about(Math.ceil(source.length / 4)) + ' (estimate)'], ['Used', used?.activations.toString()], ['Last use', used && <Time at={used.last_use} />]]} />
      {v.diagnostics.length > 0 && <><h2>Warnings</h2><ul>{v.diagnostics.map((d) => <li key={d.message}>{d.message}</li>)}</ul></>}
      <h2>Tools</h2>
      {v.tools.length ? <ul>{v.tools.map((t) => <li key={t.name}><span class="mono">{t.name}</span> <span class="dim">{t.description}</span></li>)}</ul> : <Empty title="It has no tools of its own." />}
      <h2>Files</h2>
      {v.files.length ? <ul class="columns mono">{v.files.map((f) => <li key={f.path}>{f.path}</li>)}</ul> : <Empty title="It has no files beside SKILL.md." />}
      <h2>SKILL.md</h2><Problem error={text.error.value} />
      {source !== undefined && <Block label="SKILL.md" text={source} />}
    </>}
  </>;
}
