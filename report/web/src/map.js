// Pressure in plan view: coloured cells with axes in mm, a colour bar, the path of the centre of pressure.
import { unpackDoubles, unpackShorts } from './decode.js';
import { element, number, readable, tickLabels } from './format.js';
import * as theme from './theme.js';
import { pressureColour } from './viridis.js';

const outside = 65535;
const steps = 65534;
const besides = { left: 58, top: 12, right: 118, bottom: 46 };
// On narrow pages the scale is below the map.
const below = { left: 46, top: 8, right: 12, bottom: 104 };
const narrow = 480;
const tallest = 420;
const smallPart = 0.3;  // of the body, below which only the loaded part is shown

/** @param json  written by plan_view_json */
export async function unpackView(json) {
  return { ...json, cells: await unpackShorts(json.values) };
}

export async function unpackPath(json) {
  return { time: await unpackDoubles(json.time), u: await unpackDoubles(json.u), v: await unpackDoubles(json.v) };
}

/** The part of a view around its loaded cells, where these are a small part of the body, such as the contact of a ball;
 *  else the view. */
export function loadedPart(view) {
  const [nu, nv] = view.n;
  const low = [nu, nv], high = [-1, -1];
  view.cells.forEach((cell, i) => {
    if (cell === outside || cell === 0) return;
    [i % nu, Math.floor(i / nu)].forEach((at, k) => { low[k] = Math.min(low[k], at); high[k] = Math.max(high[k], at); });
  });
  const size = Math.max(high[0] - low[0], high[1] - low[1]) + 1;
  if (high[0] < 0 || size > smallPart * Math.min(nu, nv)) return view;
  const from = low.map((at, k) => Math.max(0, Math.round(0.5 * (at + high[k])) - size));
  const n = from.map((at, k) => Math.min(view.n[k], Math.round(0.5 * (low[k] + high[k])) + size + 1) - at);
  const cells = new Uint16Array(n[0] * n[1]);
  for (let v = 0; v < n[1]; ++v) cells.set(view.cells.subarray((from[1] + v) * nu + from[0], (from[1] + v) * nu + from[0] + n[0]), v * n[0]);
  return { ...view, n, cells, origin: view.origin.map((o, k) => o + from[k] * view.cell), isPart: true };
}

function roundStep(range, wanted) {
  const rough = range / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= rough);
}

function ticks(low, high, wanted) {
  const step = roundStep(high - low || 1, wanted);
  const all = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) all.push(k * step);
  return all;
}

