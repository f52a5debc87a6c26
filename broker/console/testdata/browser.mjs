// The browser's part of browser_test.go: it drives Chromium over the pages of two
// consoles and prints one line for each thing that is not as it should be.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
const o = JSON.parse(process.env.CONSOLE_TEST);
const require = createRequire(o.modules + '/');
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let failed = 0;
const check = (ok, what) => { if (!ok) { failed++; console.log('FAIL ' + what); } };
const browser = await chromium.launch({ executablePath: o.chromium, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--host-resolver-rules=MAP *.test 127.0.0.1'] });

// page opens a console and notes whatever goes to another place or goes wrong.
async function page(url, { width = 1280, height = 800, at, ...options } = {}) {
  const base = new URL(url).origin;
  const context = await browser.newContext({ colorScheme: 'light', viewport: { width, height }, ...options });
  const p = await context.newPage();
  if (at) await p.clock.setFixedTime(at);
  p.on('request', (r) => check(r.url().startsWith(base), 'a request to ' + r.url()));
  p.on('pageerror', (e) => check(false, 'an error on the page: ' + e));
  p.on('console', (m) => check(m.type() !== 'error' || p.expected, 'an error in the log: ' + m.text()));
  p.on('dialog', () => check(false, 'a script of somebody else ran'));
  await p.goto(url);
  await p.getByRole('navigation').waitFor();
  p.show = async (at) => { await p.evaluate((a) => { location.hash = '#/' + a; }, at); await p.locator('main h1').first().waitFor(); };
  p.text = () => p.locator('main').innerText();
  return p;
}

// What each screen shows that has something, and that has nothing.
const full = {
  'executions': /executions and more/, 'executions?q=odd': /3 executions,[^]*const key = '\[redacted\]'/, ['x/' + o.execution]: /const key = '\[redacted\]'[^]*Sandbox\s*3[^]*What the model received\s+100 B, about 25 tokens[^]*"exit_code": 0[^]*2 calls; servers worked[^]*Before the script\s*9[^]*Open in Runner/,
  'approvals': /decisions? waiting[^]*shelf__delete_book[^]*Asked by claude-code[^]*Approve once[^]*Deny[^]*Arguments[^]*Emma[^]*What differs from[^]*Persuasion[^]*Line 5 of the script[^]*Delete a lost book, and count[^]*await callMCPTool[^]*The whole script, 9 lines/,
  'servers': /5 servers, 6 tools, 1 disabled, 3 need a look[^]*shelf[^]*The books of the library[^]*working\s+6\s+10,50\d\s+1\s[^]*dead\s+failed[^]*no such file[^]*locked\s+needs sign-in[^]*attic\s+Old books\s+disabled/, ['servers/' + o.server]: /The books of the library[^]*working[^]*list_books[^]*add_book/, 'servers/attic': /Enable[^]*Old books[^]*It is disabled/, 'servers/locked': /answered HTTP 401[^]*needs sign-in/,
  'search?q=book': /Hits[^]*Score[^]*shelf__list_books[^]*Answer to the model[^]*hanging/, 'audit?class=write': /2 calls, 1 not ok[^]*<script>alert\(1\)<\/script> \[redacted\]/, 'ledger': /[1-9][0-9.]* MB[^]*By server\s+Server[^]*shelf\s+200\.0 MB[^]*shelf.list_books\s+200\.0 MB/,
  'skills': /1 skill,[^]*notes\s+enabled\s+0\s+1\s/, 'skills/notes': /about 20 \(estimate\)\s+Used\s+1\s[^]*# <b>Do<\/b> it\./, 'runner': /Nothing has run yet/,
};
const none = { executions: /No script has run yet/, approvals: /No call waits for a decision[^]*Nothing is known/, servers: /No server is configured/, 'search?q=book': /No tool has any of these words/, audit: /No tool has been called yet/, ledger: /Nothing was executed in this period/, skills: /No skill is installed[^]*No plugin/, runner: /Nothing has run yet/, 'x/none': /no execution/, 'servers/none': /no server/, 'skills/none': /skill/,
  'nowhere': /Page not found[^]*#\/nowhere[^]*Executions/, 'audit/more': /Page not found[^]*#\/audit\/more/, 'x': /Page not found/, 'servers/a/b': /Page not found/, '%E0%A4%A': /Page not found/ };

async function shows(p, at, pattern, what) {
  await p.show(at);
  await p.waitForFunction(([source]) => new RegExp(source).test(document.querySelector('main')?.innerText ?? ''), [pattern.source], { timeout: 30000 }).catch(async () => check(false, `${what}: ${at} lacks ${pattern}: ${(await p.text()).slice(0, 1000)}`));
}

const took = [];
// With CONSOLE_PARTS, such as "keys,search", only these parts run.
const only = process.env.CONSOLE_PARTS?.split(',');
const part = async (name, f) => { if (only && !only.includes(name)) return; const start = Date.now(); await f(); took.push(`${name} ${((Date.now() - start) / 1000).toFixed(1)}`); };
let spent = 0;
const html = () => document.documentElement.outerHTML;

// Accessibility, width, secrets and HTML of others, in one scheme, on a wide and on a
// narrow window.
async function each(scheme) {
  const p = await page(o.full, { colorScheme: scheme });
  // The policy of the page lets no script in; axe comes by the debugger.
  await p.evaluate(axeSource);
  for (const at of Object.keys(full)) {
    await p.setViewportSize({ width: 1280, height: 800 });
    await shows(p, at, full[at], scheme);
    await p.locator('.call:visible, .cm-content:visible, .empty:visible, .card:visible, table:visible, .block:visible').first().waitFor();
    if (at.startsWith('x/')) await p.locator('.call').first().click();
    if (at.startsWith('audit')) await p.locator('td button.link').first().click();
    if (/^(x\/|audit)/.test(at)) await p.locator('.panel').waitFor();
    check(!(await p.evaluate(html)).includes(o.secret), `a secret in the page of ${at}`);
    check(!(await p.locator('main img, main script, main iframe').count()), `an element that a server made in ${at}`);
    for (const width of [1280, 375]) {
      await p.setViewportSize({ width, height: 800 });
      const wide = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `${at} is ${wide} px wider than ${width}`);
      const over = await p.evaluate(() => [...document.querySelectorAll('main *')].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && !e.closest('.cm-editor, .numbered, .sr') && (getComputedStyle(e).overflowX !== 'hidden' || e.matches('.card, .panel'))).map((e) => `${e.tagName}.${e.className} ${e.scrollWidth} > ${e.clientWidth}`));
      const tall = await p.evaluate(() => [...document.querySelectorAll('main button:not(.link, .call)')].filter((e) => e.clientHeight > 40).map((e) => e.innerText));
      check(!tall.length, `${at} at ${width} px has buttons of several lines: ${tall.slice(0, 5).join(', ')}`);
      check(!over.length, `${at} at ${width} px has parts that are cut: ${over.slice(0, 5).join(', ')}`);
      // 100 rows are like three. Colours are the same on a narrow window, and all else is
      // in both schemes.
      const rules = { 'color-contrast': { enabled: width > 400 } };
      if (width < 400 && scheme === 'dark' && !o.shots) continue;
      const start = Date.now();
      const found = at === 'executions' ? { violations: [] } : await p.evaluate((rules) => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'], rules }), rules);
      for (const v of found.violations) check(false, `${at} ${scheme} ${width}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120) + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`);
      spent += Date.now() - start;
      if (o.shots) await p.screenshot({ path: `${o.shots}/${at.split(/[/?]/)[0] + (at.includes('/') ? '-one' : '')}-${scheme}-${width}.png` });
    }
  }
  await p.context().close();
}
await part('each screen', () => Promise.all([each('light'), each('dark')]));
took.push(`axe ${(spent / 1000).toFixed(1)}`);

await part('nothing', async () => { // The same screens with nothing to show, and an address that is of nothing.
  const p = await page(o.empty);
  p.expected = true; // 404
  for (const [at, pattern] of Object.entries(none)) {
    await shows(p, at, pattern, 'empty');
    if (o.shots && at === 'nowhere') await p.screenshot({ path: `${o.shots}/nowhere.png` });
    if (o.shots && at === 'servers') await p.screenshot({ path: `${o.shots}/empty.png` });
  }
  await p.context().close();
});

const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

await part('times', async () => { // With 10,000 executions; a waterfall of 500 calls; news.
  const p = await page(o.full);
  await p.locator('tbody tr').first().waitFor();
  await p.reload();
  await p.locator('tbody tr').first().waitFor();
  const paint = await p.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  const filter = await p.evaluate(() => new Promise((done) => {
    const input = document.getElementById('find');
    const start = performance.now();
    input.value = 'no such thing';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  }));
  await p.getByText('Nothing matches').waitFor();
  const shown = (at, selector, n) => p.evaluate(([at, selector, n]) => new Promise((done) => {
    const start = performance.now();
    location.hash = at;
    const look = () => (document.querySelectorAll(selector).length >= n ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))) : requestAnimationFrame(look));
    look();
  }), [at, selector, n]);
  const waterfalls = [];
  for (let i = 0; i < 3; i++) {
    waterfalls.push(await shown('#/x/' + o.long, '.call', 500));
    await p.show('servers');
  }
  const waterfall = median(waterfalls);
  await p.show('executions');
  await p.locator('tbody tr').first().waitFor();
  const news = [];
  for (let i = 0; i < 5; i++) {
    const seen = p.evaluate((text) => new Promise((done) => {
      const look = () => document.querySelector('tbody')?.textContent.includes(text) && requestAnimationFrame(() => setTimeout(() => { watch.disconnect(); done(Date.now()); }));
      const watch = new MutationObserver(look);
      watch.observe(document.body, { childList: true, subtree: true, characterData: true });
      look();
      setTimeout(() => done(Date.now()), 5000);
    }), 'live-' + i);
    const { at } = await (await fetch(o.control + '/run?client=live-' + i)).json();
    news.push((await seen) - at);
  }
  const live = median(news);
  console.log(`first paint ${paint.toFixed(0)} ms, filter ${filter.toFixed(0)} ms, waterfall of 500 calls ${waterfall.toFixed(0)} ms, an execution is on the screen ${live} ms after its end (${news})`);
  check(paint < o.slack * 300, `first paint took ${paint} ms`);
  check(filter < o.slack * 50, `a filter took ${filter} ms`);
  check(waterfall < o.slack * 100, `a waterfall of 500 calls took ${waterfall} ms`);
  check(live < o.slack * 200, `news took ${live} ms`);
  await p.context().close();
});

