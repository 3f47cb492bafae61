// The bodies of a scenario as simple shapes: contact surfaces, links between joints, springs; moved by the time series.
import * as THREE from 'three';
import { indexBefore } from './sampled.js';

const bodyColours = [0x5b8db8, 0xc7843f, 0x5fa38a, 0xb67ba0, 0xa9974f, 0x7f8fa6];
const outlinePoints = 150;  // of each mesh
const jointColour = 0x4a525a, springColour = 0xd55e00, rodColour = 0x70787f, groundColour = 0x8a939c, ligamentColour = 0xb5482f;

// Directions to the faces, edges and corners of a cube.
const signs = [-1, 0, 1].flatMap((x) => [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((z) => [x, y, z]))).filter((d) => d.some((c) => c !== 0));

const vector = (list) => new THREE.Vector3(...list);

/** Edges of the shortest tree that joins the points (Prim's algorithm). */
function tree(points) {
  const joined = [0], edges = [];
  while (joined.length < points.length) {
    let best = null;
    for (const i of joined) {
      points.forEach((p, j) => {
        if (joined.includes(j)) return;
        const length = points[i].distanceTo(p);
        if (!best || length < best.length) best = { i, j, length };
      });
    }
    joined.push(best.j);
    edges.push(best);
  }
  return edges;
}

/** A cylinder of length 1 along z from the origin, to be stretched between two points. */
function stick(radius, colour) {
  const geometry = new THREE.CylinderGeometry(radius, radius, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5);
  return new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ color: colour }));
}

function stretch(mesh, from, to) {
  const along = to.clone().sub(from), length = along.length();
  mesh.visible = length > 1e-12;
  mesh.position.copy(from);
  mesh.scale.set(1, 1, Math.max(length, 1e-12));
  if (length > 0) mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), along.divideScalar(length));
}

/** A helix of unit length along z, with proportions for about `length`. */
function coil(radius, wire, length) {
  const points = [];
  const turns = 9, ends = 0.08;
  points.push(new THREE.Vector3(0, 0, 0), new THREE.Vector3(0, 0, length * ends));
  for (let k = 0; k <= 12 * turns; ++k) {
    const angle = (2 * Math.PI * k) / 12;
    points.push(new THREE.Vector3(radius * Math.cos(angle), radius * Math.sin(angle), length * (ends + (1 - 2 * ends) * (k / (12 * turns)))));
  }
  points.push(new THREE.Vector3(0, 0, length * (1 - ends)), new THREE.Vector3(0, 0, length));
  const geometry = new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points, false, 'catmullrom', 0), 12 * turns + 12, wire, 5).scale(1, 1, 1 / length);
  return new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ color: springColour }));
}

/** The outermost points of a geometry in the directions of `signs`. */
function supportOf(geometry) {
  if (!geometry.userData.support) {
    const p = geometry.attributes.position, found = signs.map(() => ({ most: -Infinity, index: 0 }));
    for (let i = 0; i < p.count; ++i) {
      signs.forEach(([x, y, z], k) => {
        const reach = x * p.getX(i) + y * p.getY(i) + z * p.getZ(i);
        if (reach > found[k].most) found[k] = { most: reach, index: i };
      });
    }
    geometry.userData.support = [...new Set(found.map(({ index }) => index))].map((i) => new THREE.Vector3().fromBufferAttribute(p, i));
  }
  return geometry.userData.support;
}

export class RigidBodies {
  /** @param scene  written by scene_json; @param shapes  [{body, points, triangles}] of bodies with meshes
   *  @param shown  bodies already drawn by fields; @param start  [s] of the run */
  constructor(scene, shapes, poses, shown, start) {
    Object.assign(this, { scene, shapes, poses, shown, start });
    this.up = vector(scene.up);
    this.group = new THREE.Group();
    this.bodies = scene.bodies.filter((body) => poses.has(body.name));
    this.moving = this.bodies.filter((body) => body.name !== 'ground');
    this.planes = [];
    this.veils = [];
    // Focus: muscles extend far beyond a knee, whose bones have meshes.
    const withShapes = this.bodies.filter((body) => this.shapesOf(body).length > 0).length;
    this.hasShapes = withShapes > 0 && 2 * withShapes >= this.moving.length;
  }

