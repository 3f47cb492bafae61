// Browser for the page tests: Debian's Chromium, driven by playwright-core. All network requests and console messages
// of a page are collected.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Ends the test as "skipped" (ctest: SKIP_RETURN_CODE 77). */
export function skip(why) {
  console.log(`SKIPPED: ${why}`);
  process.exit(77);
}

function chromiumPath() {
  // The variable takes precedence, also with the value "none".
  const named = process.env.HEELSTRIKE_CHROMIUM;
  const candidates = named ? [named] : ['/usr/lib/chromium/chromium', '/usr/bin/chromium'];
  return candidates.find((file) => fs.existsSync(file));
}

export async function openBrowser(npmFolder) {
  const program = chromiumPath();
  if (!program) skip('chromium is not installed; scripts/setup installs it');
  const folder = path.resolve(npmFolder);
  const core = path.join(folder, 'node_modules', 'playwright-core');
  if (!fs.existsSync(core)) skip(`playwright-core is not in ${npmFolder}; build with npm (scripts/setup)`);
  const { chromium } = createRequire(path.join(folder, 'package.json'))('playwright-core');
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu', '--use-gl=swiftshader', '--enable-unsafe-swiftshader'] });
}

/** [ms] Ends a test that hangs; a busy machine needs a small part of it. */
export const hangLimit = 300000;

/** Opens a file in a page of 1280 x 800. `page.complaints` and `page.requests` fill as it goes. */
export async function openPage(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(hangLimit);
  // A printed page receives no resize events; window.sizesAreSilent has the same effect in a window.
  await page.addInitScript(() => {
    window.ResizeObserver = class extends window.ResizeObserver {
      constructor(callback) { super((...news) => { if (!window.sizesAreSilent) callback(...news); }); }
    };
  });
  page.complaints = [];
  page.requests = [];
  // Browser warnings about this test reading pictures back, not about the page.
  const ofScreenshots = (text) => text.includes('GPU stall due to ReadPixels') || text.includes('Multiple readback operations');
  page.on('console', (message) => { if (!ofScreenshots(message.text()) && ['error', 'warning'].includes(message.type())) page.complaints.push(message.text()); });
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith('data:') && !url.startsWith('blob:') && url !== pathToFileURL(file).href) page.requests.push(url);
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('html[data-ready=true]');
  return page;
}

/** Number of pixels of the first canvas below `selector` that differ from its most frequent colour. */
export function drawnPixels(page, selector) {
  return page.evaluate((wanted) => {
    const canvas = document.querySelector(`${wanted} canvas`);
    const context = canvas.getContext('2d');
    const words = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return words.length - Math.max(...counts.values());
  }, selector);
}

/** timeseries.csv as {column: [numbers]}, NaN where there is nothing. */
export function readCsv(file) {
  const [header, ...lines] = fs.readFileSync(file, 'utf8').trim().split('\n');
  const names = header.split(',');
  const columns = Object.fromEntries(names.map((name) => [name, []]));
  for (const line of lines) line.split(',').forEach((cell, c) => columns[names[c]].push(cell === '' ? NaN : Number(cell)));
  return columns;
}

let failures = 0;
export function check(condition, what) {
  console.log(`${condition ? 'ok  ' : 'FAIL'} ${what}`);
  if (!condition) ++failures;
}
export function finish() {
  if (failures > 0) console.log(`${failures} checks failed`);
  process.exit(failures > 0 ? 1 : 0);
}

/** Waits for the view of the bodies, where the page has one. */
export async function untilDrawn(page) {
  if (await page.locator('#field-view').count() > 0) await page.waitForSelector('html[data-fields=true]');
}
