// One run in 3D: the bodies of its field files and the others as simple shapes, at any time.
import * as THREE from 'three';
import { ContactForces } from './contact_forces.js';
import { unpackDoubles, unpackIntegers } from './decode.js';
import { FieldPart } from './field_part.js';
import { Poses } from './poses.js';
import { RigidBodies } from './rigid_bodies.js';
import { Seam } from './seam.js';
import { agreedAxes } from './sides.js';

const samples = 60;  // of the trajectory of the bodies
const outlinePoints = 150;  // of each body
const maxPartnerSize = 3;  // relative to the largest coloured body
const arrowShare = 0.4;  // of the size of the bodies, of the largest force

/** @param json  of report/foot_prints.hpp */
async function unpackFoot(json) {
  const seams = json.seams.map(async ({ parts, nodes }) => ({ parts, nodes: await unpackIntegers(nodes) }));
  return { ...json, seams: await Promise.all(seams) };
}

export class RunScene {
  /** @param json {run, fields?, feet?, scene?, shapes?}; @param run  of the page, unpacked; @param shapes  of the page, unpacked */
  static async unpack(json, run, shapes) {
    const scene = new RunScene();
    scene.label = run.label;
    scene.run = run;
    scene.poses = new Poses(run);
    for (const { way } of json.scene?.lines?.parts ?? []) {
      if (way) way.unpacked = { times: await unpackDoubles(way.times), points: await unpackDoubles(way.points) };
    }
    scene.parts = await Promise.all((json.fields?.parts ?? []).map((part) => FieldPart.unpack(part)));
    const feet = await Promise.all((json.feet ?? []).map(unpackFoot));
    const partOf = (series) => scene.parts.find(({ name }) => name === series);
    scene.seams = feet.flatMap(({ seams }) => seams.map(({ parts, nodes }) => new Seam(parts.map(partOf), nodes)));
    for (const seam of scene.seams) seam.removeInnerFaces();
    const planes = new Set((json.scene?.bodies ?? []).filter((body) => body.surfaces.some(({ kind }) => kind === 'plane')).map(({ name }) => name));
    // One infinite ground instead of a patch below every body.
    scene.parts = scene.parts.filter((part) => !(part.isPlane && planes.has(part.body)));
    scene.coloured = scene.parts.filter((part) => part.coloured);
    const drawn = new Set(scene.parts.map((part) => part.body).filter(Boolean));
    scene.rigid = json.scene ? new RigidBodies(json.scene, (json.shapes ?? []).map((k) => shapes[k]), scene.poses, drawn, run.span[0]) : null;
    scene.forces = new ContactForces(run, scene.poses, new Map((json.scene?.pairs ?? []).map(({ name, main }) => [name, main])), feet);
    scene.gravity = json.scene?.gravity ?? false;
    const withSides = (json.scene?.bodies ?? []).filter(({ axes }) => axes), mains = new Set((json.scene?.pairs ?? []).map(({ main }) => main));
    const sidedMains = withSides.filter(({ name }) => mains.has(name));
    scene.sided = sidedMains.length > 0 ? sidedMains : withSides;
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
    this.trajectoryBox = new THREE.Box3();
    this.size = 0;
    for (const t of this.samples()) {
      const box = this.box(t);
      this.size = Math.max(this.size, box.getSize(new THREE.Vector3()).length());
      this.trajectoryBox.union(box);
    }
    const reach = Math.max(this.trajectoryBox.getSize(new THREE.Vector3()).length(), 1e-9);
    // A point has no size of its own.
    this.size = Math.max(this.size, 0.05 * reach);
    if (this.rigid) {
      const coloured = this.coloured.length > 0 ? this.box(this.run.span[0]) : null;
      this.rigid.build(this.size, { size: 4 * reach, center: this.trajectoryBox.getCenter(new THREE.Vector3()) }, coloured);
      this.root.add(this.rigid.group);
    }
    // Without coloured bodies the contact point is visible anyway.
    this.forces.build(this.coloured.length > 0);
    this.root.add(this.forces.group);
  }

  /** Times of the run at which its extent is determined. */
  samples() {
    const [from, to] = this.run.span;
    return Array.from({ length: samples + 1 }, (_, k) => from + ((to - from) * k) / samples);
  }

