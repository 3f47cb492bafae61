// The path of a centre of pressure, on the bodies that carry it.
import * as THREE from 'three';
import { LineMaterial } from 'three/examples/jsm/lines/LineMaterial.js';
import { LineSegments2 } from 'three/examples/jsm/lines/LineSegments2.js';
import { LineSegmentsGeometry } from 'three/examples/jsm/lines/LineSegmentsGeometry.js';

const width = 2.5;  // [px]

export class ContactPath {
  /** @param stops  [[{body, point, share}] or null between two contacts]: a stop is the mean of points in the frames of
   *  bodies, weighted by `share`, and thus the centre of pressure of several bodies at its own time
   *  @param normals  [{body, direction}] of the force, in the frame of the body */
  constructor(stops, normals, colour) {
    this.stops = stops.filter(Boolean);
    this.normals = normals;
    this.middle = new THREE.Vector3();
    this.normal = new THREE.Vector3();
    this.stretches = stops.flatMap((stop, i) => (i > 0 && stop && stops[i - 1] ? [[stops[i - 1], stop]] : []));
    const geometry = new LineSegmentsGeometry().setPositions(new Float32Array(6 * this.stretches.length));
    this.ends = geometry.attributes.instanceStart.data;
    this.line = new LineSegments2(geometry, new LineMaterial({ color: colour, linewidth: width }));
    this.line.renderOrder = 5;
    this.line.frustumCulled = false;
    this.line.visible = this.stretches.length > 0;
  }

  /** Moves the path with its bodies. */
  place(t, poses) {
    const X = new Map([...this.stops.flat(), ...this.normals].map(({ body }) => [body, null]));
    for (const body of X.keys()) X.set(body, poses.at(body, t));
    const inWorld = (stop) => stop.reduce((sum, { body, point, share }) => sum.addScaledVector(point.clone().applyMatrix4(X.get(body)), share), new THREE.Vector3());
    this.stretches.flat(1).forEach((stop, k) => inWorld(stop).toArray(this.ends.array, 3 * k));
    this.ends.needsUpdate = true;
    if (this.stops.length > 0) this.middle = inWorld(this.stops[this.stops.length >> 1]);
    this.normal = this.normals.reduce((sum, { body, direction }) => sum.add(direction.clone().transformDirection(X.get(body)).multiplyScalar(direction.length())), new THREE.Vector3());
  }

  /** A path is on the side of the body that the partner presses on: from that side it is drawn over the body, whose
   *  undeformed sole would hide it; from the other side the body hides it. */
  face(camera) {
    const towards = camera.position.clone().sub(this.middle.clone().applyMatrix4(this.line.matrixWorld));
    this.line.material.depthTest = towards.dot(this.normal) > 0;
  }
}
