/** The scene of the peg transfer: hands, solids that slide on each other, and what the referee sees. */
import { slip_rate } from "./generated/laws.js";
import { CHANNELS, Hand, type Input } from "./hands";
import { Referee, type Seen } from "./referee";
import type { Contest } from "./table";
import type { Vector, World } from "./world";

const OBJECT = "object/";

/** Rates at which friction brakes slip between solids, which follow their velocities; see `trocar.laws.slip`. */
class Slip {
  private readonly pairs: { rows: number[]; bodies: number[]; reach: number[]; friction: number }[] = [];

  constructor(private readonly world: World) {
    const { model } = world;
    const reach = new Float64Array(model.nbody);
    for (let g = 0; g < model.ngeom; g++) {
      const far = Math.hypot(...model.geom_pos.subarray(3 * g, 3 * g + 3)) + model.geom_rbound[g];
      reach[model.geom_bodyid[g]] = Math.max(reach[model.geom_bodyid[g]], far);
    }
    for (let k = 0; k < model.npair; k++) {
      if (model.pair_solreffriction[2 * k] >= 0) continue;
      const bodies = [model.geom_bodyid[model.pair_geom1[k]], model.geom_bodyid[model.pair_geom2[k]]];
      let pair = this.pairs.find((known) => known.bodies.every((body, i) => body === bodies[i]));
      if (!pair) {
        pair = { rows: [], bodies, reach: bodies.map((body) => reach[body]), friction: model.pair_friction[5 * k] };
        this.pairs.push(pair);
      }
      pair.rows.push(2 * k + 1);
    }
  }

  set(): void {
    const { model, data } = this.world;
    const [rates, qvel] = [model.pair_solreffriction, data.qvel];
    const solve = slip_rate as unknown as (...numbers: number[]) => [number];
    for (const { rows, bodies, reach, friction } of this.pairs) {
      const twists = bodies.map((body) => {
        const at = model.body_dofadr[body];
        return model.body_dofnum[body] ? [...qvel.subarray(at, at + 6)] : [0, 0, 0, 0, 0, 0];
      });
      const [rate] = solve(...twists[0], ...twists[1], ...reach, friction, this.world.table.rate);
      for (const row of rows) rates[row] = -rate;
    }
  }
}

export class PegScene {
  hands: Hand[] = [];
  referee!: Referee;
  private readonly slip: Slip;
  private readonly links = new Map<number, { arm: string; name: string }>(); // of arms, by body
  private readonly pegs = new Map<number, string>();
  private readonly board: number;
  private readonly cycles: number;

  constructor(readonly world: World, readonly contest: Contest) {
    this.slip = new Slip(world);
    this.cycles = Math.round(contest.input.period * world.table.rate);
    this.board = world.id("BODY", OBJECT + "board");
    for (const name of contest.pegs) this.pegs.set(world.id("BODY", OBJECT + name), name);
    for (const { name, prefix, arm } of world.arms)
      for (const link of arm.tree) this.links.set(world.id("BODY", prefix + link), { arm: name, name: link });
  }

  /** Start anew on the board of a seed. */
  reset(seed: number): void {
    const { world, contest } = this;
    const places = contest.objects[seed];
    const spot = (name: string): number[] => {
      const [x, y, z, angle] = places[name];
      return [x, y, z, Math.cos(angle / 2), 0, 0, Math.sin(angle / 2)];
    };
    const board = spot("board");
    world.model.body_pos.set(board.slice(0, 3), 3 * this.board);
    world.model.body_quat.set(board.slice(3), 4 * this.board);
    world.reset(undefined, () =>
      this.pegs.forEach((name, body) => world.data.qpos.set(spot(name), world.model.jnt_qposadr[world.model.body_jntadr[body]])),
    );
    this.hands = world.arms.map((arm, k) => new Hand(world, arm, contest, contest.scene.arms[k].start));
    const [R, p] = this.place(this.board);
    this.referee = new Referee(contest, { R, p }, this.seen());
  }

  /** One period of inputs of both hands. judge: show the referee the state. */
  advance(input: Input, judge = true): void {
    this.hands.forEach((hand, k) => hand.command(input.slice(CHANNELS * k, CHANNELS * (k + 1))));
    for (let k = 1; k <= this.cycles; k++) {
      this.slip.set();
      this.world.step(1, () => this.hands.forEach((hand) => hand.follow(k / this.cycles)));
    }
    if (judge) this.referee.update(this.seen());
  }

  private place(body: number): [number[], Vector] {
    const { xmat, xpos } = this.world.data;
    return [Array.from(xmat.subarray(9 * body, 9 * body + 9)), Array.from(xpos.subarray(3 * body, 3 * body + 3)) as Vector];
  }

  /** What the referee sees: poses of the current state, contacts of the last step. */
  seen(): Seen {
    const { world } = this;
    const { mj, model, data } = world;
    mj.mj_kinematics(model, data);
    const tips = Object.fromEntries(world.arms.map((arm) => [arm.name, world.tipPosition(arm)]));
    const pegs: Seen["pegs"] = {};
    this.pegs.forEach((name, body) => {
      const [R, p] = this.place(body);
      const at = model.body_dofadr[body];
      const fingers = Object.fromEntries(world.arms.map((arm) => [arm.name, [] as string[]]));
      pegs[name] = { R, p, speed: Math.hypot(...data.qvel.subarray(at, at + 3)), fingers };
    });
    const push = Object.fromEntries(world.arms.map((arm) => [arm.name, [0, 0, 0]]));
    world.contacts((one, other, force) => {
      const flip = this.links.has(other) ? 1 : -1; // the force acts on the second
      const link = this.links.get(one) ?? this.links.get(other);
      const thing = this.links.has(one) ? other : one;
      if (!link || this.links.has(thing)) return;
      const peg = this.pegs.get(thing);
      if (peg && !pegs[peg].fingers[link.arm].includes(link.name)) pegs[peg].fingers[link.arm].push(link.name);
      if (this.contest.instrument.includes(link.name)) force().forEach((x, k) => (push[link.arm][k] += flip * x));
    });
    const forces = Object.fromEntries(Object.entries(push).map(([arm, force]) => [arm, Math.hypot(...force)]));
    const { rate } = world.table; // a whole number of periods: the sum of timesteps has rounding errors
    return { time: Math.round(world.data.time * rate) / rate, tips, forces, pegs };
  }
}