export class PressureMapView {
  constructor(place, { title, id, canRead = true }) {
    this.heading = element('figcaption', {}, title);
    this.canvas = element('canvas', { class: 'pressure-map', role: 'img', 'aria-label': title });
    this.readout = element('output', { class: 'field-value' }, canRead ? 'Point at the map to read a value.' : '');
    this.frame = element('figure', { class: 'chart wide', id }, this.heading, this.canvas, this.readout);
    place.append(this.frame);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.frame);
    this.forget = theme.onChange(() => this.draw());
    this.canvas.addEventListener('pointermove', (event) => this.probe(event));
  }

  /** @param view  of unpackView; @param path  of unpackPath, or null; @param sides  {x: [behind, ahead], ...} of the body */
  show(view, path, heading, sides = {}) {
    this.view = view;
    this.path = path;
    this.sides = sides;
    if (heading) this.heading.textContent = heading;
    const [nu, nv] = view.n;
    const picture = new ImageData(nu, nv);
    for (let v = 0; v < nv; ++v) {
      for (let u = 0; u < nu; ++u) {
        const cell = view.cells[v * nu + u];
        if (cell === outside) continue;
        const at = 4 * ((nv - 1 - v) * nu + u);
        picture.data.set([...pressureColour(cell / steps).map(Math.round), 255], at);
      }
    }
    this.image = document.createElement('canvas');
    this.image.width = nu;
    this.image.height = nv;
    this.image.getContext('2d').putImageData(picture, 0, 0);
    this.draw();
  }

  remove() {
    this.observer.disconnect();
    this.forget();
    this.frame.remove();
  }

  layout() {
    const width = Math.max(280, this.frame.clientWidth - 26);
    const [nu, nv] = this.view.n;
    const margin = width < narrow ? below : besides;
    const room = width - margin.left - margin.right;
    const scale = Math.min(room / nu, tallest / nv);
    return { width, margin, scale, across: nu * scale, down: nv * scale, height: nv * scale + margin.top + margin.bottom };
  }

  /** Position on the canvas of a point of the body [m]. */
  place(u, v) {
    const { margin, scale, down } = this.size;
    return [
      margin.left + ((u - this.view.origin[0]) / this.view.cell + 0.5) * scale,
      margin.top + down - ((v - this.view.origin[1]) / this.view.cell + 0.5) * scale,
    ];
  }

  draw() {
    if (!this.view || this.frame.clientWidth === 0) return;
    this.size = this.layout();
    const { width, height, margin, across, down } = this.size;
    const ratio = devicePixelRatio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.imageSmoothingEnabled = false;
    this.drawAxes(context);
    context.drawImage(this.image, margin.left, margin.top, across, down);
    this.drawPath(context);
    this.drawBar(context);
  }

  drawAxes(context) {
    const { margin, across, down } = this.size;
    const { origin, cell, n, axes } = this.view;
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = theme.cssColour('--ink');
    context.strokeStyle = theme.cssColour('--grid');
    const range = (k) => [origin[k] - cell / 2, origin[k] + (n[k] - 0.5) * cell].map((m) => 1e3 * m);
    const us = ticks(...range(0), Math.max(2, across / 80)), vs = ticks(...range(1), Math.max(2, down / 50));
    context.textAlign = 'center';
    context.textBaseline = 'top';
    tickLabels(us).forEach((label, k) => {
      const [x] = this.place(us[k] / 1e3, origin[1]);
      context.beginPath(); context.moveTo(x, margin.top); context.lineTo(x, margin.top + down); context.stroke();
      context.fillText(label, x, margin.top + down + 6);
    });
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    tickLabels(vs).forEach((label, k) => {
      const [, y] = this.place(origin[0], vs[k] / 1e3);
      context.beginPath(); context.moveTo(margin.left, y); context.lineTo(margin.left + across, y); context.stroke();
      context.fillText(label, margin.left - 6, y);
    });
    context.font = '13px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.fillText(this.axisTitle(context, axes[0], across + 40), margin.left + across / 2, margin.top + down + 24);
    context.save();
    context.translate(10, margin.top + down / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = 'middle';
    context.fillText(this.axisTitle(context, axes[1], down + margin.top), 0, 0);
    context.restore();
  }

  /** Name of an axis with the sides at its ends, as far as they fit into `room` [px]. */
  axisTitle(context, axis, room) {
    const [behind, ahead] = this.sides[axis] ?? [];
    const named = behind ? [`${axis} of the body [mm]`, `${axis} [mm]`].map((title) => `${behind} ← ${title} → ${ahead}`) : [];
    const titles = [...named, `${axis} of the body [mm]`, `${axis} [mm]`];
    return titles.find((title) => context.measureText(title).width <= room) ?? titles.at(-1);
  }

  drawPath(context) {
    if (!this.path || this.path.u.length === 0) return;
    for (const [colour, width] of [['#ffffff', 4], ['#d55e00', 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.lineJoin = 'round';
      context.beginPath();
      this.path.u.forEach((u, i) => { const [x, y] = this.place(u, this.path.v[i]); if (this.begins(i)) context.moveTo(x, y); else context.lineTo(x, y); });
      context.stroke();
    }
    this.path.u.forEach((u, i) => { if (this.begins(i)) this.drawStart(context, u, this.path.v[i]); });
  }

  /** NaN points separate contacts. */
  begins(i) {
    return !Number.isNaN(this.path.u[i]) && (i === 0 || Number.isNaN(this.path.u[i - 1]));
  }

  drawStart(context, u, v) {
    const [x, y] = this.place(u, v);
    context.fillStyle = '#d55e00';
    context.beginPath(); context.arc(x, y, 4, 0, 2 * Math.PI); context.fill();
    context.lineWidth = 1;
    context.strokeStyle = '#ffffff'; context.stroke();
  }

  drawBar(context) {
    const { margin, across, down } = this.size;
    if (margin === below) { this.drawBarBelow(context); return; }
    const x = margin.left + across + 16, width = 16;
    for (let k = 0; k < down; ++k) {
      context.fillStyle = `rgb(${pressureColour(1 - (k + 1) / down).map(Math.round).join(',')})`;
      context.fillRect(x, margin.top + k, width, 1.5);
    }
    context.fillStyle = theme.cssColour('--ink');
    context.font = '12px system-ui, sans-serif';
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const [factor, unit] = readable(this.view.high, 'Pa');
    const high = factor * this.view.high;
    const marks = high > 0 ? ticks(0, high, Math.max(2, down / 50)) : [0];
    tickLabels(marks).forEach((label, k) => {
      context.fillText(label, x + width + 5, margin.top + down - (high > 0 ? marks[k] / high : 0) * down);
    });
    context.save();
    context.font = '13px system-ui, sans-serif';
    context.translate(x + width + 66, margin.top + down / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(`pressure [${unit}]`, 0, 0);
    context.restore();
  }

  drawBarBelow(context) {
    const { margin, across, down } = this.size;
    const y = margin.top + down + 54, height = 12;
    for (let k = 0; k < across; ++k) {
      context.fillStyle = `rgb(${pressureColour(k / across).map(Math.round).join(',')})`;
      context.fillRect(margin.left + k, y, 1.5, height);
    }
    context.fillStyle = theme.cssColour('--ink');
    context.font = '12px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const [factor, unit] = readable(this.view.high, 'Pa');
    const high = factor * this.view.high;
    const marks = high > 0 ? ticks(0, high, Math.max(2, across / 60)) : [0];
    tickLabels(marks).forEach((label, k) => context.fillText(label, margin.left + (high > 0 ? marks[k] / high : 0) * across, y + height + 4));
    context.fillText(`pressure [${unit}]`, margin.left + across / 2, y + height + 20);
  }

  probe(event) {
    if (!this.size) return;
    const box = this.canvas.getBoundingClientRect();
    const { margin, scale, down } = this.size;
    const u = Math.floor((event.clientX - box.left - margin.left) / scale);
    const v = Math.floor((margin.top + down - (event.clientY - box.top)) / scale);
    const [nu, nv] = this.view.n;
    const cell = u >= 0 && u < nu && v >= 0 && v < nv ? this.view.cells[v * nu + u] : outside;
    if (cell === outside) { this.readout.textContent = 'Point at the map to read a value.'; return; }
    const at = [u, v].map((index, k) => number(1e3 * (this.view.origin[k] + index * this.view.cell), 4));
    const [factor, unit] = readable(this.view.high, 'Pa');
    const value = factor * (cell / steps) * this.view.high;
    this.readout.textContent = `${number(value, 4)} ${unit} at ${this.view.axes[0]} = ${at[0]}, ${this.view.axes[1]} = ${at[1]} mm`;
    this.readout.dataset.value = number(value, 4);
  }
}
