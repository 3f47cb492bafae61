// The live page: runs on real servers are watched, a run is stopped from the page, and a run continues after its page
// is closed.
// Usage: node live_test.mjs BIN_FOLDER EXAMPLES NPM_FOLDER OUTPUT_FOLDER
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { check, drawnPixels, finish, hangLimit, openBrowser } from './browser.mjs';

const [bin, examples, npmFolder, output] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
fs.rmSync(output, { recursive: true, force: true });
fs.mkdirSync(output, { recursive: true });
// Socket paths have a short maximum length.
const sockets = fs.mkdtempSync(path.join(os.tmpdir(), 'heelstrike-live-'));
const programs = [];

class Program {
  constructor(name, parameters) {
    this.text = '';
    this.child = spawn(path.join(bin, name), parameters, { cwd: output, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout.on('data', (data) => { this.text += data; });
    this.child.stderr.on('data', (data) => { this.text += data; });
    this.ended = new Promise((resolve) => { this.child.on('exit', (code, signal) => { this.code = code ?? signal; resolve(this.code); }); });
    programs.push(this);
  }

  async says(pattern, limit = hangLimit) {
    const end = Date.now() + limit;
    while (!pattern.test(this.text)) {
      if (Date.now() > end || this.code !== undefined) throw new Error(`expected ${pattern} from ${this.child.spawnfile}, found: ${this.text}`);
      await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
    return pattern.exec(this.text);
  }
}

function entries(pid, folder) {
  return fs.readdirSync(`/proc/${pid}/${folder}`).length;
}

async function openLive(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(hangLimit);
  page.complaints = [];
  page.foreign = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) page.complaints.push(message.text()); });
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  page.on('request', (request) => { if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith('data:')) page.foreign.push(request.url()); });
  await page.goto(url);
  await page.waitForSelector('html[data-ready=true]');
  return page;
}

const rowsOf = (page, run) => page.locator(`section[data-run="${run}"]`).getAttribute('data-rows').then(Number);

async function startServers() {
  const fem = `unix:${sockets}/fem.sock`, mbs = `unix:${sockets}/mbs.sock`;
  const femServer = new Program('fem_server', ['--listen', fem]);
  await femServer.says(/event=listening/);
  const mbsServer = new Program('mbs_server', ['--listen', mbs, '--fem', fem, '--spool', `${sockets}/spool`]);
  await mbsServer.says(/event=listening/);
  return { mbs, mbsServer };
}

function startRun(mbs, folder, scenario, ...settings) {
  const parameters = ['run', path.join(examples, scenario), '--mbs', mbs, '--quiet', '-o', folder];
  for (const setting of settings) parameters.push('--set', setting);
  return new Program('heelstrike', parameters);
}

async function testWatching(mbs) {
  // Long enough to be stopped on any machine: hours of simulated time with thousands of bounces.
  const ball = startRun(mbs, 'ball', 'bouncing_ball.yaml', 'analysis.end_time=20000', 'analysis.budget.rows=1000000000', 'contact.restitution=0.99');
  const watch = new Program('heelstrike', ['watch', mbs, '--web', '--allow-stop']);
  const [, url] = await watch.says(/at (http:\S+)/);
  check(/^http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{32}$/.test(url), `the page is on the loopback interface, with a token: ${url}`);
  const page = await openLive(url);
  await page.waitForSelector('tr[data-state=running]');
  const run = await page.locator('tr[data-state=running]').getAttribute('data-run');
  const chart = `[id="live-${run}-force-ball-ground"]`;
  await page.waitForSelector(`${chart} canvas`);
  const before = await rowsOf(page, run);
  await page.waitForFunction(([id, n]) => Number(document.querySelector(`section[data-run="${id}"]`).dataset.rows) > n, [run, before]);
  check(true, `the curves grow: ${before} rows, then ${await rowsOf(page, run)}`);
  check(await drawnPixels(page, chart) > 500, 'the force is drawn');

  // The same view in the terminal, from the server and from the folder written by its client.
  for (const what of [mbs, 'ball']) {
    const terminal = new Program('heelstrike', ['watch', what, '--once']);
    check(await terminal.ended === 0, `watch --once of ${what === mbs ? 'a server' : 'a folder'} ends`);
    check(/t = [0-9.e-]+ of 20000 s, \d+ %/.test(terminal.text) && /fz_N +[▁▂▃▄▅▆▇█]+ /.test(terminal.text), `and shows progress and force: ${terminal.text.split('\n')[0]}`);
  }

  // A second page views another run and is closed during it; then many visits follow.
  const other = await openLive(url.split('#')[0]);
  await other.waitForSelector('tr[data-state=running]');
  check(await other.locator('button.stop').count() === 0, 'without the token there is no button to stop');
  await other.context().close();
  const now = await rowsOf(page, run);
  await page.waitForFunction(([id, n]) => Number(document.querySelector(`section[data-run="${id}"]`).dataset.rows) > n, [run, now]);
  check(ball.code === undefined, 'a page that is closed does not disturb the run');
  await page.screenshot({ path: path.join(output, 'live.png') });

  const again = startRun(mbs, 'second', 'bouncing_ball.yaml', 'analysis.end_time=20000', 'analysis.budget.rows=1000000000', 'contact.restitution=0.98');
  await page.waitForFunction(() => document.querySelectorAll('tr[data-state=running]').length === 2);
  check(true, 'two runs at once');
  await page.waitForFunction(() => document.querySelectorAll('section.run .chart canvas').length >= 4);
  await page.locator(`tr[data-run="${run}"] button.stop`).click();
  await page.waitForFunction((id) => document.querySelector(`section[data-run="${id}"]`)?.dataset.state === 'cancelled', run);
  const code = await ball.ended;
  check(/cancelled/.test(fs.readFileSync(path.join(output, 'ball/summary.json'), 'utf8')), `the run was cancelled from the page and its client ended with ${code}`);
  check(again.code === undefined, 'the other run goes on');
  await page.screenshot({ path: path.join(output, 'live_two.png'), fullPage: true });
  return { page, watch, url, again };
}

