// The page of a run, a comparison or a sweep: reads the data embedded in the page and adds charts.
import { addZoomBar } from './contacts.js';
import { unpackDoubles } from './decode.js';
import { element, largest, number } from './format.js';
import { PressureMapView, loadedPart, unpackPath, unpackView } from './map.js';
import { valueAt } from './sampled.js';
import { agreedAxes } from './sides.js';
import * as theme from './theme.js';
import { TimeChart, setWhole, showTimes } from './time_chart.js';
import { XyChart } from './xy_chart.js';

const titles = {
  force: 'Contact force', torque: 'Contact torque', gap: 'Gap', indentation: 'Indentation', gap_rate: 'Rate of the gap',
  cop: 'Centre of pressure', area: 'Contact area', peak_pressure: 'Peak pressure', mean_pressure: 'Mean pressure', active_points: 'Points in contact', energy: 'Energy',
  step_size: 'Step size', position: 'Position', foot_force: 'Total force', region_force: 'Normal force of the regions',
  region_peak_pressure: 'Peak pressure of the regions', region_mean_pressure: 'Mean pressure of the regions', region_area: 'Contact area of the regions',
};
const firstQuantities = ['foot_force', 'force', 'region_force', 'indentation', 'gap', 'energy', 'peak_pressure', 'mean_pressure', 'region_peak_pressure', 'region_mean_pressure', 'area', 'region_area', 'step_size'];
// Charts of a run without contact; those of many bodies are limited.
const motionQuantities = ['position', 'force', 'energy', 'step_size'];
const maxBodies = 8;

async function unpackRun(run) {
  const time = await unpackDoubles(run.time);
  for (const column of run.columns) {
    column.value = await unpackDoubles(column.packed);
    column.time = column.times ? await unpackDoubles(column.times) : time;
    column.varies = column.packed.constant === undefined;
  }
  const ends = run.columns.filter((c) => c.time.length > 0).map((c) => [c.time[0], c.time.at(-1)]);
  run.span = [Math.min(...ends.map(([from]) => from)), Math.max(...ends.map(([, to]) => to))];
  for (const turn of run.turns?.turns ?? []) {
    turn.times = await unpackDoubles(turn.times);
    turn.angle = (await unpackDoubles(turn.angle)).map((radians) => (radians * 180) / Math.PI);
  }
  for (const path of run.turns?.paths ?? []) {
    for (const key of ['times', 'x', 'y', 'z', 'force']) path[key] = await unpackDoubles(path[key]);
  }
  for (const loop of run.loops) {
    loop.x = await unpackDoubles(loop.indentation);
    loop.y = await unpackDoubles(loop.force);
  }
}

const words = (name) => name.replaceAll('_', ' ');

/** A chart needs two samples. */
const isCurve = (values) => values.length > 1;

/** A contact model without pressures has columns of zeros; beside the pressures of others they would look like results. */
const isWithout = ({ quantity, varies, value }) => !varies && value[0] === 0 && /pressure|area/.test(quantity);

/** Curves of the columns selected by `wanted`, over all runs. One run: a colour per column; several: a colour per run. */
function curvesOf(runs, wanted) {
  // Measured curves are the same for every run.
  const own = wanted;
  wanted = (c) => own(c) && (runs.length === 1 || !c.name.endsWith(', measured'));
  const components = [...new Set(runs.flatMap((run) => run.columns.filter((c) => wanted(c) && c.varies).map((c) => c.name)))];
  const curves = [];
  runs.forEach((run, r) => {
    components.forEach((name, k) => {
      const column = run.columns.find((c) => c.name === name);
      if (!column || !isCurve(column.value) || (runs.length > 1 && isWithout(column))) return;
      curves.push({
        key: `${run.label}:${name}`, name, short: column.short, unit: column.unit, time: column.time, value: column.value, shown: true,
        label: runs.length === 1 ? words(column.short) : components.length === 1 ? run.label : `${run.label} ${words(column.short)}`,
        colour: runs.length === 1 ? k : r, dash: runs.length === 1 ? 0 : k,
      });
    });
  });
  // A measured curve has the colour of its predicted curve.
  for (const curve of curves) {
    const partner = curve.name.endsWith(', measured') && curves.find(({ name }) => `${name}, measured` === curve.name);
    if (partner) Object.assign(curve, { colour: partner.colour, dash: 1 });
  }
  return { components, curves };
}

