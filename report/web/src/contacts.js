// Navigation between the time windows of the contacts, which report/contact_windows.cpp chooses.
import { element, number } from './format.js';
import { onWindow } from './shared_time.js';
import { showTimes } from './time_chart.js';

const same = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) < 1e-6 * (b[1] - b[0]);

/** Times of a contact with as many decimals as its duration needs. */
function interval(from, to) {
  const decimals = Math.min(12, Math.max(0, 2 + Math.ceil(-Math.log10(to - from))));
  return `${number(Number(from.toFixed(decimals)), 12)} to ${number(Number(to.toFixed(decimals)), 12)} s`;
}

/** Buttons above the charts: the whole run, one contact after the other. */
export function addZoomBar(place, { list: windows, first, whole }) {
  // A window of the whole run is that of the button.
  const list = windows.filter(({ window }) => !same(window, whole));
  if (list.length === 0) return;
  const opening = first && !same(first, whole) && !list.some(({ window }) => same(first, window)) ? first : null;
  let now = -1;
  const go = (k) => showTimes(...(k < 0 ? whole : list[k].window));
  const all = element('button', { type: 'button', class: 'whole', onclick: () => go(-1) }, 'Whole run');
  const select = element('select', { 'aria-label': 'Contact to show', onchange: () => (select.value === 'opening' ? showTimes(...opening) : go(Number(select.value))) },
    element('option', { value: '-2', hidden: true }, 'custom range'), element('option', { value: '-1' }, 'whole run'),
    ...(opening ? [element('option', { value: 'opening' }, 'all contacts')] : []),
    ...list.map(({ from, to, label }, k) => element('option', { value: String(k) }, `${label}: ${interval(from, to)}`)));
  const step = (direction) => () => {
    const { from } = now >= 0 ? list[now] : { from: direction > 0 ? -Infinity : Infinity };
    const next = now >= 0 ? now + direction : direction > 0 ? list.findIndex((one) => one.from > from) : list.length - 1;
    go(Math.min(list.length - 1, Math.max(0, next)));
  };
  const back = element('button', { type: 'button', 'aria-label': 'Previous contact', onclick: step(-1) }, '◀');
  const on = element('button', { type: 'button', 'aria-label': 'Next contact', onclick: step(1) }, '▶');
  const bar = element('div', { class: 'zoom-bar no-print', role: 'toolbar', 'aria-label': 'Time shown' }, all, back, select, on);
  place.before(bar);
  onWindow((from, to) => {
    now = list.findIndex((one) => same([from, to], one.window));
    const everything = same([from, to], whole);
    select.value = now >= 0 ? String(now) : everything ? '-1' : opening && same([from, to], opening) ? 'opening' : '-2';
    all.setAttribute('aria-pressed', String(everything));
  });
}
