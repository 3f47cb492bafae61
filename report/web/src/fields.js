// Runs in 3D: fields as colours on deforming bodies, mechanisms as simple shapes; one slider, one camera, one scale.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { unpackIntegers, unpackShorts } from './decode.js';
import { directionOf, fit } from './camera.js';
import { element, number, readable } from './format.js';
import { RunScene } from './run_scene.js';
import { onTime, onWindow, showTime } from './shared_time.js';
import * as theme from './theme.js';
import { ViewMarks } from './view_marks.js';
import { pressureColour, viridisColour } from './viridis.js';

const maxTicks = 400, maxWrapSurfaces = 3;
const looks = { below: 'From below', above: 'From above', side: 'From the side', oblique: 'Oblique', plane: 'In its plane' };
const upwards = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1], '-x': [-1, 0, 0], '-y': [0, -1, 0], '-z': [0, 0, -1] };
const narrowView = 480;  // [px] width below which values of forces have no names
const labelStrip = 26;  // [px] above each of several views, for its label
const words = (name) => name.replaceAll('_', ' ');

class FieldStage {
  constructor(place, scenes) {
    this.scenes = scenes;
    this.cutter = new THREE.Plane(new THREE.Vector3(1, 0, 0), 0);
    this.withFields = scenes.some((scene) => scene.coloured.length > 0);
    this.span = [Math.min(...scenes.map(({ run }) => run.span[0])), Math.max(...scenes.map(({ run }) => run.span[1]))];
    this.names = [...new Set(scenes.flatMap((scene) => scene.coloured.flatMap((part) => part.quantities.map((q) => q.name))))];
    this.up = scenes[0].up;
    this.gravity = scenes.find((scene) => scene.gravity);
    this.buildPage(place);
    this.buildScene();
    this.quantity = this.names.includes('contact_pressure') ? 'contact_pressure' : this.names[0];
    if (this.quantity) this.select.value = this.quantity;
    this.setWindow(...(window.heelstrikeTimes ?? this.span));
    this.time = this.openingTime();
    this.slider.value = String(this.tickAt(this.time));
    this.follow.checked = this.isFarMoving();
    this.look(this.openingLook());
    this.show();
    theme.onChange(() => this.render());
    onTime((time, source) => { if (source !== this) this.goTo(time); });
    onWindow((from, to) => { this.setWindow(from, to); });
  }

  /** Initial time: peak of pressure; without fields, peak of force or beginning of the motion. */
  openingTime() {
    if (this.quantity) {
      const times = this.scenes.map((scene) => scene.peakTime(this.quantity)).filter((time) => time !== null);
      if (times.length > 0) return times[0];
      return this.scenes[0].fieldTimes()[0] ?? this.span[0];
    }
    const [from, to] = this.window;
    let best = null;
    for (const { contacts = [] } of this.scenes.map(({ run }) => run)) {
      for (const c of contacts) if (c.onset < to && c.end > from && !(best?.force >= c.force)) best = c;
    }
    return best ? best.peak ?? (best.onset + best.end) / 2 : from;
  }

  /** From the side that the partner presses on; mechanisms in their plane. */
  openingLook() {
    if (!this.withFields) return this.isPlane() ? 'plane' : 'oblique';
    const shown = this.scenes[0].forces.ends(this.time, 1);
    const force = shown.reduce((sum, one) => sum.add(one.force), new THREE.Vector3());
    const upwards = shown.length > 0 ? force.normalize().dot(this.up) : 1;
    return upwards > 0.5 ? 'below' : upwards < -0.5 ? 'above' : 'oblique';
  }

  control(label, input) {
    return element('label', {}, `${label} `, input);
  }