function span(curves) {
  let min = Infinity, max = -Infinity;
  for (const curve of curves) for (const v of curve.value) { if (v < min) min = v; if (v > max) max = v; }
  return max - min;
}

/** With several runs only the component with the largest range is shown initially; the others can be selected. */
function choicesOf(runs, { components, curves }) {
  if (runs.length === 1 || components.length < 2) return [];
  const choices = components.filter((name) => curves.some((curve) => curve.name === name)).map((name) => {
    const own = curves.filter((curve) => curve.name === name);
    return { label: words(own[0].short), range: span(own), curves: own.map((curve) => curve.key) };
  });
  choices.sort((a, b) => b.range - a.range);
  curves.forEach((curve) => { curve.shown = choices[0].curves.includes(curve.key); });
  return [...choices, { label: 'all', curves: curves.map((curve) => curve.key) }];
}

/** True if `owner` is a contact pair, which has a gap, and not a joint. */
function touching(columns, owner) {
  return columns.some((c) => c.owner === owner && (c.quantity === 'gap' || c.quantity === 'cop'));
}

function addTimeCharts(place, runs, quantities) {
  const columns = runs.flatMap((run) => run.columns);
  for (const quantity of quantities) {
    const owners = [...new Set(columns.filter((c) => c.quantity === quantity).map((c) => c.owner))];
    for (const owner of owners) {
      const picked = curvesOf(runs, (c) => c.quantity === quantity && c.owner === owner);
      if (picked.curves.length === 0) continue;
      const name = quantity === 'force' && !touching(columns, owner) ? 'Force in the joint' : quantity === 'torque' && !touching(columns, owner) ? 'Torque in the joint' : titles[quantity];
      const title = quantity === 'energy' || owner === '' ? name : `${name}: ${owner}`;
      const choices = choicesOf(runs, picked);
      new TimeChart(place, { title, id: `chart-${quantity}-${owner}`, unit: picked.curves[0].unit, curves: picked.curves, choices, log: quantity === 'step_size' });
    }
  }
}

function quantitiesOf(runs) {
  const columns = runs.flatMap((run) => run.columns);
  if (columns.some((c) => c.quantity === 'gap')) return firstQuantities;
  const bodies = new Set(columns.filter((c) => c.quantity === 'position').map((c) => c.owner));
  return bodies.size > maxBodies ? motionQuantities.slice(1) : motionQuantities;
}

/** Range of a column relative to the largest value of its unit in the run: below 1e-9 it is rounding. */
function share(run, { unit, value }) {
  const most = largest(...run.columns.filter((c) => c.unit === unit).map((c) => c.value));
  return most > 0 ? span([{ value }]) / most : 0;
}

/** Any non-constant column, selected from a list; the first that is more than rounding is shown. */
function addExplorer(place, runs) {
  const names = [...new Set(runs.flatMap((run) => run.columns.filter((c) => c.varies && isCurve(c.value)).map((c) => c.name)))];
  if (names.length === 0) return;
  const holder = element('div', { class: 'wide' });
  const select = element('select', { id: 'column-choice' }, ...names.map((name) => element('option', {}, name)));
  select.value = names.find((name) => runs.some((run) => run.columns.some((c) => c.name === name && isCurve(c.value) && share(run, c) > 1e-9))) ?? names[0];
  const show = () => {
    holder.querySelector('figure')?.remove();
    const { curves } = curvesOf(runs, (c) => c.name === select.value);
    const { short } = runs.flatMap((run) => run.columns).find((c) => c.name === select.value);
    new TimeChart(holder, { title: select.value, id: 'chart-column', unit: curves[0].unit, curves, label: words(short) });
  };
  select.addEventListener('change', show);
  place.append(holder);
  holder.append(element('p', { class: 'no-print' }, element('label', { for: 'column-choice' }, 'Any other column: '), select));
  show();
}

function addLoops(place, runs) {
  const pairs = [...new Set(runs.flatMap((run) => run.loops.map((loop) => loop.pair)))];
  for (const pair of pairs) {
    const curves = runs.flatMap((run, r) => run.loops.filter((loop) => loop.pair === pair && isCurve(loop.x)).map((loop) => ({
      key: `${run.label}:loop`, label: run.label, x: loop.x, y: loop.y, colour: r, shown: true,
    })));
    if (curves.length === 0) continue;
    new XyChart(place, {
      title: `Force against indentation: ${pair}`, id: `chart-loop-${pair}`, curves,
      xLabel: 'indentation', xUnit: 'm', yLabel: 'resultant contact force', unit: 'N',
    });
  }
}

