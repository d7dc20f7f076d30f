/** The page "Play": one scene that is looked at, commanded and pushed. */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { stick } from "./controls";
import * as elsewhere from "./elsewhere";
import { byId, element, fixed, shownEffort, shownPosition } from "./elements";
import { BadLink, initial, MAX_FORCE, read, written, type Shown } from "./link";
import { keepOffline, loadedWorld } from "./loading";
import { Picture } from "./picture";
import { EffortPlot } from "./plot";
import { table } from "./table";
import { CAUSES, type Options, type Push, type Vector, type World, type WorldArm } from "./world";

const SPEEDS = [1, 0.5, 0.2, 0.05];
const PULL = 40; // stiffness of a push with the pointer [N/m]
// Time of the steps in one frame: simulated time falls behind beyond the larger of these [ms, share of the frame].
const BUDGET = 24;
const SHARE = 0.5;
const MAX_FRAME = 0.5; // longest time that one frame makes up for [s]
const READ_INTERVAL = 100; // between updates of the numbers [ms]

const [PAD_SPEED, PAD_TURN] = [0.1, 1.5]; // of the tip and the camera, with a gamepad [m/s, rad/s]
const AXES = ["x", "y", "z"];

class Play {
  private world!: World;
  private shown: Shown;
  private paused = false;
  private speed = 1;
  private owed = 0; // time that is not simulated yet [s]
  private last = performance.now();
  private lastRead = 0;
  private grabbed: Push | null = null;
  private grabTarget: Vector | null = null;
  private draggingTip = false;
  private plotted = 0;
  private rows: { slider: HTMLInputElement; goal: HTMLElement; measured: HTMLElement; effort: HTMLElement }[] = [];
  private readonly statistics = { since: performance.now(), frames: 0, simulated: 0 };
  private readonly canvas = byId<HTMLCanvasElement>("view");
  private readonly picture = new Picture(this.canvas);
  private readonly plot = new EffortPlot(byId("plot"));
  private loading = Promise.resolve();

  constructor(shown: Shown) {
    this.shown = shown;
  }

  async start(): Promise<void> {
    this.listen();
    await this.load(this.shown, false);
    requestAnimationFrame((now) => this.frame(now));
  }

  private get arm(): WorldArm {
    return this.world.arms[this.shown.arm];
  }

  /** Show a scene in a state; keep: stay with camera and time, only options have changed. */
  private load(shown: Shown, keep: boolean): Promise<void> {
    this.loading = this.loading.then(() => this.replace(shown, keep));
    return this.loading;
  }

  private async replace(shown: Shown, keep: boolean): Promise<void> {
    const bar = byId<HTMLProgressElement>("progress");
    byId("loading").hidden = keep;
    const world = await loadedWorld(shown.scene, shown.options, (share) => (bar.value = share));
    const old = keep ? this.world : null;
    world.reset(shown.joints);
    if (old) {
      world.data.qpos.set(old.data.qpos);
      world.data.qvel.set(old.data.qvel);
      world.data.time = old.data.time;
      world.mj.mj_forward(world.model, world.data);
    }
    world.arms.forEach((a, k) =>
      a.setpoints.forEach((setpoint, j) => {
        const before = old?.arms[k].setpoints[j];
        if (before) Object.assign(setpoint, { q: before.q, dq: before.dq });
        setpoint.goal = shown.goals[k][j];
      }),
    );
    this.world?.delete();
    this.world = world;
    this.shown = shown;
    world.arms.forEach((a) => (a.commanded = shown.motors));
    this.picture.show(world, keep);
    if (!keep) this.plot.clear();
    this.grabbed = null;
    this.controls();
    byId("loading").hidden = true;
    this.last = performance.now();
  }

  // -- controls ------------------------------------------------------------------------------------------------------

