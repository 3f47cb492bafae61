// The deforming body in 3D: a quantity as colours, time slider, value under the pointer, path of the centre of pressure.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { unpackDoubles, unpackIntegers, unpackShorts } from './decode.js';
import { element, number } from './format.js';
import * as theme from './theme.js';
import { viridisColour } from './viridis.js';

class Part {
  static async unpack(json) {
    const part = new Part();
    part.name = json.name;
    part.nPoints = json.n_points;
    part.nFrames = json.n_frames;
    part.times = await unpackDoubles(json.times);
    part.files = json.files;
    part.triangles = await unpackIntegers(json.triangles);
    part.low = json.positions.low;
    part.high = json.positions.high;
    part.positions = await unpackShorts(json.positions.values);
    part.quantities = [];
    for (const q of json.quantities) part.quantities.push({ ...q, values: await unpackShorts(q.values) });
    return part;
  }

  frameAt(time) {
    if (this.nFrames === 1) return 0;
    let best = 0;
    this.times.forEach((t, k) => { if (Math.abs(t - time) < Math.abs(this.times[best] - time)) best = k; });
    return best;
  }

  makeMesh() {
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * this.nPoints), 3));
    this.geometry.setAttribute('color', new THREE.BufferAttribute(new Float32Array(3 * this.nPoints), 3));
    this.geometry.setIndex(new THREE.BufferAttribute(this.triangles, 1));
    const coloured = this.quantities.length > 0;
    // A plane is seen from its outer side only: from below nothing dims the sole, and patches of several pairs are one ground.
    const plane = !coloured && this.nPoints === 4 && this.triangles.length === 6;
    const solid = coloured || plane;
    const material = new THREE.MeshLambertMaterial({
      vertexColors: coloured, color: coloured ? 0xffffff : plane ? 0xd5d9dd : 0x9aa3ad, side: plane ? THREE.FrontSide : THREE.DoubleSide,
      transparent: !solid, opacity: solid ? 1 : 0.35, depthWrite: solid,
      // A sole that lies on the ground is seen, not a mixture of the two.
      polygonOffset: !coloured, polygonOffsetFactor: 1, polygonOffsetUnits: 4,
    });
    this.mesh = new THREE.Mesh(this.geometry, material);
    this.mesh.frustumCulled = false;
  }

  setFrame(frame) {
    const target = this.geometry.attributes.position.array;
    const first = frame * this.nPoints * 3;
    for (let i = 0; i < target.length; ++i) {
      const axis = i % 3;
      target[i] = this.low[axis] + ((this.high[axis] - this.low[axis]) * this.positions[first + i]) / 65535;
    }
    this.geometry.attributes.position.needsUpdate = true;
    this.geometry.computeVertexNormals();
    this.geometry.computeBoundingSphere();
  }

  value(quantity, frame, point) {
    return quantity.low + ((quantity.high - quantity.low) * quantity.values[frame * this.nPoints + point]) / 65535;
  }

  quantityNamed(name) {
    return this.quantities.find((q) => q.name === name);
  }

  largest(quantity, frame) {
    let largest = quantity.low;
    for (let i = 0; i < this.nPoints; ++i) largest = Math.max(largest, this.value(quantity, frame, i));
    return largest;
  }

  setColours(quantity, frame, low, high) {
    const target = this.geometry.attributes.color.array;
    const colour = new THREE.Color();
    for (let i = 0; i < this.nPoints; ++i) {
      const [r, g, b] = viridisColour((this.value(quantity, frame, i) - low) / (high - low || 1));
      colour.setRGB(r / 255, g / 255, b / 255, THREE.SRGBColorSpace).toArray(target, 3 * i);
    }
    this.geometry.attributes.color.needsUpdate = true;
  }
}

class FieldView {
  constructor(place, parts, run) {
    this.parts = parts;
    this.coloured = parts.filter((part) => part.quantities.length > 0);
    this.main = this.coloured[0] ?? parts[0];
    this.run = run;
    this.time = this.main.times[0];
    this.buildPage(place);
    this.buildScene();
    this.quantity = this.main.quantities.find((q) => q.name === 'contact_pressure') ?? this.main.quantities[0];
    if (this.quantity) this.select.value = this.quantity.name;
    this.look('below');
    this.show();
    theme.onChange(() => this.render());
  }

