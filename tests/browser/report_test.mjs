// Report pages of runs of the installed program in a real browser.
// Usage: node report_test.mjs HEELSTRIKE EXAMPLES NPM_FOLDER OUTPUT_FOLDER
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { check, drawnPixels, finish, openBrowser, openPage, readCsv } from './browser.mjs';

const [program, examples, npmFolder, output] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
fs.rmSync(output, { recursive: true, force: true });
fs.mkdirSync(output, { recursive: true });

function heelstrike(...parameters) {
  return execFileSync(program, parameters, { cwd: output, stdio: ['ignore', 'pipe', 'inherit'] });
}

/** As in the pages: four digits in a unit of the field. */
const factors = { MPa: 1e-6, kPa: 1e-3, mm: 1e3, 'cm²': 1e4, 'mm²': 1e6, ms: 1e3, mJ: 1e3, 'mm/s': 1e3 };
function shown(value) {
  return String(Number(value.toPrecision(4)));
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
    const { time, value, unit } = await page.evaluate(([c, k]) => {
      const figure = document.getElementById(c);
      const entry = [...figure.querySelectorAll('.legend-entry')].find((e) => e.dataset.curve === k);
      const place = entry.querySelector('.value');
      return { time: Number(figure.querySelector('.cursor-position').dataset.time), value: place.dataset.value, unit: place.textContent.split(' ').slice(1).join(' ') };
    }, [chart, curve]);
    // An event has several rows at one time; any of them may be shown.
    const rows = csv.time_s.map((t, i) => [t, csv[column][i]]).filter(([t]) => t === time).map(([, v]) => v * (factors[unit] ?? 1));
    const expected = rows.map((v) => (v === 0 ? '0' : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6 ? shown(v) : null));
    check(rows.length > 0, `${chart}: ${time} s is a time of the CSV`);
    if (expected.includes(null)) continue;
    check(expected.includes(value), `${chart} at ${time} s: shown ${value}, CSV ${expected.join(' or ')} ${unit}`);
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
  await testContactZoom(page);
  await testUnits(page);
  const csv = readCsv(path.join(output, 'run/timeseries.csv'));
  await cursorEqualsCsv(page, 'chart-energy-energy', 'flores:energy.potential_J', csv, 'energy.potential_J');
  await cursorEqualsCsv(page, 'chart-gap-ball-ground', 'flores:ball-ground.gap_m', csv, 'ball-ground.gap_m');
  const cop = csv['ball-ground.copx_m'];
  check(cop.some(Number.isNaN) && cop.some(Number.isFinite), 'a centre of pressure in contact only');
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

/** Units of the field, the same in charts and tables; a list of contents; what the author says of the scenario. */
async function testUnits(page) {
  const headings = await page.locator('#contacts th').allTextContents();
  check(headings.includes('peak indentation [mm]') && headings.includes('peak force [N]'), `units of the table of contacts: ${headings}`);
  const units = await page.evaluate(async () => {
    const unit = {};
    for (const id of ['peak_pressure', 'mean_pressure', 'area', 'indentation']) {
      const figure = document.getElementById(`chart-${id}-ball-ground`);
      figure.querySelector('.plot').focus();
      figure.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
      await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
      unit[id] = figure.querySelector('.legend-entry .value').textContent.split(' ')[1];
    }
    return unit;
  });
  check(JSON.stringify(units) === '{"peak_pressure":"MPa","mean_pressure":"MPa","area":"cm²","indentation":"mm"}', `units of the charts: ${JSON.stringify(units)}`);
  const cells = (await page.locator('#contacts td.number').allTextContents()).filter((text) => text !== '-');
  check(cells.every((text) => text.replace(/[-.]|^0\.0*/g, '').length <= 6 && !text.includes('e')), `few digits: ${cells.join(' ')}`);
  const links = await page.locator('nav.contents a').evaluateAll((all) => all.map((a) => document.querySelector(a.getAttribute('href')) !== null));
  check(links.length >= 6 && links.every(Boolean), `${links.length} entries of the contents lead to a section`);
  check(/\w/.test(await page.locator('.description').textContent()), `the description of the scenario: ${await page.locator('.description').textContent()}`);
}

const shownTimes = (page) => page.evaluate(() => window.heelstrikeTimes);

/** Charts open with a contact, one walks from contact to contact, and the whole run is a click away. */
async function testContactZoom(page) {
  const contacts = await page.locator('tr[data-onset]').evaluateAll((rows) => rows.map((row) => [Number(row.dataset.onset), Number(row.dataset.end)]));
  const [from, to] = await shownTimes(page);
  const [onset, end] = contacts[0];
  check(from < onset && to > end && to - from < 3 * (end - onset), `the page opens with the first and hardest contact, ${onset} to ${end} s: ${from} to ${to} s`);
  await page.locator('.zoom-bar button[aria-label="Next contact"]').click();
  const [second] = await shownTimes(page);
  check(second > end && second < contacts[1][0], `then the next one: from ${second} s`);
  await page.locator('.zoom-bar .whole').click();
  check(JSON.stringify(await shownTimes(page)) === '[0,2]', `and back to the whole run: ${await shownTimes(page)}`);
  check(await page.locator('.zoom-bar .whole').getAttribute('aria-pressed') === 'true', 'the button says so');
}

/** The ball and the ground as shapes; slider and charts share their time. */
async function testScene() {
  const page = await openPage(browser, path.join(output, 'run/report.html'));
  await page.waitForSelector('html[data-fields=true]');
  const [from, to] = await shownTimes(page);
  const opened = Number(await page.locator('.field-canvas canvas').getAttribute('data-time'));
  check(opened > from && opened < to, `the 3D view opens within the contact: ${opened} s`);
  const first = await page.locator('.field-canvas').screenshot();
  check(first.length > 8000, `the ball is drawn (${first.length} bytes of picture)`);
  const force = await page.locator('.view-marks text.force').allTextContents();
  check(force.length === 1 && Number.parseFloat(force[0]) > 1e4, `the contact force is an arrow with its value, also where columns are thinned: ${force}`);
  await setSlider(page, 0);
  const at = Number(await page.locator('[id="chart-force-ball-ground"] .cursor-position').getAttribute('data-time'));
  // The nearest row is shown; out of contact there is one row per millisecond.
  check(Math.abs(at - from) <= 1e-3, `the slider moves the cursor of the charts: ${from} s, ${at} s`);
  const plot = page.locator('[id="chart-force-ball-ground"] .u-over');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + 0.7 * box.width, box.y + 0.5 * box.height);
  const read = Number(await page.locator('[id="chart-force-ball-ground"] .cursor-position').getAttribute('data-time'));
  await page.waitForFunction((t) => Number(document.querySelector('.field-canvas canvas').dataset.time) === t, read);
  check(true, `the cursor of a chart moves the bodies: ${read} s`);
  await clean(page, 'scene');
}

