/** The scripted run of a scene; `tools/site/reference.py` is the same in Python. */
import type { PegScene } from "../src/peg_scene";
import type { Vector, World } from "../src/world";

export interface Script {
  seconds: number;
  moves: { start: number; duration: number; q: number[][] }[];
  pushes: { start: number; end: number; body: string; point: number[]; force: number[] }[];
}

export function setpoint(script: Script, arm: number, start: number[], t: number): [number[], number[]] {
  let q = start;
  let dq = start.map(() => 0);
  for (const move of script.moves) {
    const goal = move.q[arm];
    const x = (t - move.start) / move.duration;
    if (x >= 1) q = goal;
    else if (x > 0) {
      const s = x * x * x * (10 + x * (6 * x - 15));
      const ds = (30 * x * x * (1 - x) * (1 - x)) / move.duration;
      const from = q;
      dq = from.map((a, k) => (goal[k] - a) * ds);
      q = from.map((a, k) => a + (goal[k] - a) * s);
    }
  }
  return [q, dq];
}

/** Joint positions of all arms every `sample` periods. */
export function run(world: World, script: Script, seconds: number, sample: number): number[][] {
  const samples: number[][] = [];
  const rate = world.table.rate;
  for (let cycle = 0; cycle < Math.round(seconds * rate); cycle++) {
    const t = cycle / rate;
    world.pushes = script.pushes
      .filter(({ start, end }) => start <= t && t < end)
      .map(({ body, point, force }) => ({ body: world.id("BODY", body), point: point as Vector, force: force as Vector }));
    world.step(1, () =>
      world.arms.forEach((a, k) => {
        const [q, dq] = setpoint(script, k, world.scene.arms[k].start, t);
        a.setpoints.forEach((x, j) => ((x.q = q[j]), (x.dq = dq[j])));
      }),
    );
    if ((cycle + 1) % sample === 0) samples.push(world.arms.flatMap((a) => world.joints(a)));
  }
  return samples;
}

/** Joints of both arms and positions of both pegs. */
export function gameRow({ world }: PegScene): number[] {
  const { qpos } = world.data;
  return [...world.arms.flatMap((arm) => world.joints(arm)), ...qpos.subarray(-14, -11), ...qpos.subarray(-7, -4)] as number[];
}

/** Largest difference between rows and those of a reference. */
export const apart = (rows: number[][], expected: number[][]): number =>
  rows.reduce((largest, row, k) => Math.max(largest, ...row.map((x, j) => Math.abs(x - expected[k][j]))), 0);
