// The known names that are closest to one that is not known, by the rules of the
// Go package internal/nearest.
'use strict';
const MAX_LENGTH = 128;
const fold = (name) => name.toLowerCase().replace(/[-_./ :]/g, '');

// distance returns the number of characters to add, remove or change to turn a into b.
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

function nearest(name, known, n) {
  const key = fold(name);
  if (name.length > MAX_LENGTH || key === '') return [];
  const found = [];
  for (const k of known.filter((k) => k.length <= MAX_LENGTH)) {
    const f = fold(k);
    const limit = Math.max(1, Math.trunc((Math.max(key.length, f.length) + 1) / 3));
    const d = distance(key, f);
    const contains = (key.length >= 3 && f.includes(key)) || (f.length >= 3 && key.includes(f));
    if (d <= limit || contains) found.push([d <= limit ? d : d + limit + 1, k]);
  }
  found.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
  return found.slice(0, n).map((f) => f[1]);
}

module.exports = { nearest };