/** Mechanisms without contact: bodies that move, no word of contacts. */
async function testMechanism(name, scenario, chart) {
  heelstrike('run', path.join(examples, scenario), '--in-process', '--quiet', '-o', name);
  const page = await openPage(browser, path.join(output, name, 'report.html'));
  await page.waitForSelector('html[data-fields=true]');
  const title = await page.locator('h1').textContent();
  const text = await page.locator('main').textContent();
  check(!/none/.test(title) && !/No contact/.test(text) && await page.locator('#contacts, #loops').count() === 0, `${name}: nothing is said of contacts: "${title}"`);
  check(await drawnPixels(page, `[id="${chart}"]`) > 500, `${name}: ${chart} is drawn`);
  const view = page.locator('.field-canvas');
  const first = await view.screenshot();
  check(first.length > 6000, `${name}: its bodies are drawn (${first.length} bytes of picture)`);
  await setSlider(page, 57);
  check(Buffer.compare(first, await view.screenshot()) !== 0, `${name}: they move`);
  await page.screenshot({ path: path.join(output, `${name}.png`) });
  await clean(page, name);
}

/** A ligament over a condyle: it is drawn round it, and its force over the angle of the joint. */
async function testLigament() {
  const file = path.join(output, 'band.yaml');
  fs.writeFileSync(file, `heelstrike: 1
gravity: [0, -9.81, 0]
bodies:
  shank: {mass: 3.0, inertia: [0.03, 0.004, 0.03], position: [0, -0.2, 0]}
joints:
  knee: {type: revolute, bodies: [ground, shank], points: [[0, 0, 0], [0, 0.2, 0]], axes: [[0, 0, 1], [0, 0, 1]]}
forces:
  band:
    type: ligament
    stiffness: 2000
    transition_strain: 0.06
    surfaces:
      condyle: {body: ground, sphere: 0.02, position: [0, 0, 0]}
    lines:
      front: {reference_strain: 0.05, path: [{body: ground, point: [0.015, 0.06, 0], wrap: [condyle]}, {body: shank, point: [0.015, 0.13, 0]}]}
analysis: {end_time: 0.3}
output: {interval: 0.005}
`);
  heelstrike('run', file, '--in-process', '--quiet', '-o', 'band');
  const page = await openPage(browser, path.join(output, 'band/report.html'));
  await page.waitForSelector('html[data-fields=true]');
  check(await drawnPixels(page, '[id="chart-turn-tension-shank in ground"]') > 300, 'ligament: its force is drawn over the angle of the joint');
  const levels = await page.evaluate(() => {
    const { count, unpacked: { times, points } } = window.heelstrikeReport.scenes[0].scene.lines.parts[0].way;
    return [...times].map((_, frame) => Math.hypot(...points.slice(3 * (frame * count + count / 2), 3 * (frame * count + count / 2) + 3)) / 0.02);
  });
  check(levels.length > 20 && levels.every((level) => level > 0.999) && levels.some((level) => Math.abs(level - 1) < 1e-6), `ligament: it goes round its condyle (${Math.min(...levels)} of its radius)`);
  const view = page.locator('.field-canvas');
  const first = await view.screenshot();
  await setSlider(page, 57);
  check(Buffer.compare(first, await view.screenshot()) !== 0, 'ligament: it moves');
  await page.screenshot({ path: path.join(output, 'band.png'), fullPage: true });
  await clean(page, 'band');
}

/** A ring of n by m cells as a binary STL file, in millimetres, twice as many triangles as a page shows. */
function ringStl(n, m, radius, thickness) {
  const point = (i, k) => {
    const [a, b] = [(2 * Math.PI * i) / n, (2 * Math.PI * k) / m];
    const r = radius + thickness * Math.cos(b);
    return [r * Math.cos(a), r * Math.sin(a), thickness * Math.sin(b)];
  };
  const bytes = Buffer.alloc(84 + 50 * 2 * n * m);
  bytes.writeUInt32LE(2 * n * m, 80);
  let at = 84;
  const triangle = (...corners) => {
    corners.flat().forEach((x, c) => bytes.writeFloatLE(x, at + 12 + 4 * c));
    at += 50;
  };
  for (let i = 0; i < n; ++i) {
    for (let k = 0; k < m; ++k) {
      const [i2, k2] = [(i + 1) % n, (k + 1) % m];
      triangle(point(i, k), point(i2, k), point(i2, k2));
      triangle(point(i, k), point(i2, k2), point(i, k2));
    }
  }
  return bytes;
}

/** Share of the picture in the blue of the first body. */
function bodyShare(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector('.field-canvas canvas');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 2] > data[i] + 40) ++coloured;
    return coloured / (data.length / 4);
  });
}

/** A body with a mesh and no fields is drawn as what it is, thinned, and moves. */
async function testMesh() {
  fs.writeFileSync(path.join(output, 'ring.stl'), ringStl(300, 100, 50, 12));
  fs.writeFileSync(path.join(output, 'ring.yaml'), `heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ring: {mass: 0.2, inertia: [1e-4, 1e-4, 2e-4], position: [0, 0, 0.08], orientation: [0.9659258, 0.258819, 0, 0]}
contact:
  ring-ground:
    main:
      body: ring
      surface: {mesh: {file: ring.stl, length_scale: 0.001}}
      material: {youngs_modulus: 1e6, poissons_ratio: 0.4}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: elastic_foundation
    parameters: {thickness: 0.005}
analysis: {end_time: 0.1}
output: {interval: 0.002}
`);
  heelstrike('run', 'ring.yaml', '--in-process', '--quiet', '-o', 'ring');
  const file = path.join(output, 'ring/report.html');
  check(fs.statSync(file).size < 6e6, `ring: ${fs.statSync(file).size} bytes, below 6 MB`);
  check(fs.statSync(path.join(output, 'ring/shapes.json')).size < 4e5, `ring: ${fs.statSync(path.join(output, 'ring/shapes.json')).size} bytes of meshes, below 0.4 MB`);
  const page = await openPage(browser, file);
  await page.waitForSelector('html[data-fields=true]');
  const note = await page.locator('#fields').textContent();
  const [, drawn] = /ring\.stl \((\d+) of 60000\)/.exec(note) ?? [];
  check(!/false|undefined|NaN/.test(note), 'ring: nothing is said that nobody wrote');
  check(Number(drawn) > 15000 && Number(drawn) <= 30000, `ring: the page says that it is thinned: ${drawn} of 60000 triangles`);
  const view = page.locator('.field-canvas');
  await view.scrollIntoViewIfNeeded();
  await setSlider(page, 0);
  const first = await view.screenshot();
  const share = await bodyShare(page);
  // A ring fills a fifth of the height or more; sticks and points take less than a hundredth.
  check(share > 0.03 && share < 0.5, `ring: drawn as a ring, ${(100 * share).toFixed(1)} % of the picture`);
  await setSlider(page, 400);
  check(Buffer.compare(first, await view.screenshot()) !== 0, 'ring: it moves with its body');
  check(Math.abs(await bodyShare(page) - share) < 0.5 * share, 'ring: and is still in the picture');
  await page.screenshot({ path: path.join(output, 'ring.png') });
  await clean(page, 'ring');
  // A run of an earlier version has no meshes.
  fs.rmSync(path.join(output, 'ring/shapes.json'));
  heelstrike('report', 'ring');
  const old = await openPage(browser, file);
  await old.waitForSelector('html[data-fields=true]');
  check(await bodyShare(old) < 0.25 * share, 'ring: without its mesh it is a point');
  await clean(old, 'ring without mesh');
}

