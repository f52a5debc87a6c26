// Runs scenarios of the conformance tests, one after the other, in this process: most of the
// time of a process is that of its start. The first argument is the program. Each line of
// stdin has the arguments and variables of a scenario; each line of stdout, what the program
// prints for it and its exit code.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

class Exit extends Error {}

const write = process.stdout.write.bind(process.stdout);
const program = pathToFileURL(process.argv[2]).href;
let out = "", exited = null;

for (const name of ["log", "error", "warn", "info"]) {
  console[name] = (...args) => { if (exited) out += format(...args) + "\n"; };
}
process.stdout.write = process.stderr.write = (text) => { if (exited) out += text; return true; };
process.exit = (code = 0) => {
  exited?.(code);
  throw new Exit();
};
process.on("unhandledRejection", (err) => { if (!(err instanceof Exit)) process.emit("uncaughtException", err); });
process.on("uncaughtException", (err) => { if (!(err instanceof Exit)) { out += format(err) + "\n"; exited?.(1); } });

let n = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { args, env } = JSON.parse(line);
  Object.assign(process.env, env);
  process.argv = [process.argv[0], program, ...args];
  out = "";
  const code = await new Promise((resolve) => {
    exited = (code) => { exited = null; resolve(code); };
    import(`${program}?${n++}`).catch((err) => { if (!(err instanceof Exit)) { out += format(err) + "\n"; exited?.(1); } });
  });
  write(JSON.stringify({ out, code }) + "\n");
}
