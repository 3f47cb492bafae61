// One body of a field file: its undeformed shape, motion and deformation, quantities as colours, sections.
import * as THREE from 'three';
import { unpackDoubles, unpackIntegers, unpackShorts } from './decode.js';
import { indexBefore } from './sampled.js';
import { pressureColour, viridisColour } from './viridis.js';

const shades = 1024;

/** Colour texture, sampled per pixel, so that colours are not interpolated where values change rapidly. */
function strip(colour) {
  const pixels = new Uint8Array(4 * shades);
  for (let k = 0; k < shades; ++k) pixels.set([...colour(k / (shades - 1)).map(Math.round), 255], 4 * k);
  const texture = new THREE.DataTexture(pixels, shades, 1);
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.needsUpdate = true;
  return texture;
}

let strips = null;
/** The first colour of pressure is that of zero pressure. */
function stripOf(quantity) {
  strips ??= { pressure: strip(pressureColour), other: strip(viridisColour) };
  return quantity.name === 'contact_pressure' ? strips.pressure : strips.other;
}

const edges = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/** The same text for the same corners in any order. */
export function nameOfFace(corners) {
  return [...corners].sort((i, j) => i - j).join(' ');
}

export class FieldPart {
  static async unpack(json) {
    const part = new FieldPart();
    Object.assign(part, { name: json.name, nPoints: json.n_points, nFrames: json.n_frames, files: json.files, body: json.body ?? null });
    part.times = await unpackDoubles(json.times);
    part.triangles = await unpackIntegers(json.triangles);
    part.tetrahedra = await unpackIntegers(json.tetrahedra);
    part.points = { ...json.points, values: await unpackShorts(json.points.values) };
    part.poses = await unpackDoubles(json.poses);
    part.displacement = json.displacement && { ...json.displacement, values: await unpackShorts(json.displacement.values) };
    part.quantities = [];
    for (const q of json.quantities) part.quantities.push({ ...q, values: await unpackShorts(q.values) });
    part.shownFrame = -1;
    part.joined = new Map();  // values at nodes that another part shares
    return part;
  }

  get coloured() {
    return this.quantities.length > 0;
  }

  /** True for the patch of a plane below a body. */
  get isPlane() {
    return !this.coloured && this.nPoints === 4 && this.triangles.length === 6;
  }

  frameAt(t) {
    if (this.nFrames === 1) return 0;
    const i = indexBefore(this.times, t), j = Math.min(i + 1, this.times.length - 1);
    return Math.abs(this.times[j] - t) < Math.abs(t - this.times[i]) ? j : i;
  }

  /** X_WP of a frame. */
  pose(frame) {
    const [w, i, j, k, x, y, z] = this.poses.subarray(7 * frame, 7 * frame + 7);
    return new THREE.Matrix4().compose(new THREE.Vector3(x, y, z), new THREE.Quaternion(i, j, k, w), new THREE.Vector3(1, 1, 1));
  }

  /** Triangles as lists of their corners. */
  faces() {
    return Array.from({ length: this.triangles.length / 3 }, (_, t) => [...this.triangles.subarray(3 * t, 3 * t + 3)]);
  }

  /** Before makeMesh(). @param faces  lists of corners, in any order */
  removeFaces(faces) {
    const removed = new Set(faces.map(nameOfFace));
    this.triangles = Uint32Array.from(this.faces().filter((corners) => !removed.has(nameOfFace(corners))).flat());
  }