/** A body without any surface is marked at its centre of mass, also among bodies with meshes. */
async function testBodyWithoutSurface() {
  const ring = fs.readFileSync(path.join(output, 'ring.yaml'), 'utf8');
  fs.writeFileSync(path.join(output, 'payload.yaml'), ring.replace('contact:', '  payload: {mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.3, 0, 0.2]}\ncontact:'));
  heelstrike('run', 'payload.yaml', '--in-process', '--quiet', '-o', 'payload', '--set', 'analysis.end_time=0.01');
  const page = await openView('payload');
  const drawn = await page.evaluate(() => {
    const { frames } = document.querySelector('.field-canvas canvas').stage.scenes[0].rigid;
    return frames.find(({ body }) => body.name === 'payload').frame.children.filter(({ visible }) => visible).length;
  });
  check(drawn === 1, `payload: a body without surface has ${drawn} marks`);
  await page.screenshot({ path: path.join(output, 'payload.png') });
  await clean(page, 'payload');
}

async function setSlider(page, value) {
  await page.evaluate((v) => {
    const slider = document.querySelector('.field-time input');
    slider.value = v;
    slider.dispatchEvent(new Event('input'));
  }, value);
}

/** Sections with a table wider than its place. */
function cutTables(page) {
  return page.evaluate(() => [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.closest('section')?.id));
}

/** A common screen: no table is cut. */
async function testWide(name) {
  const page = await openPage(browser, path.join(output, name, 'report.html'), { viewport: { width: 1400, height: 900 } });
  const cut = await cutTables(page);
  check(cut.length === 0, `${name} at 1400 px: tables that are cut: ${cut.join(', ')}`);
}

/** A telephone: nothing is wider than the page, no buttons lie over a heading. */
async function testNarrow(name) {
  const page = await openPage(browser, path.join(output, name, 'report.html'), { viewport: { width: 390, height: 844 } });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(wide <= 0, `${name} at 390 px: ${wide} pixels wider than the page`);
  const cut = await cutTables(page);
  check(cut.length === 0, `${name} at 390 px: tables that are cut: ${cut.join(', ')}`);
  const covered = await page.evaluate(() => [...document.querySelectorAll('figure.chart')].filter((figure) => {
    const text = document.createRange();
    text.selectNodeContents(figure.querySelector('figcaption'));
    return [...figure.querySelectorAll('.tools > *')].some((tool) => {
      const b = tool.getBoundingClientRect();
      return [...text.getClientRects()].some((a) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom);
    });
  }).map((figure) => figure.id));
  check(covered.length === 0, `${name} at 390 px: headings under buttons: ${covered.join(', ')}`);
  await page.screenshot({ path: path.join(output, `${name}_390.png`), fullPage: true });
  await clean(page, `${name}, 390 px`);
}

/** Texts that a chart of a sweep draws for a result. */
async function textsOfSweep(page, result) {
  await page.evaluate(() => {
    window.drawnTexts = [];
    window.plainText ??= CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function draw(text, ...place) { window.drawnTexts.push(text); window.plainText.call(this, text, ...place); };
  });
  await page.selectOption('#result-choice', result);
  // Some time after the event; then the whole chart at once.
  await page.waitForFunction(() => window.drawnTexts.length > 0);
  const texts = await page.evaluate(() => window.drawnTexts);
  await page.evaluate(() => { CanvasRenderingContext2D.prototype.fillText = window.plainText; });
  return texts;
}

/** The axis has the computed values and nothing between them; its numbers have no digits in excess. */
async function testTicksOfSweep(page) {
  await textsOfSweep(page, 'max_indentation_m');
  const texts = await textsOfSweep(page, 'max_force_N');
  const below = texts.slice(texts.lastIndexOf('contact.restitution') + 1, texts.lastIndexOf('peak force [N]'));
  check(below.join() === '0.4,0.6,0.8', `sweep: labels at the values of the parameter: ${below}`);
  const left = texts.slice(texts.lastIndexOf('peak force [N]') + 1);
  check(left.length > 2 && left.every((text) => /00$/.test(text)), `sweep: round labels of the result: ${left}`);
}

/** Result against parameter, one curve for each value of the other one; the runs in 3D. */
async function testSweep() {
  heelstrike('sweep', path.join(examples, 'bouncing_ball.yaml'), '--quiet', '-o', 'sweep', '--vary', 'contact.restitution=0.4:0.8:0.2',
    '--vary', 'contact.stiffness=1e8,2e8', '--set', 'analysis.end_time=0.5');
  const page = await openPage(browser, path.join(output, 'sweep/report.html'));
  check(await drawnPixels(page, '#chart-sweep') > 500, 'sweep: the result is drawn over the parameter');
  check(await page.locator('#chart-sweep .legend-entry').count() === 2, 'sweep: a curve for each stiffness');
  await testTicksOfSweep(page);
  await page.selectOption('#parameter-choice', 'contact.stiffness');
  check(await page.locator('#chart-sweep .legend-entry').count() === 3, 'sweep: over the stiffness a curve for each restitution');
  const results = await page.locator('#result-choice option').allTextContents();
  check(results.includes('peak pressure') && results.includes('peak contact area'), `sweep: pressure and area can be chosen: ${results}`);
  const heads = await page.locator('#comparison th').allTextContents();
  check(heads.includes('peak pressure [MPa]') && heads.includes('peak contact area [cm²]'), `sweep: and are in the table: ${heads}`);
  check(heads.includes('contact.stiffness [N/m^n]') && heads.includes('contact.restitution'), `sweep: the varied keys are columns with their units: ${heads}`);
  const file = readCsv(path.join(output, 'sweep/comparison.csv'));
  check(file.peak_pressure_Pa.every((p) => p > 1e6) && file.area_m2.every((a) => a > 0), 'sweep: and in the CSV');
  await page.selectOption('#result-choice', 'effective_restitution');
  check((await page.locator('#chart-sweep figcaption').textContent()) === 'restitution over contact.stiffness', 'sweep: any result over any parameter');
  await page.screenshot({ path: path.join(output, 'sweep.png') });
  await clean(page, 'sweep');
}

