// Time windows of the contacts of a run: initial window of the charts, and navigation between contacts.
import { element, number } from './format.js';
import { onWindow } from './shared_time.js';
import { showTimes } from './time_chart.js';

const maxContactsListed = 200;
// Fraction of the run's time below which contacts are mere spikes in a view of the whole run.
const spikes = 0.2;
const maxWindowFraction = 0.8;

/** Times with contact of any pair: [{from, to, force}], overlapping episodes of several pairs as one. */
export function stretches(contacts) {
  const merged = [];
  for (const { onset, end, force } of [...contacts].sort((a, b) => a.onset - b.onset)) {
    const last = merged.at(-1);
    if (last && onset <= last.to) {
      last.to = Math.max(last.to, end);
      last.force = Math.max(last.force, force);
    } else {
      merged.push({ from: onset, to: end, force });
    }
  }
  return merged.filter(({ from, to }) => to > from);
}

/** The k-th contacts of all runs as one window; for later contacts, whose times diverge, only those that overlap. */
function common(perRun) {
  const result = [];
  for (let k = 0; k < Math.min(...perRun.map((list) => list.length)); ++k) {
    const now = perRun.map((list) => list[k]);
    const overlap = Math.max(...now.map(({ from }) => from)) < Math.min(...now.map(({ to }) => to));
    if (k > 0 && !overlap) break;
    result.push({ from: Math.min(...now.map(({ from }) => from)), to: Math.max(...now.map(({ to }) => to)), force: Math.max(...now.map(({ force }) => force)) });
  }
  return result;
}

function withMargin({ from, to }, share, [start, end]) {
  const margin = share * (to - from);
  return [Math.max(start, from - margin), Math.min(end, to + margin)];
}

/** @param runs  with `contacts` and `span` [s]
 *  @returns {stretches, first}: `first` = window to open with, null = the whole run */
export function contactWindows(runs) {
  const perRun = runs.map((run) => stretches(run.contacts ?? [])).filter((list) => list.length > 0);
  if (perRun.length === 0) return { list: [], first: null };
  const list = perRun.length === 1 ? perRun[0] : common(perRun);
  const whole = [Math.min(...runs.map((run) => run.span[0])), Math.max(...runs.map((run) => run.span[1]))];
  const length = whole[1] - whole[0];
  const loaded = list.reduce((sum, { from, to }) => sum + to - from, 0);
  const union = { from: list[0].from, to: list.at(-1).to };
  let first = perRun.length > 1 ? list[0] : list.reduce((best, one) => (one.force > best.force ? one : best));
  let margin = 0.3;
  if (loaded > spikes * length) {
    first = union;
    margin = 0.05;
  }
  const opening = withMargin(first, margin, whole);
  // In walking one foot is always loaded: navigation is then from stance to stance.
  const single = perRun.length === 1 && list.length === 1 ? runs.flatMap((run) => run.contacts ?? []).filter((c) => c.end > c.onset) : [];
  const offered = single.length > 1 ? single.sort((a, b) => a.onset - b.onset).map((c) => ({ from: c.onset, to: c.end, force: c.force, pair: c.pair })) : list;
  return {
    list: offered.slice(0, maxContactsListed).map((one) => ({ ...one, window: withMargin(one, 0.3, whole) })),
    first: opening[1] - opening[0] > maxWindowFraction * length ? null : opening, whole,
  };
}

/** Buttons above the charts: the whole run, one contact after the other. */
export function addZoomBar(place, { list, whole }) {
  if (list.length === 0) return;
  const same = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) < 1e-6 * (b[1] - b[0]);
  let now = -1;
  const go = (k) => showTimes(...(k < 0 ? whole : list[k].window));
  const all = element('button', { type: 'button', class: 'whole', onclick: () => go(-1) }, 'Whole run');
  const select = element('select', { 'aria-label': 'Contact to show', onchange: () => go(Number(select.value)) },
    element('option', { value: '-2', hidden: true }, 'custom range'), element('option', { value: '-1' }, 'whole run'),
    ...list.map(({ from, to, pair }, k) => element('option', { value: String(k) }, `${pair ?? `contact ${k + 1}`}: ${number(from, 4)} to ${number(to, 4)} s`)));
  const step = (direction) => () => {
    const { from } = now >= 0 ? list[now] : { from: direction > 0 ? -Infinity : Infinity };
    const next = now >= 0 ? now + direction : direction > 0 ? list.findIndex((one) => one.from > from) : list.length - 1;
    go(Math.min(list.length - 1, Math.max(0, next)));
  };
  const back = element('button', { type: 'button', 'aria-label': 'Previous contact', onclick: step(-1) }, '◀');
  const on = element('button', { type: 'button', 'aria-label': 'Next contact', onclick: step(1) }, '▶');
  const bar = element('div', { class: 'zoom-bar no-print', role: 'toolbar', 'aria-label': 'Time shown' }, all, back, select, on,
    element('span', { class: 'note' }, `${list.length} contact${list.length > 1 ? 's' : ''}`));
  place.before(bar);
  onWindow((from, to) => {
    now = list.findIndex((one) => same([from, to], one.window));
    const everything = same([from, to], whole);
    select.value = now >= 0 ? String(now) : everything ? '-1' : '-2';
    all.setAttribute('aria-pressed', String(everything));
  });
}
