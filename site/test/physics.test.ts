import assert from "node:assert/strict";
import { test } from "node:test";
import { reference, scripts, world } from "./scene_files";
import { apart, run } from "./scripted";

const seconds = Number(process.env.TROCAR_SITE_SECONDS ?? 2);

for (const [name, expected] of Object.entries(reference.runs))
  test(`${name} moves as in Python with MuJoCo ${reference.mujoco}`, async () => {
    const w = await world(name, { encoders: false });
    assert.equal(w.mj.mj_versionString(), reference.mujoco);
    const samples = run(w, scripts[name], Math.min(seconds, scripts[name].seconds), reference.sample);
    const largest = apart(samples, expected);
    const travel = Math.max(...samples[0].map((_, j) => Math.max(...samples.map((r) => r[j])) - Math.min(...samples.map((r) => r[j]))));
    console.log(`${name}: ${samples.length} samples, largest difference ${largest.toExponential(1)}`);
    assert.ok(travel > 0.1, "nothing moved");
    assert.ok(largest < 1e-6, `difference ${largest}`);
    w.delete();
  });

const [YAW, PITCH, INSERTION] = [0, 1, 2];

test("the counterweight carries its weight at the insertion", async () => {
  const [whole, light] = [await world("psm"), await world("psm", { counterweight: false })];
  const [a] = whole.arms;
  const mass = whole.model.body_mass[whole.id("BODY", "counterweight")];
  for (const pitch of [-0.6, 0, 0.4]) {
    const q = a.arm.home.slice();
    q[PITCH] = pitch;
    const taken = whole.holding(a, q)[INSERTION] - light.holding(light.arms[0], q)[INSERTION];
    assert.ok(Math.abs(taken - mass * 9.81 * Math.cos(pitch)) < 1e-9);
  }
  whole.delete();
  light.delete();
});

test("friction holds an arm without motors, and without friction it falls", async () => {
  const travel = async (friction: boolean): Promise<number> => {
    const w = await world("psm", { friction });
    w.arms[0].commanded = false;
    w.step(750);
    const moved = Math.abs(w.joints(w.arms[0])[INSERTION] - w.arms[0].arm.home[INSERTION]);
    w.delete();
    return moved;
  };
  assert.ok((await travel(true)) < 1e-4);
  assert.ok((await travel(false)) > 1e-2);
});

test("the tip is brought to a point, and stays within limits beyond reach", async () => {
  const w = await world("psm");
  const [a] = w.arms;
  const q = a.arm.home.map((x, k) => x + [0.2, -0.1, 0.02, 0, 0, 0, 0][k]);
  const target = w.tipAt(a, q);
  const reached = w.tipAt(a, w.reach(a, w.reach(a, a.arm.home, target), target));
  assert.ok(Math.hypot(...reached.map((x, k) => x - target[k])) < 1e-5, String(reached));
  w.reach(a, q, [3, 3, 3]).forEach((x, k) => assert.ok(x >= a.arm.joints[k].lower && x <= a.arm.joints[k].upper));
  w.delete();
});

test("the effort that a motion needs is that which holds the arm, at rest without friction", async () => {
  const w = await world("psm", { friction: false });
  const [a] = w.arms;
  const q = a.arm.home.map((x, k) => x + [0.3, -0.2, 0.01, 0, 0, 0, 0][k]);
  const still = q.map(() => 0);
  w.needed(a, q, still, still).slice(0, 3).forEach((x, k) => assert.ok(Math.abs(x - w.holding(a, q)[k]) < 1e-6, `joint ${k}`));
  w.delete();
});

test("efforts by cause balance at rest", async () => {
  const w = await world("psm", { encoders: false });
  const [a] = w.arms;
  const body = w.model.site_bodyid[a.tip];
  for (let k = 0; k < 3000; k++) {
    w.pushes = [{ body, point: w.pointOf(body, w.tipPosition(a)), force: [1, 0.5, -1] }];
    w.step();
  }
  const { motor, gravity, friction, push } = w.efforts(a);
  for (const k of [YAW, PITCH, INSERTION]) {
    assert.ok(Math.abs(push[k]) > 0.01);
    assert.ok(Math.abs(motor[k] + gravity[k] + friction[k] + push[k]) < 5e-3, `joint ${k}`);
  }
  w.delete();
});