await part('a million', async () => { // A million calls: the list is there, and what is rare is found.
  const p = await page(await (await fetch(o.control + '/large')).text());
  await shows(p, 'audit', /100 calls and more/, 'a million');
  const filter = await p.evaluate(() => new Promise((done) => {
    const input = document.getElementById('find');
    const start = performance.now();
    input.value = 'find_me';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  }));
  const first = await p.evaluate(async () => { const start = performance.now(); await (await fetch('/api/calls?q=find_me&limit=100', { headers: { 'Broker-Console-Key': sessionStorage.getItem('broker-console-key') } })).json(); return performance.now() - start; });
  await p.getByText('Looking through what is older').waitFor().catch(() => check(false, 'nothing says that the search goes on'));
  await p.getByRole('button', { name: 'rare.find_me' }).waitFor();
  await shows(p, 'ledger', /1,000,000 calls/, 'a million');
  console.log(`a million calls: filter ${filter.toFixed(0)} ms, first answer ${first.toFixed(0)} ms`);
  check(filter < o.slack * 50, `a filter of a million calls took ${filter} ms`);
  check(first < o.slack * 50, `the first answer about a million calls took ${first} ms`);
  await p.context().close();
});

await part('a cut', async () => { // A stream that is cut among news resumes: nothing is lost, and nothing twice.
  const p = await page(o.full);
  await p.show('executions');
  await p.locator('tbody tr').first().waitFor();
  await p.getByText('live', { exact: true }).waitFor();
  p.expected = true; // Chromium reports the cut
  await fetch(o.control + '/cut?client=burst');
  await p.getByText('not connected').waitFor({ timeout: 5000 }).catch(() => check(false, 'a cut connection is not shown'));
  await fetch(o.control + '/back');
  const rows = async () => { const text = await p.locator('tbody').innerText(); return Array.from({ length: 20 }, (_, i) => text.split(`burst-${i}.`).length - 1); };
  await p.waitForFunction(() => document.querySelector('tbody').innerText.includes('burst-19.'), null, { timeout: 15000 }).catch(() => check(false, 'what was missed is not shown'));
  const had = await rows();
  check(had.every((n) => n === 1), `after a cut there are ${had} rows of each execution`);
  // So it is when the broker refuses the stream at first, and the browser gives it up.
  let refused = 0;
  await p.route('**/api/stream', (route) => (refused++ ? route.continue() : route.fulfill({ status: 503 })));
  await fetch(o.control + '/cut?client=refused');
  await p.getByText('not connected').waitFor({ timeout: 5000 }).catch(() => check(false, 'a cut connection is not shown'));
  await fetch(o.control + '/back');
  await p.waitForFunction(() => document.querySelector('tbody').innerText.includes('refused-19.'), null, { timeout: 15000 }).catch(() => check(false, 'what was missed while the stream was refused is not shown'));
  check(refused > 1, `the stream was refused ${refused} times`);
  await p.context().close();
});

