/** Picture of a world by three.js: meshes and materials of the model, floor, light, camera. */
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { RoomEnvironment } from "three/addons/environments/RoomEnvironment.js";
import { mergeGeometries, toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import type { Vector, World } from "./world";

const OBJECTS = 0; // groups of the shapes that are drawn: objects, and meshes of arms
const VISUAL = 2;
const CREASE = 0.6; // angle between faces that is drawn as an edge [rad]
const [SKY, FLOOR, DRAPE] = [0xdfe6ee, 0xc9d2dc, 0x4f7f86]; // drape: the table below a board

/** Levels of quality, from the best: pixels per point, frames between updates of the shadow. */
const QUALITY = [
  { ratio: 2, shadow: 1 },
  { ratio: 1, shadow: 1 },
  { ratio: 0.75, shadow: 4 },
  { ratio: 0.5, shadow: 12 },
];
const SLOW = 18; // frames/s below which the next level is taken
const FAST = 40; // frames/s above which there is time for reflections
const METAL = [0.3, 0.75]; // metalness without and with reflections

/** A place to look from [m], a horizontal angle of view [rad], and the size of what is looked at [m]. */
export interface View {
  position: number[];
  target: number[];
  angle: number;
  size: number;
}

export interface Hit {
  body: number;
  position: Vector;
}

export class Picture {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.01, 50);
  readonly orbit: OrbitControls;
  private readonly scene = new THREE.Scene();
  private readonly sun = new THREE.DirectionalLight(0xffffff, 2.2);
  private readonly sky = new THREE.HemisphereLight(0xffffff, 0x8b96a3, 1.6);
  private readonly handles: THREE.Mesh[];
  private readonly arrow = new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), new THREE.Vector3(), 1, 0xd1495b);
  private shapes: { mesh: THREE.Mesh; at: number; ofBody: boolean }[] = []; // at: the geom or the body
  private group = new THREE.Group();
  private world: World | null = null;
  private view: View | null = null;
  private level = 0;
  private drawn = 0;
  private readonly ray = new THREE.Raycaster();

  /** colours: of the handles of the tips that can be led. */
  constructor(private readonly canvas: HTMLCanvasElement, colours: number[] = [0xf28f3b]) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.ACESFilmicToneMapping;
    this.renderer.toneMappingExposure = 0.95;
    this.scene.background = new THREE.Color(SKY);
    this.camera.up.set(0, 0, 1);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.01;
    this.handles = colours.map((color) => {
      const material = new THREE.MeshBasicMaterial({ color, transparent: true, opacity: 0.75, depthTest: false });
      const handle = new THREE.Mesh(new THREE.SphereGeometry(1, 24, 16), material);
      handle.renderOrder = 2;
      return handle;
    });
    for (const part of [this.arrow.line, this.arrow.cone]) {
      (part.material as THREE.Material).depthTest = false;
      part.renderOrder = 3;
    }
    this.arrow.visible = false;
    this.sky.position.set(0, 0, 1);
    this.scene.add(this.sky, this.sun, this.sun.target, ...this.handles, this.arrow);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.enableDamping = false;
    this.orbit.minDistance = 0.05;
    this.orbit.maxDistance = 12;
  }

  /** Show another world; the camera stays if only options of the same scene differ. view: the camera's place. */
  show(world: World, keepCamera: boolean, view: View | null = null): void {
    this.scene.remove(this.group);
    this.group.traverse((part) => part instanceof THREE.Mesh && part.geometry.dispose());
    this.group = new THREE.Group();
    this.world = world;
    this.view = view;
    this.shapes = [];
    const { model } = world;
    const meshes = new Map<number, THREE.BufferGeometry>();
    const materials = new Map<number, THREE.Material>();
    let floor = Infinity;
    for (let geom = 0; geom < model.ngeom; geom++) {
      if (model.geom_type[geom] === 0) floor = world.data.geom_xpos[3 * geom + 2];
      if (model.geom_group[geom] !== VISUAL || model.geom_dataid[geom] < 0) continue;
      const id = model.geom_dataid[geom];
      const look = model.geom_matid[geom];
      if (!meshes.has(id)) meshes.set(id, geometry(world, id));
      if (!materials.has(look)) materials.set(look, material(world, look, !!this.scene.environment));
      this.add(new THREE.Mesh(meshes.get(id), materials.get(look)), geom, false);
    }
    for (let body = 1; body < model.nbody; body++) {
      const mesh = solid(world, body);
      if (mesh) this.add(mesh, body, true);
    }
    this.scene.add(this.group);
    this.place();
    const box = new THREE.Box3().setFromObject(this.group);
    const extent = view?.size ?? model.stat.extent;
    const centre = view ? new THREE.Vector3(...view.target) : box.getCenter(new THREE.Vector3());
    this.group.add(ground(Math.min(floor, box.min.z - (view ? 0 : 0.02)), centre, model.stat.extent, view ? DRAPE : FLOOR));
    this.scene.fog = new THREE.Fog(SKY, 4 * model.stat.extent, 9 * model.stat.extent);
    for (const handle of this.handles) handle.scale.setScalar(0.011 * extent);
    this.sun.position.copy(centre).add(new THREE.Vector3(0.9, -0.7, 1.9).multiplyScalar(extent));
    this.sun.target.position.copy(centre);
    const shadow = this.sun.shadow.camera;
    [shadow.left, shadow.right, shadow.top, shadow.bottom] = [-extent, extent, extent, -extent];
    [shadow.near, shadow.far] = [0.1, 6 * extent];
    shadow.updateProjectionMatrix();
    if (!keepCamera) this.frame(centre, box.getSize(new THREE.Vector3()).length());
  }

  private add(mesh: THREE.Mesh, at: number, ofBody: boolean): void {
    mesh.castShadow = mesh.receiveShadow = true;
    mesh.matrixAutoUpdate = false;
    mesh.userData.body = ofBody ? at : this.world!.model.geom_bodyid[at];
    this.shapes.push({ mesh, at, ofBody });
    this.group.add(mesh);
  }

  private frame(centre: THREE.Vector3, size: number): void {
    if (this.view) {
      this.camera.near = 0.1 * this.view.size;
      this.camera.position.set(...(this.view.position as Vector));
      this.orbit.target.copy(centre);
      this.widen();
      this.orbit.update();
      return;
    }
    const { azimuth, elevation } = this.world!.model.vis.global;
    const [a, e] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180];
    const away = new THREE.Vector3(-Math.cos(a) * Math.cos(e), -Math.sin(a) * Math.cos(e), -Math.sin(e));
    const narrow = Math.min(1, this.camera.aspect);
    this.camera.position.copy(centre).addScaledVector(away, (0.62 * size) / Math.tan((this.camera.fov * Math.PI) / 360) / narrow ** 0.6);
    this.orbit.target.copy(centre);
    this.orbit.update();
  }

  /** Keep the horizontal angle of view of a view. */
  private widen(): void {
    const { aspect } = this.camera;
    if (this.view) this.camera.fov = (360 / Math.PI) * Math.atan(Math.tan(this.view.angle / 2) / Math.min(aspect, 1.6));
    this.camera.updateProjectionMatrix();
  }

  /** Draw the current state. tips: places of the handles. push: a point and a force that is drawn as an arrow. */
  draw(tips: Vector[], push: { at: Vector; force: Vector } | null): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { ratio: most, shadow } = QUALITY[this.level];
    const ratio = Math.min(window.devicePixelRatio, most);
    this.renderer.shadowMap.autoUpdate = this.drawn++ % shadow === 0;
    if (this.canvas.width !== Math.floor(width * ratio) || this.canvas.height !== Math.floor(height * ratio)) {
      this.renderer.setPixelRatio(ratio);
      this.renderer.setSize(width, height, false);
      this.camera.aspect = width / height;
      this.widen();
    }
    this.place();
    this.handles.forEach((handle, k) => handle.position.set(...tips[k]));
    const size = push ? Math.hypot(...push.force) : 0;
    this.arrow.visible = size > 1e-6;
    if (push && this.arrow.visible) {
      const length = 0.05 + 0.015 * size;
      this.arrow.setDirection(new THREE.Vector3(...push.force).normalize());
      this.arrow.position.set(...push.at);
      this.arrow.setLength(length, 0.3 * length, 0.18 * length);
    }
    this.renderer.render(this.scene, this.camera);
  }

  /** Take a lower quality if frames are slow; let metals mirror a room if they are fast. */
  adapt(rate: number): void {
    if (rate < SLOW && this.level < QUALITY.length - 1) this.level++;
    if (rate > FAST && !this.scene.environment) this.furnish();
  }

  /** Light from a room. Without a GPU its shaders take several seconds to compile, longer than all that is loaded. */
  private furnish(): void {
    const generator = new THREE.PMREMGenerator(this.renderer);
    this.scene.environment = generator.fromScene(new RoomEnvironment(), 0.04).texture;
    this.scene.environmentIntensity = 0.55;
    generator.dispose();
    this.sky.intensity = 0.1;
    for (const { mesh } of this.shapes) shine(mesh.material as THREE.MeshStandardMaterial, true);
  }

  private place(): void {
    const { geom_xpos, geom_xmat, xpos, xmat } = this.world!.data;
    for (const { mesh, at, ofBody } of this.shapes) {
      const [x, R, p, k] = [ofBody ? xpos : geom_xpos, ofBody ? xmat : geom_xmat, 3 * at, 9 * at];
      mesh.matrix.set(
        R[k], R[k + 1], R[k + 2], x[p],
        R[k + 3], R[k + 4], R[k + 5], x[p + 1],
        R[k + 6], R[k + 7], R[k + 8], x[p + 2],
        0, 0, 0, 1,
      );
      mesh.matrixWorldNeedsUpdate = true;
    }
  }

  private aim(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    this.ray.setFromCamera(new THREE.Vector2(x, y), this.camera);
  }

  /** The handle under the pointer, or within a number of radii of it; -1 for none. */
  onHandle(event: PointerEvent, radii = 2.2): number {
    this.aim(event);
    const away = this.handles.map(({ position, scale }) => this.ray.ray.distanceToPoint(position) / scale.x);
    const nearest = away.indexOf(Math.min(...away));
    return away[nearest] < radii ? nearest : -1;
  }

  /** Places of the handles in the canvas [pixels]. */
  spots(): [number, number][] {
    return this.handles.map(({ position }) => {
      const { x, y } = position.clone().project(this.camera);
      return [((x + 1) / 2) * this.canvas.clientWidth, ((1 - y) / 2) * this.canvas.clientHeight];
    });
  }

  /** Show which handles are in use. */
  mark(used: boolean[]): void {
    used.forEach((on, k) => ((this.handles[k].material as THREE.Material).opacity = on ? 1 : 0.55));
  }

  hit(event: PointerEvent): Hit | null {
    this.aim(event);
    const [first] = this.ray.intersectObjects(this.shapes.map(({ mesh }) => mesh), false);
    return first ? { body: first.object.userData.body as number, position: first.point.toArray() as Vector } : null;
  }

  /** The point under the pointer in a plane through a point; normal: default is the direction of the camera. */
  inPlane(event: PointerEvent, through: Vector, along: Vector | null = null): Vector | null {
    this.aim(event);
    const normal = along ? new THREE.Vector3(...along) : this.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, new THREE.Vector3(...through));
    return (this.ray.ray.intersectPlane(plane, new THREE.Vector3())?.toArray() as Vector | undefined) ?? null;
  }

  /** A shift in the plane of the picture: right, up [m], in world axes. */
  shift(right: number, up: number): Vector {
    const [x, y] = [new THREE.Vector3(), new THREE.Vector3()];
    this.camera.matrixWorld.extractBasis(x, y, new THREE.Vector3());
    return x.multiplyScalar(right).addScaledVector(y, up).toArray() as Vector;
  }

  /** Turn the camera [rad], or move it closer by a factor. */
  turn(azimuth: number, elevation: number, zoom = 1): void {
    const away = this.camera.position.clone().sub(this.orbit.target);
    const at = new THREE.Spherical().setFromVector3(new THREE.Vector3(away.x, away.z, -away.y));
    at.theta += azimuth;
    at.phi = Math.min(Math.max(at.phi + elevation, 0.05), Math.PI - 0.05);
    at.radius = Math.min(Math.max(at.radius * zoom, this.orbit.minDistance), this.orbit.maxDistance);
    const turned = new THREE.Vector3().setFromSpherical(at);
    this.camera.position.copy(this.orbit.target).add(new THREE.Vector3(turned.x, -turned.z, turned.y));
    this.orbit.update();
  }
}

