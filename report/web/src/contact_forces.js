// Contact forces of a run: an arrow at the centre of pressure of each pair, or of each foot of several parts, and its path
// on the bodies.
import * as THREE from 'three';
import { ContactPath } from './contact_path.js';
import { commonRows, indexBefore } from './sampled.js';

const colour = 0xd55e00;
const maxPathPoints = 2000;
export const headRadius = 0.055;  // of an arrow, of its length
const alongView = 0.92;  // cosine
const axes = ['x', 'y', 'z'];

/** Evenly spaced entries, at most as many as a path has points. */
function everyFew(entries) {
  const step = Math.max(1, Math.ceil(entries.length / maxPathPoints));
  return Array.from(entries).filter((_, i) => i % step === 0);
}

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

  /** Centres of pressure in the main body, as stops of a ContactPath. */
  stops(poses) {
    const inMain = (i) => this.at(this.cop, i).applyMatrix4(poses.at(this.main, this.times[i]).invert());
    return everyFew([...this.times.keys()]).map((i) => (this.isLoaded(i) ? [{ body: this.main, share: 1, point: inMain(i) }] : null));
  }

  /** Sum of the directions of the force in the main body. */
  normals(poses) {
    const direction = new THREE.Vector3();
    for (const i of everyFew([...this.times.keys()])) {
      if (this.isLoaded(i)) direction.add(this.at(this.force, i).transformDirection(poses.at(this.main, this.times[i]).invert()));
    }
    return [{ body: this.main, direction }];
  }
}

/** The pairs of one foot together: their total force at the mean of their centres, weighted by force. */
class FootForce {
  constructor(owner, pairs) {
    Object.assign(this, { owner, pairs });
    this.times = Float64Array.from(new Set(pairs.flatMap((pair) => [...pair.times]))).sort();
    this.largest = this.times.reduce((most, t) => Math.max(most, this.sample(t, 0)?.force.length() ?? 0), 0);
  }

  /** {pair, point, force, share} of the loaded pairs at time t; the shares add up to 1. */
  loads(t, near) {
    const found = this.pairs.flatMap((pair) => {
      const sample = pair.sample(t, near);
      return sample ? [{ pair, ...sample }] : [];
    });
    const sum = found.reduce((total, { force }) => total + force.length(), 0);
    return found.map((one) => ({ ...one, share: one.force.length() / sum }));
  }

  sample(t, near) {
    const force = new THREE.Vector3(), point = new THREE.Vector3();
    for (const one of this.loads(t, near)) {
      force.add(one.force);
      point.addScaledVector(one.point, one.share);
    }
    return force.length() > 0 ? { point, force } : null;
  }

  stops(poses) {
    return everyFew(this.times).map((t) => {
      const loads = this.loads(t, 0);
      return loads.length === 0 ? null : loads.map(({ pair, point, share }) => ({ body: pair.main, share, point: point.applyMatrix4(poses.at(pair.main, t).invert()) }));
    });
  }

  normals(poses) {
    return this.pairs.flatMap((pair) => pair.normals(poses));
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
  /** @param mains  Map from the name of a pair to its main body; a pair without one has its path in the world
   *  @param feet  [{label, pairs}] whose pairs have one arrow and one path (report/foot_prints.hpp) */
  constructor(run, poses, mains, feet) {
    this.poses = poses;
    this.shown = [];  // of place()
    this.near = 2e-3 * (run.span[1] - run.span[0]) + 1e-12;
    this.group = new THREE.Group();
    const owners = [...new Set(run.columns.filter((c) => c.quantity === 'cop').map((c) => c.owner))];
    const pairs = owners.flatMap((owner) => {
      const named = (short) => axes.map((axis) => run.columns.find((c) => c.owner === owner && c.short === short + axis));
      const force = named('f'), cop = named('cop');
      if ([...force, ...cop].some((c) => !c?.value.length)) return [];
      return [new PairForce(owner, mains.get(owner) ?? 'ground', force, cop)];
    });
    const joined = feet.map((foot) => new FootForce(foot.label, pairs.filter(({ owner }) => foot.pairs.includes(owner))));
    const alone = pairs.filter(({ owner }) => !feet.some((foot) => foot.pairs.includes(owner)));
    this.units = [...joined, ...alone].filter(({ largest }) => largest > 0);
  }

  /** Largest force of any pair or foot [N]. */
  get largest() {
    return Math.max(0, ...this.units.map(({ largest }) => largest));
  }

  /** @param withPaths  draws the paths of the centres of pressure */
  build(withPaths) {
    for (const unit of this.units) {
      unit.arrow = arrow();
      this.group.add(unit.arrow);
      if (!withPaths) continue;
      unit.path = new ContactPath(unit.stops(this.poses), unit.normals(this.poses), colour);
      this.group.add(unit.path.line);
    }
  }

  /** Base and tip of each arrow at time t, in the world. @param scale  [m/N] */
  ends(t, scale) {
    return this.units.flatMap((unit) => {
      const found = unit.sample(t, this.near);
      return found ? [{ unit, ...found, tip: found.point.clone().addScaledVector(found.force, scale) }] : [];
    });
  }

  /** @param scale  [m/N] of the arrows */
  place(t, scale) {
    this.shown = this.ends(t, scale);
    for (const unit of this.units) {
      const end = this.shown.find((one) => one.unit === unit);
      unit.arrow.visible = Boolean(end);
      if (end) {
        unit.arrow.position.copy(end.point);
        unit.arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), end.force.clone().normalize());
        unit.arrow.scale.setScalar(Math.max(1e-12, scale * end.force.length()));
      }
      unit.path?.place(t, this.poses);
    }
  }

  /** Adapts arrows and paths to the camera. */
  face(camera) {
    for (const one of this.shown) {
      const along = one.point.clone().applyMatrix4(this.group.matrixWorld).sub(camera.position).normalize().dot(one.force) / one.force.length();
      one.isAlongView = Math.abs(along) > alongView;
      // It would cover the pressure and show nothing of the force; the mark at the centre of pressure remains.
      one.unit.arrow.visible = !one.isAlongView;
    }
    for (const { path } of this.units) path?.face(camera);
  }
}