await part('a clock', async () => { // A clock that jumps: bars stay in their lanes, and it is news.
  const p = await page(o.full);
  await p.show('executions');
  await p.locator('tbody tr').first().waitFor();
  const id = await (await fetch(o.control + '/jump?client=jumped')).text();
  await p.getByText('jumped').first().waitFor({ timeout: 10000 }).catch(() => check(false, 'an execution of the future is not shown'));
  await p.show('x/' + id);
  await p.locator('.call').nth(2).waitFor();
  const out = await p.evaluate(() => [...document.querySelectorAll('.call i')].filter((b) => { const x = b.getBoundingClientRect(), l = document.querySelector('.axis').getBoundingClientRect(); return !(x.left >= l.left - 1 && x.right <= l.right + 3); }).length);
  check(out === 0, `${out} bars are outside of their lanes`);
  check(!/NaN|Infinity|-\d+(\.\d+)? m?s/.test(await p.text()), 'a time that is none: ' + (await p.text()));
  await p.context().close();
});

await part('keys', async () => { // By keyboard alone: a call is denied.
  const p = await page(o.full);
  await p.keyboard.press('g');
  await p.keyboard.press('p');
  await p.locator('.card').getByText('shelf__delete_book').first().waitFor();
  await p.keyboard.press('d');
  await p.getByText('Denied: shelf__delete_book').waitFor({ timeout: 5000 }).catch(async () => check(false, 'a call was not denied by keyboard: ' + (await p.text())));
  await p.context().close();
});

