// Common parts of all charts: frame with title, legend, buttons and keys; style of uPlot's axes.
import uPlot from 'uplot';
import { element, number, shownDigits, tickLabels } from './format.js';
import * as theme from './theme.js';

const height = 300;
// Distances of ticks: 1, 2 and 5 times powers of ten, so that labels have no digit for a half.
const smallestPower = -15, largestPower = 18;
const tickDistances = Array.from({ length: largestPower - smallestPower }, (_, k) => [1, 2, 5].map((f) => Number(`${f}e${smallestPower + k}`))).flat();

function axis(label, onValues) {
  return {
    label,
    labelSize: 22,
    labelFont: '13px system-ui, sans-serif',
    font: '12px system-ui, sans-serif',
    stroke: theme.cssColour('--ink'),
    grid: { stroke: theme.cssColour('--grid'), width: 1 },
    ticks: { stroke: theme.cssColour('--grid'), width: 1 },
    incrs: tickDistances,
    values: (plot, ticks) => onValues(ticks),
  };
}

/** Labels of a logarithmic axis: those of 1, 2 and 5, all as decimals or all with an exponent; uPlot leaves out (null)
 *  what has no room. */
export function logLabels(ticks) {
  const mantissa = (tick) => Number(tick.toExponential(2).split('e')[0]);
  const labelled = (tick) => tick !== null && tick > 0 && [1, 2, 5].includes(mantissa(tick));
  const wide = ticks.some((tick) => labelled(tick) && (tick < 9.9e-4 || tick > 1e5));
  return ticks.map((tick) => (!labelled(tick) ? '' : wide ? `${mantissa(tick)}e${Math.floor(Math.log10(tick) + 1e-9)}` : number(tick, 3)));
}

/** Range of an axis of values: that of uPlot with a tenth of margin; a value that does not vary is in the middle of an
 *  axis of its size, zero at the foot of one up to `high`. */
export function valueRange(min, max, high) {
  if (min === null || max === null) return [null, null];
  if (max > min) return uPlot.rangeNum(min, max, 0.1, true);
  return max === 0 ? [0, high || 1] : [Math.min(0, 2 * max), Math.max(0, 2 * max)];
}

/** Axes of a plot: time or another quantity below, a quantity on the left as wide as its labels.
 *  @param log  [x, y] logarithmic axes */
export function axes(xLabel, yLabel, log = [false, false]) {
  const left = axis(yLabel, log[1] ? logLabels : tickLabels);
  left.size = (plot, labels) => Math.max(48, 18 + 7.5 * Math.max(0, ...(labels ?? []).map((text) => String(text).length)));
  const below = axis(xLabel, log[0] ? logLabels : tickLabels);
  below.space = (plot, index, low, high) => Math.max(50, roomOf(labelLength(low, high)));
  return [below, left];
}

/** [px] room of a label below an axis. */
export function roomOf(characters) {
  return 14 + 7 * characters;
}

/** Label width in characters for about eight labels per axis; grows with the zoom. */
function labelLength(low, high) {
  const step = (high - low) / 8;
  if (!(step > 0) || step >= 1) return 5;
  return Math.min(12, 3 + Math.ceil(-Math.log10(step)) + String(Math.trunc(Math.max(Math.abs(low), Math.abs(high)))).length - 1);
}

/**
 * A chart in the page. Subclasses implement `plotOptions()` and `plotData()`.
 * `curves`: [{key, label, unit, colour: index, dash: index, shown}], drawn in this order.
 */