function geometry({ model }: World, id: number): THREE.BufferGeometry {
  const [vertices, faces] = [3 * model.mesh_vertadr[id], 3 * model.mesh_faceadr[id]];
  const position = model.mesh_vert.slice(vertices, vertices + 3 * model.mesh_vertnum[id]);
  const index = model.mesh_face.slice(faces, faces + 3 * model.mesh_facenum[id]);
  const indexed = new THREE.BufferGeometry();
  indexed.setAttribute("position", new THREE.BufferAttribute(new Float32Array(position), 3));
  indexed.setIndex(new THREE.BufferAttribute(new Uint32Array(index), 1));
  const creased = toCreasedNormals(indexed, CREASE);
  indexed.dispose();
  return creased;
}

function shine(look: THREE.MeshStandardMaterial, mirrors: boolean): void {
  if (look.userData.metal) look.metalness = METAL[Number(mirrors)];
}

function material({ model }: World, id: number, mirrors: boolean): THREE.Material {
  if (id < 0) return new THREE.MeshStandardMaterial({ color: 0xb0b0b0 });
  const [r, g, b] = model.mat_rgba.subarray(4 * id, 4 * id + 3);
  const [specular, shininess] = [model.mat_specular[id], model.mat_shininess[id]];
  const look = new THREE.MeshStandardMaterial({
    color: new THREE.Color().setRGB(r, g, b, THREE.SRGBColorSpace),
    metalness: 0.05,
    roughness: 0.85 - 0.6 * shininess,
  });
  look.userData.metal = specular >= 0.5;
  shine(look, mirrors);
  return look;
}