/** Columns of tensions, of a bundle only its sum, the largest first; limited to a dozen distinguishable curves. */
function tensionsOf(run) {
  const tensions = run.columns.filter((c) => c.quantity === 'tension' && c.varies);
  const owners = new Set(tensions.map((c) => c.owner));
  const inBundle = ({ owner }) => owner.includes('.') && owners.has(owner.slice(0, owner.lastIndexOf('.')));
  const peak = ({ value }) => value.reduce((most, v) => Math.max(most, v), 0);
  return tensions.filter((c) => !inBundle(c)).map((column) => ({ column, peak: peak(column) }))
    .sort((a, b) => b.peak - a.peak).map(({ column }, k) => ({ column, shown: k < 12 }));
}

/** Forces of ligaments and muscles, contact paths and contact forces over the angle between two bodies that need not
 *  share a joint of the model. Only for models with lines. */
function addTurnCharts(place, runs) {
  const names = [...new Set(runs.flatMap((run) => (run.turns?.turns ?? []).map(({ name }) => name)))];
  if (names.length === 0 || !runs.some((run) => run.columns.some((c) => c.quantity === 'tension' && c.varies))) return;
  const charts = element('div', { class: 'charts' });
  place.append(element('section', { id: 'over-angle' }, element('h2', {}, 'Over the angle'),
    element('p', { class: 'note' }, 'The angle of the second body relative to the first about the axis of its largest rotation, 0 where the axes of both are parallel; for a knee, its flexion. Paths are centres of pressure in the axes of the first body.'), charts));
  const range = (name) => Math.max(...runs.flatMap((run) => (run.turns?.turns ?? []).filter((turn) => turn.name === name).map(({ angle }) => Math.max(...angle) - Math.min(...angle))));
  const widest = names.reduce((best, name) => (range(name) > range(best) ? name : best));
  for (const name of names) {
    const known = runs.map((run, r) => ({ run, r, turn: run.turns?.turns.find((turn) => turn.name === name) })).filter(({ turn }) => turn);
    const curve = ({ run, r, turn }, k, label, times, y) => ({
      key: `${run.label}:${label}`, label: runs.length === 1 ? label : `${run.label} ${label}`, shown: true,
      colour: runs.length === 1 ? k : r, dash: runs.length === 1 ? 0 : k, x: times.map((t) => valueAt(turn.times, turn.angle, t)), y,
    });
    const chart = (title, id, yLabel, unit, curves) => {
      if (curves.length > 0) new XyChart(charts, { title: `${title} over the angle of ${name}`, id: `chart-turn-${id}-${name}`, curves, xLabel: 'angle', xUnit: '°', yLabel, unit });
    };
    // Only over one angle: that with the largest range.
    if (name === widest) {
      chart('Tension', 'tension', 'tension', 'N', known.flatMap((own) => tensionsOf(own.run)
        .map(({ column: c, shown }, k) => ({ ...curve(own, k, c.owner, c.time, c.value), shown }))));
    }
    const pathsOf = ({ run }) => run.turns.paths.filter(({ turn }) => run.turns.turns[turn].name === name);
    chart('Contact force', 'force', 'resultant contact force', 'N', known.flatMap((own) => pathsOf(own).map((path, k) => curve(own, k, path.pair, path.times, path.force))));
    const pairs = [...new Set(known.flatMap((own) => pathsOf(own).map(({ pair }) => pair)))];
    for (const pair of pairs) {
      chart(`Contact path of ${pair}`, `path-${pair}`, 'centre of pressure', 'm', known.flatMap((own) => pathsOf(own).filter((path) => path.pair === pair)
        .flatMap((path) => ['x', 'y', 'z'].map((axis, k) => curve(own, k, axis, path.times, path[axis])))));
    }
  }
}

