// One quantity against another: loops that are not functions of x, and labelled points.
import { Chart, axes, roomOf } from './chart.js';
import { largest, number, readable, shownDigits, tickLabels, withUnit } from './format.js';
import * as theme from './theme.js';

const resolution = 1e-6;  // relative: smaller differences are rounding

/** Path through the points in order; a NaN starts a new segment. */
function loopPath(plot, series) {
  const path = new Path2D();
  const [xs, ys] = plot.data[series];
  let drawing = false;
  for (let i = 0; i < xs.length; ++i) {
    if (Number.isNaN(xs[i]) || Number.isNaN(ys[i])) { drawing = false; continue; }
    const x = plot.valToPos(xs[i], 'x', true), y = plot.valToPos(ys[i], 'y', true);
    if (drawing) path.lineTo(x, y); else path.moveTo(x, y);
    drawing = true;
  }
  return { stroke: path, fill: null, clip: null, flags: 1 };
}

function pointPath(plot, series, size = 6) {
  const path = new Path2D();
  const [xs, ys] = plot.data[series];
  const radius = size * devicePixelRatio;
  for (let i = 0; i < xs.length; ++i) {
    if (Number.isNaN(xs[i]) || Number.isNaN(ys[i])) continue;
    const x = plot.valToPos(xs[i], 'x', true), y = plot.valToPos(ys[i], 'y', true);
    path.moveTo(x + radius, y);
    path.arc(x, y, radius, 0, 2 * Math.PI);
  }
  return { stroke: path, fill: path, clip: null, flags: 3 };
}

/** A line with a dot at every sample. */
function markedPath(plot, series) {
  return { stroke: loopPath(plot, series).stroke, fill: pointPath(plot, series, 3.5).fill, clip: null, flags: 3 };
}

/** The next 1, 2 or 5 times a power of ten below a positive value. */
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].find((f) => f * power <= value * (1 + 1e-9)) * power;
}

