// The browser's part of TestPeopleSignInToTheConsole: Chromium signs in to the console,
// also from a page of another site, and out.
import { createRequire } from 'node:module';
const o = JSON.parse(process.env.SIGN_IN);
const { chromium } = createRequire(o.modules + '/')('playwright-core');

const browser = await chromium.launch({ executablePath: o.chromium, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const context = await browser.newContext();
context.setDefaultTimeout(30_000);
await context.addCookies([{ name: 'person', value: 'ann', url: o.issuer }, { name: 'groups', value: 'platform', url: o.issuer }]);
const page = await context.newPage();
page.on('pageerror', (e) => { throw e; });
const isIn = async (what) => {
  await page.getByRole('navigation', { name: 'Screens' }).getByText('ann').waitFor();
  await page.locator('tbody tr').first().waitFor(); // what only a session shows
  console.log(what, page.url());
};
await page.goto(o.base + '/console/');
await page.getByRole('link', { name: 'Sign in' }).click();
await isIn('signed in');
const [cookie] = (await context.cookies(o.base)).filter((c) => c.name === 'broker-console');
if (!cookie.httpOnly || cookie.sameSite !== 'Strict') throw new Error(JSON.stringify(cookie));
await page.getByRole('button', { name: 'Sign out' }).click();
await page.getByRole('heading', { name: 'This browser is not signed in' }).waitFor();
// A link of another site, first to sign in and then to the console.
for (const at of ['sign-in', '']) {
  await page.goto(o.issuer + '/.well-known/openid-configuration');
  await page.evaluate((to) => { location.href = to; }, o.base + '/console/' + at);
  await isIn('from another site');
}
await browser.close();