/** Figures for a paper: of a comparison with all runs in one chart, and of one contact. */
function testFigures() {
  heelstrike('report', 'comparison', '--svg', '--pdf', '--contact', '1');
  const svg = fs.readFileSync(path.join(output, 'comparison/pictures/force_ball-ground_contact1.svg'), 'utf8');
  check(svg.includes('>flores<') && svg.includes('>hertz<'), 'figures: one chart names all runs of the comparison');
  const times = [...svg.matchAll(/<text>\s*(0\.4\d*)</g)].map(([, t]) => Number(t));
  check(times.length > 1 && times.every((t) => t > 0.42 && t < 0.44), `figures: of the first contact only, axis from ${times[0]} to ${times.at(-1)} s`);
  const pdf = fs.readFileSync(path.join(output, 'comparison/flores/pictures/loop_ball-ground_contact1.pdf'));
  check(pdf.subarray(0, 5).toString() === '%PDF-', 'figures: PDF of each run too');
  let said = '';
  try { execFileSync(program, ['report', 'run', '--pdf', '--contact', '99'], { cwd: output, stdio: 'pipe' }); } catch (error) { said = String(error.stderr); }
  check(/1 to 3, found 99/.test(said), `figures: a contact that is not there is named: ${said.trim()}`);
}

async function testComparison() {
  heelstrike('compare', path.join(examples, 'bouncing_ball.yaml'), '--in-process', '--quiet', '-o', 'comparison',
    '--backends', 'flores,hunt_crossley,lankarani_nikravesh,hertz', '--reference', 'flores');
  const file = path.join(output, 'comparison/report.html');
  testFigures();
  check(fs.statSync(file).size < 6e6, `comparison: ${fs.statSync(file).size} bytes, below 6 MB`);
  const page = await openPage(browser, file);
  check(await drawnPixels(page, '#chart-scatter') > 500, 'scatter: something is drawn');
  await page.waitForSelector('html[data-fields=true]');
  check((await page.locator('.field-label').allTextContents()).join() === 'flores,hunt_crossley,lankarani_nikravesh,hertz', 'comparison: every run in 3D, with its name');
  const force = '[id="chart-force-ball-ground"]';
  const before = await drawnPixels(page, force);
  const entry = page.locator(`${force} .legend-entry[aria-pressed=true]`).first();
  await entry.click();
  await page.waitForTimeout(50);
  const after = await drawnPixels(page, force);
  check(after < before - 100, `a click in the legend hides a curve: ${before} pixels, then ${after}`);
  await page.locator(`${force} .legend-entry[aria-pressed=false]`).first().click();
  const windows = await page.locator('.zoom-bar option').allTextContents();
  check(windows.filter((text) => /^contact 2, /.test(text)).length === 5 && windows.some((text) => text.startsWith('contact 3, all')), `comparison: contacts that do not overlap keep their windows: ${windows.join(' | ')}`);
  check(await page.locator('#comparison table').first().locator('tbody tr').count() === 4, 'four rows in the comparison table');
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
  await printsWhole(file);
}

/// A sheet of paper is narrower than the window and causes no resize event: charts keep the size at which they were
/// drawn.
async function printsWhole(file) {
  const page = await openPage(browser, file);
  await page.evaluate(() => { window.sizesAreSilent = true; });
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 700, height: 1000 });
  const cut = await page.evaluate(() => [...document.querySelectorAll('figure.chart canvas')]
    .filter((canvas) => canvas.getBoundingClientRect().right > canvas.closest('figure').getBoundingClientRect().right).length);
  const all = await page.locator('figure.chart canvas').count();
  check(all > 3 && cut === 0, `printed charts are whole: ${cut} of ${all} are cut off`);
}

/** Rigid contact: what rounding leaves between impacts is neither drawn nor listed. */
async function testImpacts() {
  heelstrike('run', path.join(examples, 'newtons_cradle.yaml'), '--in-process', '--quiet', '-o', 'impacts');
  const page = await openPage(browser, path.join(output, 'impacts/report.html'));
  check(await page.locator('[id^="chart-force-hit"], [id^="chart-indentation-"], [id^="chart-loop-"]').count() === 0, 'impacts: no chart of forces and indentations');
  check(JSON.stringify(await shownTimes(page)) === '[0,0.9]', `impacts: the page opens with the whole run: ${await shownTimes(page)}`);
  const cells = await page.locator('#contacts td.number, #energy td.number').allTextContents();
  check(cells.every((text) => !text.includes('e-')), `impacts: no rounding in the tables: ${cells.join(' ')}`);
  check(await page.locator('.view-marks text.force').count() === 0, 'impacts: no arrows of forces');
  await clean(page, 'impacts');
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
    // This name is rejected for a pair but not for the scenario.
    refused = true;
    fs.writeFileSync(file, text.replaceAll('"<script>&amp;"', 'ball-ground'));
    heelstrike('run', file, '--in-process', '--quiet', '-o', 'hostile', '--force');
  }
  const page = await openPage(browser, path.join(output, 'hostile/report.html'));
  check((await page.title()).includes('<script>'), `the title is text: ${await page.title()}${refused ? ' (pair name refused)' : ''}`);
  check(await page.locator('img').count() === 0, 'no element came from a text');
  check(await page.locator('script').count() === 3, 'no script came from a text');
  await clean(page, 'hostile');
}

function vtkArray(name, type, components, values, unit = '') {
  const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const header = Buffer.alloc(8);
  header.writeBigUInt64LE(BigInt(data.length));
  const key = unit && `<InformationKey name="UNITS_LABEL" location="vtkDataArray">${unit}</InformationKey>`;
  return `<DataArray type="${type}" Name="${name}" NumberOfComponents="${components}" format="binary">${key}${Buffer.concat([header, data]).toString('base64')}</DataArray>\n`;
}

/** A run folder with a moving, bulging patch of n x n points whose pressure is largest where its number says. */
function writePatch(folder, n, nFrames) {
  fs.mkdirSync(path.join(folder, 'fields'), { recursive: true });
  let index = '';
  for (let frame = 0; frame < nFrames; ++frame) {
    const points = new Float64Array(3 * n * n), pressure = new Float64Array(n * n);
    const cells = [];
    for (let i = 0; i < n * n; ++i) {
      const x = (i % n) / (n - 1), y = Math.floor(i / n) / (n - 1);
      pressure[i] = 1e5 * Math.exp(-20 * ((x - frame / nFrames) ** 2 + (y - 0.5) ** 2));
      points.set([0.2 * x, 0.1 * y, 1e-7 * pressure[i] + 0.01 * frame], 3 * i);
      if (x < 1 && y < 1) cells.push(i, i + 1, i + n, i + 1, i + n + 1, i + n);
    }
    const nCells = cells.length / 3;
    fs.writeFileSync(path.join(folder, `fields/p_${frame}.vtu`), `<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64"><UnstructuredGrid>
<Piece NumberOfPoints="${n * n}" NumberOfCells="${nCells}"><PointData>${vtkArray('contact_pressure', 'Float64', 1, pressure, 'Pa')}</PointData>
<Points>${vtkArray('Points', 'Float64', 3, points)}</Points><Cells>${vtkArray('connectivity', 'Int64', 1, BigInt64Array.from(cells.map(BigInt)))}${
  vtkArray('offsets', 'Int64', 1, BigInt64Array.from({ length: nCells }, (_, c) => BigInt(3 * c + 3)))}${
  vtkArray('types', 'UInt8', 1, new Uint8Array(nCells).fill(5))}</Cells></Piece></UnstructuredGrid></VTKFile>\n`);
    index += `<DataSet timestep="${0.1 * frame}" part="0" name="ball-ground_ball" file="fields/p_${frame}.vtu"/>\n`;
  }
  fs.writeFileSync(path.join(folder, 'fields.pvd'), `<?xml version="1.0"?>\n<VTKFile type="Collection"><Collection>${index}</Collection></VTKFile>\n`);
}