async function testReconnects({ watch, url }) {
  const base = url.split('#')[0];
  const visit = async () => { const response = await fetch(`${base}api/runs`); return (await response.json()).runs.map((r) => r.id); };
  const [id] = await visit();
  await (await fetch(`${base}api/runs/${id}`)).arrayBuffer();
  const threads = entries(watch.child.pid, 'task');
  for (let k = 0; k < 100; ++k) {
    const context = await fetch(`${base}api/runs/${id}`, { headers: { connection: 'close' } });
    await context.arrayBuffer();
  }
  const end = Date.now() + hangLimit;
  while (entries(watch.child.pid, 'task') > threads && Date.now() < end) await new Promise((resolve) => { setTimeout(resolve, 50); });
  check(entries(watch.child.pid, 'task') <= threads, `100 reconnects: ${threads} threads, then ${entries(watch.child.pid, 'task')}`);
  check(entries(watch.child.pid, 'fd') < 60, `100 reconnects: ${entries(watch.child.pid, 'fd')} open files`);
}

async function testPressureMap(mbs, { page }) {
  // Long enough for a page that polls twice a second, even with mesh and compliance from the cache.
  const press = startRun(mbs, 'press', 'foot_press.yaml', 'contact.sole-plate.element_size=0.01', 'output.interval=0.002', 'output.fields.interval=0.02');
  await page.waitForSelector('section.run .pressure-map').catch(async (error) => {
    const runs = await page.locator('tr[data-run]').allTextContents();
    throw new Error(`no pressure map; the run's exit code is ${press.code}, it says "${press.text}", the page lists ${runs.join(' | ')}: ${error.message}`);
  });
  await page.waitForFunction(() => document.querySelectorAll('section.run .pressure-map').length >= 2);
  await page.locator('.pressure-map').first().scrollIntoViewIfNeeded();
  const heading = () => page.locator('figure:has(.pressure-map) figcaption').first().textContent();
  const first = await heading();
  if (press.code === undefined) await page.waitForFunction((text) => document.querySelector('figure:has(.pressure-map) figcaption').textContent !== text, first).catch(() => {});
  await press.ended;
  const { wall_time_s: whole, wall_times: parts, rpc } = JSON.parse(fs.readFileSync(path.join(output, 'press/timing.json'), 'utf8'));
  check(parts.transport_s > 0 && parts.contact_s > 0 && parts.preparation_s > 0 && parts.fields_s > 0, `between two servers every part took time: ${JSON.stringify(parts)}`);
  check(Object.values(parts).reduce((a, b) => a + b) <= whole, `the parts are not more than the whole of ${whole} s`);
  check(Math.abs(rpc.round_trip_time_s - rpc.server_time_s - parts.transport_s) < 1e-9, 'transport is what the exchanges took beyond serving');
  await page.waitForFunction(() => [...document.querySelectorAll('section.run')].some((s) => s.querySelector('.pressure-map') && s.dataset.state === 'completed'));
  // The state of a run is shown before its pressure map is drawn.
  await page.waitForFunction(() => /t = 1 s/.test(document.querySelector('figure:has(.pressure-map) figcaption').textContent)).catch(() => {});
  check(/t = 1 s/.test(await heading()), `the pressure map grew: "${first}", then "${await heading()}"`);
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(output, 'live_pressure.png') });
}

try {
  const { mbs } = await startServers();
  const session = await testWatching(mbs);
  await testReconnects(session);
  await testPressureMap(mbs, session);
  session.again.child.kill('SIGINT');
  await session.again.ended;
  check(session.page.complaints.length === 0, `no complaints ${session.page.complaints.join(' | ')}`);
  check(session.page.foreign.length === 0, `no foreign requests ${session.page.foreign.join(' ')}`);
  session.watch.child.kill('SIGINT');
  check(await session.watch.ended === 0, 'Ctrl-C ends the page');
} finally {
  await browser.close();
  for (const program of programs) program.child.kill('SIGTERM');
  await Promise.all(programs.map((program) => program.ended));
  fs.rmSync(sockets, { recursive: true, force: true });
}
finish();
