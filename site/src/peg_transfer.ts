/** The page "Peg transfer": two hands, the referee's score, replays as links, and the expert. */
import "./style.css";
import { Controls, KEYS, shownKey, SIDES, type Action, type Side } from "./controls";
import { byId, element, fixed } from "./elements";
import type { Input } from "./hands";
import { BadLink } from "./link";
import { contestWorld, fetched, keepOffline } from "./loading";
import { PegScene } from "./peg_scene";
import { Picture, type View } from "./picture";
import { read, written, type Game } from "./replay";
import { table } from "./table";
import type { Vector } from "./world";

const { contest } = table;
const COLOURS: Record<Side, number> = { left: 0x00a388, right: 0xf28f3b };
const SPEEDS = [1, 0.5, 0.25];
const SHARE = 0.7; // of a frame for steps; beyond it, simulated time falls behind
const BUDGET = 24; // least time for steps [ms]
const MAX_FRAME = 0.25; // longest time that one frame makes up for [s]
const FINGER = 9; // radii of a handle within which a pointer takes it
const SHOWN = 12; // time for which a message is shown [s]
const WHEEL = 2e-5; // height for a step of the wheel [m]
const TEXT: Record<Action, string> = {
  "x-": "left", "x+": "right", "y-": "nearer", "y+": "away", "z-": "down", "z+": "up", "turn-": "turn right", "turn+": "turn left", jaw: "close",
};
const view: View = { ...contest.camera, size: 0.3 };

class PegTransfer {
  private scene!: PegScene;
  private game: Game = { seed: 0, inputs: [] };
  private cursor: number | null = null; // next input of a replay; null: a person plays
  private paused = false;
  private speed = 1;
  private owed = 0; // time that is not simulated yet [s]
  private last = 0;
  private placed = 0; // placements that are listed
  private saying = 0; // timer of the message
  private told = false; // the result
  private readonly drags = new Map<number, { side: Side; through: Vector; offset: Vector }>();
  private readonly statistics = { since: 0, frames: 0, simulated: 0 };
  private readonly canvas = byId<HTMLCanvasElement>("view");
  private readonly picture = new Picture(this.canvas, SIDES.map((side) => COLOURS[side]));
  private readonly controls = new Controls(contest);

