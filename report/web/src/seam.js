// The cut between two parts of one body: drawn as one skin, although each part moves and deforms alone.
import * as THREE from 'three';
import { nameOfFace } from './field_part.js';

export class Seam {
  /** @param parts  two FieldPart; @param nodes  of the cut, those of both parts alternating */
  constructor(parts, nodes) {
    this.parts = parts;
    this.pairs = Array.from({ length: nodes.length / 2 }, (_, k) => [nodes[2 * k], nodes[2 * k + 1]]);
  }

  /** Removes the faces of the cut, which are inside of the body: those that both parts have. */
  removeInnerFaces() {
    const [a, b] = this.parts, partner = new Map(this.pairs);
    const inB = (corners) => corners.map((i) => partner.get(i));
    const ofB = new Set(b.faces().map(nameOfFace));
    const inner = a.faces().filter((corners) => corners.every((i) => partner.has(i)) && ofB.has(nameOfFace(inB(corners))));
    a.removeFaces(inner);
    b.removeFaces(inner.map(inB));
  }

  /** Moves the nodes of the cut to the mean of both parts, so that no gap is visible. */
  close() {
    const [A, B] = this.parts.map((part) => part.group.matrix);
    this.pairs.forEach(([i, j]) => {
      const middle = this.parts[0].ownPoint(i).applyMatrix4(A).add(this.parts[1].ownPoint(j).applyMatrix4(B)).multiplyScalar(0.5);
      [i, j].forEach((node, side) => this.parts[side].movePoint(node, middle));
    });
    for (const part of this.parts) part.updateShape();
  }

  /** The nodes of the cut have one normal in both parts, so that the light shows no edge. */
  smooth() {
    const normals = this.parts.map((part) => part.geometry.attributes.normal);
    this.pairs.forEach((nodes) => {
      const sum = new THREE.Vector3();
      nodes.forEach((node, side) => sum.add(new THREE.Vector3().fromBufferAttribute(normals[side], node).transformDirection(this.parts[side].group.matrix)));
      nodes.forEach((node, side) => {
        const own = sum.clone().transformDirection(this.parts[side].group.matrix.clone().invert());
        normals[side].setXYZ(node, own.x, own.y, own.z);
      });
    });
  }

  /** Both parts have the mean of their values at the nodes of the cut, as in the plan view (report/pressure_map.hpp). */
  joinValues(name) {
    const quantities = this.parts.map((part) => part.quantityNamed(name));
    if (!quantities.every(Boolean)) return;
    for (const nodes of this.pairs) {
      const mean = 0.5 * nodes.reduce((sum, node, side) => sum + this.parts[side].value(quantities[side], this.parts[side].shownFrame, node), 0);
      nodes.forEach((node, side) => this.parts[side].joined.set(node, mean));
    }
  }
}
