/** The page "Papers": figures of three publications, computed in this tab beside the printed numbers. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Chart } from "./chart";
import { byId, element, fixed, shownPosition } from "./elements";
import { runner, slider } from "./lessons";
import { rms } from "./linear";
import { built, keepOffline, loadedWorld } from "./loading";
import { product } from "./servo";
import { table } from "./table";
import { DEFAULTS, type Vector, type World } from "./world";
import { tipJoints } from "./wrist";

const { spiral, drift, workspace } = table.papers;
const [BLUE, RED, VIOLET, GREEN] = ["#0b6e99", "#c8324a", "#7a5195", "#2b7a4b"];
const [YAW, PITCH, INSERTION] = [0, 1, 2];
const STEP = 15; // periods between rows of a figure

/** Ferro et al. 2022: the spiral with and without the counterweight, against the model with it. */
class Spiral {
  private readonly chart = new Chart(byId("spiral-chart"), "t [s]", "effort of the insertion [N]", [
    { label: "simulated, with counterweight", colour: BLUE },
    { label: "simulated, without", colour: RED },
    { label: "model, with", colour: VIOLET, dash: [5, 4] },
  ]);

  constructor(private readonly whole: World, private readonly light: World) {
    byId("spiral-printed").replaceChildren(
      ...table.printed.filter(({ motion }) => motion === "spiral").flatMap((row) =>
        (["with", "without"] as const).map((form) =>
          element("tr", {}, element("td", {}, `${form} counterweight`), element("td", {}, `${row[form]} N`), element("td", { id: `spiral-${form}` }, "-")),
        ),
      ),
    );
    runner("spiral-run", () => this.begin())();
  }

  /** Joints on the path at a time. */
  private joints(t: number, seed: number[]): number[] {
    const [a, b] = [2 * Math.PI * spiral.turns * t, 2 * Math.PI * spiral.waves * t];
    const shift = product(spiral.axes, [spiral.radius * Math.cos(a), spiral.radius * Math.sin(a), spiral.height * Math.cos(b)]);
    const rows = spiral.centre.slice(0, 3);
    const p = rows.map((row, k) => row[3] + shift[k]);
    return [...tipJoints(rows.flatMap((row) => row.slice(0, 3)), p, seed, this.whole.arms[0].arm.joints), 0];
  }

  private begin(): () => boolean {
    const dt = 1 / table.rate;
    let q = this.joints(0, spiral.start);
    const rows: number[][] = [[], [], [], []];
    const errors: number[][] = [[], []];
    const worlds = [this.whole, this.light];
    for (const world of worlds) world.reset([q]);
    return () => {
      for (let n = 0; n < 12; n++) {
        const t = worlds[0].data.time;
        const samples: number[] = [];
        const [before, now, next] = [-1, 0, 1].map((k) => this.joints(t + (STEP + k) * dt, q));
        const dq = next.map((x, k) => (x - before[k]) / (2 * dt));
        const ddq = next.map((x, k) => (x - 2 * now[k] + before[k]) / (dt * dt));
        for (const world of worlds) {
          const [a] = world.arms;
          let seed = q;
          world.step(STEP, () => {
            const later = this.joints(world.data.time + dt, seed);
            later.forEach((x, k) => Object.assign(a.setpoints[k], { q: x, dq: (x - seed[k]) / dt }));
            seed = later;
          });
          samples.push(product(a.servo.effortToJoints, world.data.ctrl.subarray(a.u, a.u + a.arm.motors.length))[INSERTION]);
        }
        q = now;
        const needed = this.whole.needed(this.whole.arms[0], now, dq, ddq)[INSERTION];
        if (worlds[0].data.time >= spiral.settled) samples.forEach((x, k) => errors[k].push(x - needed));
        [worlds[0].data.time, ...samples, needed].forEach((x, k) => rows[k].push(x));
      }
      this.chart.show(rows);
      ["with", "without"].forEach((form, k) => (byId(`spiral-${form}`).textContent = errors[k].length ? `${rms(errors[k]).toFixed(2)} N` : "-"));
      return worlds[0].data.time < spiral.duration;
    };
  }
}

/** Zhou et al. 2025: compensation alone for five seconds, at a pose of their table. */
class Drift {
  private readonly chart = new Chart(byId("drift-chart"), "t [s]", "moved [deg, deg, mm]", [
    { label: "J1", colour: BLUE },
    { label: "J2", colour: RED },
    { label: "J3", colour: GREEN },
  ], { least: 1.2 * Math.max(...drift.limit) });
  private readonly run: () => void;

  constructor(private readonly world: World) {
    const poses = byId<HTMLSelectElement>("drift-pose");
    poses.append(...drift.poses.map((_, k) => element("option", { value: String(k) }, `pose ${k + 1}`)));
    this.run = runner("drift-run", () => this.begin());
    for (const id of ["drift-pose", "drift-compensation", "drift-friction"]) byId(id).addEventListener("change", () => this.run());
    this.run();
  }

