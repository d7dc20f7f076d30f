/** One scene in MuJoCo under the dVRK's control. Model, steps and forces are those of trocar's simulator. */
import type { DoubleBuffer, MainModule, MjData, MjModel, MjSolverStatVec } from "@mujoco/mujoco";
import { Dahl } from "./dahl";
import { solved } from "./linear";
import { ArmServo, product, transposed, type Rows } from "./servo";
import { Setpoint } from "./setpoint";
import type { Arm, Scene, Table } from "./table";

export type Vector = [number, number, number];

export interface Options {
  friction: boolean;
  counterweight: boolean;
  encoders: boolean;
}

export const DEFAULTS: Options = { friction: true, counterweight: true, encoders: true };

/** A force [N] in world axes at a point that is fixed to a body, in its axes [m]. */
export interface Push {
  body: number;
  point: Vector;
  force: Vector;
}

export const CAUSES = ["motor", "gravity", "friction", "push"] as const;
export type Efforts = Record<(typeof CAUSES)[number], number[]>;

const REACH_STEPS = 8;
const MAX_REACH = 0.05; // error of the tip that one step corrects [m]
const DAMPING = 0.01; // [m]

export class WorldArm {
  servo: ArmServo;
  readonly setpoints: Setpoint[];
  readonly q: number; // address of its first position; velocities have the same
  readonly u: number; // of its first motor
  readonly tip: number; // site
  readonly E: Rows;
  readonly Et: Rows;
  readonly dahl: Dahl | null;
  feed: number[] | null = null;
  commanded = true; // the PID is on
  constant: number[] | null = null; // efforts of the motors in place of the PID's

  constructor(readonly name: string, readonly prefix: string, readonly arm: Arm, world: World) {
    this.servo = new ArmServo(arm, world.table.rate);
    this.setpoints = arm.joints.map((joint) => new Setpoint(joint.velocity, joint.acceleration));
    this.q = world.id("JOINT", prefix + arm.tree[0]);
    this.u = world.id("ACTUATOR", prefix + arm.motors[0]);
    this.tip = world.id("SITE", prefix + "tip");
    this.dahl = arm.dahl.length && world.options.friction ? new Dahl(arm.dahl) : null;
    this.E = arm.tree_from_joints;
    this.Et = transposed(this.E);
  }

  part(values: Float64Array): Float64Array {
    return values.subarray(this.q, this.q + this.arm.tree.length);
  }
}

export class World {
  readonly model: MjModel;
  readonly data: MjData;
  readonly arms: WorldArm[];
  pushes: Push[] = [];
  cycle = 0;
  private readonly still: MjData; // for forces at rest
  private readonly row: DoubleBuffer; // a velocity
  private readonly iterations: MjSolverStatVec; // of the solver, in the last step

  constructor(
    readonly mj: MainModule,
    readonly table: Table,
    readonly scene: Scene,
    files: Map<string, Uint8Array>,
    readonly options: Options = DEFAULTS,
  ) {
    const vfs = new mj.MjVFS();
    files.forEach((content, name) => vfs.addBuffer(name, content));
    const xml = new TextDecoder().decode(files.get(scene.file.split("/")[1]));
    this.model = mj.MjModel.from_xml_string(xml, vfs);
    vfs.delete();
    const { eq_solref, jnt_solref, dof_solref, tendon_solref_fri, opt } = this.model;
    // constraints of the arms are as stiff as the timestep allows: twice the timestep is their time constant
    for (const constants of [eq_solref, jnt_solref, dof_solref, tendon_solref_fri])
      for (let k = 0; k < constants.length; k += 2) if (constants[k] === 2 * opt.timestep) constants[k] = 2 / table.rate;
    opt.timestep = 1 / table.rate;
    this.data = new mj.MjData(this.model);
    this.still = new mj.MjData(this.model);
    this.iterations = this.data.solver;
    this.row = new mj.DoubleBuffer(this.model.nv);
    this.arms = scene.arms.map(({ name, prefix, arm }) => new WorldArm(name, prefix, table.arms[arm], this));
    this.change();
    this.reset();
  }

  delete(): void {
    this.row.delete();
    this.still.delete();
    this.data.delete();
    this.model.delete();
  }

  id(kind: "JOINT" | "ACTUATOR" | "SITE" | "BODY", name: string): number {
    const kinds = this.mj.mjtObj as unknown as Record<string, { value: number }>;
    const index = this.mj.mj_name2id(this.model, kinds[`mjOBJ_${kind}`].value, name);
    if (index < 0) throw new Error(`the model has no ${kind.toLowerCase()} ${name}`);
    return index;
  }