  private controls(): void {
    const { shown, world } = this;
    byId<HTMLSelectElement>("scene").value = shown.scene;
    elsewhere.show(byId("elsewhere"), elsewhere.liveModel(table.repository, table.scenes[shown.scene].file), "This model in MuJoCo's own page");
    const arms = byId<HTMLSelectElement>("arm");
    arms.replaceChildren(...world.arms.map(({ name }, k) => element("option", { value: String(k) }, name)));
    arms.value = String(shown.arm);
    byId("arm-row").hidden = world.arms.length < 2;
    const { friction, counterweight, encoders } = shown.options;
    this.check("friction", friction);
    this.check("counterweight", counterweight);
    this.check("encoders", encoders);
    this.check("motors", shown.motors);
    byId("counterweight-row").hidden = !world.arms.some(({ arm }) => arm.counterweight);
    AXES.forEach((axis, k) => {
      byId<HTMLInputElement>(`force-${axis}`).value = String(shown.force[k]);
      byId(`force-${axis}-value`).textContent = `${shown.force[k].toFixed(1)} N`;
    });
    this.sliders();
    const joints = byId<HTMLSelectElement>("plot-joint");
    joints.replaceChildren(...this.arm.arm.joints.map(({ name }, k) => element("option", { value: String(k) }, name.replaceAll("_", " "))));
    this.plotted = Math.min(this.plotted, this.arm.arm.joints.length - 1);
    joints.value = String(this.plotted);
    this.unit();
  }

  private check(id: string, value: boolean): void {
    byId<HTMLInputElement>(id).checked = value;
  }

  private sliders(): void {
    const goals = this.shown.goals[this.shown.arm];
    this.rows = this.arm.arm.joints.map((joint, k) => {
      const id = `joint-${joint.name}`;
      const slider = element("input", { type: "range", id, min: String(joint.lower), max: String(joint.upper), step: String((joint.upper - joint.lower) / 1000) });
      slider.value = String(goals[k]);
      const [goal, measured, effort] = [element("output", { class: "goal" }), element("span"), element("span")];
      goal.textContent = shownPosition(goals[k], joint.unit);
      slider.addEventListener("input", () => this.command(k, Number(slider.value)));
      return { slider, goal, measured, effort };
    });
    byId("joints").replaceChildren(
      ...this.rows.map(({ slider, goal, measured, effort }, k) =>
        element(
          "div",
          { class: "joint" },
          element("label", { htmlFor: slider.id }, this.arm.arm.joints[k].name.replaceAll("_", " ")),
          goal,
          slider,
          element("div", { class: "readings" }, measured, effort),
        ),
      ),
    );
  }

  private command(joint: number, value: number): void {
    const { arm } = this.shown;
    this.shown.goals = this.shown.goals.map((row, k) => (k === arm ? row.map((x, j) => (j === joint ? value : x)) : row));
    this.arm.setpoints[joint].goal = value;
    this.rows[joint].slider.value = String(value);
    this.rows[joint].goal.textContent = shownPosition(value, this.arm.arm.joints[joint].unit);
  }

