// Curves over time. All time charts of a page share their time axis and their cursor.
import { Chart, axes, valueRange } from './chart.js';
import { element, largest, number, readable, withUnit } from './format.js';
import { onTime, showTime, notifyWindow } from './shared_time.js';

const group = new Set();
let placing = false;
let times = null, whole = null;  // [from, to] shown by all charts, and of everything; [s]

/** Common x axis for curves with separate times: rows of all times, undefined where a curve has no sample (uPlot
 *  connects the neighbours), null for NaN (uPlot interrupts the curve). */
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
      const value = here ? curve.value[next[i]++] : undefined;
      columns[i].push(Number.isNaN(value) ? null : value);
    });
  }
}

/** Index of the sample of `column` nearest to x[index]; null when it is far outside the samples or in a gap. */
export function nearestSample(x, column, index) {
  if (index === null || index === undefined) return null;
  let left = index, right = index;
  while (left >= 0 && column[left] === undefined) --left;
  while (right < column.length && column[right] === undefined) ++right;
  if (left < 0 || right >= column.length || column[left] === null || column[right] === null) return null;
  return x[index] - x[left] <= x[right] - x[index] ? left : right;
}

/** Value of a column at `at`, linear between its samples; null outside of them and in gaps. */
function valueAtEdge(x, column, at) {
  let left = -1, right = -1;
  for (let i = 0; i < x.length && right < 0; ++i) {
    if (column[i] === undefined) continue;
    if (x[i] <= at) left = i; else right = i;
  }
  if (left < 0 || right < 0 || column[left] === null || column[right] === null) return null;
  return column[left] + ((column[right] - column[left]) * (at - x[left])) / (x[right] - x[left]);
}

function shareScale(source) {
  if (!group.has(source)) return;
  const { min, max } = source.plot.scales.x;
  // uPlot reports every change, including those made here.
  if (min !== null && max > min && !(times && times[0] === min && times[1] === max)) showTimes(min, max);
}

/** Shows `from` to `to` [s] in all time charts, including later ones. */
export function showTimes(from, to) {
  times = [from, to];
  for (const chart of group) chart.plot?.setScale('x', { min: from, max: to });
  notifyWindow(from, to);
}

/** Time range of "Show all" [s]. */
export function setWhole(from, to) {
  whole = [from, to];
}

onTime((time, source) => {
  if (source === group) return;
  placing = true;
  for (const chart of group) {
    const { plot } = chart;
    if (plot) plot.setCursor({ left: plot.valToPos(time, 'x'), top: plot.bbox.height / devicePixelRatio / 2 });
  }
  placing = false;
});

export class TimeChart extends Chart {
  /** @param unit   of the values, in SI; shown in the unit that suits the largest value of the curves
   *  @param curves also {time, value}: arrays of equal length
   *  @param choices [{label, curves: [key...]}] offered as a selection; empty = none
   *  @param log    logarithmic values; zeros are omitted
   *  @param alone  time axis not shared with the other charts of the page
   *  @param label  of the values; default: the title
   *  @param xName, xUnit  of the axis below; @param xRange  [from, to] of it when all is shown; default: that of the data */
  constructor(place, { title, id, unit, curves, choices = [], alone = false, log = false, label, xName = 'time', xUnit = 's', xRange }) {
    super(place, { title, id, curves });
    Object.assign(this, { unit, log, xName, xUnit, xRange, label: label ?? title.split(':')[0] });
    this.setUnit();
    if (choices.length > 1) this.offer(choices);
    if (!alone) group.add(this);
  }

  /** @returns true if the display unit is another one than before. Logarithmic axes show SI units. */
  setUnit() {
    const before = this.shownUnit;
    this.high = largest(...this.curves.map((curve) => curve.value));
    [this.factor, this.shownUnit] = this.log ? [1, this.unit] : readable(this.high, this.unit);
    return before !== this.shownUnit;
  }

  unitOf() {
    return this.shownUnit === '-' ? '' : this.shownUnit;
  }

  /** Updates the samples of the same curves; follows them unless zoomed. @returns false for other curves */
  update(curves) {
    if (curves.length !== this.curves.length || curves.some((curve, i) => curve.key !== this.curves[i].key)) return false;
    curves.forEach((curve, i) => Object.assign(this.curves[i], { time: curve.time, value: curve.value }));
    if (this.setUnit() && this.plot) {
      this.data = null;
      this.draw();
      return true;
    }
    const before = this.data?.[0] ?? [];
    const { min, max } = this.plot?.scales.x ?? {};
    const zoomed = before.length > 1 && (min > before[0] || max < before[before.length - 1]);
    this.data = this.made();
    this.plot?.setData(this.data, !zoomed);
    if (zoomed) this.plot.redraw();
    return true;
  }

  draw() {
    super.draw();
    if (times && group.has(this)) this.plot?.setScale('x', { min: times[0], max: times[1] });
  }

  reset() {
    if (whole && group.has(this)) showTimes(...whole);
    else super.reset();
  }

  remove() {
    group.delete(this);
    super.remove();
  }

  /** Hides legend entries of curves outside of the selection. */
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

  made() {
    const [x, ...columns] = merged(this.curves);
    const shown = this.log ? (value) => (value > 0 ? value : undefined) : (value) => (value === null || value === undefined ? value : this.factor * value);
    return [x, ...(this.log || this.factor !== 1 ? columns.map((column) => column.map(shown)) : columns)];
  }

  plotData() {
    this.data ??= this.made();
    return this.data;
  }

  /** Range of the values: that of the samples in the window, and of the curves where they leave it, whose next samples
   *  may be far outside. */
  rangeOfValues(plot, low, high) {
    let min = low, max = high;
    if (times && min !== null && group.has(this)) {
      this.curves.forEach((curve, i) => {
        if (!curve.shown) return;
        for (const at of times) {
          const value = valueAtEdge(plot.data[0], plot.data[i + 1], at);
          if (value !== null) { min = Math.min(min, value); max = Math.max(max, value); }
        }
      });
    }
    return valueRange(min, max, this.factor * this.high);
  }

  plotOptions() {
    const x = this.plotData()[0];
    const rangeOfX = (plot, min, max) => (min <= x[0] && max >= x.at(-1) ? this.xRange : [min, max]);
    return {
      scales: { x: { time: false, ...(this.xRange ? { range: rangeOfX } : {}) }, y: this.log ? { distr: 3 } : { range: (plot, min, max) => this.rangeOfValues(plot, min, max) } },
      axes: axes(withUnit(this.xName, this.xUnit), withUnit(this.label, this.shownUnit), [false, this.log]),
      series: [{}, ...this.curves.map((curve, i) => ({ ...this.stroke(i), label: curve.label, points: { show: false } }))],
      cursor: {
        sync: { key: 'time', setSeries: false },
        drag: { x: true, y: false },
        dataIdx: (plot, series, index) => (series === 0 ? index : nearestSample(plot.data[0], plot.data[series], index)),
        bind: { dblclick: () => () => { this.reset(); return null; } },
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
    if (!placing && group.has(this) && this.canvas.matches(':hover, :focus')) showTime(plot.data[0][index], group);
    return this.showValues(`${this.xUnit === 's' ? 't' : this.xName} = ${number(plot.data[0][index])} ${this.xUnit}`, values);
  }
}