  /** @param largest  force of the longest arrow [N] */
  scaleArrows(largest) {
    this.perNewton = largest > 0 ? (arrowShare * this.size) / largest : 0;
  }

  /** Points of all that is drawn over the run, with the arrows.
   *  @param middle  each time has the centre of its bodies there, and links are those of time `now`, because a joint may
   *  slide far; null = bodies where they are */
  extent(now, middle) {
    return [now, ...this.samples()].flatMap((t) => {
      const bodies = this.outline(t, !middle || t === now);
      const points = [...bodies, ...this.forces.ends(t, this.perNewton).flatMap(({ point, tip }) => [point, tip])].map((p) => p.clone());
      const shift = middle ? middle.clone().sub(this.box(t).getCenter(new THREE.Vector3())) : new THREE.Vector3();
      return points.map((p) => p.add(shift));
    });
  }

  /** The parts that the view is fitted to: the coloured bodies and partners that are not much larger; else all. */
  get focus() {
    if (this.coloured.length === 0) return this.parts;
    const size = (part) => part.geometry.boundingBox.getSize(new THREE.Vector3()).length();
    const largest = Math.max(...this.coloured.map(size));
    return this.parts.filter((part) => part.coloured || (!part.isPlane && size(part) <= maxPartnerSize * largest));
  }

  /** Current points of the focus, in the world. */
  outline(t, withLinks = true) {
    const shown = this.focus;
    const points = [];
    for (const part of shown) {
      part.place(t, this.poses);
      const p = part.geometry.attributes.position, step = Math.max(1, Math.floor(p.count / outlinePoints));
      for (let i = 0; i < p.count; i += step) points.push(new THREE.Vector3().fromBufferAttribute(p, i).applyMatrix4(part.group.matrix));
    }
    if (this.rigid && shown.length === 0) points.push(...this.rigid.outline(t, withLinks));
    return points.length > 0 ? points : [new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1)];
  }

  /** Of the bodies without links, which may end far away. */
  box(t) {
    return new THREE.Box3().setFromPoints(this.outline(t, false));
  }

  /** Updates the scene to time t. @param scale  of the deformation; @param follow  keep the focus in the centre */
  place(t, scale, follow, middle) {
    this.time = t;
    for (const part of this.parts) {
      const frame = part.frameAt(t);
      if (part.shownFrame !== frame || part.shownScale !== scale) {
        part.setShape(frame, scale);
        Object.assign(part, { shownFrame: frame, shownScale: scale });
      }
      part.place(t, this.poses);
    }
    for (const seam of this.seams) seam.close();
    // Normals depend on all seams of a part.
    for (const seam of this.seams) seam.smooth();
    const center = this.box(t).getCenter(new THREE.Vector3());
    this.rigid?.place(t, center);
    this.forces.place(t, this.perNewton);
    this.root.position.copy(follow ? middle.clone().sub(center) : new THREE.Vector3());
    this.root.updateMatrixWorld(true);
  }

  /** @returns displayed frame of each part */
  colour(name, low, high) {
    const key = [name, low, high, ...this.coloured.map((part) => part.shownFrame)].join(' ');
    if (this.shownColours === key) return;
    this.shownColours = key;
    for (const part of this.coloured) part.joined.clear();
    for (const seam of this.seams) seam.joinValues(name);
    for (const part of this.coloured) {
      const quantity = part.quantityNamed(name);
      if (quantity) part.setColours(quantity, low, high);
    }
  }

  /** @param plane  in the world of the view, or null */
  section(plane) {
    const own = plane?.clone().translate(this.root.position.clone().negate());
    for (const part of this.coloured) part.section(own ?? null);
  }

  /** Edges of the elements of coloured bodies. */
  showEdges(seen) {
    for (const part of this.coloured) part.edges.visible = seen;
  }

  /** The axes on which the bodies that name their sides agree, in the world of the view at time t. */
  sides(t) {
    const inWorld = ({ name, axes }) => {
      const X = this.poses.at(name, t);
      return axes.map((axis) => ({ ...axis, direction: new THREE.Vector3(...axis.direction).transformDirection(X).toArray() }));
    };
    return agreedAxes(this.sided.map(inWorld)).map((axis) => ({ ...axis, direction: new THREE.Vector3(...axis.direction) }));
  }
}
