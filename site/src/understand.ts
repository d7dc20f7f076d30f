/** The page "Understand": figures whose numbers are computed in this tab, beside printed ones. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Chart } from "./chart";
import { byId, element, shownEffort, shownPosition } from "./elements";
import * as elsewhere from "./elsewhere";
import { Identification, runner, Singularity, slider, StepResponse } from "./lessons";
import { keepOffline, loadedWorld } from "./loading";
import { table } from "./table";
import { DEFAULTS, type Vector, type World } from "./world";

const BLUE = "#0b6e99";
const RED = "#c8324a";
const [YAW, PITCH, INSERTION] = [0, 1, 2];
const SAMPLES = 81;
const NANO = 1e9; // nm in a metre

/** Effort that holds the insertion over pitch, with and without counterweight. */
class Counterweight {
  private readonly chart = new Chart(byId("counterweight-chart"), "pitch [deg]", "insertion [N]", [
    { label: "with counterweight", colour: BLUE },
    { label: "without", colour: RED },
    { label: "this pose", colour: "#16212c", dash: [4, 4] },
  ]);

  private readonly angles: (() => number)[];

  constructor(private readonly whole: World, private readonly light: World) {
    this.angles = [["yaw", YAW] as const, ["pitch", PITCH] as const].map(([name, joint]) => {
      const { lower, upper } = whole.arms[0].arm.joints[joint];
      return slider(`counterweight-${name}`, lower, upper, 0, (x) => shownPosition(x, "rad"), () => this.show());
    });
    byId("printed").replaceChildren(
      ...table.printed.map((row) =>
        element("tr", {}, element("td", {}, row.motion), element("td", {}, `${row.with} N`), element("td", {}, `${row.without} N`)),
      ),
    );
    this.show();
  }

  private held(world: World, yaw: number, pitch: number): number {
    const [a] = world.arms;
    const q = a.arm.home.slice();
    [q[YAW], q[PITCH]] = [yaw, pitch];
    return world.holding(a, q)[INSERTION];
  }

  private show(): void {
    const [yaw, pitch] = this.angles.map((angle) => angle());
    const { lower, upper } = this.whole.arms[0].arm.joints[PITCH];
    const angles = Array.from({ length: SAMPLES }, (_, k) => lower + ((upper - lower) * k) / (SAMPLES - 1));
    const nearest = angles.reduce((best, x, k) => (Math.abs(x - pitch) < Math.abs(angles[best] - pitch) ? k : best), 0);
    angles[nearest] = pitch;
    const [held, bare] = [this.whole, this.light].map((world) => angles.map((x) => this.held(world, yaw, x)));
    const mark = angles.map((_, k) => (k === nearest ? bare[k] : null));
    const degrees = angles.map((x) => (x * 180) / Math.PI);
    degrees.splice(nearest, 0, degrees[nearest]); // a vertical line from one curve to the other
    for (const row of [held, bare]) row.splice(nearest, 0, row[nearest]);
    mark.splice(nearest, 0, held[nearest]);
    this.chart.show([degrees, held, bare, mark]);
    byId("held").textContent = shownEffort(held[nearest], "m");
    byId("bare").textContent = shownEffort(bare[nearest], "m");
    byId("taken").textContent = shownEffort(held[nearest] - bare[nearest], "m");
    byId("largest").textContent = shownEffort(Math.max(...held.map((x, k) => Math.abs(x - bare[k]))), "m");
  }
}

/** Distance of the instrument's shaft from the remote centre of motion, while the arm moves. */
class RemoteCentre {
  private readonly chart = new Chart(byId("rcm-chart"), "t [s]", "distance [nm]", [
    { label: "shaft to remote centre", colour: BLUE },
    { label: "gap of the loops", colour: "#7a5195" },
  ]);
  private rows: number[][] = [[], [], []];

  constructor(private readonly world: World) {
    const force = slider("rcm-force", 0, 40, 0, (x) => `${x.toFixed(0)} N`, () => run());
    const run = runner("rcm-run", () => {
      this.rows = [[], [], []];
      this.world.reset();
      return () => {
        this.advance(force());
        return this.world.data.time < 4;
      };
    });
    run();
  }

  private advance(force: number): void {
    const { world } = this;
    const [a] = world.arms;
    const joint = world.id("JOINT", "insertion");
    const body = world.id("BODY", "end");
    const centre = world.data.xpos.subarray(3 * world.id("BODY", "base"));
    for (let k = 0; k < 10; k++) {
      const t = world.data.time;
      const side = Math.floor(t) % 2 ? -1 : 1;
      [a.setpoints[YAW].goal, a.setpoints[PITCH].goal] = [0.5 * side, 0.3 * (Math.floor(t / 2) % 2 ? 1 : -1)];
      const push: Vector = [force, 0, 0];
      world.pushes = force ? [{ body, point: [0, -0.2, 0], force: push }] : [];
      world.step(15);
      const [axis, at] = [world.data.xaxis.subarray(3 * joint, 3 * joint + 3), world.data.xanchor.subarray(3 * joint, 3 * joint + 3)];
      const d = [0, 1, 2].map((i) => centre[i] - at[i]);
      const along = d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2];
      this.rows[0].push(world.data.time);
      this.rows[1].push(NANO * Math.hypot(...d.map((x, i) => x - along * axis[i])));
      this.rows[2].push(NANO * world.loopGap());
    }
    this.chart.show(this.rows);
    byId("rcm-largest").textContent = `${Math.max(...this.rows[1]).toFixed(1)} nm`;
    byId("gap-largest").textContent = `${Math.max(...this.rows[2]).toFixed(1)} nm`;
  }
}

async function main(): Promise<void> {
  for (const place of document.querySelectorAll<HTMLElement>("[data-exercise]"))
    elsewhere.show(place, elsewhere.notebook(table.repository, place.dataset.exercise!), "The exercise in Python, as a notebook in Colab");
  const bar = byId<HTMLProgressElement>("progress");
  const whole = await loadedWorld("psm", DEFAULTS, (share) => (bar.value = share));
  byId("loading").hidden = true;
  new Counterweight(whole, await loadedWorld("psm", { ...DEFAULTS, counterweight: false }));
  new RemoteCentre(await loadedWorld("psm", { ...DEFAULTS, encoders: false }));
  new Singularity(whole);
  new Identification();
  new StepResponse(await loadedWorld("psm"));
  document.body.dataset.ready = "1";
  keepOffline();
}

main().catch((error: unknown) => {
  byId("loading").textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