async function testFields() {
  const folder = path.join(output, 'fields');
  fs.cpSync(path.join(output, 'run'), folder, { recursive: true });
  writePatch(folder, 41, 11);
  heelstrike('report', folder);
  const page = await openPage(browser, path.join(folder, 'report.html'));
  await page.waitForSelector('html[data-fields=true]');
  const view = page.locator('.field-canvas');
  await view.scrollIntoViewIfNeeded();
  const picture = () => view.screenshot();
  const first = await picture();
  check(first.length > 8000, `the body is drawn (${first.length} bytes of picture)`);
  await setSlider(page, 5);
  check((await page.locator('.clock').textContent()) === 't = 0.5 s', 'the slider moves the time');
  check(Buffer.compare(first, await picture()) !== 0, 'the slider moves the field');
  const box = await view.boundingBox();
  let largest = 0;
  for (let k = 0; k <= 40; ++k) {
    await page.mouse.move(box.x + box.width * (0.3 + 0.01 * k), box.y + box.height / 2);
    const said = /: ([0-9.e+-]+) MPa/.exec(await page.locator('figure:has(.field-canvas) .field-value, section:has(.field-canvas) .field-value').last().textContent());
    if (said) largest = Math.max(largest, 1e6 * Number(said[1]));
  }
  check(largest > 0.9e5 && largest <= 1e5, `the value under the pointer reaches the peak of 1e5 Pa: ${largest}`);
  await page.locator('.play').click();
  await page.waitForFunction(() => document.querySelector('.clock').textContent !== 't = 0.5 s');
  check(true, 'it plays');
  await page.locator('.play').click();
  await page.screenshot({ path: path.join(output, 'fields.png') });
  await clean(page, 'fields');
}

/** Share of the pixels of the 3D view with a colour close to the neutral grey, lit. */
function greyShare(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector('.field-canvas canvas');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const p = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    let n = 0;
    for (let i = 0; i < p.length; i += 4) n += p[i] > 90 && p[i] < 215 && Math.abs(p[i] - p[i + 1]) < 14 && Math.abs(p[i + 1] - p[i + 2]) < 14;
    return (4 * n) / p.length;
  });
}

/** The page of a real run with fields: the slider moves the field, the map shows the pressure of the time series. */
async function testRealFields(name, scenario, pair, fieldInterval, ...settings) {
  heelstrike('run', path.join(examples, scenario), '--in-process', '--quiet', '-o', name, ...settings.flatMap((s) => ['--set', s]));
  const file = path.join(output, name, 'report.html');
  check(fs.statSync(file).size < 6e6, `${name}: ${fs.statSync(file).size} bytes, below 6 MB`);
  const page = await openPage(browser, file);
  await page.waitForSelector('html[data-fields=true]');
  const csv = readCsv(path.join(output, name, 'timeseries.csv'));
  const largest = csv[`${pair}.peak_pressure_Pa`].reduce((a, b) => Math.max(a, b));
  check(largest > 0, `${name}: there is pressure, ${largest} Pa`);
  const ofMaps = await page.evaluate(() => Math.max(...window.heelstrikeReport.prints.map(({ view }) => view.high)));
  const explained = /in charts and tables/.test(await page.locator('#pressure').textContent());
  check(explained === Math.abs(ofMaps - largest) > 1e-3 * largest, `${name}: a peak of the map of ${ofMaps} Pa is ${explained ? 'explained' : 'that of the time series'}`);
  const map = page.locator('.pressure-map').first();
  await map.scrollIntoViewIfNeeded();
  check(await drawnPixels(page, '#pressure-maps') > 5000, `${name}: the map is drawn`);
  const isPart = (await page.locator('#pressure-maps figcaption').first().textContent()).endsWith('(loaded part)');
  check(isPart === (name === 'fem_ball'), `${name}: the map shows ${isPart ? 'the loaded part' : 'the whole body'}`);
  await page.waitForTimeout(100);
  await page.screenshot({ path: path.join(output, `${name}_map.png`) });
  const view = page.locator('.field-canvas');
  await view.scrollIntoViewIfNeeded();
  const peak = csv.time_s[csv[`${pair}.peak_pressure_Pa`].indexOf(largest)];
  const opened = Number(await view.locator('canvas').getAttribute('data-time'));
  check(Math.abs(opened - peak) <= fieldInterval, `${name}: opens at the frame of the peak: ${opened} s, peak at ${peak} s`);
  const first = await view.screenshot();
  check(await greyShare(page) > 0.05, `${name}: what carries nothing is grey`);
  if (await page.locator('select[aria-label="Scale of the deformation"]').count()) {
    await page.selectOption('select[aria-label="Scale of the deformation"]', '5');
    check(Buffer.compare(first, await view.screenshot()) !== 0, `${name}: the deformation can be enlarged`);
    await page.selectOption('select[aria-label="Scale of the deformation"]', '1');
  }
  await page.selectOption('select[aria-label="Section"]', '0');
  check(Buffer.compare(first, await view.screenshot()) !== 0, `${name}: a section cuts the body`);
  await page.screenshot({ path: path.join(output, `${name}_section.png`) });
  await page.selectOption('select[aria-label="Section"]', '');
  check(Buffer.compare(first, await view.screenshot()) === 0, `${name}: without it the body is whole again`);
  await setSlider(page, 0);
  const last = await view.screenshot();
  check(Buffer.compare(first, last) !== 0, `${name}: the slider moves the field`);
  const link = await page.locator('.field-file').getAttribute('href');
  check(fs.existsSync(path.join(output, name, link)), `${name}: the file of this time is a click away: ${link}`);
  await page.screenshot({ path: path.join(output, `${name}.png`) });
  if (await page.locator('.zoom-bar .whole').count()) await page.locator('.zoom-bar .whole').click();
  const force = `[id="chart-force-${pair}"]`;
  check(await drawnPixels(page, force) > 1000, `${name}: the force is drawn`);
  const column = `${pair}.fz_N`;
  const label = await page.evaluate(() => window.heelstrikeReport.runs[0].label);
  await cursorEqualsCsv(page, `chart-indentation-${pair}`, `${label}:${pair}.indentation_m`, csv, `${pair}.indentation_m`).catch((error) => check(false, `${name}: ${column} ${error.message}`));
  await page.screenshot({ path: path.join(output, `${name}_full.png`), fullPage: true });
  await clean(page, name);
  const dark = await openPage(browser, file, { colorScheme: 'dark' });
  await dark.locator('.pressure-map').first().scrollIntoViewIfNeeded();
  await dark.waitForTimeout(100);
  await dark.screenshot({ path: path.join(output, `${name}_dark.png`) });
  await clean(dark, `${name}, dark`);
}

