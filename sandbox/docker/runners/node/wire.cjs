// The frames of the Go package sandbox/wire.
'use strict';
const fs = require('node:fs');
const net = require('node:net');

const HEADER = 9;
const { alloc, concat, from } = require('node:buffer').Buffer;
const { writeSync } = fs;
const waiting = new Int32Array(new SharedArrayBuffer(4));

// send writes one frame, and blocks until it is written.
function send(type, id, ...parts) {
  let size = 0;
  for (const p of parts) size += p.length;
  const header = alloc(HEADER);
  header[0] = type.charCodeAt(0);
  header.writeUInt32BE(id, 1);
  header.writeUInt32BE(size, 5);
  const all = concat([header, ...parts]);
  for (let at = 0; at < all.length; ) at += write(all, at);
}

// write writes as much as there is room for, and waits a moment if there is none.
function write(all, at) {
  try {
    return writeSync(1, all, at);
  } catch (error) {
    if (error.code !== 'EAGAIN') throw error;
    Atomics.wait(waiting, 0, 0, 1);
    return 0;
  }
}

// prefixed returns a text after its length, which takes the given number of bytes.
function prefixed(text, bytes) {
  const body = from(text, 'utf8');
  const length = alloc(bytes);
  length.writeUIntBE(body.length, 0, bytes);
  return concat([length, body]);
}

// listen calls handle(type, id, payload) for each frame that comes, and gone at
// the end of the input. It returns the stream.
function listen(handle, gone) {
  const input = new net.Socket({ fd: 0, readable: true, writable: false });
  let parts = [];
  let have = 0;
  let header = null;
  input.on('data', (chunk) => {
    parts.push(chunk);
    have += chunk.length;
    for (let need; have >= (need = header ? header.readUInt32BE(5) : HEADER); ) {
      const all = concat(parts);
      const taken = all.subarray(0, need);
      parts = [all.subarray(need)];
      have -= need;
      const frame = header;
      header = frame ? null : taken;
      if (frame) handle(String.fromCharCode(frame[0]), frame.readUInt32BE(1), taken);
    }
  });
  input.on('end', gone);
  input.on('error', gone);
  return input;
}

module.exports = { send, prefixed, listen };
