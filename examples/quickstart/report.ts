// Which files change most often, and how large have they become? The git
// history comes from one MCP server, the source tree from another. Only what
// this script prints leaves the sandbox.
import { listCommits, changedFiles } from './servers/history';
import { listFiles, countLines, listFunctions } from './servers/source';

const [{ commits }, { files }] = await Promise.all([listCommits({ limit: 100 }), listFiles({ ext: '.go' })]);

// One call per commit, in parallel.
const changes = await Promise.all(commits.map((c) => changedFiles({ sha: c.sha })));
const count = new Map<string, number>();
for (const { files } of changes) {
  for (const { path } of files) count.set(path, (count.get(path) ?? 0) + 1);
}

// The join: files that changed and are still there, the busiest first.
const busiest = files
  .map(({ path }) => ({ path, changes: count.get(path) ?? 0 }))
  .filter((f) => f.changes > 0 && !f.path.endsWith('_test.go'))
  .sort((a, b) => b.changes - a.changes || (a.path < b.path ? -1 : 1))
  .slice(0, 8);
const rows = await Promise.all(busiest.map(async (f) => {
  const [size, { functions }] = await Promise.all([
    countLines({ path: f.path }),
    listFunctions({ path: f.path }).catch(() => ({ functions: [] as { name: string; lines: number }[] })),
  ]);
  const [longest] = [...functions].sort((a, b) => b.lines - a.lines);
  return [String(f.changes), String(size.code), f.path, longest ? `${longest.name} (${longest.lines})` : ''];
}));

const day = (date: string) => date.slice(0, 10);
const some = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
const authors = new Set(commits.map((c) => c.author)).size;
console.log(`The last ${some(commits.length, 'commit')} by ${some(authors, 'author')}, ${day(commits.at(-1)!.date)} to ${day(commits[0].date)}`);
if (rows.length === 0) console.log('changed no Go file that is still there.');
else {
  const table = [['changes', 'code', 'file', 'longest function (lines)'], ...rows];
  const width = Math.max(...table.map((r) => r[2].length));
  for (const [n, lines, path, longest] of table) {
    console.log(`${n.padStart(7)} ${lines.padStart(5)}  ${path.padEnd(width)}  ${longest}`.trimEnd());
  }
}