  /** Triangles of a body in the page. */
  shapesOf(body) {
    return this.shapes.filter((shape) => shape.body === body.name);
  }

  /** A subset of the points of its shapes that represents their size. */
  outlineOfShapes(body) {
    return this.shapesOf(body).flatMap(({ points }) => {
      const step = 3 * Math.max(1, Math.floor(points.length / 3 / outlinePoints));
      return Array.from({ length: Math.ceil(points.length / step) }, (_, i) => new THREE.Vector3().fromArray(points, i * step));
    });
  }

  /** Simple solids of a body; triangles replace a solid of which only the size is known. */
  solidsOf(body) {
    const known = this.shapesOf(body).length > 0;
    return body.surfaces.filter(({ kind, rough }) => kind !== 'plane' && !(rough && known));
  }

  /** Points of a body that represent its size, in its frame. */
  extent(body) {
    const shapes = this.shapesOf(body);
    const points = this.outlineOfShapes(body);
    if (!this.hasShapes) points.push(...body.points.map(vector));
    const solids = this.solidsOf(body);
    if (body.center_of_mass && body.surfaces.length === 0 && shapes.length === 0) points.push(vector(body.center_of_mass));
    for (const s of solids) {
      const half = s.kind === 'block' ? vector(s.lengths).multiplyScalar(0.5) : new THREE.Vector3().setScalar(Math.max(s.radius, (s.length ?? 0) / 2));
      for (const sign of signs) points.push(vector(sign).multiply(half).multiplyScalar(s.kind === 'sphere' ? 1 / Math.hypot(...sign) : 1).add(vector(s.center)));
    }
    return points;
  }

  /** Points of all that is drawn of the bodies at t, in the world; planes and wrap surfaces apart. Where bones have
   *  meshes, these only. @param withLinks  with springs, rods, ligaments, the displacements of joints, and their
   *  ends on the ground */
  outline(t, withLinks = true) {
    if (!this.frames) return this.skeleton(t, withLinks);
    this.move(t);
    const points = [];
    const add = (mesh, X) => {
      mesh.updateMatrix();
      const X_WM = X.clone().multiply(mesh.matrix);
      points.push(...supportOf(mesh.geometry).map((p) => p.clone().applyMatrix4(X_WM)));
    };
    for (const { body, frame } of this.frames) {
      if (this.hasShapes ? this.shapesOf(body).length === 0 : body.name === 'ground' && !withLinks) continue;
      for (const mesh of frame.children) if (mesh.isMesh && !this.veils.includes(mesh)) add(mesh, frame.matrix);
    }
    const world = new THREE.Matrix4();
    const between = [...this.links.map(({ mesh }) => mesh), ...this.ways.flatMap(({ sticks }) => sticks)];
    if (withLinks && !this.hasShapes) for (const mesh of between) if (mesh.visible) add(mesh, world);
    return points.length > 0 ? points : this.skeleton(t, withLinks);
  }

  /** Points of the bodies at t in the world, from which the thickness of their links follows. */
  skeleton(t, withGround) {
    const bodies = this.hasShapes ? this.bodies.filter((body) => this.shapesOf(body).length > 0) : withGround ? this.bodies : this.moving;
    return bodies.flatMap((body) => {
      const X = this.poses.at(body.name, t);
      return (body.name === 'ground' && !this.hasShapes ? body.points.map(vector) : this.extent(body)).map((p) => p.applyMatrix4(X));
    });
  }

  /** Sticks through the points of a body, the shortest that join them and its centre of mass. */
  sticksOf(body) {
    const points = body.points.map(vector), com = vector(body.center_of_mass);
    if (!points.some((p) => p.distanceTo(com) < 1e-9)) points.push(com);
    return { points, com, links: tree(points) };
  }

  /** Radius of the sticks: by the size of the bodies, but thin compared with the sticks of a long chain. */
  thickness(size) {
    const lengths = this.moving.filter((body) => body.center_of_mass && this.shapesOf(body).length === 0)
      .flatMap((body) => this.sticksOf(body).links.map(({ length }) => length)).filter((length) => length > 1e-9).sort((a, b) => a - b);
    const typical = lengths[lengths.length >> 1] ?? Infinity;
    return Math.min(0.009 * size, 0.12 * typical);
  }

