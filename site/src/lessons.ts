/** Figures of three exercises: singularities, friction from a recording, control. */
import { Chart } from "./chart";
import { byId, fixed, shownEffort, shownPosition } from "./elements";
import recording from "./generated/recording.json";
import { leastSquares, rms, solved } from "./linear";
import { ArmServo } from "./servo";
import type { World } from "./world";

const [BLUE, RED, VIOLET, INK] = ["#0b6e99", "#c8324a", "#7a5195", "#16212c"];
const [YAW, PITCH, WRIST_PITCH] = [0, 1, 4];

/** A slider with its value beside it. */
export function slider(id: string, low: number, high: number, value: number, shown: (x: number) => string, changed: () => void): () => number {
  const input = byId<HTMLInputElement>(id);
  Object.assign(input, { min: String(low), max: String(high), step: String((high - low) / 200) });
  input.value = String(value);
  const show = (): void => void (byId(`${id}-value`).textContent = shown(Number(input.value)));
  input.addEventListener("input", () => {
    show();
    changed();
  });
  show();
  return () => Number(input.value);
}

/** A button that shows a figure's motion as it is computed, a piece of simulated time per frame. */
export function runner(id: string, begin: () => (() => boolean)): () => void {
  let turn = 0;
  const run = (): void => {
    const mine = ++turn;
    const advance = begin();
    const next = (): void => {
      if (mine === turn && advance()) requestAnimationFrame(next);
    };
    next();
  };
  byId(id).addEventListener("click", run);
  return run;
}

/** Joint speeds that a motion of the tip needs, over the depth of the instrument. */
export class Singularity {
  private readonly chart = new Chart(byId("singularity-chart"), "insertion [mm]", "yaw speed [rad/s]", [
    { label: "fastest of three directions", colour: BLUE },
    { label: "limit of the setpoint", colour: RED, dash: [4, 4] },
    { label: "this depth", colour: INK, dash: [2, 4] },
  ]);
  private readonly depth: () => number;
  private readonly angles: (() => number)[];

  constructor(private readonly world: World) {
    const { joints } = world.arms[0].arm;
    const show = (): void => this.show();
    this.depth = slider("singularity-depth", 0.005, 0.1, 0.05, (x) => shownPosition(x, "m"), show);
    this.angles = [["pitch", WRIST_PITCH, 0.2], ["arm", PITCH, -0.1]].map(([name, joint, value]) =>
      slider(`singularity-${name}`, joints[joint as number].lower, joints[joint as number].upper, value as number, (x) => shownPosition(x, "rad"), show),
    );
    this.show();
  }

  /** Determinant of the Jacobian of the six joints, and the largest yaw speed for 20 mm/s of the tip [rad/s]. */
  private at(depth: number): [number, number] {
    const [a] = this.world.arms;
    const [wrist, pitch] = this.angles.map((angle) => angle());
    const J = this.world.jacobian(a, [0.2, pitch, depth, 0.3, wrist, -0.3, 0]).map((row) => row.slice(0, 6));
    const rates = [0, 1, 2].map((axis) => Math.abs(solved(J, J.map((_, k) => (k === axis ? 0.02 : 0))).x[YAW]));
    return [solved(J, J.map(() => 0)).determinant, Math.max(...rates)];
  }

  private show(): void {
    const limit = this.world.arms[0].arm.joints[YAW].velocity;
    const depths = Array.from({ length: 96 }, (_, k) => 0.005 + 0.001 * k);
    const points = depths.map((x) => this.at(x));
    const most = 3 * limit;
    const rates = points.map(([, rate]) => (rate < most ? rate : null));
    const nearest = Math.round((this.depth() - 0.005) / 0.001);
    this.chart.show([depths.map((x) => 1000 * x), rates, depths.map(() => limit), depths.map((_, k) => (k === nearest ? 0 : k === nearest + 1 ? most : null))]);
    const [determinant, rate] = this.at(this.depth());
    byId("singularity-determinant").textContent = determinant.toExponential(2).replace("-", "\u2212");
    byId("singularity-rate").textContent = `${fixed(rate, 2)} rad/s`;
    const places = depths.slice(1).filter((_, k) => points[k + 1][0] * points[k][0] < 0);
    byId("singularity-place").textContent = places.map((x) => shownPosition(this.zero(x - 0.001, x), "m")).join(" and ") || "none from 5 to 100 mm";
  }