await part('a folded call', async () => { // Buttons come first; what is folded is not approved before it is shown.
  await fetch(o.control + '/folded');
  const p = await page(o.full);
  await p.show('approvals');
  const card = p.locator('.card', { hasText: 'Middlemarch' });
  await card.waitFor();
  const text = await card.innerText();
  if (o.shots) await p.screenshot({ path: o.shots + '/approvals-folded.png' });
  check(!text.includes('book 39'), 'long arguments are not folded: ' + text);
  check(text.indexOf('Approve once') < text.indexOf('Arguments') && /Asked by claude-code \(ci\)/.test(text) && /Line 4 of the script/.test(text), 'a card is ' + text);
  check((await card.locator('.numbered .here').first().innerText()).startsWith('await callMCPTool'), 'another line is marked');
  check(await card.getByRole('button', { name: 'Approve once' }).isDisabled(), 'a folded call can be approved');
  await p.keyboard.press('a');
  await card.getByText('book 39').waitFor({ timeout: 5000 }).catch(async () => check(false, 'a key does not unfold: ' + (await card.innerText())));
  await card.getByText('The whole script').click();
  await card.getByText('And that is all.').waitFor({ timeout: 5000 }).catch(() => check(false, 'the whole script is not shown'));
  await card.getByRole('button', { name: 'Deny' }).click();
  await p.getByText('Denied: shelf__delete_book').waitFor({ timeout: 5000 }).catch(async () => check(false, 'not denied: ' + (await p.text())));
  await p.context().close();
});

