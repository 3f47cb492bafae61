// One run in 3D: the bodies of its field files and the others as simple shapes, at any time.
import * as THREE from 'three';
import { unpackDoubles } from './decode.js';
import { FieldPart } from './field_part.js';
import { Poses } from './poses.js';
import { RigidBodies } from './rigid_bodies.js';

const samples = 60;  // of the trajectory of the bodies
const outlinePoints = 150;  // of each body
const pathColour = 0xd55e00;

export class RunScene {
  /** @param json {run, fields?, scene?, shapes?}; @param run  of the page, unpacked; @param shapes  of the page, unpacked */
  static async unpack(json, run, shapes) {
    const scene = new RunScene();
    scene.label = run.label;
    scene.run = run;
    scene.poses = new Poses(run);
    for (const { way } of json.scene?.lines?.parts ?? []) {
      if (way) way.unpacked = { times: await unpackDoubles(way.times), points: await unpackDoubles(way.points) };
    }
    scene.parts = await Promise.all((json.fields?.parts ?? []).map((part) => FieldPart.unpack(part)));
    const planes = new Set((json.scene?.bodies ?? []).filter((body) => body.surfaces.some(({ kind }) => kind === 'plane')).map(({ name }) => name));
    // One infinite ground instead of a patch below every body.
    scene.parts = scene.parts.filter((part) => !(part.isPlane && planes.has(part.body)));
    scene.coloured = scene.parts.filter((part) => part.coloured);
    const drawn = new Set(scene.parts.map((part) => part.body).filter(Boolean));
    scene.rigid = json.scene ? new RigidBodies(json.scene, (json.shapes ?? []).map((k) => shapes[k]), scene.poses, drawn, run.span[0]) : null;
    return scene;
  }

  get up() {
    return this.rigid?.up ?? new THREE.Vector3(0, 0, 1);
  }

  /** True if the scene has visible content. */
  get empty() {
    return this.parts.length === 0 && !(this.rigid && this.rigid.moving.length > 0);
  }

  /** Times of the fields, each once. */
  fieldTimes() {
    return [...new Set(this.coloured.flatMap((part) => [...part.times]))].sort((a, b) => a - b);
  }

  /** Time of the peak value of a quantity. */
  peakTime(name) {
    let best = null;
    for (const part of this.coloured) {
      const quantity = part.quantityNamed(name);
      if (!quantity) continue;
      const frame = part.peakFrame(quantity);
      const value = part.largest(quantity, frame);
      if (!best || value > best.value) best = { value, time: part.times[frame] };
    }
    return best && best.value > 0 ? best.time : null;
  }

  /** @param planes  section planes of the bodies of the fields */
  build(planes) {
    this.root = new THREE.Group();
    this.scene = new THREE.Scene();
    this.light = new THREE.DirectionalLight(0xffffff, 1.4);
    this.scene.add(this.root, this.light, this.light.target, new THREE.AmbientLight(0xffffff, 2.0));
    for (const part of this.parts) {
      this.root.add(part.makeMesh(planes));
      part.setShape(0, 1);
      part.place(part.times[0], this.poses);
    }
    this.trajectoryPoints = this.computeTrajectoryPoints();
    this.trajectoryBox = new THREE.Box3().setFromPoints(this.trajectoryPoints);
    const size = this.trajectoryBox.getSize(new THREE.Vector3());
    const reach = Math.max(size.length(), 1e-9);
    if (this.rigid) {
      this.rigid.build(reach, { size: 4 * reach, center: this.trajectoryBox.getCenter(new THREE.Vector3()) });
      this.root.add(this.rigid.group);
    }
    this.addPath();
  }