  /** The depth between two others at which the determinant changes its sign [m]. */
  private zero(low: number, high: number): number {
    const [sign] = this.at(low);
    for (let k = 0; k < 40; k++) {
      const middle = (low + high) / 2;
      if (this.at(middle)[0] * sign > 0) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** Friction and inertia of the yaw joint from a recording. */
export class Identification {
  private readonly chart = new Chart(byId("identification-chart"), "t [s]", "effort of yaw [N m]", [
    { label: "recorded", colour: BLUE },
    { label: "predicted", colour: RED },
  ]);
  private readonly rows = recording.rows as [number, number, number, number][];
  private readonly until: () => number;

  constructor() {
    const last = this.rows[this.rows.length - 1][0];
    this.until = slider("identification-until", 0.5, last - 1, 6, (x) => `${x.toFixed(1)} s`, () => this.show());
    byId("identification-coulomb").addEventListener("change", () => this.show());
    byId("true-inertia").textContent = `${recording.inertia.toFixed(4)} kg m\u00b2`;
    byId("true-viscous").textContent = `${recording.Fv.toFixed(4)} N m s/rad`;
    byId("true-coulomb").textContent = `${recording.Fc.toFixed(4)} N m`;
    this.show();
  }

  private show(): void {
    const { rows } = this;
    const coulomb = byId<HTMLInputElement>("identification-coulomb").checked;
    const reach = 8; // rows on each side of a central difference
    const used = rows.slice(reach, -reach);
    const regressors = used.map(([, q, dq], k) => {
      const ddq = (rows[k + 2 * reach][1] - 2 * q + rows[k][1]) / (rows[k + 2 * reach][0] - rows[k + reach][0]) ** 2;
      return [ddq, dq, ...(coulomb ? [Math.tanh(dq / 0.01)] : []), Math.sin(q), Math.cos(q)];
    });
    const count = used.filter(([t]) => t < this.until()).length;
    const theta = leastSquares(regressors.slice(0, count), used.slice(0, count).map((row) => row[3]));
    const predicted = regressors.map((row) => row.reduce((sum, x, k) => sum + x * theta[k], 0));
    this.chart.show([used.map(([t]) => t), used.map((row) => row[3]), predicted]);
    byId("fit-inertia").textContent = `${fixed(theta[0], 4)} kg m\u00b2`;
    byId("fit-viscous").textContent = `${fixed(theta[1], 4)} N m s/rad`;
    byId("fit-coulomb").textContent = coulomb ? `${fixed(theta[2], 4)} N m` : "not in the model";
    const held = used.slice(count);
    const error = rms(held.map((row, k) => row[3] - predicted[count + k])) / rms(held.map((row) => row[3]));
    byId("identification-error").textContent = `${(100 * error).toFixed(1)} %`;
  }
}

/** Step of the yaw joint under the dVRK's PID with other gains. */
export class StepResponse {
  private readonly chart = new Chart(byId("control-chart"), "t [s]", "yaw [deg]", [
    { label: "goal", colour: INK, dash: [4, 4] },
    { label: "position", colour: BLUE },
    { label: "effort [N m]", colour: VIOLET },
  ]);
  private readonly factors: (() => number)[];
  private readonly STEP = 0.1; // [rad]
  private readonly SECONDS = 1.2;

  constructor(private readonly world: World) {
    const times = (x: number): string => `${x.toFixed(2)} \u00d7`;
    this.factors = ["kp", "kd"].map((gain) => slider(`control-${gain}`, 0, 3, 1, times, () => this.show()));
    byId("control-friction").addEventListener("change", () => this.show());
    this.show();
  }

  private show(): void {
    const { world } = this;
    const [a] = world.arms;
    const [p, d] = this.factors.map((factor) => factor());
    const { servo } = a.arm;
    const scaled = { ...a.arm, servo: { ...servo, kp: servo.kp.map((x, k) => (k === YAW ? p * x : x)), kd: servo.kd.map((x, k) => (k === YAW ? d * x : x)) } };
    a.servo = new ArmServo(scaled, world.table.rate);
    const friction = byId<HTMLInputElement>("control-friction").checked;
    this.dry ??= world.model.dof_frictionloss.slice() as Float64Array;
    world.model.dof_frictionloss.set(friction ? this.dry : this.dry.map(() => 0));
    world.reset();
    const rows: number[][] = [[], [], [], []];
    for (let k = 0; k < this.SECONDS * world.table.rate; k += 6) {
      world.step(6, () => {
        const [yaw] = a.setpoints;
        [yaw.q, yaw.dq] = [world.data.time < 0.1 ? 0 : this.STEP, 0];
      });
      const degrees = 180 / Math.PI;
      const q = world.joints(a)[YAW];
      [world.data.time, world.data.time < 0.1 ? 0 : degrees * this.STEP, degrees * q, world.data.ctrl[a.u]].forEach((x, j) => rows[j].push(x));
    }
    this.chart.show(rows);
    const goal = rows[1][rows[1].length - 1];
    const overshoot = (100 * (Math.max(...rows[2]) - goal)) / goal;
    const outside = rows[2].reduce((last, x, k) => (Math.abs(x - goal) > 0.02 * goal ? k : last), 0);
    byId("control-overshoot").textContent = `${fixed(Math.max(overshoot, 0), 1)} %`;
    byId("control-settling").textContent = outside === rows[0].length - 1 ? "not within 1.1 s" : `${(1000 * (rows[0][outside + 1] - 0.1)).toFixed(0)} ms`;
    byId("control-error").textContent = `${fixed(rows[2][rows[2].length - 1] - goal, 3)}\u00b0`;
    byId("control-effort").textContent = shownEffort(Math.max(...rows[3].map(Math.abs)), "rad");
  }

  private dry: Float64Array | undefined;
}

