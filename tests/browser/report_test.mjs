// The pages of real runs of the real program, in a real browser.
// Usage: node report_test.mjs HEELSTRIKE EXAMPLES NPM_FOLDER OUTPUT_FOLDER
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, drawnPixels, finish, openBrowser, openPage, readCsv } from './browser.mjs';

const [program, examples, npmFolder, output] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
fs.rmSync(output, { recursive: true, force: true });
fs.mkdirSync(output, { recursive: true });

function heelstrike(...parameters) {
  return execFileSync(program, parameters, { cwd: output, stdio: ['ignore', 'pipe', 'inherit'] });
}

function shown(value) {
  return String(Number(value.toPrecision(6)));
}

async function clean(page, name) {
  check(page.complaints.length === 0, `${name}: no complaints ${page.complaints.join(' | ')}`);
  check(page.requests.length === 0, `${name}: no requests ${page.requests.join(' ')}`);
}

/** The value in the legend is one of the CSV at the time in the legend, to the shown digits. */
async function cursorEqualsCsv(page, chart, curve, csv, column) {
  const plot = page.locator(`[id="${chart}"] .u-over`);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  let compared = 0;
  for (const fraction of [0.11, 0.37, 0.52, 0.71, 0.93]) {
    await page.mouse.move(box.x + box.width * fraction, box.y + box.height / 2);
    const { time, value } = await page.evaluate(([c, k]) => {
      const figure = document.getElementById(c);
      const entry = [...figure.querySelectorAll('.legend-entry')].find((e) => e.dataset.curve === k);
      return { time: Number(figure.querySelector('.cursor-position').dataset.time), value: entry.querySelector('.value').dataset.value };
    }, [chart, curve]);
    // An event has several rows at one time: any of them may be shown.
    const rows = csv.time_s.map((t, i) => [t, csv[column][i]]).filter(([t]) => t === time).map(([, v]) => v);
    const expected = rows.map((v) => (v === 0 ? '0' : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6 ? shown(v) : null));
    check(rows.length > 0, `${chart}: ${time} s is a time of the CSV`);
    if (expected.includes(null)) continue;
    check(expected.includes(value), `${chart} at ${time} s: shown ${value}, CSV ${expected.join(' or ')}`);
    ++compared;
  }
  check(compared >= 3, `${chart}: ${compared} values compared`);
}

async function testRun() {
  heelstrike('run', path.join(examples, 'bouncing_ball.yaml'), '--in-process', '--quiet', '-o', 'run');
  const page = await openPage(browser, path.join(output, 'run/report.html'));
  for (const id of ['chart-force-ball-ground', 'chart-energy-energy', 'chart-indentation-ball-ground', 'chart-loop-ball-ground']) {
    check(await drawnPixels(page, `[id="${id}"]`) > 2000, `${id}: something is drawn`);
  }
  const csv = readCsv(path.join(output, 'run/timeseries.csv'));
  await cursorEqualsCsv(page, 'chart-energy-energy', 'flores:energy.potential_J', csv, 'energy.potential_J');
  await cursorEqualsCsv(page, 'chart-gap-ball-ground', 'flores:ball-ground.gap_m', csv, 'ball-ground.gap_m');
  const zoomBefore = await drawnPixels(page, '[id="chart-force-ball-ground"]');
  await page.locator('tr[data-onset] button').first().click();
  check(await drawnPixels(page, '[id="chart-force-ball-ground"]') !== zoomBefore, 'the button of a contact zooms to it');
  await page.waitForTimeout(100);
  await page.screenshot({ path: path.join(output, 'run_zoomed.png') });
  await page.locator('[id="chart-force-ball-ground"] .plot').focus();
  await page.keyboard.press('0');
  await page.keyboard.press('ArrowRight');
  check((await page.locator('[id="chart-force-ball-ground"] .cursor-position').textContent()).startsWith('t = '), 'keys move the cursor');
  await page.screenshot({ path: path.join(output, 'run.png'), fullPage: true });
  await clean(page, 'run');
}