  private begin(): () => boolean {
    const { world } = this;
    const [a] = world.arms;
    const pose = drift.poses[Number(byId<HTMLSelectElement>("drift-pose").value)];
    const on = byId<HTMLInputElement>("drift-compensation").checked;
    const rubs = byId<HTMLInputElement>("drift-friction").checked;
    drift.bodies.forEach((body, k) => {
      const at = a.arm.tree.indexOf(body);
      world.model.dof_frictionloss[a.q + at] = rubs ? pose.band[k] / a.E[at][k] : 0;
    });
    world.reset([pose.q]);
    a.constant = on ? product(a.servo.effortToMotors, pose.compensation) : a.arm.motors.map(() => 0);
    this.table(pose);
    const rows: number[][] = [[], [], [], []];
    const factors = drift.units.map((unit) => (unit === "deg" ? 180 / Math.PI : 1000));
    return () => {
      for (let n = 0; n < 10; n++) {
        world.step(STEP);
        const q = world.joints(a);
        [world.data.time, ...factors.map((factor, k) => factor * (q[k] - pose.q[k]))].forEach((x, k) => rows[k].push(x));
      }
      this.chart.show(rows);
      factors.forEach((_, k) => {
        const moved = Math.max(...rows[k + 1].map(Math.abs));
        byId(`drift-moved-${k}`).textContent = `${moved < 0.0005 ? "< 0.001" : fixed(moved, 3)} ${drift.units[k]}`;
      });
      return world.data.time < drift.duration && rows.slice(1).every((row) => Math.abs(row[row.length - 1]) < 20);
    };
  }

  private table(pose: (typeof drift.poses)[number]): void {
    byId("drift-rows").replaceChildren(
      ...drift.units.map((unit, k) => {
        const force = unit === "deg" ? "N m" : "N";
        const cells = [`J${k + 1}`, `${fixed(pose.lower[k], 2)} to ${fixed(pose.upper[k], 2)} ${force}`, `${fixed(pose.printed[k], 2)} ${force}`, `${fixed(pose.compensation[k], 2)} ${force}`, `at most ${drift.limit[k]} ${unit}`];
        return element("tr", {}, ...cells.map((text) => element("td", {}, text)), element("td", { id: `drift-moved-${k}` }, "-"));
      }),
    );
  }
}

/** Patel et al. 2018: places of the tip for yaw alone, then for yaw and insertion, within the limits. */
class Workspace {
  private readonly chart = new Chart(byId("workspace-chart"), "x [mm]", "z [mm]", [
    { label: "yaw and insertion", colour: "#8fbdd3" },
    { label: "yaw alone, at this insertion", colour: BLUE },
  ], { dots: true });
  private readonly depth: () => number;

  constructor(private readonly world: World) {
    const { lower, upper } = world.arms[0].arm.joints[INSERTION];
    this.depth = slider("workspace-depth", lower, upper, 0.1, (x) => shownPosition(x, "m"), () => this.show());
    byId("workspace-printed").textContent = `${workspace.moved} m`;
    this.show();
  }

  private tip(yaw: number, depth: number, pitch = 0): Vector {
    const [a] = this.world.arms;
    const q = a.arm.home.slice();
    [q[YAW], q[PITCH], q[INSERTION]] = [yaw, pitch, depth];
    return this.world.tipAt(a, q).map((x) => 1000 * x) as Vector;
  }

  private show(): void {
    const { joints } = this.world.arms[0].arm;
    const along = ({ lower, upper }: { lower: number; upper: number }, n: number): number[] => Array.from({ length: n }, (_, k) => lower + ((upper - lower) * k) / (n - 1));
    const points: [number, number | null, number | null][] = [];
    for (const yaw of along(joints[YAW], 61)) {
      for (const depth of along(joints[INSERTION], 25)) points.push([...flat(this.tip(yaw, depth)), null]);
      const [x, z] = flat(this.tip(yaw, this.depth()));
      points.push([x, null, z]);
    }
    points.sort(([a], [b]) => a - b);
    this.chart.show([0, 1, 2].map((k) => points.map((point) => point[k])));
    const far = Math.max(...along(joints[YAW], 9).map((yaw) => Math.hypot(...this.tip(yaw, joints[INSERTION].upper))));
    byId("workspace-reach").textContent = `${far.toFixed(0)} mm`;
    const here = this.tip(0, this.depth());
    byId("workspace-moved").textContent = `${Math.hypot(...this.tip(0, this.depth(), workspace.turn).map((x, k) => x - here[k])).toFixed(1)} mm`;
  }
}

const flat = ([x, , z]: Vector): [number, number] => [x, z];

async function main(): Promise<void> {
  const bar = byId<HTMLProgressElement>("progress");
  const exact = { ...DEFAULTS, encoders: false };
  const whole = await loadedWorld("psm", exact, (share) => (bar.value = share));
  byId("loading").hidden = true;
  new Workspace(whole);
  new Spiral(whole, await loadedWorld("psm", { ...exact, counterweight: false }));
  new Drift(await built("psm_si_measured", drift.scene, exact));
  document.body.dataset.ready = "1";
  keepOffline();
}

main().catch((error: unknown) => {
  byId("loading").textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
