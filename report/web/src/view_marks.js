// Marks over the 3D view, drawn as SVG: axes of the world, gravity, a scale bar, the sides of a body, values of forces.
import * as THREE from 'three';
import { headRadius } from './contact_forces.js';
import { number } from './format.js';

const svgSpace = 'http://www.w3.org/2000/svg';
const axisNames = ['x', 'y', 'z'];
const arm = 26;  // [px] of an axis
const letter = 7.2;  // [px] mean width of a letter of 13 px

function draw(parent, name, attributes, text = '') {
  const made = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

/** The largest of 1, 2, 5 times a power of ten up to `limit`. */
function roundLength(limit) {
  const power = 10 ** Math.floor(Math.log10(limit));
  return [5, 2, 1].map((f) => f * power).find((length) => length <= limit * (1 + 1e-9));
}

export class ViewMarks {
  constructor(holder) {
    this.svg = document.createElementNS(svgSpace, 'svg');
    this.svg.setAttribute('class', 'view-marks');
    this.svg.setAttribute('aria-hidden', 'true');
    holder.append(this.svg);
  }

  /** @param view  {x, y, width, height} on the canvas, y from its top */
  begin(camera, view) {
    Object.assign(this, { camera, view });
    this.turn = new THREE.Quaternion().copy(camera.quaternion).invert();
  }

  clear() {
    this.svg.replaceChildren();
  }

  /** Position on the canvas of a point of the view's world. */
  place(point) {
    const p = point.clone().project(this.camera);
    const { x, y, width, height } = this.view;
    return [x + (0.5 + 0.5 * p.x) * width, y + (0.5 - 0.5 * p.y) * height];
  }

  /** A direction on the screen, y down; its length is the share that is not along the view. */
  screen(direction) {
    const d = direction.clone().normalize().applyQuaternion(this.turn);
    return [d.x, -d.y];
  }

  /** A text beyond `at` in direction (dx, dy), within the view. */
  label(text, [x, y], [dx, dy], gap, attributes) {
    const { x: left, y: top, width, height } = this.view;
    const half = 0.5 * letter * text.length, size = Math.hypot(dx, dy) || 1;
    const cx = x + (dx / size) * (gap + half * Math.abs(dx / size)), cy = y + (dy / size) * (gap + 7);
    draw(this.svg, 'text', { ...attributes, x: Math.min(left + width - half - 3, Math.max(left + half + 3, cx)), y: Math.min(top + height - 8, Math.max(top + 10, cy)) }, text);
  }

  arrow([x, y], [dx, dy], attributes) {
    const tip = [x + arm * dx, y + arm * dy];
    draw(this.svg, 'line', { ...attributes, x1: x, y1: y, x2: tip[0], y2: tip[1] });
    const size = Math.hypot(dx, dy);
    if (size < 0.25) return;
    const [u, v] = [dx / size, dy / size], back = [tip[0] - 6 * u, tip[1] - 6 * v];
    draw(this.svg, 'polygon', { class: `${attributes.class} head`, points: [tip, [back[0] - 3 * v, back[1] + 3 * u], [back[0] + 3 * v, back[1] - 3 * u]].map((p) => p.join(',')).join(' ') });
  }

  /** The axes of the world, and gravity beside them. @param down  direction of gravity, or null without it */
  axes(down) {
    const origin = [this.view.x + 42, this.view.y + this.view.height - 42];
    axisNames.forEach((name, k) => {
      const d = this.screen(new THREE.Vector3().setComponent(k, 1));
      this.arrow(origin, d, { class: `axis ${name}` });
      // An axis along the view has its letter beside the origin.
      const along = Math.hypot(...d) < 0.25;
      draw(this.svg, 'text', { class: `axis ${name}`, x: origin[0] + (along ? -12 : (arm + 9) * d[0]), y: origin[1] + (along ? 11 : (arm + 9) * d[1]) }, name);
    });
    if (!down) return;
    const d = this.screen(down), at = [origin[0] + 58, origin[1] - 0.5 * arm * d[1]];
    if (Math.hypot(...d) < 0.25) {
      draw(this.svg, 'circle', { class: 'gravity', cx: at[0], cy: at[1], r: 5 });
      draw(this.svg, 'circle', { class: 'gravity head', cx: at[0], cy: at[1], r: 1.2 });
    } else {
      this.arrow(at, d, { class: 'gravity' });
    }
    draw(this.svg, 'text', { class: 'gravity', 'data-direction': d.join(' '), x: at[0] + 13, y: origin[1] }, 'g');
  }

  /** [px/m] at the distance of a point. */
  perMetre(point) {
    return this.view.height / (2 * this.camera.position.distanceTo(point) * Math.tan((this.camera.fov * Math.PI) / 360));
  }

  /** @param target  point at whose distance the bar is true */
  scale(target) {
    const perMetre = this.perMetre(target);
    const length = roundLength(Math.min(140, 0.3 * this.view.width) / perMetre);
    const right = this.view.x + this.view.width - 14, y = this.view.y + this.view.height - 14, left = right - length * perMetre;
    draw(this.svg, 'path', { class: 'scale', d: `M${left},${y - 5}V${y}H${right}V${y - 5}` });
    const text = length < 1 ? `${number(1e3 * length, 3)} mm` : `${number(length, 3)} m`;
    draw(this.svg, 'text', { class: 'scale', 'data-pixels': right - left, 'data-metres': length, x: (left + right) / 2, y: y - 12 }, text);
  }

  /** Names at the ends of a body's axes. @param points  of the body in the view's world; @param axes  [{direction, ahead,
   *  behind}] in that world */
  sides(points, axes) {
    const middle = new THREE.Box3().setFromPoints(points).getCenter(new THREE.Vector3());
    const flat = points.map((p) => this.place(p));
    const [mx, my] = this.place(middle);
    for (const { direction, ahead, behind } of axes) {
      for (const [name, sign] of [[ahead, 1], [behind, -1]]) {
        const d = this.screen(direction).map((c) => sign * c), size = Math.hypot(...d);
        if (size < 0.45) continue;
        const u = d.map((c) => c / size);
        // Beyond the outermost point of the outline on the screen.
        const reach = Math.max(...flat.map(([x, y]) => (x - mx) * u[0] + (y - my) * u[1]));
        this.label(name, [mx + reach * u[0], my + reach * u[1]], u, 6, { class: 'side', 'data-side': name });
      }
    }
  }

  /** A dot at the centre of pressure, and the value beyond the arrow, beside the dot where the arrow is not drawn.
   *  @param base, tip  of the arrow in the view's world; @param at  the base in the world of the run, for tests */
  force(text, base, tip, at, hasArrow) {
    const from = this.place(base), to = this.place(tip);
    const across = this.perMetre(tip) * headRadius * base.distanceTo(tip);
    draw(this.svg, 'circle', { class: 'centre', cx: from[0], cy: from[1], r: 4.5 });
    // Without an arrow the text begins to the right of the dot, above it.
    const beside = [from[0] + 0.5 * letter * text.length + 5, from[1]];
    const d = hasArrow ? [to[0] - from[0], to[1] - from[1]] : [0, -1];
    this.label(text, hasArrow ? to : beside, d, hasArrow ? across + 6 : 4, { class: 'force', 'data-at': at.toArray().join(' '), 'data-base': from.join(' '), 'data-tip': to.join(' ') });
  }
}