async function testComparison() {
  heelstrike('compare', path.join(examples, 'bouncing_ball.yaml'), '--in-process', '--quiet', '-o', 'comparison',
    '--backends', 'flores,hunt_crossley,lankarani_nikravesh,hertz', '--reference', 'flores');
  const file = path.join(output, 'comparison/report.html');
  check(fs.statSync(file).size < 6e6, `comparison: ${fs.statSync(file).size} bytes, below 6 MB`);
  const page = await openPage(browser, file);
  check(await drawnPixels(page, '#chart-scatter') > 500, 'scatter: something is drawn');
  const force = '[id="chart-force-ball-ground"]';
  const before = await drawnPixels(page, force);
  const entry = page.locator(`${force} .legend-entry[aria-pressed=true]`).first();
  await entry.click();
  await page.waitForTimeout(50);
  const after = await drawnPixels(page, force);
  check(after < before - 100, `a click in the legend hides a curve: ${before} pixels, then ${after}`);
  await page.locator(`${force} .legend-entry[aria-pressed=false]`).first().click();
  check(await page.locator('#comparison tbody tr').count() === 4, 'four rows in the comparison table');
  const csv = readCsv(path.join(output, 'comparison/hertz/timeseries.csv'));
  check(csv.time_s.length > 1000, 'the CSV is there');
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(output, 'comparison.png') });
  await page.screenshot({ path: path.join(output, 'comparison_full.png'), fullPage: true });
  await clean(page, 'comparison');
  const dark = await openPage(browser, file, { colorScheme: 'dark' });
  await dark.locator(force).scrollIntoViewIfNeeded();
  await dark.screenshot({ path: path.join(output, 'comparison_dark.png') });
  await clean(dark, 'dark');
  await dark.emulateMedia({ media: 'print' });
  await dark.pdf({ path: path.join(output, 'comparison.pdf'), format: 'A4' });
}

async function testHostileNames() {
  const name = '<script>document.title=1<!--';
  const text = fs.readFileSync(path.join(examples, 'bouncing_ball.yaml'), 'utf8')
    .replace(/^description:.*$/m, 'description: "</script><script>document.title=1</script><img src=x onerror=alert(1)>"')
    .replaceAll('ball-ground', '"<script>&amp;"').replace('end_time: 2.0', 'end_time: 0.6');
  const file = path.join(output, `${name}.yaml`);
  fs.writeFileSync(file, text);
  let refused = false;
  try {
    heelstrike('run', file, '--in-process', '--quiet', '-o', 'hostile');
  } catch {
    // Such a name of a pair is refused; the name of the scenario is not.
    refused = true;
    fs.writeFileSync(file, text.replaceAll('"<script>&amp;"', 'ball-ground'));
    heelstrike('run', file, '--in-process', '--quiet', '-o', 'hostile', '--force');
  }
  const page = await openPage(browser, path.join(output, 'hostile/report.html'));
  check((await page.title()).includes('<script>'), `the title is text: ${await page.title()}${refused ? ' (pair name refused)' : ''}`);
  check(await page.locator('img').count() === 0, 'no element came from a text');
  check(await page.locator('script').count() === 2, 'no script came from a text');
  await clean(page, 'hostile');
}

async function testMillionRows() {
  const folder = path.join(output, 'million');
  fs.cpSync(path.join(output, 'run'), folder, { recursive: true });
  const header = 'time_s,ball.z_m,ball-ground.gap_m,ball-ground.indentation_m,ball-ground.fx_N,ball-ground.fy_N,ball-ground.fz_N';
  const lines = [header];
  for (let i = 0; i < 1e6; ++i) {
    const spike = i === 765432 ? 12345.678 : Math.max(0, Math.sin(i / 900)) * 100 + (i % 7);
    lines.push(`${i * 1e-6},${Math.sin(i / 1000)},${Math.cos(i / 1000)},${Math.max(0, Math.sin(i / 900))},0,0,${spike}`);
  }
  fs.writeFileSync(path.join(folder, 'timeseries.csv'), lines.join('\n') + '\n');
  heelstrike('report', folder);
  const page = await openPage(browser, path.join(folder, 'report.html'));
  check(page.milliseconds < 3000, `a million rows open in ${page.milliseconds} ms, below 3000`);
  const size = fs.statSync(path.join(folder, 'report.html')).size;
  check(size < 6e6, `a million rows: ${size} bytes, below 6 MB`);
  const plot = page.locator('[id="chart-force-ball-ground"] .u-over');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  let largest = 0;
  for (let x = box.width * 0.764; x < box.width * 0.767; x += 0.2) {
    await page.mouse.move(box.x + x, box.y + 20);
    largest = Math.max(largest, Number(await page.locator('[id="chart-force-ball-ground"] .value').first().getAttribute('data-value')));
  }
  const inData = await page.evaluate(() => document.getElementById('report-data').textContent.length);
  check(inData > 0, 'data is there');
  console.log(`     largest value met near the spike: ${largest}`);
  await page.screenshot({ path: path.join(output, 'million.png') });
  await clean(page, 'million');
  fs.rmSync(path.join(folder, 'timeseries.csv'));
}

try {
  await testRun();
  await testComparison();
  await testHostileNames();
  await testMillionRows();
} finally {
  await browser.close();
}
finish();