/** Largest difference of neighbouring cells of a map along u at one v, in parts of its scale; NaN with an empty cell. */
function largestStep(view, [from, to], v) {
  const planes = zlib.inflateSync(Buffer.from(view.values.u16, 'base64'));
  const cell = (u, row) => {
    const i = row * view.n[0] + u, value = planes[i] + 256 * planes[view.values.n + i];
    return value === 65535 ? NaN : value / 65534;
  };
  const index = (k, x) => Math.round((x - view.origin[k]) / view.cell);
  let largest = 0;
  for (let u = index(0, from); u < index(0, to); ++u) largest = Math.max(largest, Math.abs(cell(u + 1, index(1, v)) - cell(u, index(1, v))));
  return largest;
}

/** The synthetic step: two bodies whose fields move over the ground. */
async function testGait() {
  await testRealFields('gait', 'gait_synthetic.yaml', 'foot-ground', 0.02, 'output.fields.interval=0.02');
  const page = await openPage(browser, path.join(output, 'gait/report.html'));
  // In the middle of the step both segments carry load; a segment without colours would leave black pixels.
  await page.waitForSelector('html[data-fields=true]');
  await page.evaluate(() => {
    const slider = document.querySelector('.field-time input');
    slider.value = Math.round(0.6 * Number(slider.max));
    slider.dispatchEvent(new Event('input'));
  });
  await page.locator('.field-canvas').scrollIntoViewIfNeeded();
  await page.screenshot({ path: path.join(output, 'gait_middle.png') });
  const black = await page.evaluate(() => {
    const canvas = document.querySelector('.field-canvas canvas');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const words = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    let n = 0;
    for (let i = 0; i < words.length; i += 4) n += words[i] < 30 && words[i + 1] < 30 && words[i + 2] < 30;
    return n;
  });
  check(black < 200, `gait: both segments have colours (${black} black pixels)`);
  check(await page.locator('.pressure-map').count() === 1, 'gait: one map for the foot with its two segments');
  const seam = largestStep(await page.evaluate(() => window.heelstrikeReport.prints[0].view), [0.1, 0.18], 0.0);
  check(seam < 0.1, `gait: no seam in the map along the middle of the forefoot (largest step ${seam} of the scale)`);
  const sum = await page.evaluate(() => {
    const { columns } = window.heelstrikeReport.runs[0];
    const value = (name) => columns.find((c) => c.name === name).value;
    const [total, foot, toes] = ['foot: vertical', 'foot-ground.fz_N', 'toes-ground.fz_N'].map(value);
    return Math.max(...total.map((v, i) => Math.abs(v - foot[i] - toes[i])));
  });
  check(sum < 1e-9, `gait: the total force of the foot is that of its segments (within ${sum} N)`);
  check(await drawnPixels(page, '[id="chart-foot_force-foot"]') > 1000, 'gait: and has a chart');
  check(await page.locator('#pressure table').count() === 0, 'gait: no table of regions for a foot that is cut');
  check(/Breakdown of the wall time/.test(await page.locator('#cost').textContent()), 'gait: the page says where the wall time went');
  await clean(page, 'gait, again');
}

/** Opens the 3D view of a run. */
async function openView(name, options) {
  const page = await openPage(browser, path.join(output, name, 'report.html'), options);
  await page.waitForSelector('html[data-fields=true]');
  await page.locator('.field-canvas').scrollIntoViewIfNeeded();
  return page;
}

/** Screen positions of the drawn bodies and arrows at the shown time: how many of them are outside of the canvas. */
const pointsOutside = (page) => page.evaluate(() => {
  const { scenes, camera, time } = document.querySelector('.field-canvas canvas').stage;
  const points = scenes.flatMap((scene) => [...scene.outline(time), ...scene.forces.shown.flatMap(({ point, tip }) => [point.clone(), tip.clone()])].map((p) => p.add(scene.root.position).project(camera)));
  return points.filter((p) => Math.abs(p.x) > 1 || Math.abs(p.y) > 1).length + (points.length < 8 ? 1000 : 0);
});

async function setLook(page, look) {
  await page.locator(`button[data-look=${look}]`).click();
}

/** An imported robot whose base slides down far: the first frame is within the canvas, gravity points down. */
async function testRobotView() {
  heelstrike('import', path.join(examples, 'leg.urdf'), '-o', 'leg.yaml');
  heelstrike('run', 'leg.yaml', '--in-process', '--quiet', '-o', 'leg');
  for (const width of [1400, 390]) {
    const page = await openView('leg', { viewport: { width, height: 844 } });
    await setSlider(page, 0);
    check(await pointsOutside(page) === 0, `robot at ${width} px: its first frame is within the canvas`);
    for (const look of ['plane', 'side', 'oblique']) {
      await setLook(page, look);
      const [x, y] = (await page.locator('.view-marks text.gravity').getAttribute('data-direction')).split(' ').map(Number);
      check(y > 0.7 && Math.abs(x) < 1e-6, `robot at ${width} px, ${look}: gravity points down on the screen (${x}, ${y})`);
      check(await pointsOutside(page) === 0, `robot at ${width} px, ${look}: it is within the canvas`);
    }
    check(await page.locator('select[aria-label="Upwards"]').count() === 0, 'robot: no choice of the vertical with gravity');
    const scale = await page.evaluate(() => {
      const { camera, controls } = document.querySelector('.field-canvas canvas').stage;
      const { pixels, metres } = document.querySelector('.view-marks text.scale').dataset;
      const across = controls.target.clone().set(Number(metres), 0, 0).applyQuaternion(camera.quaternion);
      const [a, b] = [controls.target.clone(), controls.target.clone().add(across)].map((p) => p.project(camera).x);
      return 0.5 * (b - a) * document.querySelector('.field-canvas').clientWidth / Number(pixels);
    });
    check(Math.abs(scale - 1) < 1e-6, `robot at ${width} px: the scale bar is true (${scale})`);
    await page.screenshot({ path: path.join(output, `leg_${width}.png`) });
    await clean(page, `robot, ${width} px`);
  }
}

