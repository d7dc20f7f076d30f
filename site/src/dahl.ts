/** Friction with memory of an arm: Dahl elements along the coordinates of its drives. */
import { dahl_effort, dahl_state } from "./generated/laws.js";
import { product } from "./servo";
import type { Arm } from "./table";

export class Dahl {
  private readonly rows: number[][];
  private s: number[] = [];
  private z: number[][] = [];

  constructor(private readonly elements: Arm["dahl"]) {
    this.rows = elements.map(({ row }) => row);
  }

  /** Relax all elements at positions of the links. */
  reset(qpos: ArrayLike<number>): void {
    this.s = product(this.rows, qpos);
    this.z = this.elements.map(({ F }) => F.map(() => 0));
  }

  /** Add the forces of the next step on the links, after their motion to qpos. */
  add(qpos: ArrayLike<number>, force: Float64Array): void {
    const s = product(this.rows, qpos);
    this.elements.forEach(({ row, F, slope, rate }, k) => {
      const [z, path] = [this.z[k], s[k] - this.s[k]];
      let effort = 0;
      for (let i = 0; i < F.length; i++) {
        [z[i]] = dahl_state(z[i], path, rate[i]);
        effort += dahl_effort(z[i], s[k], F[i], slope[i])[0];
      }
      row.forEach((x, j) => (force[j] -= x * effort));
    });
    this.s = s;
  }
}
