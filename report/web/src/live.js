// The live page: polls the local program for the progress of the runs. A request is sent only after the last response,
// so that a slow page polls less often and receives coarser snapshots.
import { element, number, withUnit } from './format.js';
import { PressureMapView, unpackView } from './map.js';
import * as theme from './theme.js';
import { TimeChart } from './time_chart.js';

const listDistance = 500, runDistance = 400;  // [ms]
const shownAtFirst = 3;
const titles = {
  force: 'Contact force', indentation: 'Indentation', peak_pressure: 'Peak pressure', area: 'Contact area',
  step_size: 'Step size', energy: 'Energy', region_force: 'Normal force of the regions', region_peak_pressure: 'Peak pressure of the regions',
};
const token = new URLSearchParams(location.hash.slice(1)).get('token');

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function visible() {
  while (document.hidden) await pause(250);
}

/** @returns the response, null without changes. @throws Error with the message of the program */
async function ask(path, options) {
  const response = await fetch(path, { cache: 'no-store', ...options });
  if (response.status === 204) return null;
  const json = await response.json();
  if (!response.ok) throw new Error(json.error ?? `status ${response.status}`);
  return json;
}

function clock(seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

function stateText(s) {
  if (s.stage && s.time === 0) return `preparing: ${s.stage} ${Math.round(100 * s.fraction)} %`;
  return s.state;
}

/** One run: progress line, growing charts, pressure maps. */
class RunView {
  constructor(place, entry) {
    this.id = entry.id;
    this.version = null;
    this.charts = new Map();
    this.maps = new Map();
    this.progress = element('p', { class: 'run-progress' });
    this.note = element('p', { class: 'status failed' });
    this.chartPlace = element('div', { class: 'charts' });
    this.mapPlace = element('div', { class: 'charts' });
    this.section = element('section', { class: 'run', 'data-run': entry.id }, element('h2', {}, entry.label), this.progress, this.note, this.mapPlace, this.chartPlace);
    place.append(this.section);
    this.running = true;
    this.pollRun();
  }

  async pollRun() {
    while (this.running) {
      await visible();
      try {
        const run = await ask(`api/runs/${encodeURIComponent(this.id)}${this.version === null ? '' : `?have=${this.version}`}`);
        if (run && this.running) await this.show(run);
        if (run) this.section.dataset.updates = String(Number(this.section.dataset.updates ?? 0) + 1);
      } catch (error) {
        this.note.textContent = error.message;
      }
      await pause(runDistance);
    }
  }

  async show(run) {
    this.version = run.version;
    const s = run.state;
    const parts = [`${stateText(s)}`, `t = ${number(s.time)}${s.end_time ? ` of ${number(s.end_time)}` : ''} s`, `${s.rows} rows`];
    if (s.step_size) parts.push(`step ${number(s.step_size, 3)} s`);
    if (s.pace) parts.push(`${number(s.pace, 3)}x real time`);
    this.progress.textContent = parts.join(' · ');
    this.section.dataset.state = s.state;
    this.section.dataset.rows = String(s.rows);
    this.note.textContent = s.note;
    for (const [key, curves] of Map.groupBy ? Map.groupBy(run.curves, chartKey) : grouped(run.curves)) this.showChart(key, curves);
    for (const map of run.maps) await this.showMap(map);
  }

  showChart(key, columns) {
    const curves = columns.map((column, k) => ({
      key: column.name, name: column.name, label: column.short, unit: column.unit, time: column.time, value: column.value,
      colour: k, shown: true,
    }));
    const known = this.charts.get(key);
    if (known && known.update(curves)) return;
    known?.remove();
    const { quantity, owner, unit } = columns[0];
    const name = titles[quantity] ?? quantity;
    this.charts.set(key, new TimeChart(this.chartPlace, {
      title: owner && owner !== quantity ? `${name}: ${owner}` : name, id: `live-${this.id}-${key}`, unit, curves, alone: true, log: quantity === 'step_size',
    }));
  }

  async showMap(map) {
    let views = this.maps.get(map.name);
    if (!views) {
      const made = (kind) => new PressureMapView(this.mapPlace, { title: map.name, id: `live-${this.id}-${kind}-${map.name}` });
      views = { latest: made('latest'), peak: made('peak') };
      for (const view of Object.values(views)) view.frame.classList.remove('wide');
      this.maps.set(map.name, views);
    }
    views.latest.show(await unpackView(map.latest), null, `Pressure at t = ${number(map.time)} s: ${map.name}`);
    views.peak.show(await unpackView(map.peak), null, `Peak pressure so far: ${map.name}`);
  }

  remove() {
    this.running = false;
    for (const chart of this.charts.values()) chart.remove();
    for (const { latest, peak } of this.maps.values()) { latest.remove(); peak.remove(); }
    this.section.remove();
  }
}

function chartKey(column) {
  return `${column.quantity}-${column.owner}`;
}

function grouped(columns) {
  const groups = new Map();
  for (const column of columns) groups.set(chartKey(column), [...(groups.get(chartKey(column)) ?? []), column]);
  return groups;
}

class LivePage {
  constructor(main) {
    this.views = new Map();
    this.chosen = new Map();
    this.body = element('tbody');
    this.message = element('p', { class: 'status failed', role: 'status' });
    const head = ['show', 'run', 'state', 'progress', 'simulated', 'left [min:s]', ''].map((text) => element('th', {}, text));
    main.replaceChildren(this.message, element('div', { class: 'scroll' }, element('table', { id: 'runs' }, element('thead', {}, element('tr', {}, ...head)), this.body)), this.place = element('div'));
  }

  async pollRuns() {
    for (;;) {
      await visible();
      try {
        this.list(await ask('api/runs'));
        this.message.textContent = '';
      } catch (error) {
        this.message.textContent = `No response: ${error.message}`;
      }
      document.documentElement.dataset.ready = 'true';
      await pause(listDistance);
    }
  }

  list({ source, can_stop: canStop, runs }) {
    document.getElementById('source').textContent = source;
    const waiting = runs.filter((run) => !this.chosen.has(run.id));
    const going = runs.filter((run) => run.state.state === 'running');
    for (const run of waiting) {
      const first = going.includes(run) || (going.length === 0 && runs.indexOf(run) === 0 && this.views.size === 0);
      this.choose(run, first && this.views.size < shownAtFirst);
    }
    const focused = document.activeElement?.closest?.('tr')?.dataset.run;
    const kind = document.activeElement?.tagName;
    this.body.replaceChildren(...runs.map((run) => this.row(run, canStop)));
    if (runs.length === 0) this.body.append(element('tr', {}, element('td', { colspan: '7' }, 'No runs yet.')));
    if (focused) this.body.querySelector(`tr[data-run="${CSS.escape(focused)}"] ${kind.toLowerCase()}`)?.focus();
  }

  choose(run, wanted) {
    this.chosen.set(run.id, wanted);
    if (wanted && !this.views.has(run.id)) this.views.set(run.id, new RunView(this.place, run));
    if (!wanted) { this.views.get(run.id)?.remove(); this.views.delete(run.id); }
  }

  row(run, canStop) {
    const s = run.state;
    const fraction = s.end_time > 0 ? Math.min(1, s.time / s.end_time) : 0;
    const box = element('input', { type: 'checkbox', 'aria-label': `Show ${run.label}`, onchange: () => this.choose(run, box.checked) });
    box.checked = this.chosen.get(run.id);
    const stop = canStop && token && s.state === 'running' ? element('button', { type: 'button', class: 'stop', onclick: () => this.stop(run.id) }, 'Stop') : '';
    return element('tr', { 'data-run': run.id, 'data-state': s.state },
      element('td', {}, box), element('td', {}, run.label), element('td', { class: `status ${s.state}` }, stateText(s)),
      element('td', {}, element('progress', { max: '1', value: String(fraction) }), ` ${Math.round(100 * fraction)} %`),
      element('td', { class: 'number' }, withUnit(`${number(s.time, 4)} s`, '')),
      element('td', { class: 'number' }, s.remaining > 0 ? clock(s.remaining) : '–'), element('td', {}, stop));
  }

  async stop(id) {
    try {
      await ask(`api/runs/${encodeURIComponent(id)}/cancel`, { method: 'POST', headers: { 'X-Heelstrike-Token': token } });
    } catch (error) {
      this.message.textContent = `Not stopped: ${error.message}`;
    }
  }
}

theme.install(document.querySelector('header'));
new LivePage(document.getElementById('live')).pollRuns();
