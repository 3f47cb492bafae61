// Contact forces of a run: an arrow at the centre of pressure of each pair, and its path in the frame of the main body.
import * as THREE from 'three';
import { LineMaterial } from 'three/examples/jsm/lines/LineMaterial.js';
import { LineSegments2 } from 'three/examples/jsm/lines/LineSegments2.js';
import { LineSegmentsGeometry } from 'three/examples/jsm/lines/LineSegmentsGeometry.js';
import { commonRows, indexBefore } from './sampled.js';

const colour = 0xd55e00;
const maxPathPoints = 2000;
export const headRadius = 0.055;  // of an arrow, of its length
const alongView = 0.92;  // cosine
const axes = ['x', 'y', 'z'];

/** One pair: its force on the main body and centre of pressure in the world, at the rows of the page. */
class PairForce {
  /** @param force, cop  columns of x, y and z */
  constructor(owner, main, force, cop) {
    const { times, values } = commonRows([...force, ...cop]);
    Object.assign(this, { owner, main, times, force: values.slice(0, 3), cop: values.slice(3) });
    this.largest = this.times.reduce((most, _, i) => (this.isLoaded(i) ? Math.max(most, this.at(this.force, i).length()) : most), 0);
  }

  at(columns, i) {
    return new THREE.Vector3(...columns.map((values) => values[i]));
  }

  isLoaded(i) {
    return this.force.some((values) => values[i] !== 0) && this.cop.every((values) => Number.isFinite(values[i]));
  }

  /** {point, force} in the world at time t, linear between rows in contact; null without contact. @param near  [s] up to
   *  which a single row in contact is shown */
  sample(t, near) {
    const i = indexBefore(this.times, t), j = Math.min(i + 1, this.times.length - 1);
    const span = this.times[j] - this.times[i];
    const share = span > 0 ? Math.min(1, Math.max(0, (t - this.times[i]) / span)) : 0;
    const both = (columns) => this.at(columns, i).lerp(this.at(columns, j), share);
    if (this.isLoaded(i) && this.isLoaded(j)) return { point: both(this.cop), force: both(this.force) };
    for (const k of share < 0.5 ? [i, j] : [j, i]) {
      if (this.isLoaded(k) && Math.abs(this.times[k] - t) <= near) return { point: this.at(this.cop, k), force: this.at(this.force, k) };
    }
    return null;
  }
}

/** An arrow of length 1 along y from the origin. */
function arrow() {
  const material = new THREE.MeshLambertMaterial({ color: colour, depthTest: false, transparent: true });
  const r = headRadius, head = 4 * headRadius;
  const shapes = [new THREE.CylinderGeometry(0.35 * r, 0.35 * r, 1 - head, 16).translate(0, 0.5 * (1 - head), 0),
    new THREE.ConeGeometry(r, head, 24).translate(0, 1 - 0.5 * head, 0)];
  const group = new THREE.Group();
  shapes.forEach((shape, k) => {
    const mesh = new THREE.Mesh(shape, material);
    mesh.renderOrder = 7 + k;
    group.add(mesh);
  });
  return group;
}

export class ContactForces {
  /** @param mains  Map from the name of a pair to its main body; a pair without one has its path in the world */
  constructor(run, poses, mains) {
    this.poses = poses;
    this.shown = [];  // of place()
    this.near = 2e-3 * (run.span[1] - run.span[0]) + 1e-12;
    this.group = new THREE.Group();
    const owners = [...new Set(run.columns.filter((c) => c.quantity === 'cop').map((c) => c.owner))];
    this.pairs = owners.flatMap((owner) => {
      const named = (short) => axes.map((axis) => run.columns.find((c) => c.owner === owner && c.short === short + axis));
      const force = named('f'), cop = named('cop');
      if ([...force, ...cop].some((c) => !c?.value.length)) return [];
      return [new PairForce(owner, mains.get(owner) ?? 'ground', force, cop)];
    }).filter((pair) => pair.largest > 0);
  }

  /** Largest force of any pair [N]. */
  get largest() {
    return Math.max(0, ...this.pairs.map((pair) => pair.largest));
  }

  /** @param withPaths  draws the paths of the centres of pressure */
  build(withPaths) {
    for (const pair of this.pairs) {
      pair.arrow = arrow();
      this.group.add(pair.arrow);
      if (withPaths) this.addPath(pair);
    }
  }

  addPath(pair) {
    const step = Math.max(1, Math.ceil(pair.times.length / maxPathPoints));
    const local = (i) => {
      const X_AW = this.poses.at(pair.main, pair.times[i]).invert();
      return { point: pair.at(pair.cop, i).applyMatrix4(X_AW), force: pair.at(pair.force, i).transformDirection(X_AW) };
    };
    const stretches = [];
    pair.normal = new THREE.Vector3();
    pair.points = [];
    let last = null;
    for (let i = 0; i < pair.times.length; i += step) {
      const now = pair.isLoaded(i) ? local(i) : null;
      if (now) {
        pair.normal.add(now.force);
        pair.points.push(now.point);
      }
      if (now && last) stretches.push(...last.point.toArray(), ...now.point.toArray());
      last = now;
    }
    if (stretches.length === 0) return;
    pair.path = new LineSegments2(new LineSegmentsGeometry().setPositions(stretches), new LineMaterial({ color: colour, linewidth: 2.5 }));
    pair.path.renderOrder = 5;
    pair.path.matrixAutoUpdate = false;
    pair.path.frustumCulled = false;
    this.group.add(pair.path);
  }

  /** Base and tip of each arrow at time t, in the world. @param scale  [m/N] */
  ends(t, scale) {
    return this.pairs.flatMap((pair) => {
      const found = pair.sample(t, this.near);
      return found ? [{ pair, ...found, tip: found.point.clone().addScaledVector(found.force, scale) }] : [];
    });
  }

  /** @param scale  [m/N] of the arrows */
  place(t, scale) {
    this.shown = this.ends(t, scale);
    for (const pair of this.pairs) {
      const end = this.shown.find((one) => one.pair === pair);
      pair.arrow.visible = Boolean(end);
      if (end) {
        pair.arrow.position.copy(end.point);
        pair.arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), end.force.clone().normalize());
        pair.arrow.scale.setScalar(Math.max(1e-12, scale * end.force.length()));
      }
      pair.path?.matrix.copy(this.poses.at(pair.main, t));
    }
  }

  /** Adapts arrows and paths to the camera. A path is on the side of the main body that the partner presses on: from that
   *  side it is drawn over the body, whose undeformed sole would hide it; from the other side the body hides it. */
  face(camera) {
    for (const one of this.shown) {
      const along = one.point.clone().applyMatrix4(this.group.matrixWorld).sub(camera.position).normalize().dot(one.force) / one.force.length();
      one.isAlongView = Math.abs(along) > alongView;
      // It would cover the pressure and show nothing of the force; the mark at the centre of pressure remains.
      one.pair.arrow.visible = !one.isAlongView;
    }
    for (const { path, normal, points } of this.pairs) {
      if (!path) continue;
      const X = path.matrixWorld;
      const towards = camera.position.clone().sub(points[points.length >> 1].clone().applyMatrix4(X));
      path.material.depthTest = towards.dot(normal.clone().transformDirection(X)) > 0;
    }
  }
}
