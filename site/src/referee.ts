/** Rules of the peg transfer: `trocar_learning.envs.tasks.peg_rules` in the tab, with its constants from the table. */
import type { Contest } from "./table";
import type { Vector } from "./world";

/** All that the referee sees. */
export interface Seen {
  time: number; // [s]
  tips: Record<string, Vector>; // by arm, in the world [m]
  forces: Record<string, number>; // of objects on an instrument [N]
  pegs: Record<string, { R: number[]; p: Vector; speed: number; fingers: Record<string, string[]> }>; // touching links by arm
}

export interface PlacedPeg {
  time: number;
  peg: string;
  post: number;
  counted: boolean;
  reason: string; // why it gave no point
}

interface Track {
  post: number | null; // on which it rests
  holders: Set<string>; // arms that have held it since it last gave a point
  stillSince: number | null;
  freeSince: number | null; // let go, and on no post
}

const [LEFT, RIGHT] = [-1, 1];
const ROUNDING = 1e-9; // [s]

export class Referee {
  placements: PlacedPeg[] = [];
  drops = 0;
  path: Record<string, number> = {}; // length of each tip's path [m]
  peakForce = 0; // [N]
  time = 0; // since the start [s]
  ended = ""; // reason for which the trial ended before its time
  target = RIGHT; // side to fill
  private readonly begin: number;
  private readonly tips: Record<string, Vector>;
  private readonly tracks = new Map<string, Track>();
  private done = new Set<string>(); // pegs that gave a point on this side
  private readonly R: number[]; // of the board
  private readonly p: Vector;

  constructor(private readonly contest: Contest, board: { R: number[]; p: Vector }, seen: Seen) {
    [this.R, this.p] = [board.R, board.p];
    this.begin = seen.time;
    this.tips = { ...seen.tips };
    for (const arm of Object.keys(seen.tips)) this.path[arm] = 0;
    for (const name of contest.pegs)
      this.tracks.set(name, { post: this.postAt(...this.inBoard(seen.pegs[name])), holders: new Set(), stillSince: null, freeSince: null });
  }

  get points(): number {
    return this.placements.filter(({ counted }) => counted).length;
  }

  /** Time of the last point [s]; 0 without one. */
  get lastTime(): number {
    return Math.max(0, ...this.placements.filter(({ counted }) => counted).map(({ time }) => time));
  }

  get over(): boolean {
    return this.ended !== "" || this.time >= this.contest.rules.duration - ROUNDING;
  }

  /** Judge a state, at least every 50 ms. */
  update(seen: Seen): void {
    this.time = seen.time - this.begin;
    if (this.ended) return;
    for (const [arm, tip] of Object.entries(seen.tips)) {
      this.path[arm] += Math.hypot(...tip.map((x, k) => x - this.tips[arm][k]));
      this.tips[arm] = tip;
      this.peakForce = Math.max(this.peakForce, seen.forces[arm]);
    }
    for (const name of this.contest.pegs) this.judge(name, seen.pegs[name]);
    if (this.done.size === this.contest.pegs.length && this.contest.pegs.every((name) => this.side(name) === this.target)) {
      this.target = -this.target;
      this.done = new Set();
    }
  }

  /** Side of the post on which a peg rests; null if it is on none. */
  side(peg: string): number | null {
    const { post } = this.tracks.get(peg)!;
    return post === null ? null : this.sideOf(post);
  }

  private sideOf(post: number): number {
    return this.contest.board.posts[post][0] > 0 ? RIGHT : LEFT;
  }

  /** Place of a peg in the frame of the board, and the vertical part of its axis there. */
  private inBoard({ R, p }: { R: number[]; p: Vector }): [Vector, number] {
    const B = this.R;
    const d = p.map((x, k) => x - this.p[k]);
    const at = [0, 1, 2].map((j) => B[j] * d[0] + B[3 + j] * d[1] + B[6 + j] * d[2]) as Vector;
    return [at, B[2] * R[2] + B[5] * R[5] + B[8] * R[8]];
  }

  private judge(name: string, peg: Seen["pegs"][string]): void {
    const { rules, board, fingers } = this.contest;
    const [track, now] = [this.tracks.get(name)!, this.time];
    const touching = Object.entries(peg.fingers).filter(([, links]) => links.length);
    for (const [arm, links] of touching) if (fingers.every((finger) => links.includes(finger))) track.holders.add(arm);
    const [[x, y, z], upright] = this.inBoard(peg);
    if (Math.abs(x) > board.plate[0] / 2 + rules.margin || Math.abs(y) > board.plate[1] / 2 + rules.margin || z < -rules.margin) {
      this.ended = `the ${name} peg left the workspace`;
      return;
    }
    const post = this.postAt([x, y, z], upright);
    const touched = touching.length > 0;
    const still = post !== null && !touched && peg.speed < rules.still;
    if (post === null) track.post = null;
    track.stillSince = still ? (track.stillSince ?? now) : null;
    if (track.stillSince !== null && track.post === null && now - track.stillSince >= rules.rest - ROUNDING) {
      track.post = post;
      this.place(name, track, track.stillSince);
    }
    const loose = track.post === null && post === null && !touched && track.holders.size > 0;
    const before = track.freeSince;
    track.freeSince = null;
    if (!loose) return;
    track.freeSince = before ?? now;
    if (track.freeSince < Infinity && now - track.freeSince >= rules.lost - ROUNDING) {
      this.drops++;
      track.freeSince = Infinity; // counted once until it is touched again
    }
  }

  private place(name: string, track: Track, time: number): void {
    let reason = "";
    if (this.side(name) !== this.target) reason = "the other side is to be filled";
    else if (this.done.has(name)) reason = "it has given its point on this side";
    else if (!Object.values(this.contest.hands).every((arm) => track.holders.has(arm))) reason = "no handover";
    this.placements.push({ time, peg: name, post: track.post!, counted: !reason, reason });
    if (!reason) this.done.add(name);
    track.holders = new Set();
  }

  /** The post around which a peg is, down at the board and upright. */
  private postAt([x, y, z]: Vector, upright: number): number | null {
    const { rules, board } = this.contest;
    if (Math.abs(z) > rules.above || upright < rules.max_tilt) return null;
    const away = board.posts.map(([a, b]) => Math.hypot(a - x, b - y));
    const nearest = away.indexOf(Math.min(...away));
    return away[nearest] <= rules.aside ? nearest : null;
  }
}
