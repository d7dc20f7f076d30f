import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { ROOT, world } from "./scene_files";
import { run, scripts } from "./scripted";

const reference = JSON.parse(readFileSync(path.join(ROOT, "site/test/reference.json"), "utf8")) as {
  mujoco: string;
  sample: number;
  runs: Record<string, number[][]>;
};
const seconds = Number(process.env.TROCAR_SITE_SECONDS ?? 2);

for (const [name, expected] of Object.entries(reference.runs))
  test(`${name} moves as in Python with MuJoCo ${reference.mujoco}`, async () => {
    const w = await world(name, { encoders: false });
    assert.equal(w.mj.mj_versionString(), reference.mujoco);
    const samples = run(w, scripts[name], Math.min(seconds, scripts[name].seconds), reference.sample);
    let largest = 0;
    samples.forEach((row, k) => row.forEach((value, j) => (largest = Math.max(largest, Math.abs(value - expected[k][j])))));
    const travel = Math.max(...samples[0].map((_, j) => Math.max(...samples.map((r) => r[j])) - Math.min(...samples.map((r) => r[j]))));
    console.log(`${name}: ${samples.length} samples, largest difference ${largest.toExponential(1)}`);
    assert.ok(travel > 0.1, "nothing moved");
    assert.ok(largest < 1e-6, `difference ${largest}`);
    w.delete();
  });