await part('changed servers', async () => { // A server is added, disabled and enabled; a session that only shows does none of that.
  const p = await page(o.full);
  await p.show('servers');
  await p.getByRole('button', { name: 'Add a server' }).click();
  await p.getByLabel('Name').fill('cellar');
  await p.getByLabel('Command, or address').fill('cellar "a b');
  await p.getByRole('button', { name: 'Add the server' }).click();
  await p.getByText('has no end').waitFor({ timeout: 5000 }).catch(() => check(false, 'half a command is taken'));
  await p.getByLabel('Command, or address').fill(o.shelf);
  await p.getByLabel('What it does').fill('Wine');
  await p.getByLabel('Headers').fill('X-Key: abc: def');
  if (o.shots) await p.screenshot({ path: o.shots + '/servers-add.png' });
  await p.getByRole('button', { name: 'Add the server' }).click();
  const has = (pattern, what) => p.waitForFunction(([source]) => new RegExp(source).test(document.querySelector('main')?.innerText ?? ''), [pattern.source], { timeout: 8000 }).catch(async () => check(false, what + ': ' + (await p.text()).slice(0, 800)));
  await has(/cellar[^]*Wine[^]*Added to the config[^]*working[^]*cellar__list_books/, 'an added server does not work');
  await p.getByRole('button', { name: 'Disable' }).click();
  await has(/It is disabled/, 'a server is not disabled');
  if (o.shots) await p.screenshot({ path: o.shots + '/servers-disabled.png' });
  await p.show('servers');
  await p.getByRole('button', { name: 'Enable cellar' }).click();
  await has(/cellar\s+Wine\s+(idle|starting|working)/, 'a server is not enabled');
  const text = await (await fetch(o.control + '/config')).text();
  check(/"cellar": \{"description": "Wine", "url": "http[^"]+", "headers": \{"X-Key": "abc: def"\}\}/.test(text), 'the config is ' + text);
  await p.context().close();
  const shown = await page(o.shown);
  await shown.show('servers');
  await shown.getByText('attic').waitFor();
  check(!(await shown.locator('main button').count()), 'a session that only shows has buttons');
  await shown.context().close();
});

await part('a long call', async () => { // What is not shown cannot be approved, by no button and no key.
  await fetch(o.control + '/long');
  const p = await page(o.full);
  await p.show('approvals');
  const card = p.locator('.card', { hasText: 'Ulysses' });
  await card.waitFor();
  const approve = card.getByRole('button', { name: 'Approve once' });
  check(!(await card.innerText()).includes('THE END'), 'a long call is shown whole at once');
  for (const name of ['Approve once', 'Approve for this run', 'Always']) check(await card.getByRole('button', { name }).isDisabled(), `"${name}" works before a call is shown whole`);
  await card.getByRole('button', { name: 'Show all of it' }).click();
  await card.getByText('THE END').waitFor({ timeout: 5000 }).catch(async () => check(false, 'a long call is not shown whole: ' + (await card.innerText()).slice(-500)));
  await approve.click({ timeout: 5000 });
  await p.getByText('Approved: shelf__delete_book').waitFor({ timeout: 5000 }).catch(async () => check(false, 'a long call was not approved: ' + (await p.text()).slice(0, 500)));
  await p.context().close();
});

await part('Runner', async () => { // The Runner runs what is written, saves it, plans, and shows 10 MB.
  const p = await page(o.full);
  await p.show('runner');
  await p.locator('.cm-content').click();
  // Typing over a selection, Chromium itself sets a style that the policy refuses, and reports it.
  p.expected = true;
  await p.keyboard.press('Control+A');
  await p.keyboard.type('return 6 * 7');
  await p.keyboard.press('Control+Enter');
  await p.getByRole('region', { name: 'Result' }).getByText('42').waitFor({ timeout: 10000 }).catch(async () => check(false, 'the Runner has no result: ' + (await p.text())));
  await p.getByRole('button', { name: 'Save …' }).click();
  await p.getByLabel('Name').fill('sixTimesSeven');
  await p.getByLabel('What it does').fill('Multiplies');
  await p.getByRole('button', { name: 'Save the script' }).click();
  await p.getByText('Saved sixTimesSeven, version 1').waitFor({ timeout: 5000 }).catch(async () => check(false, 'a script was not saved: ' + (await p.text())));
  const write = async (code) => { await p.locator('.cm-content').click(); await p.keyboard.press('Control+A'); await p.keyboard.type(code); };
  await write('return await shelf.wholeLibrary({})');
  await p.getByRole('button', { name: 'Run', exact: true }).click();
  await p.getByText('Exit code 0').waitFor({ timeout: 30000 }).catch(async () => check(false, 'a result of 10 MB is not shown: ' + (await p.text()).slice(0, 500)));
  await p.locator('.call').first().click();
  await p.locator('.panel').waitFor();
  const size = await p.evaluate(() => document.documentElement.outerHTML.length);
  check(size < 500_000, `a result of 10 MB makes a page of ${size} bytes`);
  if (o.shots) await p.screenshot({ path: o.shots + '/runner-ran.png' });
  await p.locator('.cm-content').click();
  await p.keyboard.press('Control+A');
  await p.keyboard.type("return await shelf.deleteBook({ title: 'Emma' })");
  await p.getByRole('button', { name: 'Plan' }).click();
  await p.getByText('It waits for a decision').waitFor({ timeout: 10000 }).catch(async () => check(false, 'the Runner has no plan: ' + (await p.text())));
  await p.context().close();
});

await part('search', async () => { // What was right is kept as cases for broker eval.
  const p = await page(o.full);
  await shows(p, 'search?q=lend a book', /shelf__lend_book/, 'full');
  await p.getByLabel('shelf__lend_book is a right answer').check();
  await p.getByRole('button', { name: 'Keep as an eval case' }).click();
  const [file] = await Promise.all([p.waitForEvent('download', { timeout: 5000 }), p.getByRole('button', { name: 'Download 1 case' }).click()]);
  const text = readFileSync(await file.path(), 'utf8');
  check(text === '{"query":"lend a book","relevant":["shelf/lend_book"],"set":"console"}\n', 'an eval case is ' + text);
  await p.context().close();
});

await part('pages', async () => { // The configuration in force, and the documentation, in the style of the console.
  const p = await page(o.full);
  await p.show('servers');
  await p.getByText('Configuration in force').click();
  await p.getByRole('region', { name: 'Configuration' }).waitFor();
  check(/env\.OTHER[^]*\$\{SHELF_KEY\}[^]*servers\.json:1[^]*broker\.readOnly[^]*true[^]*broker\.mode[^]*default/.test(await p.text()), 'the configuration is ' + (await p.text()).slice(0, 2000));
  check(!(await p.evaluate(html)).includes(o.secret), 'a secret in the configuration');
  const [doc] = await Promise.all([p.context().waitForEvent('page'), p.getByRole('link', { name: 'About Servers' }).click()]);
  await doc.getByRole('heading', { level: 1, name: 'Servers' }).waitFor();
  await doc.evaluate(axeSource);
  for (const scheme of ['light', 'dark']) {
    for (const width of [1280, 375]) {
      await doc.emulateMedia({ colorScheme: scheme });
      await doc.setViewportSize({ width, height: 800 });
      const wide = await doc.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `a page of the documentation is ${wide} px wider than ${width}`);
      const found = await doc.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'] }));
      for (const v of found.violations) check(false, `docs ${scheme} ${width}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`);
      if (o.shots) await doc.screenshot({ path: `${o.shots}/docs-${scheme}-${width}.png` });
    }
  }
  await doc.keyboard.press('Tab');
  check((await doc.evaluate(() => document.activeElement.textContent)) === 'Skip to the content', 'a page of the documentation begins elsewhere');
  await doc.getByRole('link', { name: 'Configuration', exact: true }).click();
  await doc.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
  await p.context().close();
});

