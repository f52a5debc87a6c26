const log = `2024-05-01T10:00:01Z ERROR [api] timeout after 3000ms id=17
2024-05-01T10:00:02Z INFO [web] ok id=18
2024-05-01T10:00:05Z ERROR [api] refused id=19`;
const re = /^(?<at>\S+) (?<level>[A-Z]+) \[(?<part>\w+)\] (?<text>.*?) id=(?<id>\d+)$/gm;
const entries = [...log.matchAll(re)].map(({ groups }) => ({ ...groups, id: Number(groups.id) }));
const errors = entries.filter((e) => e.level === 'ERROR');
console.log(JSON.stringify(errors), log.replace(/(\d+)ms/, (_, n) => n / 1000 + 's').split('\n')[0], entries.at(-1).part, log.search(/INFO/));
