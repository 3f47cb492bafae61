// Curves over time. All time charts of a page share their time axis and their cursor.
import { Chart, axes } from './chart.js';
import { element, number, withUnit } from './format.js';

const group = new Set();
let following = false;

/** One x axis for curves with times of their own: rows of all times, null where a curve has no sample. */
export function merged(curves) {
  const total = curves.map((curve) => curve.time.length);
  const next = curves.map(() => 0);
  // Curves that share their time array take the same rows.
  const times = [...new Set(curves.map((curve) => curve.time))];
  const heads = times.map(() => 0);
  const x = [];
  const columns = curves.map(() => []);
  for (;;) {
    let t = Infinity;
    times.forEach((time, k) => { if (heads[k] < time.length && time[heads[k]] < t) t = time[heads[k]]; });
    if (t === Infinity) return [x, ...columns];
    x.push(t);
    const taken = new Set();
    times.forEach((time, k) => { if (time[heads[k]] === t) { taken.add(time); ++heads[k]; } });
    curves.forEach((curve, i) => {
      const here = taken.has(curve.time) && next[i] < total[i];
      columns[i].push(here ? curve.value[next[i]++] : null);
    });
  }
}

/** Index of the sample of `column` nearest to x[index]; null when it is far outside the samples. */
export function nearestSample(x, column, index) {
  if (index === null || index === undefined) return null;
  if (column[index] !== null) return index;
  let left = index, right = index;
  while (left >= 0 && column[left] === null) --left;
  while (right < column.length && column[right] === null) ++right;
  if (left < 0 || right >= column.length) return null;
  return x[index] - x[left] <= x[right] - x[index] ? left : right;
}

function shareScale(source) {
  if (following) return;
  following = true;
  const { min, max } = source.plot.scales.x;
  for (const chart of group) {
    if (chart !== source && chart.plot) chart.plot.setScale('x', { min, max });
  }
  following = false;
}

/** Shows `from` to `to` [s] in all time charts. */
export function showTimes(from, to) {
  for (const chart of group) {
    chart.plot?.setScale('x', { min: from, max: to });
    return;
  }
}

export class TimeChart extends Chart {
  /** @param curves also {time, value}: arrays of equal length
   *  @param choices [{label, curves: [key...]}] offered as a selection; empty = none */
  constructor(place, { title, id, unit, curves, choices = [] }) {
    super(place, { title, id, curves });
    this.unit = unit;
    this.yLabel = withUnit(title.split(':')[0], unit);
    if (choices.length > 1) this.offer(choices);
    group.add(this);
  }

  /** Legend entries of curves that are not part of the choice are out of the way. */
  makeLegend() {
    super.makeLegend();
    if (this.offered) this.entries.forEach((entry, i) => { entry.button.hidden = !this.offered.includes(this.curves[i].key); });
  }

  offer(choices) {
    this.offered = choices[0].curves;
    this.makeLegend();
    const select = element('select', { 'aria-label': 'Curves to show' },
      ...choices.map((choice, i) => element('option', { value: String(i) }, choice.label)));
    select.addEventListener('change', () => this.choose(choices[Number(select.value)].curves));
    this.tools.prepend(select);
  }

  choose(keys) {
    this.offered = keys;
    this.entries.forEach((entry, i) => { entry.button.hidden = !keys.includes(this.curves[i].key); });
    this.curves.forEach((curve, index) => { if (curve.shown !== keys.includes(curve.key)) this.toggle(index); });
  }

  plotData() {
    this.data ??= merged(this.curves);
    return this.data;
  }

  plotOptions() {
    return {
      scales: { x: { time: false } },
      axes: axes('time [s]', this.yLabel),
      series: [{}, ...this.curves.map((curve, i) => ({ ...this.stroke(i), label: curve.label, spanGaps: true, points: { show: false } }))],
      cursor: {
        sync: { key: 'time', setSeries: false },
        drag: { x: true, y: false },
        dataIdx: (plot, series, index) => (series === 0 ? index : nearestSample(plot.data[0], plot.data[series], index)),
      },
      hooks: {
        setCursor: [(plot) => this.cursorMoved(plot)],
        setScale: [(plot, key) => { if (key === 'x' && this.plot === plot) shareScale(this); }],
      },
    };
  }

  cursorMoved(plot) {
    const index = plot.cursor.idx;
    if (index === null || index === undefined) return this.showValues('', null);
    const values = this.curves.map((curve, i) => {
      const at = nearestSample(plot.data[0], plot.data[i + 1], index);
      return curve.shown && at !== null ? plot.data[i + 1][at] : null;
    });
    this.readout.dataset.time = String(plot.data[0][index]);
    return this.showValues(`t = ${number(plot.data[0][index])} s`, values);
  }
}