  makeMesh(planes) {
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * this.nPoints), 3));
    this.geometry.setAttribute('uv', new THREE.BufferAttribute(new Float32Array(2 * this.nPoints), 2));
    this.geometry.setIndex(new THREE.BufferAttribute(this.triangles, 1));
    const look = { clippingPlanes: planes };
    const outside = this.coloured
      ? new THREE.MeshLambertMaterial({ ...look, side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 })
      : new THREE.MeshLambertMaterial({ ...look, color: 0x9aa3ad, side: THREE.DoubleSide, transparent: true, opacity: 0.35, depthWrite: false });
    this.mesh = new THREE.Mesh(this.geometry, outside);
    this.group = new THREE.Group();
    this.group.add(this.mesh);
    this.group.matrixAutoUpdate = false;
    if (this.coloured) {
      // Back faces are visible where the body is cut.
      this.inside = new THREE.Mesh(this.geometry, new THREE.MeshBasicMaterial({ ...look, color: 0x70787f, side: THREE.BackSide }));
      this.cut = new THREE.Mesh(new THREE.BufferGeometry(), new THREE.MeshBasicMaterial({ side: THREE.DoubleSide }));
      this.cut.visible = false;
      this.inside.visible = false;
      this.group.add(this.inside, this.cut);
    }
    this.edges = new THREE.Mesh(this.geometry, new THREE.MeshBasicMaterial({ ...look, color: 0x20262c, wireframe: true, transparent: true, opacity: 0.45 }));
    this.edges.visible = false;
    this.edges.renderOrder = 1;
    this.group.add(this.edges);
    for (const mesh of this.group.children) mesh.frustumCulled = false;
    return this.group;
  }

  /** Shape of a frame with its deformation scaled by `scale`. */
  setShape(frame, scale) {
    const { points, displacement } = this;
    const target = new Float32Array(3 * this.nPoints);
    const step = (values, axis) => (values.high[axis] - values.low[axis]) / 65535;
    for (let axis = 0; axis < 3; ++axis) {
      const p = step(points, axis), u = displacement ? scale * step(displacement, axis) : 0;
      const origin = points.low[axis] + (displacement ? scale * displacement.low[axis] : 0);
      const first = frame * this.nPoints * 3;
      for (let i = axis; i < target.length; i += 3) target[i] = origin + p * points.values[i] + (displacement ? u * displacement.values[first + i] : 0);
    }
    this.own = target;
    this.geometry.attributes.position.array.set(target);
    this.updateShape();
  }

  /** [m] of a node in P, as recorded. */
  ownPoint(node) {
    return new THREE.Vector3().fromArray(this.own, 3 * node);
  }

  /** @param place  [m] in the world */
  movePoint(node, place) {
    place.clone().applyMatrix4(this.group.matrix.clone().invert()).toArray(this.geometry.attributes.position.array, 3 * node);
  }

  updateShape() {
    this.geometry.attributes.position.needsUpdate = true;
    this.geometry.computeVertexNormals();
    this.geometry.computeBoundingSphere();
    this.geometry.computeBoundingBox();
  }

  /** At time t: the shape of the nearest frame, moved with its body. */
  place(t, poses) {
    const frame = this.frameAt(t);
    const X_WP = this.pose(frame);
    if (this.body && poses.has(this.body)) X_WP.premultiply(poses.at(this.body, this.times[frame]).invert()).premultiply(poses.at(this.body, t));
    this.group.matrix.copy(X_WP);
    this.group.updateMatrixWorld(true);
    return frame;
  }

  value(quantity, frame, point) {
    return quantity.low + ((quantity.high - quantity.low) * quantity.values[frame * this.nPoints + point]) / 65535;
  }

  /** Of the shown frame: the recorded value, or at a node of a cut the mean of both parts. */
  shownValue(quantity, point) {
    return this.joined.get(point) ?? this.value(quantity, this.shownFrame, point);
  }

  quantityNamed(name) {
    return this.quantities.find((q) => q.name === name);
  }

  largest(quantity, frame) {
    let largest = quantity.low;
    for (let i = 0; i < this.nPoints; ++i) largest = Math.max(largest, this.value(quantity, frame, i));
    return largest;
  }

  /** Frame with the peak value. */
  peakFrame(quantity) {
    let best = 0;
    for (let i = 0; i < quantity.values.length; ++i) if (quantity.values[i] > quantity.values[best]) best = i;
    return Math.floor(best / this.nPoints);
  }

  setColours(quantity, low, high) {
    const target = this.geometry.attributes.uv.array;
    const scale = 1 / (high - low || 1);
    for (let i = 0; i < this.nPoints; ++i) target[2 * i] = Math.min(1, Math.max(0, (this.shownValue(quantity, i) - low) * scale));
    this.geometry.attributes.uv.needsUpdate = true;
    for (const mesh of [this.mesh, this.cut]) {
      if (mesh.material.map === stripOf(quantity)) continue;
      mesh.material.map = stripOf(quantity);
      mesh.material.needsUpdate = true;
    }
  }

  /** The coloured cut face of a body of tetrahedra; none for a surface.
   *  @param plane  in the world, or null */
  section(plane) {
    if (!this.cut) return;
    const side = plane ? THREE.FrontSide : THREE.DoubleSide;
    this.inside.visible = Boolean(plane);
    if (this.mesh.material.side !== side) {
      this.mesh.material.side = side;
      this.mesh.material.needsUpdate = true;
    }
    this.cut.visible = Boolean(plane) && this.tetrahedra.length > 0;
    if (!this.cut.visible) return;
    const own = plane.clone().applyMatrix4(this.group.matrix.clone().invert());
    const p = this.geometry.attributes.position, uv = this.geometry.attributes.uv;
    const heights = new Float32Array(this.nPoints), point = new THREE.Vector3();
    for (let i = 0; i < this.nPoints; ++i) heights[i] = own.distanceToPoint(point.fromBufferAttribute(p, i));
    const positions = [], values = [];
    for (let t = 0; t < this.tetrahedra.length; t += 4) this.cutTetrahedron(this.tetrahedra.subarray(t, t + 4), heights, p, uv, positions, values);
    this.cut.geometry.dispose();
    this.cut.geometry = new THREE.BufferGeometry();
    this.cut.geometry.setAttribute('position', new THREE.Float32BufferAttribute(positions, 3));
    this.cut.geometry.setAttribute('uv', new THREE.Float32BufferAttribute(values, 2));
  }

  /** One triangle, or two where a plane separates two corners from two. */
  cutTetrahedron(corners, heights, p, uv, positions, values) {
    const below = [0, 1, 2, 3].filter((c) => heights[corners[c]] < 0).length;
    if (below === 0 || below === 4) return;
    const found = [];
    for (const [a, b] of edges) {
      const i = corners[a], j = corners[b];
      if ((heights[i] < 0) === (heights[j] < 0)) continue;
      const s = heights[i] / (heights[i] - heights[j]);
      const mix = (attribute, k) => attribute.getComponent(i, k) * (1 - s) + attribute.getComponent(j, k) * s;
      found.push({ at: [mix(p, 0), mix(p, 1), mix(p, 2)], value: mix(uv, 0) });
    }
    // In the order of `edges`, point 0 of a quadrilateral is opposite to point 3.
    for (const k of found.length === 4 ? [0, 1, 2, 1, 3, 2] : [0, 1, 2]) {
      positions.push(...found[k].at);
      values.push(found[k].value, 0.5);
    }
  }
}