/** Deviation from the reference against the cost of a run. */
function addScatter(place, comparison, runs) {
  const { rows, reference, accuracy, cost } = comparison;
  if (rows.filter(({ label }) => label !== reference).length < 2) return;
  const holder = element('div');
  const choice = (id, label, options) => {
    const select = element('select', { id }, ...options.map((o) => element('option', { value: o.key }, o.label)));
    select.addEventListener('change', () => show());
    return [element('label', { for: id }, label), select];
  };
  const bar = element('p', { class: 'no-print' }, ...choice('accuracy-choice', 'Accuracy: ', accuracy), ...choice('cost-choice', ' Cost: ', cost));
  const show = () => {
    holder.querySelector('figure')?.remove();
    const a = accuracy.find((o) => o.key === bar.querySelector('#accuracy-choice').value);
    const c = cost.find((o) => o.key === bar.querySelector('#cost-choice').value);
    const curves = rows.map((row, r) => ({
      key: row.label, label: row.label, colour: r, shown: true,
      x: [row.cost[c.key]], y: [Math.abs(row.accuracy[a.key] ?? NaN) * 100],
    })).filter((curve) => curve.label !== reference && curve.x[0] > 0 && curve.y[0] >= 0);
    const positive = curves.every((curve) => curve.y[0] > 0);
    const xs = curves.map((curve) => curve.x[0]);
    const wide = Math.max(...xs) > 8 * Math.min(...xs);
    new XyChart(holder, {
      title: `Accuracy against cost (reference: ${reference})`, id: 'chart-scatter', curves, points: true, log: [wide, positive],
      xLabel: c.label, xUnit: c.unit, yLabel: `deviation of ${a.label}`, unit: '%',
    });
  };
  place.append(bar, holder);
  show();
}

/** Results of a sweep over one of its parameters; one curve for each combination of the others. */
function addSweep(place, { parameters, units, results, rows }) {
  const numeric = parameters.filter((key) => rows.every((row) => typeof row.parameters[key] === 'number') && new Set(rows.map((row) => row.parameters[key])).size > 1);
  const found = results.filter(({ key }) => rows.some((row) => row.results[key] !== undefined));
  if (numeric.length === 0 || found.length === 0) { place.textContent = 'No numeric parameter with two values and results.'; return; }
  const holder = element('div');
  const choice = (id, label, options) => [element('label', { for: id }, label),
    element('select', { id, onchange: () => show() }, ...options.map(([value, text]) => element('option', { value }, text)))];
  const bar = element('p', { class: 'no-print' }, ...choice('result-choice', 'Result: ', found.map((r) => [r.key, r.label])),
    ...choice('parameter-choice', ' over: ', numeric.map((key) => [key, key])));
  const show = () => {
    holder.querySelector('figure')?.remove();
    const result = found.find(({ key }) => key === bar.querySelector('#result-choice').value);
    const over = bar.querySelector('#parameter-choice').value;
    const groups = new Map();
    for (const row of rows) {
      const others = parameters.filter((key) => key !== over).map((key) => `${key} = ${typeof row.parameters[key] === 'number' ? number(row.parameters[key]) : row.parameters[key]}`).join(', ');
      groups.set(others, [...(groups.get(others) ?? []), row]);
    }
    const curves = [...groups].map(([label, own], k) => {
      const sorted = own.filter((row) => row.results[result.key] !== undefined).sort((a, b) => a.parameters[over] - b.parameters[over]);
      return { key: label || 'all', label: label || result.label, colour: k, dash: 0, shown: true,
        x: sorted.map((row) => row.parameters[over]), y: sorted.map((row) => row.results[result.key]) };
    });
    const xs = curves.flatMap((curve) => curve.x);
    const wide = Math.min(...xs) > 0 && Math.max(...xs) > 50 * Math.min(...xs);
    new XyChart(holder, { title: `${result.label} over ${over}`, id: 'chart-sweep', curves, marked: true, log: [wide, false], xLabel: over, xUnit: units[over] ?? '', yLabel: result.label, unit: result.unit });
  };
  place.append(bar, holder);
  show();
}

/** Sides of the bodies of a map, as {x: [behind, ahead], ...}, where the scenario names them: those of its own bodies, else
 *  those on which all bodies with names agree. */
function sidesOf(print, report) {
  const label = print.run ?? report.runs[0]?.label;
  const bodies = report.scenes?.find(({ run }) => report.runs[run].label === label)?.scene?.bodies.filter(({ axes }) => axes) ?? [];
  const own = bodies.filter(({ name }) => print.bodies.includes(name));
  const axes = agreedAxes((own.length > 0 ? own : bodies).map((body) => body.axes));
  return Object.fromEntries(axes.flatMap(({ direction, ahead, behind }) => {
    const k = direction.findIndex((c) => Math.abs(c) > 0.99);
    return k < 0 ? [] : [['xyz'[k], direction[k] > 0 ? [behind, ahead] : [ahead, behind]]];
  }));
}