/** Range of all shown curves, with a margin; logarithmic: from a round value, with which the labels begin. */
function rangeOf(plot, component, logarithmic) {
  let min = Infinity, max = -Infinity;
  plot.series.forEach((series, i) => {
    if (i === 0 || !series.show) return;
    for (const value of plot.data[i][component]) {
      if (Number.isNaN(value)) continue;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  });
  if (min > max) return logarithmic ? [0.1, 1] : [0, 1];
  if (logarithmic) return [roundBelow(min / 2), max * 2.5];
  // A single value: an axis around it that shows its magnitude.
  const size = Math.max(Math.abs(min), Math.abs(max));
  const margin = max - min > resolution * size ? 0.04 * (max - min) : 0.5 * (size || 1);
  return [min - margin, max + margin];
}

/** Multiples of `step` in a range. */
function multiples(low, high, step) {
  const first = Math.ceil(low / step), last = Math.floor(high / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => (first + k) * step);
}

/** Labels the axis below a chart at the samples that have room for their labels; at multiples of a round step where the
 *  reader has zoomed in between two samples. */
function labelSamples(axis, samples) {
  const sorted = [...new Set(samples)].sort((a, b) => a - b);
  axis.splits = (plot, index, low, high, step) => {
    let right = -Infinity;
    const shown = sorted.filter((value) => {
      if (value < low || value > high) return false;
      const at = plot.valToPos(value, 'x'), half = 0.5 * roomOf(number(value).length);
      if (at - half < right) return false;
      right = at + half;
      return true;
    });
    return shown.length > 1 ? shown : multiples(low, high, step);
  };
  axis.filter = (plot, ticks) => ticks;
  axis.values = (plot, ticks) => (ticks.every((tick) => sorted.includes(tick)) ? ticks.map((tick) => number(tick)) : tickLabels(ticks));
}

export class XyChart extends Chart {
  /** @param curves also {x, y}, in SI like `unit` and `xUnit`; shown in units that suit the largest values
   *  @param points draw labelled points instead of lines
   *  @param marked draw a dot at every sample of a line, with ticks at the samples
   *  @param log [x, y] logarithmic axes */
  constructor(place, { title, id, xLabel, yLabel, unit, xUnit, curves, points = false, marked = false, log = [false, false] }) {
    super(place, { title, id, curves });
    [this.xFactor, this.xUnit] = readable(largest(...curves.map((curve) => curve.x)), xUnit);
    [this.yFactor, this.yUnit] = readable(largest(...curves.map((curve) => curve.y)), unit);
    Object.assign(this, { xLabel, yLabel, points, marked, log });
  }

  unitOf() {
    return this.yUnit;
  }

  plotData() {
    const scaled = (values, factor) => (factor === 1 ? values : values.map((value) => factor * value));
    this.shown = this.curves.map((curve) => [scaled(curve.x, this.xFactor), scaled(curve.y, this.yFactor)]);
    return [null, ...this.shown];
  }

  plotOptions() {
    const scale = (component) => ({
      time: false,
      distr: this.log[component] ? 3 : 1,
      range: (plot, min, max) => (this.zoomed ? [min, max] : rangeOf(plot, component, this.log[component])),
    });
    const [below, left] = axes(withUnit(this.xLabel, this.xUnit), withUnit(this.yLabel, this.yUnit), this.log);
    if (this.marked) labelSamples(below, this.curves.flatMap((curve) => curve.x.map((x) => this.xFactor * x)));
    return {
      mode: 2,
      scales: { x: scale(0), y: scale(1) },
      axes: [below, left],
      series: [null, ...this.curves.map((curve, i) => ({
        ...this.stroke(i), facets: [{ scale: 'x', auto: true }, { scale: 'y', auto: true }],
        ...(this.points || this.marked ? { fill: this.stroke(i).stroke } : {}),
        paths: this.points ? (plot, k) => pointPath(plot, k) : this.marked ? markedPath : loopPath,
      }))],
      cursor: {
        drag: { x: true, y: true, uni: 20 },
        points: { show: false },
        dataIdx: () => 0,
        bind: { dblclick: () => () => { this.reset(); return null; } },
      },
      hooks: {
        setCursor: [(plot) => this.cursorMoved(plot)],
        setSelect: [() => { this.zoomed = true; }],
        draw: [(plot) => { if (this.points) this.drawNames(plot); }],
      },
    };
  }

  reset() {
    this.zoomed = false;
    this.draw();
  }

  zoom(factor) {
    this.zoomed = true;
    super.zoom(factor);
  }

  drawNames(plot) {
    const context = plot.ctx;
    const ratio = devicePixelRatio;
    context.save();
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    context.textAlign = 'left';
    context.textBaseline = 'alphabetic';
    context.fillStyle = theme.cssColour('--ink');
    const placed = [];
    this.curves.forEach((curve, k) => {
      if (!curve.shown) return;
      const [[px], [py]] = this.shown[k];
      const width = context.measureText(curve.label).width;
      const x = plot.valToPos(px, 'x', true), y = plot.valToPos(py, 'y', true);
      const right = plot.bbox.left + plot.bbox.width;
      const at = x + 10 * ratio + width < right ? x + 10 * ratio : x - 10 * ratio - width;
      let line = y + 4 * ratio;
      while (placed.some((p) => Math.abs(p.line - line) < 14 * ratio && at < p.at + p.width && p.at < at + width)) line += 14 * ratio;
      placed.push({ at, width, line });
      context.fillText(curve.label, at, line);
    });
    context.restore();
  }

  /** Sample nearest to the pointer, over all shown curves. */
  cursorMoved(plot) {
    const { left, top } = plot.cursor;
    if (left < 0) return this.showValues('', null);
    let best = { distance: 30 ** 2 };
    this.curves.forEach((curve, k) => {
      if (!curve.shown) return;
      const [xs, ys] = this.shown[k];
      for (let i = 0; i < xs.length; ++i) {
        const distance = (plot.valToPos(xs[i], 'x') - left) ** 2 + (plot.valToPos(ys[i], 'y') - top) ** 2;
        if (distance < best.distance) best = { distance, k, i };
      }
    });
    if (best.k === undefined) return this.showValues('', null);
    const [xs, ys] = this.shown[best.k];
    const values = this.curves.map((_, k) => (k === best.k ? ys[best.i] : null));
    return this.showValues(`${this.xLabel} = ${number(xs[best.i], shownDigits)} ${this.xUnit}`, values);
  }
}