/** A knee without gravity stands upright, because its surfaces name their axes; they can be turned. */
async function testKneeView() {
  heelstrike('run', path.join(examples, 'knee_compare.yaml'), '--in-process', '--quiet', '-o', 'knee_compare', '--set', 'contact.cartilage.main.surface.knee.edge=0.004');
  const page = await openView('knee_compare');
  check(await page.locator('select[aria-label="Upwards"]').inputValue() === 'y', 'knee: superior is upwards');
  await setLook(page, 'side');
  const sides = () => page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.view-marks text.side')].map((t) => [t.dataset.side, t.getBoundingClientRect().toJSON()])));
  const { superior, inferior, anterior, posterior } = await sides();
  check(superior && inferior && superior.bottom < inferior.top, 'knee: superior is above inferior');
  check(anterior && posterior, 'knee: anterior and posterior are named');
  await setLook(page, 'above');
  const { medial, lateral } = await sides();
  check(medial && lateral, 'knee: medial and lateral are named from above');
  const covered = await page.evaluate(() => {
    const { scenes, camera, time } = document.querySelector('.field-canvas canvas').stage;
    const view = document.querySelector('.field-canvas canvas').getBoundingClientRect();
    const points = scenes[0].outline(time).map((p) => p.project(camera)).map((p) => [view.left + (0.5 + 0.5 * p.x) * view.width, view.top + (0.5 - 0.5 * p.y) * view.height]);
    return [...document.querySelectorAll('.view-marks text.side')].map((text) => text.getBoundingClientRect())
      .filter((box) => points.some(([x, y]) => x > box.left && x < box.right && y > box.top && y < box.bottom)).length;
  });
  check(covered === 0, `knee: ${covered} names of sides cover the body`);
  await page.screenshot({ path: path.join(output, 'knee_compare_above.png') });
  const before = await page.locator('.field-canvas').screenshot();
  await page.selectOption('select[aria-label="Upwards"]', '-z');
  check(Buffer.compare(before, await page.locator('.field-canvas').screenshot()) !== 0, 'knee: the vertical can be chosen');
  await clean(page, 'knee, view');
}

/** Total force of the two segments [N] and the mean of their centres of pressure, weighted by force. */
function commonCentre(csv, row) {
  const loads = ['foot-ground', 'toes-ground'].filter((pair) => Number.isFinite(csv[`${pair}.copx_m`][row])).map((pair) => {
    const of = (name, unit) => ['x', 'y', 'z'].map((axis) => csv[`${pair}.${name}${axis}_${unit}`][row]);
    return { force: of('f', 'N'), cop: of('cop', 'm') };
  });
  const size = (force) => Math.hypot(...force), sum = loads.reduce((total, { force }) => total + size(force), 0);
  return {
    force: size([0, 1, 2].map((k) => loads.reduce((total, { force }) => total + force[k], 0))),
    point: [0, 1, 2].map((k) => loads.reduce((total, { force, cop }) => total + (size(force) / sum) * cop[k], 0)),
  };
}

/** Rows of a run in which both segments are loaded, up to `most` of them. */
function rowsOnBothSegments(csv, most) {
  const both = csv.time_s.map((_, row) => row).filter((row) => ['foot', 'toes'].every((part) => csv[`${part}-ground.fz_N`][row] > 1));
  return both.filter((_, k) => k % Math.ceil(both.length / most) === 0);
}

/** One path, which at each time passes through the common centre of pressure of that time. */
async function testPathOfFoot(page, csv) {
  const rows = rowsOnBothSegments(csv, 5);
  const found = await page.evaluate((times) => {
    const { stage } = document.querySelector('.field-canvas canvas');
    const { units } = stage.scenes[0].forces;
    const distances = times.map((time) => {
      stage.time = time;
      stage.show();
      const [{ point }] = stage.scenes[0].forces.shown, ends = units[0].path.ends.array;
      let least = Infinity;
      for (let i = 0; i < ends.length; i += 3) least = Math.min(least, Math.hypot(ends[i] - point.x, ends[i + 1] - point.y, ends[i + 2] - point.z));
      return least;
    });
    return { n: units.length, distances };
  }, rows.map((row) => csv.time_s[row]));
  check(found.n === 1, `gait: ${found.n} paths for one foot`);
  check(found.distances.length > 2 && found.distances.every((d) => d < 1e-6), `gait: the path passes through the common centre of pressure, within ${found.distances} m`);
}

/** The two segments are one closed skin without faces inside, and continuous in colour, in every posture. */
async function testSkinOfFoot(page, csv) {
  const found = await page.evaluate((times) => {
    const { stage } = document.querySelector('.field-canvas canvas');
    const [{ seams: [seam] }] = stage.scenes, [foot, toes] = seam.parts;
    const partner = new Map(seam.pairs.map(([i, j]) => [j, i]));
    const count = new Map();
    const add = (corners) => corners.forEach((a, k) => {
      const edge = [a, corners[(k + 1) % 3]].sort().join(' ');
      count.set(edge, (count.get(edge) ?? 0) + 1);
    });
    foot.faces().forEach((corners) => add(corners.map((i) => `a${i}`)));
    toes.faces().forEach((corners) => add(corners.map((j) => (partner.has(j) ? `a${partner.get(j)}` : `b${j}`))));
    const steps = times.map((time) => {
      stage.time = time;
      stage.show();
      const place = (part, node) => stage.controls.target.clone().fromBufferAttribute(part.geometry.attributes.position, node).applyMatrix4(part.group.matrix);
      const colour = (part, node) => part.geometry.attributes.uv.getX(node);
      return { gap: Math.max(...seam.pairs.map(([i, j]) => place(foot, i).distanceTo(place(toes, j)))),
        recorded: Math.max(...seam.pairs.map(([i, j]) => foot.ownPoint(i).applyMatrix4(foot.group.matrix).distanceTo(toes.ownPoint(j).applyMatrix4(toes.group.matrix)))),
        colour: Math.max(...seam.pairs.map(([i, j]) => Math.abs(colour(foot, i) - colour(toes, j)))) };
    });
    return { open: [...count.values()].filter((n) => n !== 2).length, steps };
  }, rowsOnBothSegments(csv, 5).map((row) => csv.time_s[row]));
  check(found.open === 0, `gait: ${found.open} edges of the skin do not belong to two faces`);
  check(Math.max(...found.steps.map(({ recorded }) => recorded)) > 1e-3, 'gait: the cut of the files opens');
  for (const { gap, colour } of found.steps) check(gap < 1e-6 && colour < 1e-6, `gait: the skin is closed (${gap} m) and its colour continuous (${colour})`);
}