  async start(): Promise<void> {
    const bar = byId<HTMLProgressElement>("progress");
    const world = await contestWorld((share) => (bar.value = share));
    this.scene = new PegScene(world, contest);
    this.listen();
    this.begin({ seed: 0, inputs: [] }, false);
    this.picture.show(world, false, view);
    byId("loading").hidden = true;
    await this.follow();
    this.last = this.statistics.since = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  /** Start a game on its board. replay: with its inputs instead of a person's. */
  private begin(game: Game, replay: boolean): void {
    this.scene.reset(game.seed);
    this.controls.reset();
    this.game = replay ? game : { seed: game.seed, inputs: [] };
    this.cursor = replay ? 0 : null;
    this.owed = this.placed = 0;
    this.told = false;
    byId("placements").replaceChildren();
    byId<HTMLSelectElement>("seed").value = String(game.seed);
    this.pause(false);
    this.say(replay ? "" : "The clock starts with the first motion of a hand.");
    this.show();
  }

  private get hands(): Record<Side, number> {
    const at = (side: Side): number => this.scene.world.arms.findIndex(({ name }) => name === contest.hands[side]);
    return { left: at("left"), right: at("right") };
  }

  // -- controls ------------------------------------------------------------------------------------------------------

  private listen(): void {
    for (const side of SIDES) {
      const panel = byId(`hand-${side}`);
      for (const action of Object.keys(KEYS[side]) as Action[]) {
        const key = element("kbd", {}, shownKey(KEYS[side][action]));
        const button = element("button", { type: "button", id: `${side}-${action}`, title: `${side} hand: ${TEXT[action]}` }, `${TEXT[action]} `, key);
        const press = (down: boolean): void => this.controls.press(side, action, down);
        button.addEventListener("pointerdown", () => press(true));
        for (const kind of ["pointerup", "pointerleave", "pointercancel"] as const) button.addEventListener(kind, () => press(false));
        button.addEventListener("keydown", (event) => [" ", "Enter"].includes(event.key) && !event.repeat && press(true));
        button.addEventListener("keyup", () => press(false));
        button.addEventListener("blur", () => press(false));
        panel.append(button);
      }
    }
    const seeds = byId<HTMLSelectElement>("seed");
    seeds.append(...contest.objects.map((_, k) => element("option", { value: String(k) }, `${k}`)));
    seeds.addEventListener("change", () => this.begin({ seed: Number(seeds.value), inputs: [] }, false));
    const speeds = byId<HTMLSelectElement>("speed");
    speeds.append(...SPEEDS.map((speed) => element("option", { value: String(speed) }, `${speed}\u00d7`)));
    speeds.addEventListener("change", () => (this.speed = Number(speeds.value)));
    byId("pause").addEventListener("click", () => this.pause(!this.paused));
    byId("step").addEventListener("click", () => this.single());
    byId("again").addEventListener("click", () => this.begin(this.game, false));
    byId("replay").addEventListener("click", () => this.begin(this.game, true));
    byId("expert").addEventListener("click", () => void this.expert());
    byId("link").addEventListener("click", () => void this.copy());
    window.addEventListener("hashchange", () => void this.follow());
    document.addEventListener("keydown", (event) => this.key(event, true));
    document.addEventListener("keyup", (event) => this.key(event, false));
    window.addEventListener("blur", () => SIDES.forEach((side) => this.controls.held.get(side)!.clear()));
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event), { capture: true });
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"] as const) this.canvas.addEventListener(kind, (event) => this.drop(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { capture: true, passive: false });
  }

  private key(event: KeyboardEvent, down: boolean): void {
    this.controls.fine = event.shiftKey;
    const at = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || at.tagName === "SELECT") return;
    const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (this.controls.key(event.code, down, event.repeat)) event.preventDefault();
    else if (!down) return;
    else if (at === this.canvas && arrow) this.picture.turn(0.1 * arrow[0], -0.1 * arrow[1]);
    else if (at === this.canvas && "+-".includes(event.key)) this.picture.turn(0, 0, event.key === "+" ? 0.9 : 1.1);
    else if (event.key === "p") this.pause(!this.paused);
    else if (event.key === ".") this.single();
    else if (event.key === "r") this.begin(this.game, false);
    else return;
    event.preventDefault();
  }

  private grab(event: PointerEvent): void {
    const k = event.button === 0 && this.cursor === null ? this.picture.onHandle(event, FINGER) : -1;
    if (k < 0) return;
    const side = SIDES[k];
    const through = this.scene.hands[this.hands[side]].tip;
    const at = this.picture.inPlane(event, through, this.plane(event));
    if (!at) return;
    this.drags.set(event.pointerId, { side, through, offset: through.map((x, j) => x - at[j]) as Vector });
    event.stopImmediatePropagation();
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus();
  }

  /** Normal of the plane in which a pointer leads a hand: level, or upright and facing the camera. */
  private plane(event: PointerEvent): Vector {
    if (!event.shiftKey && !byId<HTMLInputElement>("upright").checked) return [0, 0, 1];
    const [x, y] = this.picture.shift(1, 0);
    return [-y, x, 0];
  }

  private move(event: PointerEvent): void {
    const drag = this.drags.get(event.pointerId);
    if (!drag) return;
    const at = this.picture.inPlane(event, drag.through, this.plane(event));
    if (at) this.controls.targets[drag.side] = at.map((x, k) => x + drag.offset[k]) as Vector;
  }

  private drop(event: PointerEvent): void {
    const drag = this.drags.get(event.pointerId);
    if (drag) this.controls.targets[drag.side] = null;
    this.drags.delete(event.pointerId);
  }

  /** While a hand is dragged, the wheel lifts and lowers it. */
  private wheel(event: WheelEvent): void {
    for (const drag of this.drags.values()) {
      event.preventDefault();
      event.stopImmediatePropagation();
      const rise = -WHEEL * event.deltaY;
      const target = this.controls.targets[drag.side] ?? [...drag.through];
      this.controls.targets[drag.side] = [target[0], target[1], target[2] + rise];
      drag.through = [drag.through[0], drag.through[1], drag.through[2] + rise];
    }
  }

  private pause(paused: boolean): void {
    this.paused = paused;
    const button = byId("pause");
    button.textContent = paused ? "Run" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  }

  private single(): void {
    this.pause(true);
    this.tick();
    this.show();
  }

  // -- games ---------------------------------------------------------------------------------------------------------

  private async expert(): Promise<void> {
    const text = new TextDecoder().decode(await fetched("expert.txt"));
    this.begin(await read(text, contest), true);
    this.say("The scripted expert of trocar-learning: its inputs were recorded in Python and are replayed here.");
  }

  private async copy(): Promise<void> {
    history.replaceState(null, "", `#${await written(this.game)}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.say(`${copied ? "The link is copied" : "The link is in the address bar"}: board ${this.game.seed}, ${this.game.inputs.length} inputs, ${location.href.length} characters.`);
  }

  private async follow(): Promise<void> {
    if (location.hash.length < 2) return;
    try {
      const game = await read(location.hash.slice(1), contest);
      this.begin(game, game.inputs.length > 0);
    } catch (error) {
      if (!(error instanceof BadLink)) throw error;
      this.say(error.message);
    }
  }

  /** Show a line below the picture for some seconds. */
  private say(text: string): void {
    const message = byId("message");
    if (message.textContent === text) return;
    message.textContent = text;
    clearTimeout(this.saying);
    this.saying = window.setTimeout(() => (message.textContent = ""), 1000 * SHOWN);
  }

  // -- time ----------------------------------------------------------------------------------------------------------

  /** One period of inputs; false if nothing moves. */
  private tick(): boolean {
    const { scene, controls, hands } = this;
    if (scene.referee.over) return false;
    let input: Input;
    if (this.cursor !== null) {
      if (this.cursor >= this.game.inputs.length) return false;
      input = this.game.inputs[this.cursor++];
    } else {
      const rows = new Map(SIDES.map((side) => [hands[side], controls.input(side, scene.hands[hands[side]])]));
      input = [...rows.keys()].sort().flatMap((k) => rows.get(k)!);
      if (!this.game.inputs.length && input.every((x) => x === 0)) return false; // nothing has begun
      this.game.inputs.push(input);
    }
    scene.advance(input);
    this.statistics.simulated += contest.input.period;
    return true;
  }

  private frame(now: number): void {
    const elapsed = Math.min((now - this.last) / 1000, MAX_FRAME);
    this.last = now;
    if (!this.paused) {
      const start = performance.now();
      const budget = Math.max(BUDGET, 1000 * SHARE * elapsed);
      this.owed += elapsed * this.speed;
      while (this.owed >= contest.input.period) {
        if (performance.now() - start > budget || !this.tick()) this.owed = 0;
        else this.owed -= contest.input.period;
      }
    }
    this.draw(now);
    this.canvas.dataset.tips = JSON.stringify(this.picture.spots());
    document.body.dataset.ready = "1"; // the board is shown; a motion needs an input
    requestAnimationFrame((next) => this.frame(next));
  }

  private draw(now: number): void {
    const { scene, statistics } = this;
    const order = SIDES.map((side) => this.hands[side]);
    this.picture.mark(SIDES.map((side) => this.controls.active[side]));
    this.picture.draw(order.map((k) => scene.world.tipPosition(scene.world.arms[k])), null);
    statistics.frames++;
    this.show();
    const seconds = (now - statistics.since) / 1000;
    if (seconds < 1) return;
    byId("factor").textContent = statistics.simulated ? `${(statistics.simulated / seconds).toFixed(2)}\u00d7` : "-";
    byId("frames").textContent = (statistics.frames / seconds).toFixed(0);
    this.picture.adapt(statistics.frames / seconds);
    Object.assign(statistics, { since: now, frames: 0, simulated: 0 });
  }

  /** Score, time, and what is new. */
  private show(): void {
    const { referee } = this.scene;
    const left = Math.max(0, contest.rules.duration - referee.time);
    byId("time").textContent = `${Math.floor(left / 60)}:${fixed(left % 60, 1).padStart(4, "0")}`;
    byId("points").textContent = String(referee.points);
    byId("drops").textContent = String(referee.drops);
    byId("target").textContent = referee.target > 0 ? "right" : "left";
    byId("force").textContent = `${referee.peakForce.toFixed(1)} N`;
    for (const side of SIDES) {
      const arm = contest.hands[side];
      byId(`path-${side}`).textContent = `${(1000 * referee.path[arm]).toFixed(0)} mm`;
      byId(`hand-${side}`).classList.toggle("active", this.controls.active[side]);
      byId(`${side}-jaw`).firstChild!.textContent = this.controls.closed[side] ? "open " : "close ";
    }
    for (const { time, peg, post, counted, reason } of referee.placements.slice(this.placed)) {
      const text = `${time.toFixed(2)} s: ${peg} peg on post ${post}, ${counted ? "1 point" : `no point: ${reason}`}`;
      byId("placements").prepend(element("li", { class: counted ? "counted" : "" }, text));
    }
    this.placed = referee.placements.length;
    const replayed = this.cursor !== null && this.cursor >= this.game.inputs.length;
    if ((referee.over || replayed) && !this.told) {
      this.told = true;
      this.say(`${referee.ended ? `${referee.ended}: ` : ""}${referee.points} points, the last at ${referee.lastTime.toFixed(1)} s, ${referee.drops} drops.`);
    }
  }
}

new PegTransfer().start().then(keepOffline).catch((error: unknown) => {
  byId("loading").hidden = true;
  byId("message").textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