  /** Creates the shapes. @param size  of the bodies at one time, at most [m]; @param coloured  box of the bodies with
   *  fields at the start, which no block of a carrier may hide, or null */
  build(size, floor, coloured) {
    const thick = this.thickness(size), line = 0.4 * 0.009 * size;
    this.coloured = coloured;
    this.frames = this.bodies.map((body, k) => {
      const frame = new THREE.Group();
      frame.matrixAutoUpdate = false;
      const colour = body.name === 'ground' ? groundColour : bodyColours[(k - 1 + bodyColours.length) % bodyColours.length];
      if (!this.shown.has(body.name)) this.addShape(frame, body, colour, thick, size);
      for (const s of body.surfaces) if (s.kind === 'plane') this.addPlane(frame, s, floor, body.name);
      this.group.add(frame);
      return { body, frame };
    });
    this.links = [];
    for (const joint of this.scene.joints) this.addJoint(joint, thick);
    for (const { a, b } of this.scene.springs) {
      const ends = [a, b].map(({ body, point }) => vector(point).applyMatrix4(this.poses.at(body, this.start)));
      this.addLink(a, b, coil(1.8 * thick, 0.35 * thick, Math.max(thick, ends[0].distanceTo(ends[1]))));
    }
    this.ways = [];
    for (const { a, b, way } of this.scene.lines?.parts ?? []) {
      if (way?.unpacked && this.poses.has(way.body)) this.addWrapPath(a, b, way, line);
      else this.addLink(a, b, stick(line, ligamentColour));
    }
    for (const surface of this.scene.lines?.surfaces ?? []) this.addWrapSurface(surface);
  }