  buildPage(place) {
    this.canvas = element('canvas', { tabindex: '0', 'aria-label': 'Body in 3D. Drag to turn, wheel to zoom, right drag to move.' });
    this.holder = element('div', { class: 'field-canvas' }, this.canvas);
    this.readout = element('output', { class: 'field-value' });
    this.select = element('select', { 'aria-label': 'Quantity', onchange: () => { this.quantity = this.main.quantityNamed(this.select.value); this.show(); } },
      ...this.main.quantities.map((q) => element('option', { value: q.name }, q.name.replaceAll('_', ' '))));
    this.range = element('select', { 'aria-label': 'Range of colours', onchange: () => this.show() },
      element('option', { value: 'run' }, 'range of the run'), element('option', { value: 'frame' }, 'range of this time'),
      element('option', { value: 'free' }, 'range up to:'));
    this.upTo = element('input', { type: 'number', step: 'any', 'aria-label': 'Upper end of the colours', size: '9', oninput: () => { this.range.value = 'free'; this.show(); } });
    const look = (name, label) => element('button', { type: 'button', onclick: () => { this.look(name); this.render(); } }, label);
    this.play = element('button', { type: 'button', class: 'play', onclick: () => this.togglePlay() }, 'Play');
    this.slider = element('input', { type: 'range', min: '0', max: String(this.main.times.length - 1), step: '1', value: '0',
      'aria-label': 'Time', oninput: () => { this.time = this.main.times[Number(this.slider.value)]; this.show(); } });
    this.clock = element('output', { class: 'clock' });
    this.file = element('a', { class: 'field-file' });
    this.bar = element('canvas', { width: '24', height: '300', class: 'colour-bar', 'aria-hidden': 'true' });
    this.ends = element('div', { class: 'colour-ends' });
    place.replaceChildren(
      element('div', { class: 'field-tools no-print' }, this.select, this.range, this.upTo, look('below', 'From below'), look('side', 'From the side'), look('above', 'Oblique')),
      element('div', { class: 'field-stage' }, this.holder, element('div', { class: 'colour-scale' }, this.bar, this.ends)),
      element('div', { class: 'field-time no-print' }, this.play, this.slider, this.clock), this.readout,
      element('p', { class: 'note' }, 'This time in full precision: ', this.file));
    this.canvas.addEventListener('pointermove', (event) => this.probe(event));
    new ResizeObserver(() => this.resize()).observe(this.holder);
    this.drawBar();
  }

