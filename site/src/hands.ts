/** Hands that follow counted inputs: the commanded tips of the peg transfer, and the joints that reach them. */
import type { Contest } from "./table";
import type { Vector, World, WorldArm } from "./world";
import { applied, flipped, multiplied, tipJoints, type Matrix } from "./wrist";

export const CHANNELS = 7; // numbers of an input of a hand: way, turn, jaw
export type Input = number[];
export const NOTHING: Input = Array<number>(CHANNELS).fill(0);

/** Largest number of each channel. */
export const most = ({ input }: Contest): number[] => [0, 0, 0, 1, 1, 1, 2].map((k) => input.most[k]);

/** The rotation of a number of small turns about the axes of the world. */
function turned(counts: number[], step: number): Matrix {
  const [x, y, z] = counts.map((count) => step * count);
  const angle = Math.sqrt(x * x + y * y + z * z);
  if (angle === 0) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const [s, c] = [Math.sin(angle), 1 - Math.cos(angle)];
  const K = [0, -z, y, z, 0, -x, -y, x, 0].map((value) => value / angle);
  return multiplied(K, K).map((value, k) => (k % 4 ? 0 : 1) + s * K[k] + c * value);
}

export class Hand {
  q: number[]; // at the end of the period
  before: number[]; // at its start
  R: Matrix;
  private readonly start: Vector;
  private readonly counts = [0, 0, 0];
  private jaw = 0;
  private readonly base: { R: Matrix; p: number[] };
  private readonly firstOpening: number;
  used = false; // it has had an input

  constructor(world: World, readonly arm: WorldArm, private readonly contest: Contest, start: number[]) {
    const { xmat, xpos, site_xmat } = world.data;
    const base = world.id("BODY", arm.prefix + "base");
    this.base = { R: Array.from(xmat.subarray(9 * base, 9 * base + 9)), p: Array.from(xpos.subarray(3 * base, 3 * base + 3)) };
    this.start = world.tipPosition(arm);
    this.R = Array.from(site_xmat.subarray(9 * arm.tip, 9 * arm.tip + 9));
    this.q = this.before = start;
    this.firstOpening = start[start.length - 1];
  }

  /** Commanded opening of the jaws [rad]. */
  get opening(): number {
    return this.firstOpening + this.contest.input.jaw * this.jaw;
  }

  /** Commanded place of the tip in the world [m]. */
  get tip(): Vector {
    return this.start.map((x, k) => x + this.contest.input.way * this.counts[k]) as Vector;
  }

  /** Take an input, and solve for the joints at its end. */
  command(input: Input): void {
    const units = this.contest.input;
    this.used ||= input.some((x) => x !== 0);
    for (let k = 0; k < 3; k++) this.counts[k] += input[k];
    this.R = multiplied(turned(input.slice(3, 6), units.turn), this.R);
    this.jaw += input[6];
    const toBase = flipped(this.base.R);
    const p = applied(toBase, this.tip.map((x, k) => x - this.base.p[k]));
    const q = tipJoints(multiplied(toBase, this.R), p, this.q, this.arm.arm.joints);
    this.before = this.q;
    this.q = [...q, this.opening];
  }

  /** Set the setpoints at a share of the period. */
  follow(share: number): void {
    this.arm.setpoints.forEach((setpoint, k) => {
      const change = this.q[k] - this.before[k];
      setpoint.q = this.before[k] + share * change;
      setpoint.dq = change / this.contest.input.period;
    });
  }
}