  buildPage(place) {
    // The tests read the positions of what is drawn from it.
    this.canvas = Object.assign(element('canvas', { tabindex: '0', 'aria-label': 'Bodies in 3D. Drag to turn, wheel to zoom, right drag to move.' }), { stage: this });
    this.labels = this.scenes.map((scene) => element('span', { class: 'field-label' }, this.scenes.length > 1 ? scene.label : ''));
    this.holder = element('div', { class: 'field-canvas' }, this.canvas, ...this.labels);
    this.marks = new ViewMarks(this.holder);
    this.readout = element('output', { class: 'field-value' });
    const change = (attributes) => ({ ...attributes, onchange: () => this.show() });
    this.select = element('select', { 'aria-label': 'Quantity', onchange: () => { this.quantity = this.select.value; this.show(); } }, ...this.names.map((name) => element('option', { value: name }, words(name))));
    this.range = element('select', change({ 'aria-label': 'Range of colours' }),
      element('option', { value: 'run' }, 'range of the run'), element('option', { value: 'frame' }, 'range of this time'), element('option', { value: 'free' }, 'range up to:'));
    this.upTo = element('input', { type: 'number', step: 'any', 'aria-label': 'Upper end of the colours', size: '9', oninput: () => { this.range.value = 'free'; this.show(); } });
    this.unit = element('span');
    const canDeform = this.scenes.some((scene) => scene.parts.some((part) => part.displacement));
    this.deformation = element('select', change({ 'aria-label': 'Scale of the deformation' }), ...[0, 1, 2, 5, 10, 20, 50, 100].map((s) => element('option', { value: String(s), selected: s === 1 }, s === 0 ? 'undeformed' : s === 1 ? 'true deformation' : `deformation x ${s}`)));
    this.cutAxis = element('select', change({ 'aria-label': 'Section' }), element('option', { value: '' }, 'no section'),
      ...['x', 'y', 'z'].map((axis, k) => element('option', { value: String(k) }, `section across ${axis}`)));
    this.cutAt = element('input', { type: 'range', min: '0', max: '1', step: '0.005', value: '0.5', 'aria-label': 'Position of the section', oninput: () => this.show() });
    this.follow = element('input', { type: 'checkbox', onchange: () => { this.look(this.view); this.show(); } });
    // Many overlapping wrap surfaces hide the bodies.
    const veils = Math.max(...this.scenes.map((scene) => scene.rigid?.scene.lines?.surfaces.length ?? 0));
    this.veils = element('input', { type: 'checkbox', checked: veils <= maxWrapSurfaces, onchange: () => this.show() });
    this.edges = element('input', { type: 'checkbox', onchange: () => this.show() });
    this.upward = element('select', { 'aria-label': 'Upwards', onchange: () => this.turn(new THREE.Vector3(...upwards[this.upward.value])) },
      ...Object.entries(upwards).map(([name, axis]) => element('option', { value: name, selected: this.up.dot(new THREE.Vector3(...axis)) > 0.99 }, `${name} up`)));
    const look = (name) => element('button', { type: 'button', 'data-look': name, onclick: () => { this.look(name); this.show(); } }, looks[name]);
    this.play = element('button', { type: 'button', class: 'play', onclick: () => this.togglePlay() }, 'Play');
    this.slider = element('input', { type: 'range', min: '0', step: '1', value: '0', 'aria-label': 'Time', oninput: () => this.slide() });
    this.clock = element('output', { class: 'clock' });
    this.file = element('a', { class: 'field-file' });
    this.bar = element('div', { class: 'colour-bar', 'aria-hidden': 'true' });
    this.ends = element('div', { class: 'colour-ends' });
    const colours = this.withFields ? [this.select, this.range, this.upTo, this.unit] : [];
    const body = this.withFields ? [...(canDeform ? [this.deformation] : []), this.cutAxis, this.cutAt] : [];
    place.replaceChildren(...[
      this.withFields && element('div', { class: 'field-tools no-print' }, ...colours),
      element('div', { class: 'field-tools no-print' }, ...body, ...Object.keys(looks).filter((name) => (name === 'below' ? this.withFields : name !== 'plane' || !this.withFields)).map(look),
        ...(this.gravity ? [] : [this.upward]), this.control('', this.follow), veils > 0 ? this.control('', this.veils) : '', this.withFields ? this.control('', this.edges) : ''),
      element('div', { class: 'field-stage' }, this.holder, this.withFields ? element('div', { class: 'colour-scale' }, this.bar, this.ends) : ''),
      element('div', { class: 'field-time no-print' }, this.play, this.slider, this.clock), this.withFields && this.readout,
      this.withFields && this.scenes.length === 1 && element('p', { class: 'note' }, 'This time in full precision: ', this.file),
    ].filter(Boolean));
    this.follow.parentElement.append('follow');
    this.edges.parentElement?.append('edges of elements');
    this.veils.parentElement?.append('wrapping surfaces');
    this.canvas.addEventListener('pointermove', (event) => this.probe(event));
    new ResizeObserver(() => this.resize()).observe(this.holder);
  }

  buildScene() {
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.autoClear = false;
    this.camera = new THREE.PerspectiveCamera(35, 1, 1e-4, 1e3);
    this.planes = [];
    for (const scene of this.scenes) scene.build(this.planes);
    const largest = Math.max(0, ...this.scenes.map((scene) => scene.forces.largest));
    for (const scene of this.scenes) scene.scaleArrows(largest);
    this.middle = this.scenes[0].trajectoryBox.getCenter(new THREE.Vector3());
    this.makeControls();
    this.raycaster = new THREE.Raycaster();
  }