  /** Translucent wrap surfaces; an infinite cylinder is drawn four radii long. */
  addWrapSurface({ body, p, q: [w, i, j, k], radii, cylinder }) {
    const frame = this.frames.find((f) => f.body.name === body)?.frame;
    if (!frame) return;
    const geometry = cylinder ? new THREE.CylinderGeometry(1, 1, 4, 48).rotateX(Math.PI / 2) : new THREE.SphereGeometry(1, 48, 32);
    const mesh = new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ color: 0x56b4e9, transparent: true, opacity: 0.25, depthWrite: false }));
    mesh.scale.set(...radii);
    mesh.position.copy(vector(p));
    mesh.quaternion.set(i, j, k, w);
    this.veils.push(mesh);
    frame.add(mesh);
  }

  addShape(frame, body, colour, thick, size) {
    const material = new THREE.MeshLambertMaterial({ color: colour });
    const add = (geometry, at, from = material) => {
      const mesh = new THREE.Mesh(geometry, from);
      mesh.position.copy(at);
      frame.add(mesh);
      return mesh;
    };
    const shapes = this.shapesOf(body);
    for (const { points, triangles } of shapes) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute('position', new THREE.BufferAttribute(points, 3));
      geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
      geometry.computeVertexNormals();
      add(geometry, new THREE.Vector3(), new THREE.MeshLambertMaterial({ color: colour, side: THREE.DoubleSide }));
    }
    for (const s of this.solidsOf(body)) {
      const rough = s.rough ? new THREE.MeshLambertMaterial({ color: colour, transparent: true, opacity: 0.4 }) : material;
      if (s.kind === 'sphere') {
        add(new THREE.SphereGeometry(s.radius, 80, 48), vector(s.center));
        // Three great circles show the rotation.
        for (const turn of [[0, 0], [Math.PI / 2, 0], [0, Math.PI / 2]]) {
          const ring = add(new THREE.TorusGeometry(1.001 * s.radius, 0.012 * s.radius, 6, 128), vector(s.center), new THREE.MeshLambertMaterial({ color: 0xf4f6f8 }));
          ring.rotation.set(turn[0], turn[1], 0);
        }
      }
      if (s.kind === 'block') add(new THREE.BoxGeometry(...s.lengths), vector(s.center), rough);
      if (s.kind === 'cylinder') {
        const bar = add(new THREE.CylinderGeometry(s.radius, s.radius, s.length ?? size, 40), vector(s.center));
        bar.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), vector(s.axis));
      }
    }
    if (body.name === 'ground') {
      for (const p of this.supports()) add(new THREE.BoxGeometry(3 * thick, 3 * thick, 3 * thick), vector(p));
      return;
    }
    // A body with a mesh is drawn without sticks.
    if (shapes.length > 0) return;
    const { points, com, links } = this.sticksOf(body);
    for (const { i, j } of links) {
      const link = stick(thick, colour);
      stretch(link, points[i], points[j]);
      frame.add(link);
    }
    const reach = Math.max(0, ...links.map(({ length }) => length));
    const longest = body.box ? Math.max(...body.box.lengths) : 0;
    // The block of the same mass and inertia, if its size is plausible; not where lines are inserted, because it would
    // hide them, nor among meshes.
    const inserted = this.hasShapes || (this.scene.lines?.parts ?? []).some(({ a, b }) => a.body === body.name || b.body === body.name);
    if (body.surfaces.length === 0 && body.box && !inserted && reach <= 1.1 * longest && longest < 0.6 * size && !this.hidesFields(body, longest)) {
      const [w, i, j, k] = body.box.q;
      add(new THREE.BoxGeometry(...body.box.lengths), vector(body.box.p)).quaternion.set(i, j, k, w);
    } else if (body.surfaces.length === 0 && (!inserted || links.length === 0)) {
      // Also among meshes: nothing else of such a body is visible.
      const ends = links.filter((e) => points[e.i] === com || points[e.j] === com).length;
      if (ends < 2) add(new THREE.SphereGeometry((points.length > 1 ? 2.5 : 3.5) * thick, 24, 16), com);
    }
  }

  /** True for the block of a body that moves with a body with fields, such as the carrier of a sole. */
  hidesFields(body, longest) {
    if (!this.coloured) return false;
    const center = vector(body.box.p).applyMatrix4(this.poses.at(body.name, this.start));
    return this.coloured.distanceToPoint(center) < 0.25 * longest;
  }

  /** Attachment points on the ground of the drawn bodies. */
  supports() {
    return [...this.scene.joints, ...this.scene.springs, ...(this.scene.lines?.parts ?? [])].flatMap(({ a, b }) => [[a, b], [b, a]])
      .filter(([end, other]) => end.body === 'ground' && !this.shown.has(other.body)).map(([end]) => end.point);
  }

  /** The half space's surface: opaque from above, translucent from below. @param floor {center, size} in the world */
  addPlane(frame, s, floor, body) {
    const plane = new THREE.Group();
    const size = floor.size;
    const geometry = new THREE.PlaneGeometry(size, size);
    const top = new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ color: 0xe6e9ec, side: THREE.FrontSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 4 }));
    const veil = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ color: 0x9aa3ad, side: THREE.BackSide, transparent: true, opacity: 0.10, depthWrite: false }));
    veil.renderOrder = 4;
    const lines = [];
    const step = 10 ** Math.round(Math.log10(size / 20));
    const n = Math.floor(size / 2 / step);
    // In segments: some graphics drivers drop a line that ends behind the camera.
    for (let k = -n; k <= n; ++k) {
      for (let i = -n; i < n; ++i) lines.push(k * step, i * step, 0, k * step, (i + 1) * step, 0, i * step, k * step, 0, (i + 1) * step, k * step, 0);
    }
    const grid = new THREE.LineSegments(new THREE.BufferGeometry().setAttribute('position', new THREE.Float32BufferAttribute(lines, 3)),
      new THREE.LineBasicMaterial({ color: 0x8a939c, transparent: true, opacity: 0.35 }));
    grid.position.z = 2e-4 * size;
    plane.add(top, veil, grid);
    plane.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), vector(s.normal));
    frame.add(plane);
    this.planes.push({ plane, s, step, body, center: floor.center });
  }

  /** Planes are infinite: each is centred below the focus, aligned with its grid. */
  placePlanes(t) {
    for (const { plane, s, step, body } of this.planes) {
      const X = this.poses.at(body, t);
      const at = this.focus.clone().applyMatrix4(X.clone().invert());
      const normal = vector(s.normal), point = vector(s.point);
      at.addScaledVector(normal, -normal.dot(at.clone().sub(point)));
      const R = plane.quaternion, u = new THREE.Vector3(1, 0, 0).applyQuaternion(R), v = new THREE.Vector3(0, 1, 0).applyQuaternion(R);
      const snapped = (axis) => Math.round(at.clone().sub(point).dot(axis) / step) * step;
      plane.position.copy(point).addScaledVector(u, snapped(u)).addScaledVector(v, snapped(v));
    }
  }

  addJoint({ a, b, axis, rod }, thick) {
    if (this.shown.has(a.body) || this.shown.has(b.body)) return;
    if (rod) {
      this.addLink(a, b, stick(0.8 * thick, rodColour));
      return;
    }
    const frame = this.frames.find(({ body }) => body.name === b.body)?.frame;
    if (!frame || !this.poses.has(a.body)) return;
    const material = new THREE.MeshLambertMaterial({ color: jointColour });
    const marker = new THREE.Mesh(axis ? new THREE.CylinderGeometry(1.7 * thick, 1.7 * thick, 3.2 * thick, 20) : new THREE.SphereGeometry(1.8 * thick, 20, 14), material);
    marker.position.copy(vector(b.point));
    this.markers ??= [];
    this.markers.push({ marker, a, b, axis: axis && vector(axis) });
    frame.add(marker);
    // A sliding joint shows its displacement.
    this.addLink(a, b, stick(0.35 * thick, jointColour));
  }

  addLink(a, b, mesh) {
    if (!this.poses.has(a.body) || !this.poses.has(b.body)) return;
    this.links.push({ a, b, mesh });
    this.group.add(mesh);
  }

  /** A wrap path: sticks from point to point. @param way  {body, count, unpacked: {times, points}} */
  addWrapPath(a, b, way, radius) {
    if (!this.poses.has(a.body) || !this.poses.has(b.body)) return;
    const sticks = Array.from({ length: way.count - 1 }, () => stick(radius, ligamentColour));
    this.group.add(...sticks);
    this.ways.push({ a, b, way, sticks });
  }

  /** Points of a wrap path at time t, in the world. */
  wrapPathAt({ a, b, way: { body, count, unpacked: { times, points } } }, t) {
    const X = this.poses.at(body, t);
    const i = indexBefore(times, t), j = Math.min(i + 1, times.length - 1);
    const share = j > i ? Math.min(1, Math.max(0, (t - times[i]) / (times[j] - times[i]))) : 0;
    const point = (frame, k) => new THREE.Vector3().fromArray(points, 3 * (frame * count + k));
    const way = Array.from({ length: count }, (_, k) => point(i, k).lerp(point(j, k), share).applyMatrix4(X));
    // End points follow their bodies also between the times of the path.
    [[0, a], [count - 1, b]].forEach(([k, end]) => { way[k] = vector(end.point).applyMatrix4(this.poses.at(end.body, t)); });
    return way;
  }

  /** Visibility of wrap surfaces. */
  showWrapSurfaces(seen) {
    for (const veil of this.veils) veil.visible = seen;
  }

  /** Updates all shapes to time t; the planes are centred below `focus`. */
  place(t, focus) {
    this.focus = focus;
    this.placePlanes(t);
    this.move(t);
  }

  move(t) {
    for (const { body, frame } of this.frames) {
      frame.matrix.copy(this.poses.at(body.name, t));
      frame.updateMatrixWorld(true);
    }
    for (const { marker, a, b, axis } of this.markers ?? []) {
      if (!axis) continue;
      const along = axis.clone().transformDirection(this.poses.at(a.body, t)).transformDirection(this.poses.at(b.body, t).invert());
      marker.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along);
    }
    for (const { a, b, mesh } of this.links) {
      const ends = [a, b].map(({ body, point }) => vector(point).applyMatrix4(this.poses.at(body, t)));
      stretch(mesh, ...ends);
    }
    for (const line of this.ways) {
      const points = this.wrapPathAt(line, t);
      line.sticks.forEach((mesh, k) => stretch(mesh, points[k], points[k + 1]));
    }
  }
}