/** The boxes and cylinders of an object as one mesh in its frame; null for a body without them. */
function solid({ model, mj }: World, body: number): THREE.Mesh | null {
  const parts: THREE.BufferGeometry[] = [];
  const { mjGEOM_BOX, mjGEOM_CYLINDER } = mj.mjtGeom;
  let colour = new THREE.Color();
  for (let g = model.body_geomadr[body]; g < model.body_geomadr[body] + model.body_geomnum[body]; g++) {
    const [type, [a, b, c]] = [model.geom_type[g], model.geom_size.subarray(3 * g, 3 * g + 3)];
    if (model.geom_group[g] !== OBJECTS || (type !== mjGEOM_BOX.value && type !== mjGEOM_CYLINDER.value)) continue;
    const part = type === mjGEOM_BOX.value ? new THREE.BoxGeometry(2 * a, 2 * b, 2 * c) : new THREE.CylinderGeometry(a, a, 2 * b, 20).rotateX(Math.PI / 2);
    const [w, x, y, z] = model.geom_quat.subarray(4 * g, 4 * g + 4);
    const at = new THREE.Vector3(...(model.geom_pos.subarray(3 * g, 3 * g + 3) as unknown as Vector));
    parts.push(part.applyMatrix4(new THREE.Matrix4().compose(at, new THREE.Quaternion(x, y, z, w), new THREE.Vector3(1, 1, 1))));
    const [red, green, blue] = model.geom_rgba.subarray(4 * g, 4 * g + 3);
    colour = new THREE.Color().setRGB(red, green, blue, THREE.SRGBColorSpace);
  }
  if (!parts.length) return null;
  return new THREE.Mesh(mergeGeometries(parts), new THREE.MeshStandardMaterial({ color: colour, roughness: 0.6, metalness: 0 }));
}

/** A floor that fades into the background, with lines every 10 cm. */
function ground(z: number, centre: THREE.Vector3, extent: number, color: number): THREE.Group {
  const part = new THREE.Group();
  const floor = new THREE.Mesh(
    new THREE.CircleGeometry(12 * extent, 64),
    new THREE.MeshStandardMaterial({ color, roughness: 0.95, metalness: 0 }),
  );
  floor.receiveShadow = true;
  const lines = new THREE.GridHelper(4, 40, 0x8b9aab, 0xaab6c3);
  lines.rotation.x = Math.PI / 2;
  lines.position.z = 0.001;
  const faint = lines.material as THREE.Material;
  faint.transparent = true;
  faint.opacity = 0.4;
  part.add(floor);
  if (color === FLOOR) part.add(lines);
  part.position.set(centre.x, centre.y, z);
  return part;
}
