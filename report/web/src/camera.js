// View directions, and the camera distance at which the scene fills the view.
import * as THREE from 'three';

/** Unit vectors up, forward and to the left of a model. */
export function axesOf(up) {
  const u = up.clone().normalize();
  const forward = Math.abs(u.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
  forward.addScaledVector(u, -forward.dot(u)).normalize();
  return { u, forward, left: u.clone().cross(forward) };
}

/** Camera position relative to the target. */
export function directionOf(name, up, box) {
  const { u, forward, left } = axesOf(up);
  const mixed = (f, l, z) => new THREE.Vector3().addScaledVector(forward, f).addScaledVector(left, l).addScaledVector(u, z).normalize();
  if (name === 'below') return mixed(0, -0.02, -1);
  if (name === 'above') return mixed(0, -0.02, 1);
  if (name === 'side') return mixed(0, -1, 0.05);
  if (name === 'plane') {
    // Normal to the plane of motion of a mechanism.
    const size = box.getSize(new THREE.Vector3());
    const thin = size.x < size.y && size.x < size.z ? new THREE.Vector3(1, 0, 0) : size.y < size.z ? new THREE.Vector3(0, -1, 0) : new THREE.Vector3(0, 0, 1);
    return thin.addScaledVector(u, 0.12).addScaledVector(forward, 0.08).normalize();
  }
  return mixed(0.75, -1, 0.55);
}

/** Moves the camera along `direction` until the points fill its view. @param margins  {x, y} share of the view at each
 *  edge that stays free. @returns the point looked at */
export function fit(camera, points, direction, up, margins) {
  camera.up.copy(up);
  camera.position.copy(direction);
  camera.lookAt(0, 0, 0);
  camera.updateMatrixWorld(true);
  const R = new THREE.Matrix3().setFromMatrix4(camera.matrixWorld), inverse = R.clone().transpose();
  const seen = points.map((p) => p.clone().applyMatrix3(inverse));
  const center = new THREE.Box3().setFromPoints(seen).getCenter(new THREE.Vector3());
  const half = Math.tan((camera.fov * Math.PI) / 360);
  const vertical = half * (1 - 2 * margins.y), horizontal = half * camera.aspect * (1 - 2 * margins.x);
  let distance = 1e-9;
  for (const p of seen) {
    p.sub(center);
    distance = Math.max(distance, Math.abs(p.x) / horizontal + p.z, Math.abs(p.y) / vertical + p.z);
  }
  center.applyMatrix3(R);
  camera.position.copy(center).addScaledVector(direction, distance);
  camera.near = distance / 200;
  camera.far = distance * 200;
  camera.updateProjectionMatrix();
  return center;
}