  /** Apply the options to the model, then the stiffening of the simulator (`trocar.simulation.engine.stiffen`). */
  private change(): void {
    const { model, options } = this;
    if (!options.friction)
      for (const values of [model.dof_frictionloss, model.tendon_frictionloss, model.dof_damping, model.tendon_damping])
        values.fill(0);
    if (!options.counterweight) {
      for (const { arm, prefix } of this.arms)
        if (arm.counterweight) {
          const body = this.id("BODY", prefix + arm.counterweight);
          model.body_mass[body] = 0;
          model.body_inertia.fill(0, 3 * body, 3 * body + 3);
        }
      this.mj.mj_setConst(model, this.data);
    }
    const { all, loops } = this.table.stiffening;
    for (const weights of [model.body_invweight0, model.dof_invweight0, model.tendon_invweight0])
      weights.forEach((value: number, k: number) => (weights[k] = value * all));
    const { mjtEq, mjtObj } = this.mj;
    const bodies = new Set<number>();
    for (let k = 0; k < model.neq; k++)
      if (model.eq_type[k] === mjtEq.mjEQ_CONNECT.value && model.eq_objtype[k] === mjtObj.mjOBJ_SITE.value) {
        bodies.add(model.site_bodyid[model.eq_obj1id[k]]);
        bodies.add(model.site_bodyid[model.eq_obj2id[k]]);
      }
    for (const body of bodies)
      for (const k of [2 * body, 2 * body + 1]) model.body_invweight0[k] *= loops;
  }

  /** Place all arms at rest; joints: positions by arm (default: those of the scene). objects: places the objects. */
  reset(joints: number[][] = this.scene.arms.map(({ start }) => start), objects: () => void = () => {}): void {
    this.mj.mj_resetData(this.model, this.data);
    objects();
    this.cycle = 0;
    this.pushes = [];
    this.arms.forEach((a, k) => {
      a.part(this.data.qpos).set(product(a.E, joints[k]));
      a.setpoints.forEach((setpoint, j) => setpoint.place(joints[k][j]));
      a.servo.reset();
      a.dahl?.reset(a.part(this.data.qpos));
      a.feed = null;
    });
    this.mj.mj_forward(this.model, this.data);
  }

  /** Positions (n) of an arm's joints. */
  joints(a: WorldArm): number[] {
    return product(a.arm.joints_from_tree, a.part(this.data.qpos));
  }

  /** Advance by some periods of the control loop. before: sets the setpoints of a period; default: towards the goals. */
  step(count = 1, before: (() => void) | null = null): void {
    const { qpos, qvel, ctrl, qfrc_applied, xfrc_applied } = this.data;
    const dt = 1 / this.table.rate;
    for (let k = 0; k < count; k++) {
      if (before) before();
      else for (const { setpoints } of this.arms) for (const setpoint of setpoints) setpoint.advance(dt);
      xfrc_applied.fill(0);
      for (const push of this.pushes) this.apply(push, xfrc_applied);
      for (const a of this.arms) {
        ctrl.set(this.control(a, qpos, qvel), a.u);
        const [links, applied] = [a.part(qpos), a.part(qfrc_applied)];
        applied.fill(0);
        a.dahl?.add(links, applied);
        for (const cable of a.arm.cables) {
          const at = a.arm.tree.indexOf(cable.body);
          const x = Math.min(Math.max(links[at] / cable.ratio, cable.lower), cable.upper);
          applied[at] -= cable.coefficients.reduce((sum, c) => sum * x + c, 0) / cable.ratio;
        }
      }
      this.advance();
      this.cycle++;
    }
  }

  /**
   * A step of MuJoCo that is repeated without its warm start if the solver stopped short of the solution, as the
   * simulator repeats it (`trocar.simulation.engine`); only scenes with friction cones need it.
   */
  private advance(): void {
    const { mj, model, data, table } = this;
    const { opt } = model;
    if (opt.cone !== mj.mjtCone.mjCONE_ELLIPTIC.value) {
      mj.mj_step(model, data);
      return;
    }
    const changed = [data.qpos, data.qvel, data.qacc_warmstart] as Float64Array[];
    const [time, before] = [data.time, changed.map((values) => values.slice())];
    mj.mj_step(model, data);
    const iterations: number = data.solver_niter[0];
    if (iterations < 1 || iterations > table.stall.recorded) return;
    const last = this.iterations.get(iterations - 1)!;
    const stalled = last.gradient > table.stall.gradient;
    last.delete();
    if (!stalled) return;
    data.time = time;
    changed.forEach((values, k) => values.set(before[k]));
    const flags = opt.disableflags;
    opt.disableflags = flags | mj.mjtDisableBit.mjDSBL_WARMSTART.value;
    mj.mj_step(model, data);
    opt.disableflags = flags;
  }