  buildScene() {
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, preserveDrawingBuffer: true });
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(35, 1, 1e-4, 1e3);
    this.camera.up.set(0, 0, 1);
    this.camera.add(new THREE.DirectionalLight(0xffffff, 1.2));
    this.scene.add(this.camera, new THREE.AmbientLight(0xffffff, 2.2));
    for (const part of this.parts) {
      part.makeMesh();
      part.setFrame(0);
      this.scene.add(part.mesh);
    }
    this.addPath();
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener('change', () => this.render());
    this.raycaster = new THREE.Raycaster();
  }

  /** Path of the centre of pressure, in the world; its point at the shown time. */
  addPath() {
    const named = (axis) => this.run.columns.find((c) => c.quantity === 'cop' && c.short === `cop${axis}` && this.main.name.startsWith(c.owner));
    const columns = ['x', 'y', 'z'].map(named);
    if (columns.some((c) => !c)) return;
    const force = this.run.columns.filter((c) => c.quantity === 'force' && c.owner === columns[0].owner);
    const touches = (i) => force.some((c) => (c.value[i] ?? c.value[0]) !== 0);
    if (columns.some((c) => c.value.length !== columns[0].value.length) || force.some((c) => c.value.length !== columns[0].value.length)) return;
    this.path = [];
    const stretches = [];
    for (let i = 0; i < columns[0].value.length; ++i) {
      if (!touches(i)) continue;
      this.path.push({ t: columns[0].time[i], p: new THREE.Vector3(...columns.map((c) => c.value[i])) });
      if (i > 0 && touches(i - 1)) stretches.push(this.path.at(-2).p, this.path.at(-1).p);
    }
    if (this.path.length === 0) return;
    const line = new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(stretches), new THREE.LineBasicMaterial({ color: 0xd55e00, depthTest: false }));
    line.renderOrder = 2;
    const size = 0.012 * new THREE.Vector3(...this.main.high).distanceTo(new THREE.Vector3(...this.main.low));
    this.marker = new THREE.Mesh(new THREE.SphereGeometry(size), new THREE.MeshBasicMaterial({ color: 0xd55e00, depthTest: false }));
    this.marker.renderOrder = 3;
    this.scene.add(line, this.marker);
  }

  /** Around the coloured parts on all their way, or only now when they go far. */
  sphere() {
    const shown = this.coloured.length > 0 ? this.coloured : [this.main];
    const now = new THREE.Box3(), always = new THREE.Box3();
    for (const part of shown) {
      now.union(new THREE.Box3().setFromBufferAttribute(part.geometry.attributes.position));
      always.union(new THREE.Box3(new THREE.Vector3(...part.low), new THREE.Vector3(...part.high)));
    }
    const [near, far] = [now, always].map((box) => box.getBoundingSphere(new THREE.Sphere()));
    return far.radius < 2.5 * near.radius ? far : near;
  }

  look(name) {
    this.view = name;
    const sphere = this.sphere();
    const directions = { below: [0, 0.02, -1], side: [0, -1, 0.05], above: [0.8, -1, 0.6] };
    const distance = sphere.radius / Math.sin((this.camera.fov * Math.PI) / 360) * 1.05;
    this.controls.target.copy(sphere.center);
    this.camera.position.copy(sphere.center).addScaledVector(new THREE.Vector3(...directions[name]).normalize(), distance);
    this.camera.near = distance / 100;
    this.camera.far = distance * 100;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  show() {
    this.frame = this.main.frameAt(this.time);
    for (const part of this.parts) part.setFrame(part.frameAt(this.time));
    if (this.quantity) {
      const { name, unit } = this.quantity;
      const known = this.coloured.map((part) => [part, part.quantityNamed(name)]).filter(([, q]) => q);
      const low = Math.min(...known.map(([, q]) => q.low)), highest = Math.max(...known.map(([, q]) => q.high));
      const now = () => Math.max(...known.map(([part, q]) => part.largest(q, part.frameAt(this.time))));
      const high = this.range.value === 'free' ? Number(this.upTo.value) || highest : this.range.value === 'frame' ? now() : highest;
      if (this.range.value !== 'free') this.upTo.value = number(high, 3);
      for (const [part, q] of known) part.setColours(q, part.frameAt(this.time), low, high);
      const label = (fraction) => element('span', {}, number(low + fraction * (high - low), 3) + (unit ? ` ${unit}` : ''));
      this.ends.replaceChildren(label(1), label(0.75), label(0.5), label(0.25), label(0));
    }
    if (this.marker) {
      const at = this.path.find(({ t }) => t >= this.time);
      const touching = at && at.t - this.time < 0.02;
      this.marker.visible = Boolean(touching);
      if (touching) this.marker.position.copy(at.p);
    }
    this.clock.textContent = `t = ${number(this.time)} s`;
    const file = this.main.files[this.frame];
    this.file.href = encodeURI(file);
    this.file.textContent = file;
    this.canvas.dataset.time = String(this.time);
    this.render();
  }

  probe(event) {
    if (!this.quantity) return;
    const box = this.canvas.getBoundingClientRect();
    const pointer = new THREE.Vector2(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2);
    this.raycaster.setFromCamera(pointer, this.camera);
    const hit = this.raycaster.intersectObjects(this.coloured.map((part) => part.mesh), false)[0];
    const part = hit && this.coloured.find(({ mesh }) => mesh === hit.object);
    const quantity = part?.quantityNamed(this.quantity.name);
    if (!quantity) { this.readout.textContent = 'Point at the body to read a value.'; return; }
    const weights = new THREE.Vector3();
    const corner = (k) => new THREE.Vector3().fromBufferAttribute(part.geometry.attributes.position, k);
    THREE.Triangle.getBarycoord(hit.point, corner(hit.face.a), corner(hit.face.b), corner(hit.face.c), weights);
    const frame = part.frameAt(this.time);
    const value = [hit.face.a, hit.face.b, hit.face.c].reduce((sum, k, i) => sum + part.value(quantity, frame, k) * weights.getComponent(i), 0);
    this.readout.textContent = `${quantity.name.replaceAll('_', ' ')}: ${number(value, 4)} ${quantity.unit} at (${hit.point.toArray().map((x) => number(x, 4)).join(', ')}) m`;
  }

  togglePlay() {
    this.playing = !this.playing;
    this.play.textContent = this.playing ? 'Pause' : 'Play';
    const next = () => {
      if (!this.playing) return;
      this.slider.value = String((Number(this.slider.value) + 1) % this.main.times.length);
      this.time = this.main.times[Number(this.slider.value)];
      this.show();
      setTimeout(() => requestAnimationFrame(next), 60);
    };
    next();
  }

  drawBar() {
    const context = this.bar.getContext('2d');
    for (let y = 0; y < this.bar.height; ++y) {
      context.fillStyle = `rgb(${viridisColour(1 - y / (this.bar.height - 1)).map(Math.round).join(',')})`;
      context.fillRect(0, y, this.bar.width, 1);
    }
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width === 0) return;
    this.renderer.setPixelRatio(devicePixelRatio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.render();
  }

  render() {
    this.renderer.setClearColor(new THREE.Color(theme.cssColour('--panel')));
    this.renderer.render(this.scene, this.camera);
  }
}

async function main() {
  const report = window.heelstrikeReport ?? await new Promise((resolve) => addEventListener('heelstrike-report', (event) => resolve(event.detail), { once: true }));
  const parts = await Promise.all(report.fields.parts.map((part) => Part.unpack(part)));
  const place = document.getElementById('field-view');
  try {
    new FieldView(place, parts, report.runs[0]);
  } catch (error) {
    place.textContent = `The body cannot be drawn: ${error.message}. Open fields.pvd in ParaView instead.`;
    throw error;
  } finally {
    document.documentElement.dataset.fields = 'true';
  }
}

main();