  /** Current points of the focus: of the coloured bodies, or of all drawn bodies. */
  outline(t) {
    const shown = this.coloured.length > 0 ? this.coloured : this.parts;
    const points = [];
    for (const part of shown) {
      part.place(t, this.poses);
      const p = part.geometry.attributes.position, step = Math.max(1, Math.floor(p.count / outlinePoints));
      for (let i = 0; i < p.count; i += step) points.push(new THREE.Vector3().fromBufferAttribute(p, i).applyMatrix4(part.group.matrix));
    }
    if (this.rigid && shown.length === 0) points.push(...this.rigid.outline(t));
    return points.length > 0 ? points : [new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1)];
  }

  box(t) {
    return new THREE.Box3().setFromPoints(this.outline(t));
  }

  computeTrajectoryPoints() {
    const [from, to] = this.run.span;
    return Array.from({ length: samples + 1 }, (_, k) => this.outline(from + ((to - from) * k) / samples)).flat();
  }

  /** Path of the centre of pressure in the world, one line per pair; its point at the shown time. */
  addPath() {
    this.paths = [];
    const owners = [...new Set(this.run.columns.filter((c) => c.quantity === 'cop').map((c) => c.owner))];
    const one = this.coloured[0] ?? this.parts[0];
    const size = 0.014 * (one ? one.geometry.boundingBox : this.box(this.run.span[0])).getSize(new THREE.Vector3()).length();
    for (const owner of owners) {
      const columns = ['x', 'y', 'z'].map((axis) => this.run.columns.find((c) => c.owner === owner && c.short === `cop${axis}`));
      const force = this.run.columns.filter((c) => c.quantity === 'force' && c.owner === owner);
      const n = columns[0]?.value.length;
      if (columns.some((c) => !c || c.value.length !== n) || force.some((c) => c.value.length !== n)) continue;
      const touches = (i) => force.some((c) => c.value[i] !== 0);
      const times = [], points = [], stretches = [];
      for (let i = 0; i < n; ++i) {
        const p = new THREE.Vector3(...columns.map((c) => c.value[i]));
        if (!touches(i) || ![p.x, p.y, p.z].every(Number.isFinite)) continue;
        if (times.length > 0 && i > 0 && touches(i - 1)) stretches.push(points.at(-1), p);
        times.push(columns[0].time[i]);
        points.push(p);
      }
      if (points.length === 0) continue;
      const line = new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(stretches), new THREE.LineBasicMaterial({ color: pathColour, depthTest: false }));
      const marker = new THREE.Mesh(new THREE.SphereGeometry(size, 16, 12), new THREE.MeshBasicMaterial({ color: pathColour, depthTest: false }));
      line.renderOrder = 5;
      marker.renderOrder = 6;
      // Without coloured bodies the contact point is visible anyway.
      line.visible = this.coloured.length > 0;
      this.root.add(line, marker);
      this.paths.push({ times, points, marker, line });
    }
  }

  /** Updates the scene to time t. @param scale  of the deformation; @param follow  keep the focus in the centre */
  place(t, scale, follow, middle) {
    this.time = t;
    for (const part of this.parts) {
      const frame = part.frameAt(t);
      if (part.shownFrame !== frame || part.shownScale !== scale) {
        part.setShape(frame, scale);
        Object.assign(part, { shownFrame: frame, shownScale: scale, shownColours: null });
      }
      part.place(t, this.poses);
    }
    const center = this.box(t).getCenter(new THREE.Vector3());
    this.rigid?.place(t, center);
    for (const { times, points, marker } of this.paths) {
      const next = times.findIndex((time) => time >= t);
      const gap = next < 0 ? Infinity : Math.min(Math.abs(times[next] - t), next > 0 ? Math.abs(times[next - 1] - t) : Infinity);
      marker.visible = gap <= 2e-3 * (this.run.span[1] - this.run.span[0]) + 1e-12;
      if (marker.visible) marker.position.copy(points[next]);
    }
    this.root.position.copy(follow ? middle.clone().sub(center) : new THREE.Vector3());
    this.root.updateMatrixWorld(true);
  }

  /** @returns displayed frame of each part */
  colour(name, low, high) {
    for (const part of this.coloured) {
      const quantity = part.quantityNamed(name);
      if (!quantity) continue;
      const key = `${name} ${low} ${high}`;
      if (part.shownColours !== key) part.setColours(quantity, part.shownFrame, low, high);
      part.shownColours = key;
    }
  }

  /** @param plane  in the world of the view, or null */
  section(plane) {
    const own = plane?.clone().translate(this.root.position.clone().negate());
    for (const part of this.coloured) part.section(own ?? null);
  }
}
