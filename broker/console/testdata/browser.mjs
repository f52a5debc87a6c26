// The browser's part of browser_test.go: it drives Chromium over the pages of two
// consoles and prints one line for each thing that is not as it should be.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
const o = JSON.parse(process.env.CONSOLE_TEST);
const require = createRequire(o.modules + '/');
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let failed = 0;
const check = (ok, what) => { if (!ok) { failed++; console.log('FAIL ' + what); } };
const browser = await chromium.launch({ executablePath: o.chromium, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });

// page opens a console and notes whatever goes to another place or goes wrong.
async function page(url, { scheme = 'light', width = 1280 } = {}) {
  const base = new URL(url).origin;
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 800 }, bypassCSP: false });
  const p = await context.newPage();
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

const screens = ['executions', 'x/' + o.execution, 'approvals', 'servers', 'servers/' + o.server, 'search?q=book', 'audit', 'ledger', 'skills', 'runner'];
// What each screen shows that has something, and that has nothing.
const full = { executions: /executions and more/, approvals: /decisions? waiting[^]*shelf__delete_book/, servers: /2 servers, 5 tools[^]*need a look/, 'search?q=book': /shelf__list_books/, audit: /calls? and more[^]*shelf.list_books/, ledger: /[1-9][0-9.]* MB[^]*shelf.list_books/, skills: /1 skill,[^]*notes/, runner: /Nothing has run yet/ };
const none = { executions: /No script has run yet/, approvals: /No call waits for a decision[^]*Nothing is known/, servers: /No server is configured/, 'search?q=book': /No tool has any of these words/, audit: /No tool has been called yet/, ledger: /Nothing was executed in this period/, skills: /No skill is installed[^]*No plugin/, runner: /Nothing has run yet/ };

async function shows(p, at, pattern, what) {
  await p.show(at);
  await p.waitForFunction(([source]) => new RegExp(source).test(document.querySelector('main')?.innerText ?? ''), [pattern.source], { timeout: 30000 }).catch(async () => check(false, `${what}: ${at} lacks ${pattern}: ${(await p.text()).slice(0, 300)}`));
}

// Accessibility, width, and secrets, on each screen in both schemes.
for (const [scheme, width] of [['light', 1280], ['dark', 1280], ['light', 375]]) {
  const context = await page(o.full, { scheme, width });
  for (const at of screens) {
    if (full[at]) await shows(context, at, full[at], scheme + ' ' + width);
    else await context.show(at);
    await context.locator('.call:visible, .cm-content:visible, .empty:visible, .card:visible, table:visible').first().waitFor();
    if (at.startsWith('x/')) {
      await context.locator('.call').first().click();
      await context.locator('.panel').waitFor();
    }
    const html = await context.evaluate(() => document.documentElement.outerHTML);
    check(!html.includes(o.secret), `a secret in the page of ${at}`);
    check(!(await context.locator('main img, main script, main iframe').count()), `an element that a server made in ${at}`);
    const wide = await context.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `${at} is ${wide} px wider than ${width}`);
    // The policy of the page lets no script in; axe comes by the debugger.
    if (width > 400) await context.evaluate(axeSource);
    const found = width < 400 ? { violations: [] } : await context.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
    for (const v of found.violations) check(false, `${at} ${scheme} ${width}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120) + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`);
    if (o.shots) await context.screenshot({ path: `${o.shots}/${at.split(/[/?]/).join('-').slice(0, 20)}-${scheme}-${width}.png` });
  }
  await context.context().close();
}

{ // The same screens with nothing to show.
  const p = await page(o.empty);
  for (const [at, pattern] of Object.entries(none)) await shows(p, at, pattern, 'empty');
  await p.context().close();
}

{ // How soon the first screen is there, with 10,000 executions, and a filter.
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
  console.log(`first paint ${paint.toFixed(0)} ms, filter ${filter.toFixed(0)} ms`);
  check(paint < o.slack * 300, `first paint took ${paint} ms`);
  check(filter < o.slack * 50, `a filter took ${filter} ms`);
  await p.context().close();
}

{ // News is shown at once; a stream that is cut resumes and shows what was missed.
  const p = await page(o.full);
  await p.show('executions');
  const first = () => p.locator('tbody tr').first().innerText();
  await p.locator('tbody tr').first().waitFor();
  const start = Date.now();
  await fetch(o.control + '/run?client=live-one');
  await p.getByText('live-one').waitFor({ timeout: 5000 }).catch(async () => check(false, 'news is not shown: ' + (await first())));
  console.log(`an execution is shown ${Date.now() - start} ms after it began`);
  p.expected = true; // Chromium reports the cut
  await fetch(o.control + '/cut?client=missed-one');
  await p.getByText('not connected').waitFor({ timeout: 5000 }).catch(() => check(false, 'a cut connection is not shown'));
  await fetch(o.control + '/back');
  await p.getByText('missed-one').waitFor({ timeout: 15000 }).catch(async () => check(false, 'what was missed is not shown: ' + (await first())));
  await p.context().close();
}

{ // By keyboard alone: a call is denied.
  const p = await page(o.full);
  await p.keyboard.press('g');
  await p.keyboard.press('p');
  await p.getByText('shelf__delete_book').first().waitFor();
  await p.keyboard.press('d');
  await p.getByText('Denied: shelf__delete_book').waitFor({ timeout: 5000 }).catch(async () => check(false, 'a call was not denied by keyboard: ' + (await p.text())));
  await p.context().close();
}

{ // The Runner runs what is written, and stops.
  const p = await page(o.full);
  await p.show('runner');
  await p.locator('.cm-content').click();
  // Typing over a selection, Chromium itself sets a style that the policy refuses, and reports it.
  p.expected = true;
  await p.keyboard.press('Control+A');
  await p.keyboard.type('return 6 * 7');
  await p.keyboard.press('Control+Enter');
  await p.getByRole('region', { name: 'Result' }).getByText('42').waitFor({ timeout: 10000 }).catch(async () => check(false, 'the Runner has no result: ' + (await p.text())));
  await p.locator('.cm-content').click();
  await p.keyboard.press('Control+A');
  await p.keyboard.type("return await shelf.deleteBook({ title: 'Emma' })");
  await p.getByRole('button', { name: 'Plan' }).click();
  await p.getByText('It waits for a decision').waitFor({ timeout: 10000 }).catch(async () => check(false, 'the Runner has no plan: ' + (await p.text())));
  await p.context().close();
}

{ // A wrong token is a sentence.
  const context = await browser.newContext();
  const p = await context.newPage();
  await p.goto(new URL(o.full).origin + '/console/#token=WRONG');
  await p.getByText('This browser is not signed in').waitFor({ timeout: 5000 }).catch(() => check(false, 'a wrong token is not said'));
  await context.close();
}
await browser.close();
if (o.shots) writeFileSync(o.shots + '/done', '');
process.exit(failed ? 1 : 0);