  /** The controls turn about the upward direction that the camera has when they are made. */
  makeControls() {
    this.controls?.dispose();
    this.camera.up.copy(this.up);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener('start', () => { this.moved = true; });
    this.controls.addEventListener('change', () => this.render());
  }

  turn(up) {
    this.up = up;
    this.makeControls();
    this.look(this.view);
    this.show();
  }

  wholeTrajectory() {
    return this.scenes.reduce((box, scene) => box.union(scene.trajectoryBox), new THREE.Box3());
  }

  /** True for bodies that move by several times their size: the camera follows them. */
  isFarMoving() {
    const now = this.scenes[0].box(this.time).getSize(new THREE.Vector3()).length();
    return this.wholeTrajectory().getSize(new THREE.Vector3()).length() > 2.5 * now;
  }

  isPlane() {
    const size = this.wholeTrajectory().getSize(new THREE.Vector3()).toArray().sort((a, b) => a - b);
    return size[0] < 0.12 * size[1];
  }

  look(name) {
    this.view = name;
    this.moved = false;
    // Large enough for every run at all times, centred on the first run.
    const points = this.scenes.flatMap((scene) => scene.extent(this.time, this.follow.checked ? this.middle : null));
    const { width, height } = this.viewport(0);
    const sides = this.scenes.some((scene) => scene.sided.length > 0) ? Math.min(76, 0.2 * width) : 16;
    const margins = { x: width > 0 ? sides / width : 0.05, y: height > 0 ? 50 / height : 0.1 };
    this.controls.target.copy(fit(this.camera, points, directionOf(name, this.up, this.wholeTrajectory()), this.up, margins));
    this.controls.update();
  }

  // Time -----------------------------------------------------------------------------------------------------------

  /** The slider steps through the frames of the fields, or in small steps through the time range of the charts. */
  setWindow(from, to) {
    this.window = [from, to];
    const frames = [...new Set(this.scenes.flatMap((scene) => scene.fieldTimes()))].sort((a, b) => a - b);
    const inside = frames.filter((t) => t >= from && t <= to);
    if (this.withFields && frames.length > 1) this.ticks = inside.length > 1 ? inside : frames;
    else this.ticks = Array.from({ length: maxTicks + 1 }, (_, k) => from + ((to - from) * k) / maxTicks);
    this.slider.max = String(this.ticks.length - 1);
    if (this.time !== undefined) this.slider.value = String(this.tickAt(this.time));
  }

  tickAt(time) {
    let best = 0;
    this.ticks.forEach((t, k) => { if (Math.abs(t - time) < Math.abs(this.ticks[best] - time)) best = k; });
    return best;
  }

  slide() {
    this.time = this.ticks[Number(this.slider.value)];
    this.show();
    showTime(this.time, this);
  }

