const issues = [{ id: 1, label: 'bug', by: 'ann', pts: 3 }, { id: 2, label: 'feature', by: 'bob', pts: 5 }, { id: 3, label: 'bug', by: 'ann', pts: 1 }, { id: 4, label: 'docs', by: 'cy', pts: 2 }];
const by = issues.reduce((acc, i) => ({ ...acc, [i.label]: [...(acc[i.label] ?? []), i.id] }), {});
const totals = new Map();
for (const { by: who, pts } of issues) totals.set(who, (totals.get(who) ?? 0) + pts);
const top = [...totals].sort(([, a], [, b]) => b - a).map(([k, v]) => `${k}=${v}`);
console.log(JSON.stringify(by), top.join(' '), JSON.stringify(Object.entries(by).map(([label, ids]) => ({ label, n: ids.length })).toSorted((a, b) => b.n - a.n || a.label.localeCompare(b.label))));
