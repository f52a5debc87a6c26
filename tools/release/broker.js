#!/usr/bin/env node
// Starts the broker of the package for this system, with the same standard
// streams, and ends as it ends.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const platform = `@mcpbroker/broker-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/broker${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`broker: ${platform} is not installed: install without --omit=optional, on a system that the broker is built for`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (err) => {
  console.error(`broker: ${err.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