  /** Follows the cursor of a chart, limited to the frame rate. */
  goTo(time) {
    this.time = time;
    this.slider.value = String(this.tickAt(time));
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.show(); });
  }

  togglePlay() {
    this.playing = !this.playing;
    this.play.textContent = this.playing ? 'Pause' : 'Play';
    const next = () => {
      if (!this.playing) return;
      this.slider.value = String((Number(this.slider.value) + 1) % this.ticks.length);
      this.slide();
      // A few seconds in total, with frames long enough to be visible.
      setTimeout(() => requestAnimationFrame(next), Math.max(10, Math.min(120, 6000 / this.ticks.length)));
    };
    next();
  }

  // Picture --------------------------------------------------------------------------------------------------------

  show() {
    const scale = Number(this.deformation.value);
    for (const scene of this.scenes) {
      scene.place(this.time, scale, this.follow.checked, this.middle);
      scene.rigid?.showWrapSurfaces(this.veils.checked);
      scene.showEdges(this.edges.checked);
    }
    if (this.quantity) this.showColours();
    this.cut();
    this.clock.textContent = `t = ${number(this.time)} s`;
    const main = this.scenes[0].coloured[0];
    if (main) {
      const file = main.files[Math.min(main.shownFrame, main.files.length - 1)];
      this.file.href = encodeURI(file);
      this.file.textContent = file;
      const at = main.times[main.shownFrame];
      if (number(at) !== number(this.time)) this.clock.textContent += ` (fields of ${number(at)} s)`;
    }
    this.canvas.dataset.time = String(this.time);
    this.render();
  }

  showColours() {
    const known = this.scenes.flatMap((scene) => scene.coloured.map((part) => [part, part.quantityNamed(this.quantity)])).filter(([, q]) => q);
    // Stresses and pressures are shown in kPa or MPa; the scale has the unit.
    const { unit } = known[0][1];
    const low = Math.min(...known.map(([, q]) => q.low)), highest = Math.max(...known.map(([, q]) => q.high));
    const [factor, prefixed] = readable(highest, unit);
    this.unit.textContent = prefixed;
    const now = () => Math.max(...known.map(([part, q]) => part.largest(q, part.shownFrame)));
    const high = this.range.value === 'free' ? Number(this.upTo.value) / factor || highest : this.range.value === 'frame' ? now() : highest;
    if (this.range.value !== 'free') this.upTo.value = number(high * factor, 3);
    for (const scene of this.scenes) scene.colour(this.quantity, low, high);
    const label = (fraction) => element('span', {}, `${number((low + fraction * (high - low)) * factor, 3)} ${prefixed}`);
    this.ends.replaceChildren(label(1), label(0.75), label(0.5), label(0.25), label(0));
    this.drawBar(this.quantity === 'contact_pressure' ? pressureColour : viridisColour);
  }

  cut() {
    const axis = this.cutAxis.value === '' ? null : Number(this.cutAxis.value);
    this.cutAt.disabled = axis === null;
    this.planes.length = 0;
    if (axis !== null) {
      const scene = this.scenes[0];
      const box = scene.box(this.time).translate(scene.root.position);
      const at = box.min.getComponent(axis) + Number(this.cutAt.value) * (box.max.getComponent(axis) - box.min.getComponent(axis));
      this.cutter.normal.set(0, 0, 0).setComponent(axis, 1);
      // The remaining half is behind the plane as seen from the camera.
      if (this.camera.position.getComponent(axis) > at) this.cutter.normal.negate();
      this.cutter.constant = -this.cutter.normal.getComponent(axis) * at;
      this.planes.push(this.cutter);
    }
    this.renderer.localClippingEnabled = axis !== null;
    for (const scene of this.scenes) scene.section(axis === null ? null : this.cutter);
  }

  drawBar(colour) {
    const stops = Array.from({ length: 21 }, (_, k) => [`rgb(${colour(k / 20).map(Math.round).join(',')})`, k / 20]);
    // Zero pressure is a separate narrow band at the lower end.
    const text = stops.map(([rgb, at], k) => (k === 0 ? `${rgb} 0% 1.5%` : k === 1 ? `rgb(${colour(1e-9).map(Math.round).join(',')}) 1.5%, ${rgb} ${100 * at}%` : `${rgb} ${100 * at}%`));
    this.bar.style.setProperty('--stops', text.join(', '));
  }

  /** Columns of views of sufficient width, at most three, in rows of equal length where possible. */
  layout() {
    const width = this.holder.clientWidth, n = this.scenes.length;
    const most = Math.max(1, Math.min(3, Math.floor(width / 280)));
    const rows = Math.ceil(n / most);
    return { width, columns: Math.ceil(n / rows), rows };
  }

  resize() {
    const { width, columns, rows } = this.layout();
    if (width === 0) return;
    const height = Math.round(this.scenes.length === 1 ? Math.min(520, Math.max(300, 0.62 * width)) : rows * Math.max(240, Math.min(420, (0.8 * width) / columns)));
    this.holder.style.height = `${height}px`;
    this.renderer.setPixelRatio(devicePixelRatio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / columns / this.viewport(0).height;
    this.camera.updateProjectionMatrix();
    this.labels.forEach((label, k) => {
      label.style.left = `${((k % columns) * width) / columns + 8}px`;
      label.style.top = `${(Math.floor(k / columns) * height) / rows + 6}px`;
    });
    if (!this.moved) this.look(this.view);
    this.show();
  }

  /** Position of view k on the canvas, from its lower left corner; below its label. */
  viewport(k) {
    const { width, columns, rows } = this.layout();
    const height = this.holder.clientHeight, strip = this.scenes.length > 1 ? labelStrip : 0;
    return { x: ((k % columns) * width) / columns, y: (height * (rows - 1 - Math.floor(k / columns))) / rows, width: width / columns, height: height / rows - strip };
  }

  render() {
    if (this.holder.clientWidth === 0) return;
    this.renderer.setClearColor(new THREE.Color(theme.cssColour('--panel')));
    this.renderer.setScissorTest(false);
    this.renderer.clear();
    this.renderer.setScissorTest(true);
    this.scenes.forEach((scene, k) => {
      const { x, y, width, height } = this.viewport(k);
      this.renderer.setViewport(x, y, width, height);
      this.renderer.setScissor(x, y, width, height);
      // The light is at the camera.
      scene.light.position.copy(this.camera.position);
      scene.light.target.position.copy(this.controls.target);
      scene.light.target.updateMatrixWorld();
      scene.forces.face(this.camera);
      this.renderer.render(scene.scene, this.camera);
    });
    this.mark();
  }

  /** Marks over the picture; axes and scale bar in the first view, because all have one camera. */
  mark() {
    this.marks.clear();
    this.scenes.forEach((scene, k) => {
      const view = this.viewport(k);
      this.marks.begin(this.camera, { ...view, y: this.holder.clientHeight - view.y - view.height });
      if (k === 0) {
        this.marks.axes(this.gravity ? this.up.clone().negate() : null);
        this.marks.scale(this.controls.target);
      }
      const shift = scene.root.position;
      // Gravity shows the vertical.
      const axes = scene.sides(this.time).filter(({ ahead, behind }) => !this.gravity || ![ahead, behind].includes('superior'));
      if (axes.length > 0) this.marks.sides(scene.outline(this.time).map((p) => p.add(shift)), axes);
      for (const { unit, point, force, tip, isAlongView } of scene.forces.shown) {
        const value = `${number(force.length(), 3)} N`;
        const text = scene.forces.units.length > 1 && view.width > narrowView ? `${words(unit.owner)} ${value}` : value;
        this.marks.force(text, point.clone().add(shift), tip.clone().add(shift), unit.arrow.position, !isAlongView);
      }
    });
  }

  probe(event) {
    if (!this.quantity) return;
    const canvas = this.canvas.getBoundingClientRect();
    const px = event.clientX - canvas.left, py = canvas.bottom - event.clientY;
    const k = this.scenes.findIndex((_, i) => { const v = this.viewport(i); return px >= v.x && px < v.x + v.width && py >= v.y && py < v.y + v.height; });
    const hint = () => { this.readout.textContent = 'Point at the body to read a value.'; };
    if (k < 0) { hint(); return; }
    const scene = this.scenes[k], view = this.viewport(k);
    this.raycaster.setFromCamera(new THREE.Vector2(((px - view.x) / view.width) * 2 - 1, ((py - view.y) / view.height) * 2 - 1), this.camera);
    const hits = this.raycaster.intersectObjects(scene.coloured.map((part) => part.mesh), false);
    const hit = hits.find(({ point }) => this.planes.every((plane) => plane.distanceToPoint(point) >= 0));
    const part = hit && scene.coloured.find(({ mesh }) => mesh === hit.object);
    const quantity = part?.quantityNamed(this.quantity);
    if (!quantity) { hint(); return; }
    const weights = new THREE.Vector3();
    const local = part.mesh.worldToLocal(hit.point.clone());
    const corner = (i) => new THREE.Vector3().fromBufferAttribute(part.geometry.attributes.position, i);
    THREE.Triangle.getBarycoord(local, corner(hit.face.a), corner(hit.face.b), corner(hit.face.c), weights);
    const value = [hit.face.a, hit.face.b, hit.face.c].reduce((sum, i, c) => sum + part.shownValue(quantity, i) * weights.getComponent(c), 0);
    const [factor, unit] = readable(quantity.high, quantity.unit);
    const at = hit.point.clone().sub(scene.root.position).toArray().map((x) => number(x, 4)).join(', ');
    this.readout.textContent = `${this.scenes.length > 1 ? `${scene.label}: ` : ''}${words(quantity.name)}: ${number(value * factor, 4)} ${unit} at (${at}) m`;
  }
}

/** @param json  of shapes.json of a run: points in the frame of the body, quantised over their range */
async function unpackShape({ body, points: { low, high, values }, triangles }) {
  const parts = await unpackShorts(values);
  const points = Float32Array.from(parts, (part, i) => low[i % 3] + ((high[i % 3] - low[i % 3]) * part) / 65535);
  return { body, points, triangles: await unpackIntegers(triangles) };
}

async function main() {
  const report = window.heelstrikeReport ?? await new Promise((resolve) => addEventListener('heelstrike-report', (event) => resolve(event.detail), { once: true }));
  const place = document.getElementById('field-view');
  try {
    const shapes = await Promise.all((report.shapes ?? []).map(unpackShape));
    const scenes = (await Promise.all(report.scenes.map((json) => RunScene.unpack(json, report.runs[json.run], shapes)))).filter((scene) => !scene.empty);
    if (scenes.length > 0) new FieldStage(place, scenes);
    else place.textContent = 'Nothing to draw.';
  } catch (error) {
    place.textContent = `The bodies cannot be drawn: ${error.message}. Fields are in fields.pvd, for ParaView.`;
    throw error;
  } finally {
    document.documentElement.dataset.fields = 'true';
  }
}

main();