  private control(a: WorldArm, qpos: Float64Array, qvel: Float64Array): number[] {
    const { arm, servo, setpoints } = a;
    if (a.constant) return a.constant;
    const s = product(servo.motorsFromTree, a.part(qpos));
    const ds = product(servo.motorsFromTree, a.part(qvel));
    const [q, dq] = servo.measure(s, ds, this.options.encoders);
    if (!a.commanded) return arm.motors.map(() => 0);
    if (arm.compensates_gravity && (!a.feed || this.cycle % this.table.gravity_cycles === 0))
      a.feed = this.holding(a, product(arm.joints_from_motors, q));
    return servo.efforts(setpoints.map((x) => x.q), setpoints.map((x) => x.dq), q, dq, a.feed);
  }

  private apply({ body, point, force }: Push, xfrc: Float64Array): void {
    const [at, centre] = [this.position(body, point), this.data.xipos.subarray(3 * body, 3 * body + 3)];
    const r = at.map((value, k) => value - centre[k]);
    const k = 6 * body;
    for (let i = 0; i < 3; i++) {
      xfrc[k + i] += force[i];
      xfrc[k + 3 + i] += r[(i + 1) % 3] * force[(i + 2) % 3] - r[(i + 2) % 3] * force[(i + 1) % 3];
    }
  }

  /** Position in the world of a point of a body [m]. */
  position(body: number, point: Vector): Vector {
    const R = this.data.xmat.subarray(9 * body, 9 * body + 9);
    const x = this.data.xpos.subarray(3 * body, 3 * body + 3);
    return [0, 1, 2].map((i) => x[i] + R[3 * i] * point[0] + R[3 * i + 1] * point[1] + R[3 * i + 2] * point[2]) as Vector;
  }

  /** The point of a body at a position in the world [m]. */
  pointOf(body: number, position: Vector): Vector {
    const R = this.data.xmat.subarray(9 * body, 9 * body + 9);
    const d = position.map((value, k) => value - this.data.xpos[3 * body + k]);
    return [0, 1, 2].map((i) => R[i] * d[0] + R[3 + i] * d[1] + R[6 + i] * d[2]) as Vector;
  }

  tipPosition(a: WorldArm): Vector {
    return Array.from(this.data.site_xpos.subarray(3 * a.tip, 3 * a.tip + 3)) as Vector;
  }

  /** Efforts (n) of the joints that hold an arm at rest at q against gravity and springs. */
  holding(a: WorldArm, q: number[]): number[] {
    const { mj, model, still } = this;
    const qpos = still.qpos;
    qpos.set(this.data.qpos);
    a.part(qpos).set(product(a.E, q));
    mj.mj_kinematics(model, still);
    mj.mj_comPos(model, still);
    mj.mj_tendon(model, still);
    mj.mj_passive(model, still);
    mj.mj_rne(model, still, 0, this.row);
    const force = a.part(this.row.GetView()).map((value: number, k: number) => value - still.qfrc_passive[a.q + k]);
    return product(a.Et, force);
  }

  /** Efforts (n) on the joints of an arm in the last period, by cause, each as it acts on the joints. */
  efforts(a: WorldArm): Efforts {
    const { mj, model, data } = this;
    const motor = product(a.servo.effortToJoints, data.ctrl.subarray(a.u, a.u + a.arm.motors.length));
    const gravity = this.holding(a, this.joints(a)).map((value) => -value);
    // MuJoCo orders constraints: equalities, dry friction, stops, contacts
    const dry: number[] = Array.from(data.efc_force as Float64Array, (value, k) =>
      k >= data.ne && k < data.ne + data.nf ? value : 0,
    );
    mj.mj_mulJacTVec(model, data, this.row, dry);
    const memory = a.dahl ? a.part(data.qfrc_applied) : null; // an arm with it has no cables
    const rubbing = a.part(this.row.GetView()).map((value, k) => value + data.qfrc_damper[a.q + k] + (memory?.[k] ?? 0));
    const view = this.row.GetView();
    view.fill(0);
    for (const push of this.pushes)
      mj.mj_applyFT(model, data, push.force, [0, 0, 0], this.position(push.body, push.point), push.body, this.row);
    const pushed = product(a.Et, a.part(this.row.GetView()));
    return { motor, gravity, friction: product(a.Et, rubbing), push: pushed };
  }

