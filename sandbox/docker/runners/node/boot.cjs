// Starts a runner of JavaScript programs: the argument of node -e. The other
// arguments are the names and the texts of its modules, in an order in which
// each requires only those before it, and Node's own.
//
// The modules run in a realm of their own: what the program does to its
// built-ins does not reach them. main has those of the program's realm.
'use strict';
const { compileFunction, createContext } = require('node:vm');
const { Array, BigInt, Error, Function, JSON, Object, Promise, RangeError, SyntaxError, TypeError } = globalThis;
const main = {
  globalThis, Array, BigInt, Error, Function, Object, Promise, RangeError, SyntaxError, TypeError,
  parse: JSON.parse, stringify: JSON.stringify, rawJSON: JSON.rawJSON,
};
const realm = createContext();
const parts = process.argv.slice(1);
process.argv.length = 1;
const modules = new Map();
for (let i = 0; i + 1 < parts.length; i += 2) {
  const module = { exports: {} };
  const find = (name) => modules.get(name) ?? require(name);
  const options = { filename: 'broker:' + parts[i] };
  // The parts of the library define built-ins of the program.
  if (!parts[i].startsWith('lib/')) options.parsingContext = realm;
  compileFunction(parts[i + 1], ['require', 'module', 'main'], options)(find, module, main);
  modules.set(parts[i], module.exports);
}
modules.get('program').start();
