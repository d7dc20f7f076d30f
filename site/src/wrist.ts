/** Inverse kinematics of a shaft with an offset wrist, by the law that Python generates. */
import { nearest_joints } from "./generated/laws.js";
import { table, type Joint } from "./table";

export type Matrix = number[]; // (3, 3) by rows

export const multiplied = (A: Matrix, B: Matrix): Matrix =>
  A.map((_, k) => {
    const [i, j] = [3 * Math.floor(k / 3), k % 3];
    return A[i] * B[j] + A[i + 1] * B[3 + j] + A[i + 2] * B[6 + j];
  });
export const applied = (A: Matrix, x: number[]): number[] => [0, 3, 6].map((i) => A[i] * x[0] + A[i + 1] * x[1] + A[i + 2] * x[2]);
export const flipped = (A: Matrix): Matrix => [0, 3, 6, 1, 4, 7, 2, 5, 8].map((k) => A[k]);

/** The six joints near a seed that bring a PSM's tip to a pose in its base, cut at their limits. */
export function tipJoints(R: Matrix, p: number[], seed: number[], joints: Joint[]): number[] {
  const { T_tip_6, offset, insertion, roll, near } = table.contest.wrist;
  const rows = T_tip_6.slice(0, 3);
  const R_6 = multiplied(R, rows.flatMap((row) => row.slice(0, 3)));
  const p_6 = applied(R, rows.map((row) => row[3])).map((x, k) => x + p[k]);
  const limits = joints.slice(0, 6);
  const solve = nearest_joints as unknown as (...numbers: number[]) => number[];
  return solve(
    ...flipped(R_6), ...p_6, offset, insertion, roll, near,
    ...seed.slice(0, 6), ...limits.map(({ lower }) => lower), ...limits.map(({ upper }) => upper),
  ).slice(0, 6);
}