  /** Position in the world of an arm's tip at joints q [m]. */
  tipAt(a: WorldArm, q: number[]): Vector {
    a.part(this.still.qpos).set(product(a.E, q));
    this.mj.mj_kinematics(this.model, this.still);
    return Array.from(this.still.site_xpos.subarray(3 * a.tip, 3 * a.tip + 3)) as Vector;
  }

  /** Velocity of the tip in the world per velocity of the joints (6, n): linear, then angular; at joints q. */
  jacobian(a: WorldArm, q: number[]): Rows {
    const { mj, model, still } = this;
    const parts = [new mj.DoubleBuffer(3 * model.nv), new mj.DoubleBuffer(3 * model.nv)];
    still.qpos.set(this.data.qpos);
    a.part(still.qpos).set(product(a.E, q));
    mj.mj_kinematics(model, still);
    mj.mj_comPos(model, still);
    mj.mj_jacSite(model, still, ...(parts as [DoubleBuffer, DoubleBuffer]), a.tip);
    const rows = parts.flatMap((part) => {
      const view = part.GetView() as Float64Array;
      return [0, 1, 2].map((i) => product(a.Et, a.part(view.subarray(i * model.nv))));
    });
    for (const part of parts) part.delete();
    return rows;
  }

  /** Efforts (n) of the joints for a motion without contacts: what the model of an arm predicts, with dry friction. */
  needed(a: WorldArm, q: number[], dq: number[], ddq: number[]): number[] {
    const { mj, model, still } = this;
    still.qpos.set(this.data.qpos);
    for (const [values, joints] of [[still.qpos, q], [still.qvel, dq], [still.qacc, ddq]] as [Float64Array, number[]][])
      a.part(values).set(product(a.E, joints));
    mj.mj_inverse(model, still);
    const force = product(a.Et, a.part(still.qfrc_inverse));
    still.qvel.fill(0);
    return force;
  }

  /** Joints near q that bring an arm's tip to a position in the world [m], within limits, by the first three joints. */
  reach(a: WorldArm, q: number[], target: Vector): number[] {
    const joints = q.slice();
    for (let k = 0; k < REACH_STEPS; k++) {
      const J = this.jacobian(a, joints).slice(0, 3).map((row) => row.slice(0, 3));
      const tip = this.still.site_xpos.subarray(3 * a.tip, 3 * a.tip + 3);
      const error = target.map((x, i) => Math.min(Math.max(x - tip[i], -MAX_REACH), MAX_REACH));
      const A = J.map((row, i) => J.map((other, j) => row.reduce((sum, x, n) => sum + x * other[n], i === j ? DAMPING ** 2 : 0)));
      product(transposed(J), solved(A, error).x).forEach((dq, j) => {
        const { lower, upper } = a.arm.joints[j];
        joints[j] = Math.min(Math.max(joints[j] + dq, lower), upper);
      });
    }
    return joints;
  }

  /** Call a function with the two bodies of every contact of the last step, and the force on the second [N]. */
  contacts(visit: (one: number, other: number, force: () => Vector) => void): void {
    const { mj, model, data } = this;
    const all = data.contact;
    const row = new mj.DoubleBuffer(6);
    for (let k = 0; k < data.ncon; k++) {
      const contact = all.get(k)!;
      const { geom1, geom2, efc_address } = contact;
      visit(model.geom_bodyid[geom1], model.geom_bodyid[geom2], () => {
        if (efc_address < 0) return [0, 0, 0];
        mj.mj_contactForce(model, data, k, row);
        const [f, axes] = [row.GetView() as Float64Array, contact.frame as Float64Array];
        return [0, 1, 2].map((i) => f[0] * axes[i] + f[1] * axes[3 + i] + f[2] * axes[6 + i]) as Vector;
      });
      contact.delete();
    }
    row.delete();
    all.delete();
  }

  /** Largest gap of the closed loops [m]. */
  loopGap(): number {
    const { model, data, mj } = this;
    let gap = 0;
    for (let k = 0; k < model.neq; k++)
      if (model.eq_type[k] === mj.mjtEq.mjEQ_CONNECT.value) {
        const [i, j] = [3 * model.eq_obj1id[k], 3 * model.eq_obj2id[k]];
        gap = Math.max(gap, Math.hypot(...[0, 1, 2].map((x) => data.site_xpos[i + x] - data.site_xpos[j + x])));
      }
    return gap;
  }
}