  private listen(): void {
    const scenes = byId<HTMLSelectElement>("scene");
    scenes.append(...Object.entries(table.scenes).map(([name, { title }]) => element("option", { value: name }, title)));
    scenes.addEventListener("change", () => void this.load(initial(table, scenes.value), false));
    byId("arm").addEventListener("change", (event) => {
      this.shown.arm = Number((event.target as HTMLSelectElement).value);
      this.plot.clear();
      this.controls();
    });
    for (const name of ["friction", "counterweight", "encoders"] as (keyof Options)[])
      byId<HTMLInputElement>(name).addEventListener("change", ({ target }) => {
        const options = { ...this.shown.options, [name]: (target as HTMLInputElement).checked };
        void this.load({ ...this.shown, options, joints: this.current() }, true);
      });
    byId<HTMLInputElement>("motors").addEventListener("change", ({ target }) => this.power((target as HTMLInputElement).checked));
    AXES.forEach((axis, k) => {
      const slider = byId<HTMLInputElement>(`force-${axis}`);
      [slider.min, slider.max] = [String(-MAX_FORCE), String(MAX_FORCE)];
      slider.addEventListener("input", () => {
        this.shown.force = this.shown.force.map((x, j) => (j === k ? Number(slider.value) : x)) as Vector;
        byId(`force-${axis}-value`).textContent = `${this.shown.force[k].toFixed(1)} N`;
      });
    });
    byId("release").addEventListener("click", () => {
      this.shown.force = [0, 0, 0];
      this.controls();
    });
    const speeds = byId<HTMLSelectElement>("speed");
    speeds.append(...SPEEDS.map((speed) => element("option", { value: String(speed) }, `${speed}\u00d7`)));
    speeds.addEventListener("change", () => (this.speed = Number(speeds.value)));
    byId("pause").addEventListener("click", () => this.pause(!this.paused));
    byId("step").addEventListener("click", () => this.single());
    byId("reset").addEventListener("click", () => void this.reset());
    byId("link").addEventListener("click", () => void this.copy());
    const joints = byId<HTMLSelectElement>("plot-joint");
    joints.addEventListener("change", () => {
      this.plotted = Number(joints.value);
      this.unit();
      this.plot.clear();
    });
    window.addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event), { capture: true });
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"] as const) this.canvas.addEventListener(kind, () => this.drop());
  }

  private unit(): void {
    byId("plot-unit").textContent = this.arm.arm.joints[this.plotted].unit === "rad" ? "N m" : "N";
  }

  private current(): number[][] {
    return this.world.arms.map((a) => this.world.joints(a).map((x, k) => Math.min(Math.max(x, a.arm.joints[k].lower), a.arm.joints[k].upper)));
  }

  private power(on: boolean): void {
    this.shown.motors = on;
    for (const a of this.world.arms) {
      a.commanded = on;
      if (on) a.setpoints.forEach((setpoint, k) => setpoint.place(this.world.joints(a)[k])); // hold the arm where it is
    }
    if (on) this.shown.goals = this.current();
    this.controls();
  }

  private pause(paused: boolean): void {
    this.paused = paused;
    const button = byId("pause");
    button.textContent = paused ? "Run" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  }

  private single(): void {
    this.pause(true);
    this.advance(1);
  }

  private reset(): Promise<void> {
    return this.load({ ...initial(table, this.shown.scene), options: this.shown.options, arm: this.shown.arm }, false);
  }

  private async copy(): Promise<void> {
    history.replaceState(null, "", `#${written({ ...this.shown, joints: this.current() })}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.say(copied ? "The link is copied." : "The link is in the address bar.");
  }

  private follow(): void {
    try {
      void this.load(read(location.hash.slice(1), table), false);
    } catch (error) {
      if (!(error instanceof BadLink)) throw error;
      this.say(error.message);
    }
  }

  say(text: string): void {
    byId("message").textContent = text;
  }

  // -- keys and pointer ----------------------------------------------------------------------------------------------

  private key(event: KeyboardEvent): void {
    const at = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (at === this.canvas && arrow) {
      const [right, up] = arrow;
      if (event.shiftKey) this.lead(this.picture.shift(0.005 * right, 0.005 * up));
      else this.picture.turn(-0.1 * right, -0.1 * up);
    } else if (at === this.canvas && "+-".includes(event.key)) this.picture.turn(0, 0, event.key === "+" ? 0.9 : 1.1);
    else if (event.key === " " && !["BUTTON", "INPUT", "SELECT", "A"].includes(at.tagName)) this.pause(!this.paused);
    else if (at.tagName === "SELECT") return;
    else if (event.key === "p") this.pause(!this.paused);
    else if (event.key === ".") this.single();
    else if (event.key === "r") void this.reset();
    else return;
    event.preventDefault();
  }

  /** Move the tip's goal by a shift [m]. */
  private lead(shift: Vector): void {
    const goals = this.arm.setpoints.map(({ goal }) => goal);
    const tip = this.world.tipAt(this.arm, goals);
    this.reachTo(tip.map((x, k) => x + shift[k]) as Vector, goals);
  }

  private reachTo(target: Vector, from: number[]): void {
    this.world.reach(this.arm, from, target).forEach((q, k) => q !== from[k] && this.command(k, q));
  }

  private grab(event: PointerEvent): void {
    if (event.button !== 0 || !event.isPrimary) return;
    this.draggingTip = this.picture.onHandle(event) >= 0;
    if (!this.draggingTip) {
      const hit = event.shiftKey || byId<HTMLInputElement>("push-mode").checked ? this.picture.hit(event) : null;
      if (!hit || !hit.body) return;
      this.grabbed = { body: hit.body, point: this.world.pointOf(hit.body, hit.position), force: [0, 0, 0] };
      this.grabTarget = hit.position;
    }
    event.stopImmediatePropagation();
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus();
  }

  private move(event: PointerEvent): void {
    if (this.draggingTip) {
      const goals = this.arm.setpoints.map(({ goal }) => goal);
      const target = this.picture.inPlane(event, this.world.tipAt(this.arm, goals));
      if (target) this.reachTo(target, goals);
    } else if (this.grabbed) {
      this.grabTarget = this.picture.inPlane(event, this.world.position(this.grabbed.body, this.grabbed.point));
    }
  }

  private drop(): void {
    this.draggingTip = false;
    this.grabbed = this.grabTarget = null;
  }

  // -- time ----------------------------------------------------------------------------------------------------------

  private frame(now: number): void {
    const elapsed = Math.min((now - this.last) / 1000, MAX_FRAME);
    this.last = now;
    const [right, up, turn, lift] = [0, 1, 2, 3].map((axis) => elapsed * stick(axis));
    if (right || up) this.lead(this.picture.shift(PAD_SPEED * right, -PAD_SPEED * up));
    if (turn || lift) this.picture.turn(-PAD_TURN * turn, PAD_TURN * lift);
    if (!this.paused) {
      this.owed += elapsed * this.speed;
      const wanted = Math.floor(this.owed * table.rate);
      const done = this.advance(wanted, Math.max(BUDGET, 1000 * SHARE * elapsed));
      this.owed = done < wanted ? 0 : this.owed - wanted / table.rate;
    }
    this.draw(now);
    if (this.world.data.time || this.paused) document.body.dataset.ready = "1"; // the first motion is shown
    requestAnimationFrame((next) => this.frame(next));
  }

  private advance(count: number, budget = BUDGET): number {
    const start = performance.now();
    let done = 0;
    while (done < count && performance.now() - start < budget) {
      const some = Math.min(10, count - done);
      this.push();
      this.world.step(some);
      done += some;
    }
    this.statistics.simulated += done / table.rate;
    if (done) this.plot.add(this.world.data.time, this.world.efforts(this.arm), this.plotted);
    return done;
  }

  private push(): void {
    const { world, shown, grabbed, grabTarget } = this;
    world.pushes = [];
    if (shown.force.some((x) => x !== 0)) {
      const body = world.model.site_bodyid[this.arm.tip];
      world.pushes.push({ body, point: world.pointOf(body, world.tipPosition(this.arm)), force: shown.force });
    }
    if (grabbed && grabTarget) {
      const at = world.position(grabbed.body, grabbed.point);
      const pull = grabTarget.map((x, k) => PULL * (x - at[k]));
      const scale = Math.min(1, MAX_FORCE / Math.max(Math.hypot(...pull), 1e-9));
      grabbed.force = pull.map((x) => scale * x) as Vector;
      world.pushes.push(grabbed);
    }
  }

  private draw(now: number): void {
    const { world, statistics } = this;
    const push = world.pushes[world.pushes.length - 1];
    this.picture.draw([world.tipPosition(this.arm)], push ? { at: world.position(push.body, push.point), force: push.force } : null);
    statistics.frames++;
    if (now - this.lastRead < READ_INTERVAL) return;
    this.lastRead = now;
    const efforts = world.efforts(this.arm);
    const q = world.joints(this.arm);
    this.rows.forEach(({ measured, effort }, k) => {
      const { unit } = this.arm.arm.joints[k];
      measured.textContent = shownPosition(q[k], unit);
      effort.textContent = shownEffort(efforts.motor[k], unit);
    });
    CAUSES.forEach((cause) => (byId(`now-${cause}`).textContent = shownEffort(efforts[cause][this.plotted], this.arm.arm.joints[this.plotted].unit)));
    const seconds = (now - statistics.since) / 1000;
    if (seconds < 1) return;
    const tip = world.tipPosition(this.arm).map((x) => fixed(1000 * x, 1)).join(", ");
    byId("time").textContent = `${world.data.time.toFixed(1)} s`;
    byId("factor").textContent = `${(statistics.simulated / seconds).toFixed(2)}\u00d7`;
    byId("frames").textContent = (statistics.frames / seconds).toFixed(0);
    byId("tip").textContent = `${tip} mm`;
    byId("gap").textContent = `${(1e9 * world.loopGap()).toFixed(1)} nm`;
    this.picture.adapt(statistics.frames / seconds);
    Object.assign(statistics, { since: now, frames: 0, simulated: 0 });
  }
}

async function main(): Promise<void> {
  let shown = initial(table, Object.keys(table.scenes)[0]);
  let complaint = "";
  try {
    if (location.hash.length > 1) shown = read(location.hash.slice(1), table);
  } catch (error) {
    if (!(error instanceof BadLink)) throw error;
    complaint = error.message;
  }
  const play = new Play(shown);
  play.say(complaint);
  await play.start();
  keepOffline();
}

main().catch((error: unknown) => {
  byId("loading").hidden = true;
  byId("message").textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