export class Chart {
  constructor(place, { title, id, curves }) {
    this.curves = curves;
    this.plot = null;
    this.frame = element('figure', { class: 'chart', id });
    this.heading = element('figcaption', {}, title);
    this.tools = element('div', { class: 'tools no-print' });
    this.readout = element('span', { class: 'cursor-position' });
    this.legend = element('div', { class: 'legend' }, this.readout);
    this.canvas = element('div', {
      class: 'plot', tabindex: '0', role: 'application',
      'aria-label': `${title}. Left and right arrow move the cursor, plus and minus zoom, 0 shows everything.`,
      onkeydown: (event) => this.key(event),
    });
    this.tools.append(element('button', { type: 'button', class: 'reset', onclick: () => this.reset() }, 'Show all'));
    this.frame.append(this.heading, this.tools, this.canvas, this.legend);
    place.append(this.frame);
    this.makeLegend();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
    this.forget = theme.onChange(() => { this.makeLegend(); this.draw(); });
  }

  makeLegend() {
    this.entries = this.curves.map((curve, index) => this.legendEntry(curve, index));
    this.legend.replaceChildren(this.readout, ...this.entries.map((entry) => entry.button));
  }

  legendEntry(curve, index) {
    const swatch = element('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.borderTopColor = theme.curveColour(curve.colour);
    swatch.style.borderTopStyle = theme.dash(curve.dash ?? 0, curve.colour) ? 'dashed' : 'solid';
    const value = element('span', { class: 'value' });
    const button = element('button', {
      type: 'button', class: 'legend-entry', 'aria-pressed': String(curve.shown), 'data-curve': curve.key,
      title: 'Show or hide this curve',
      onclick: () => this.toggle(index),
    }, swatch, element('span', { class: 'name' }, curve.label), value);
    return { button, value };
  }

  toggle(index) {
    const curve = this.curves[index];
    curve.shown = !curve.shown;
    this.entries[index].button.setAttribute('aria-pressed', String(curve.shown));
    this.plot?.setSeries(index + 1, { show: curve.shown });
  }

  width() {
    return Math.max(280, this.canvas.clientWidth);
  }

  resize() {
    if (!this.plot) this.draw();
    else if (this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height });
  }

  draw() {
    if (this.canvas.clientWidth === 0) return;
    this.plot?.destroy();
    const options = { width: this.width(), height, legend: { show: false }, pxAlign: 0, ...this.plotOptions() };
    this.plot = new uPlot(options, this.plotData(), this.canvas);
  }

  stroke(index) {
    const curve = this.curves[index];
    return { stroke: theme.curveColour(curve.colour), dash: theme.dash(curve.dash ?? 0, curve.colour), width: 1.6, show: curve.shown };
  }

  remove() {
    this.observer.disconnect();
    this.forget();
    this.plot?.destroy();
    this.frame.remove();
  }

  /** Display unit of curve i. */
  unitOf(i) {
    return this.curves[i].unit ?? '';
  }

  /** Values under the cursor in display units; `values[i]` belongs to curve i, null = none. */
  showValues(position, values) {
    this.readout.textContent = position;
    this.entries.forEach((entry, i) => {
      const value = values?.[i];
      entry.value.textContent = value === null || value === undefined ? '' : `${number(value, shownDigits)} ${this.unitOf(i)}`;
      if (value !== null && value !== undefined) entry.value.dataset.value = number(value, shownDigits);
      else delete entry.value.dataset.value;
    });
  }

  reset() {
    this.plot?.setData(this.plot.data, true);
  }

  zoom(factor) {
    const { min, max } = this.plot.scales.x;
    const left = this.plot.cursor.left;
    const centre = left >= 0 ? this.plot.posToVal(left, 'x') : (min + max) / 2;
    this.plot.setScale('x', { min: centre - (centre - min) * factor, max: centre + (max - centre) * factor });
  }

  step(direction) {
    const plot = this.plot;
    const left = plot.cursor.left < 0 ? plot.bbox.width / devicePixelRatio / 2 : plot.cursor.left + direction;
    plot.setCursor({ left, top: plot.bbox.height / devicePixelRatio / 2 });
  }

  key(event) {
    if (!this.plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const fast = event.shiftKey ? 20 : 2;
    const actions = {
      ArrowLeft: () => this.step(-fast),
      ArrowRight: () => this.step(fast),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      0: () => this.reset(),
      Escape: () => this.plot.setCursor({ left: -10, top: -10 }),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