/** Peak pressure over the run with the path of the centre of pressure. */
async function addPressureMaps(place, report) {
  const { prints } = report;
  for (const print of prints) {
    const whose = print.run === undefined ? print.label : `${print.run}, ${print.label}`;
    const map = new PressureMapView(place, { title: `Peak pressure: ${whose}`, id: `map-${whose}` });
    if (prints.length > 1) map.frame.classList.remove('wide');
    const view = loadedPart(await unpackView(print.view));
    map.show(view, await unpackPath(print.path), `Peak pressure: ${whose}${view.isPart ? ' (loaded part)' : ''}`, sidesOf(print, report));
  }
}

/** All charts open at the contacts, or with the whole run if there are none. */
function openWithContacts(place, windows) {
  setWhole(...windows.whole);
  addZoomBar(place, windows);
  showTimes(...(windows.first ?? windows.whole));
}

/** Removes a section without charts, and its entry in the contents. */
function removeIfEmpty(place) {
  if (!place || place.querySelector('figure')) return;
  const section = place.closest('section');
  document.querySelector(`nav.contents a[href="#${section.id}"]`)?.remove();
  section.remove();
}

const percent = (share) => share.map((s) => 100 * s);

/** Ground reactions over per cent of stance: measurement and run in one chart for each component. */
async function addStances(place, stances) {
  place.replaceChildren();
  for (const [s, stance] of stances.entries()) {
    const charts = element('div', { class: 'charts' });
    place.append(element('h3', {}, stance.label), charts);
    const time = percent(await unpackDoubles(stance.share));
    for (const { name, key, unit, measured, run } of stance.components) {
      const curve = async (label, packed, colour) => ({ key: label, label, time, value: await unpackDoubles(packed), colour, shown: true });
      const curves = [await curve('measured', measured, 6), await curve('run', run, 0)];
      if (largest(...curves.map(({ value }) => value)) === 0) continue;
      new TimeChart(charts, { title: name, id: `chart-stance-${s + 1}-${key}`, unit, curves, alone: true, xName: 'stance', xUnit: '%', xRange: [0, 100] });
    }
  }
}

/** A button in each row of the contact table that shows this contact in all charts. */
function addZoomButtons() {
  for (const row of document.querySelectorAll('tr[data-onset]')) {
    const from = Number(row.dataset.onset), to = Number(row.dataset.end);
    const margin = 0.3 * (to - from || 1e-3);
    const button = element('button', { type: 'button', class: 'no-print', onclick: () => {
      showTimes(from - margin, to + margin);
      document.getElementById('charts')?.scrollIntoView();
    } }, 'show');
    row.lastElementChild.append(button);
  }
}

async function main() {
  const report = JSON.parse(document.getElementById('report-data').textContent);
  theme.install(document.querySelector('header'));
  window.heelstrikeHighs = report.highs;
  const runs = report.runs;
  await Promise.all(runs.map(unpackRun));
  const place = document.getElementById('time-charts');
  if (place) {
    place.replaceChildren();
    if (report.windows) openWithContacts(place, report.windows);
    addTimeCharts(place, runs, quantitiesOf(runs));
    addExplorer(place, runs);
    removeIfEmpty(place);
  }
  const turns = document.getElementById('turn-charts');
  if (turns) addTurnCharts(turns, runs);
  const loops = document.getElementById('loop-charts');
  if (loops) { loops.replaceChildren(); addLoops(loops, runs); removeIfEmpty(loops); }
  const scatter = document.getElementById('scatter-chart');
  if (scatter && report.comparison) { scatter.replaceChildren(); addScatter(scatter, report.comparison, runs); removeIfEmpty(scatter); }
  const stances = document.getElementById('stance-charts');
  if (stances && report.stances) await addStances(stances, report.stances);
  const sweep = document.getElementById('sweep-chart');
  if (sweep && report.sweep) { sweep.replaceChildren(); addSweep(sweep, report.sweep); }
  const maps = document.getElementById('pressure-maps');
  if (maps && report.prints) { maps.replaceChildren(); await addPressureMaps(maps, report); }
  addZoomButtons();
  // The script of the fields shares the unpacked data.
  window.heelstrikeReport = report;
  dispatchEvent(new CustomEvent('heelstrike-report', { detail: report }));
  document.documentElement.dataset.ready = 'true';
}

main().catch((error) => {
  document.querySelectorAll('.needs-script').forEach((place) => { place.textContent = `The charts cannot be drawn: ${error.message}`; });
  throw error;
});