await part('line', async () => { // A call leads to its line of the script.
  const p = await page(o.full);
  await p.show('x/' + o.execution);
  await p.locator('.call').first().click();
  await p.getByRole('button', { name: '2', exact: true }).click();
  check(/^return await/.test(await p.locator('.numbered .here').innerText()), 'the line of a call is not shown');
  await p.context().close();
});
await part('token', async () => { // A wrong token is a sentence.
  const context = await browser.newContext();
  const p = await context.newPage();
  await p.goto(new URL(o.full).origin + '/console/#token=WRONG');
  await p.getByText('This browser is not signed in').waitFor({ timeout: 5000 }).catch(() => check(false, 'a wrong token is not said'));
  await context.close();
});
await part('elsewhere', async () => { // Another name of the host, and a page of another origin in a browser that is signed in.
  const context = await browser.newContext();
  const p = await context.newPage();
  const { origin, port } = new URL(o.full);
  const named = await p.goto(`http://evil.test:${port}/console/`);
  const said = (await p.locator('body').innerText()).trim();
  check(named.status() === 403 && /^host "evil.test:\d+" is refused: [^\n]+$/.test(said), `another host: ${named.status()} ${said}`);
  await p.goto(o.full);
  await p.getByRole('navigation').waitFor();
  await p.goto(o.control + '/nothing');
  const answer = p.waitForResponse((r) => r.url().startsWith(origin));
  await p.evaluate((to) => fetch(to + '/api/execute', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"code":"return 1"}' }).catch(() => {}), origin);
  check((await answer).status() === 403, `another origin: ${(await answer).status()}`);
  await context.close();
});
await part('key', async () => { // What another port of this host gets opens nothing; reloads, other tabs and files work.
  const p = await page(o.full);
  const { origin, port } = new URL(o.full);
  const rows = (p) => p.locator('tbody tr').first().waitFor({ timeout: 10000 });
  const signedIn = (p, what) => rows(p).then(() => p.getByText('live', { exact: true }).waitFor({ timeout: 10000 })).catch(async () => check(false, `${what}: ${(await p.locator('body').innerText()).slice(0, 300)}`));
  await signedIn(p, 'a tab');
  const evil = await p.context().newPage();
  await evil.goto(o.control + '/cookie');
  const cookie = await evil.locator('body').innerText();
  check(cookie.includes(`broker-console-${port}=`), 'the other port gets ' + cookie);
  for (const [path, init] of [['/api/executions', {}], ['/api/stream', {}], ['/api/calls?format=csv', {}], ['/api/execute', { method: 'POST', body: '{"code":"return 1"}' }], ['/console/session', { method: 'POST', body: '{"token":""}' }]]) {
    const res = await fetch(origin + path, { ...init, headers: { Cookie: cookie, 'Content-Type': 'application/json' } });
    check(res.status === 403, `the cookie alone gets ${res.status} at ${path}`);
  }
  await evil.close();
  await p.reload();
  await signedIn(p, 'after a reload');
  const second = await p.context().newPage();
  await second.goto(origin + '/console/#/executions');
  await signedIn(second, 'a second tab');
  const [linked] = await Promise.all([p.context().waitForEvent('page'), p.getByRole('link', { name: 'Audit', exact: true }).click({ modifiers: ['Control'] })]);
  await signedIn(linked, 'a link in a tab of its own');
  for (const [name, first] of [['JSON lines', /^\{/], ['CSV', /^[a-z_]+,/]]) {
    const [file] = await Promise.all([linked.waitForEvent('download', { timeout: 5000 }), linked.getByRole('link', { name, exact: true }).click()]);
    const text = readFileSync(await file.path(), 'utf8');
    check(first.test(text) && file.suggestedFilename() === `broker-audit.${name === 'CSV' ? 'csv' : 'jsonl'}`, `${file.suggestedFilename()} begins ${text.slice(0, 100)}`);
  }
  await linked.goto('about:blank'); // a document of its own comes next, not another #
  await linked.goto(o.full); // a session of its own: the cookie is a new one, also of the other tabs
  await signedIn(linked, 'a second session');
  await p.reload();
  await signedIn(p, 'the first tab after a second session');
  await second.evaluate(() => fetch('/api/executions').then((r) => r.status)).then((status) => check(status === 403, `without the key: ${status}`));
  await fetch(o.control + '/run?client=told');
  for (const tab of [p, second, linked]) await tab.getByText('told').first().waitFor({ timeout: 10000 }).catch(() => check(false, 'news do not come to each tab'));
  const context = p.context();
  for (const tab of [second, linked]) await tab.close();
  await p.goto('about:blank');
  await p.close();
  const late = await context.newPage();
  await late.goto(origin + '/console/');
  await late.getByText('This browser is not signed in').waitFor({ timeout: 10000 }).catch(() => check(false, 'a cookie alone opens the console'));
  await context.close();
});
if (o.demo) { // The pictures of docs/console.md.
  const p = await page(o.demo, { width: 1000, height: 600, timezoneId: 'UTC', locale: 'en-GB', at: '2026-01-15T12:00:00Z' });
  for (const [name, at, pattern] of [['executions', 'executions', /statement timeout/], ['execution', 'x/e_01kf000z3v7q9m2c', /6 calls/], ['ledger', 'ledger', /stripe/], ['audit', 'audit', /list_issues/]]) {
    await shows(p, at, pattern, 'demo');
    if (name === 'execution') await p.locator('.call').last().click();
    await p.screenshot({ path: `${o.shots}/console-${name}.png` });
  }
}
console.log('seconds: ' + took.join(', '));
await browser.close();
process.exit(failed ? 1 : 0);
