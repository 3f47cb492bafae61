// Poses of the bodies of a run at any time, from the columns of its time series.
import * as THREE from 'three';
import { indexBefore } from './sampled.js';

const parts = ['x', 'y', 'z', 'qw', 'qx', 'qy', 'qz'];

class Column {
  constructor({ time, value }) { Object.assign(this, { time, value }); }

  /** Values around t and the interpolation fraction. */
  around(t) {
    const i = indexBefore(this.time, t), j = Math.min(i + 1, this.time.length - 1);
    const span = this.time[j] - this.time[i];
    return { before: this.value[i], after: this.value[j], share: span > 0 ? Math.min(1, Math.max(0, (t - this.time[i]) / span)) : 0 };
  }
}

export class Poses {
  constructor(run) {
    this.bodies = new Map();
    for (const column of run.columns) {
      const at = parts.indexOf(column.short);
      // Forces of a body have components x and y, too.
      if (at < 0 || (at < 3 && column.quantity !== 'position') || column.value.length === 0) continue;
      if (!this.bodies.has(column.owner)) this.bodies.set(column.owner, []);
      this.bodies.get(column.owner)[at] = new Column(column);
    }
    for (const [name, columns] of this.bodies) {
      if (parts.some((_, k) => !columns[k])) this.bodies.delete(name);
    }
  }

  has(body) {
    return body === 'ground' || this.bodies.has(body);
  }

  /** X_WB at t as a matrix; the identity for the ground and for a body without columns. */
  at(body, t, target = new THREE.Matrix4()) {
    const columns = this.bodies.get(body);
    if (!columns) return target.identity();
    const [x, y, z, ...q] = columns.map((column) => column.around(t));
    const between = ({ before, after, share }) => before + (after - before) * share;
    // Both signs are the same rotation; interpolation uses the shorter path.
    const sign = q.reduce((sum, { before, after }) => sum + before * after, 0) < 0 ? -1 : 1;
    const [w, i, j, k] = q.map(({ before, after, share }) => before + (sign * after - before) * share);
    return target.compose(new THREE.Vector3(between(x), between(y), between(z)), new THREE.Quaternion(i, j, k, w).normalize(), new THREE.Vector3(1, 1, 1));
  }
}