/** The arrow at the centre of pressure, which moves along the sole in the frame of the foot. */
async function testGaitView() {
  const csv = readCsv(path.join(output, 'gait/timeseries.csv'));
  for (const width of [1400, 390]) {
    const page = await openView('gait', { viewport: { width, height: 844 } });
    check(await pointsOutside(page) === 0, `gait at ${width} px: the bodies are within the canvas`);
    const time = Number(await page.locator('.field-canvas canvas').getAttribute('data-time'));
    const row = csv.time_s.findIndex((t) => Math.abs(t - time) < 1e-9);
    const at = await page.locator('.view-marks text.force').evaluateAll((texts) => texts.map((text) => text.dataset.at.split(' ').map(Number)));
    const { force, point } = commonCentre(csv, row);
    check(at.length === 1, `gait at ${width} px: ${at.length} arrows for one foot of two segments`);
    check(at[0].every((x, k) => Math.abs(x - point[k]) < 1e-9), `gait at ${width} px: the arrow is at the common centre of pressure, ${point}`);
    const label = await page.locator('.view-marks text.force').textContent();
    check(label === `${Number(force.toPrecision(3))} N`, `gait at ${width} px: the total force of ${force} N is named: ${label}`);
    for (const fraction of [0.2, 0.5, 0.9]) {
      await setSlider(page, Math.round(fraction * Number(await page.locator('.field-time input').getAttribute('max'))));
      check(await pointsOutside(page) === 0, `gait at ${width} px: the bodies are within the canvas at ${fraction}`);
    }
    await setLook(page, 'side');
    check((await page.locator('.view-marks text.side').allTextContents()).includes('anterior'), `gait at ${width} px: sides of the foot are named`);
    await page.screenshot({ path: path.join(output, `gait_side_${width}.png`) });
    await clean(page, `gait, view at ${width} px`);
  }
  const page = await openView('gait');
  await testPathOfFoot(page, csv);
  await testSkinOfFoot(page, csv);
  const plain = await page.locator('.field-canvas').screenshot();
  await page.locator('label:has-text("edges of elements") input').check();
  check(Buffer.compare(plain, await page.locator('.field-canvas').screenshot()) !== 0, 'gait: edges of the elements are drawn on request');
  await clean(page, 'gait, path');
}

/** Half sine of a stance of 1 s, as OpenSim writes ground forces: the prediction is a tenth too large and 12 mm beside. */
function groundForces(factor, beside) {
  const names = ['vx', 'vy', 'vz', 'px', 'py', 'pz'].map((n) => `ground_force_${n}`).concat(['x', 'y', 'z'].map((n) => `ground_torque_${n}`));
  const rows = [];
  for (let i = -10; i <= 1010; ++i) {
    const t = i / 1000, loaded = t > 0 && t < 1;
    const s = loaded ? Math.sin(Math.PI * t) : 0, c = loaded ? -Math.cos(Math.PI * t) : 0;
    rows.push([t, factor * 100 * c, factor * 700 * s, 0, 0.2 * t, 0, beside, 0, 0, 0].join('\t'));
  }
  return `time\t${names.join('\t')}\n${rows.join('\n')}\n`;
}

async function testCompareGrf() {
  fs.mkdirSync(path.join(output, 'walk'));
  fs.writeFileSync(path.join(output, 'walk/ground_reactions.mot'), groundForces(1.1, 0.012));
  fs.writeFileSync(path.join(output, 'measured.mot'), groundForces(1, 0));
  heelstrike('compare-grf', 'walk', '--measured', 'measured.mot', '--mass', '70');
  const file = path.join(output, 'walk/compare-grf/report.html');
  check(fs.statSync(file).size < 6e6, `compare-grf: ${fs.statSync(file).size} bytes, below 6 MB`);
  const page = await openPage(browser, file);
  const vertical = '#chart-stance-1-vy';
  check(await drawnPixels(page, vertical) > 1000, 'compare-grf: the vertical force is drawn');
  const captions = await page.locator('#stance-charts figcaption').allTextContents();
  check(captions.join() === 'anterior-posterior (vx),vertical (vy)', `compare-grf: components by their names, none of zeros: ${captions}`);
  const text = await page.locator('main').textContent();
  check(text.includes('770') && text.includes('700') && text.includes('12'), 'compare-grf: the table has the peaks and the error of the centre of pressure');
  await page.locator(`${vertical} .plot`).focus();
  await page.keyboard.press('ArrowRight');
  check(/^stance = 5\d\S* %$/.test(await page.locator(`${vertical} .cursor-position`).textContent()), `compare-grf: over per cent of stance: ${await page.locator(`${vertical} .cursor-position`).textContent()}`);
  const legend = page.locator(`${vertical} .legend-entry`);
  check((await legend.locator('.name').allTextContents()).join() === 'measured,run', 'compare-grf: measurement and run are overlaid');
  const before = await drawnPixels(page, vertical);
  const entry = legend.first();
  await entry.click();
  await page.waitForTimeout(50);
  check(await drawnPixels(page, vertical) !== before, 'compare-grf: a click in the legend hides a curve');
  await entry.click();
  await page.screenshot({ path: path.join(output, 'compare_grf.png') });
  await page.screenshot({ path: path.join(output, 'compare_grf_full.png'), fullPage: true });
  await clean(page, 'compare-grf');
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
  const size = fs.statSync(path.join(folder, 'report.html')).size;
  check(size < 6e6, `a million rows: ${size} bytes, below 6 MB`);
  const spike = await page.evaluate(() => {
    const column = window.heelstrikeReport.runs[0].columns.find((c) => c.name === 'ball-ground.fz_N');
    return { kept: column.value.length, largest: column.value.reduce((a, b) => Math.max(a, b)) };
  });
  // Why the page opens quickly: at most 20,000 samples of a column, and the two end points (report/page.cpp).
  check(spike.kept <= 20002, `a million rows: ${spike.kept} samples of a column, at most 20002`);
  check(spike.largest === 12345.678, `the spike of one sample is kept: ${spike.largest} among ${spike.kept} samples`);
  await page.screenshot({ path: path.join(output, 'million.png') });
  await clean(page, 'million');
  fs.rmSync(path.join(folder, 'timeseries.csv'));
}

try {
  await testRun();
  await testScene();
  await testMechanism('four_bar', 'four_bar_n.yaml', 'chart-position-coupler0');
  await testMechanism('car_axis', 'car_axis.yaml', 'chart-force-axle');
  await testLigament();
  await testMesh();
  await testBodyWithoutSurface();
  await testComparison();
  await testSweep();
  await testImpacts();
  await testHostileNames();
  await testFields();
  await testRealFields('fem_ball', 'fem_ball.yaml', 'ball-ground', 0.001, 'bodies.ball.position=[0,0,0.12]', 'analysis.end_time=0.08',
    'analysis.integrator.rtol=1e-6', 'output.fields.interval=0.001', 'contact.ball-ground.element_size=0.04', 'contact.ball-ground.contact_size=0.005');
  await testRealFields('foot_press', 'foot_press.yaml', 'sole-plate', 0.1, 'contact.sole-plate.element_size=0.008');
  await testGait();
  await testGaitView();
  await testRobotView();
  await testKneeView();
  await testCompareGrf();
  for (const name of ['run', 'comparison', 'foot_press', 'gait', 'sweep', 'four_bar']) await testNarrow(name);
  for (const name of ['run', 'comparison', 'gait', 'sweep']) await testWide(name);
  await testMillionRows();
} finally {
  await browser.close();
}
finish();
