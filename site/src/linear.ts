/** Small systems of linear equations. */
import { product, transposed, type Rows } from "./servo";

/** Solution x of A x = b by elimination with pivots, and the determinant of A; x is not finite if A is singular. */
export function solved(A: Rows, b: number[]): { x: number[]; determinant: number } {
  const rows = A.map((row, k) => [...row, b[k]]);
  const n = rows.length;
  let determinant = 1;
  for (let k = 0; k < n; k++) {
    const largest = rows.slice(k).reduce((best, row, i) => (Math.abs(row[k]) > Math.abs(rows[best][k]) ? k + i : best), k);
    if (largest !== k) [rows[k], rows[largest], determinant] = [rows[largest], rows[k], -determinant];
    determinant *= rows[k][k];
    for (let i = k + 1; i < n; i++) {
      const share = rows[i][k] / rows[k][k];
      for (let j = k; j <= n; j++) rows[i][j] -= share * rows[k][j];
    }
  }
  const x = Array<number>(n).fill(0);
  for (let k = n - 1; k >= 0; k--) x[k] = (rows[k][n] - rows[k].slice(k + 1, n).reduce((sum, a, j) => sum + a * x[k + 1 + j], 0)) / rows[k][k];
  return { x, determinant };
}

/** Coefficients of the columns of A that come nearest to b. */
export function leastSquares(A: Rows, b: number[]): number[] {
  const columns = transposed(A);
  return solved(columns.map((one) => columns.map((other) => one.reduce((sum, a, k) => sum + a * other[k], 0))), product(columns, b)).x;
}

export const rms = (values: number[]): number => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
