import assert from "node:assert/strict";
import { test } from "node:test";
import { liveModel, notebook } from "../src/elsewhere";
import { BadLink, initial, MAX_LENGTH, read, written } from "../src/link";
import { Setpoint } from "../src/setpoint";
import { table } from "../src/table";

for (const scene of Object.keys(table.scenes))
  test(`a link to ${scene} reproduces what is shown`, () => {
    const shown = initial(table, scene);
    const nine = (x: number): number => Number(x.toPrecision(9)); // digits of a link
    shown.joints = shown.joints.map((row, k) => row.map((x, j) => nine(x + 0.001 * (k + j))));
    shown.goals = shown.goals.map((row) => row.map((x) => nine(x + 0.02)));
    shown.options = { friction: false, counterweight: false, encoders: true };
    shown.motors = false;
    shown.force = [1, -2.5, 0];
    shown.arm = table.scenes[scene].arms.length - 1;
    assert.deepEqual(read(written(shown), table), shown);
  });

const home = "0,0,0.12,0,0,0,0";
for (const [fragment, complaint] of [
  [`scene=psm&q=${"0,".repeat(MAX_LENGTH)}`, /characters; at most/],
  ["scene=__proto__", /names the scene/],
  ["scene=toString", /names the scene/],
  ["q=0", /names the scene/],
  ["scene=psm&q=NaN,0,0.12,0,0,0,0", /finite/],
  ["scene=psm&q=1e999,0,0.12,0,0,0,0", /finite/],
  ["scene=psm&q=,0,0.12,0,0,0,0", /finite/],
  ["scene=psm&q=0,0", /7 finite/],
  [`scene=psm&q=${home};${home}`, /2 arms/],
  ["scene=psm&goal=9,0,0.12,0,0,0,0", /yaw must be/],
  ["scene=psm&force=0,0,21", /beyond 20 N/],
  ["scene=psm&friction=yes", /must be 0 or 1/],
  ["scene=psm&arm=1", /selects the arm/],
  ["scene=psm&arm=0.5", /selects the arm/],
  ["scene=psm&scene=ecm", /repeated/],
  ["scene=psm&<img src=x onerror=alert(1)>", /unknown/],
] as const)
  test(`a link is refused in one line: ${fragment.slice(0, 40)}`, () => {
    assert.throws(
      () => read(fragment, table),
      (error: unknown) => error instanceof BadLink && complaint.test(error.message) && error.message.length < 200 && !error.message.includes("\n"),
    );
  });

test("a setpoint keeps its velocity and acceleration and stops at its goal", () => {
  const dt = 1 / table.rate;
  const x = new Setpoint(1.5, 2);
  x.place(0);
  x.goal = 1;
  let [before, farthest] = [0, 0];
  for (let k = 0; k < 3000; k++) {
    if (k === 400) x.goal = -0.5; // another goal on the way
    x.advance(dt);
    assert.ok(Math.abs(x.dq) <= 1.5 + 1e-9);
    assert.ok(Math.abs(x.dq - before) <= 2 * dt + 1e-9, `step ${k}`);
    before = x.dq;
    farthest = Math.min(farthest, x.q);
  }
  assert.equal(x.q, -0.5);
  assert.equal(x.dq, 0);
  assert.ok(farthest >= -0.5 - 1e-6);
});

test("links to other programs appear with the repository's address only", () => {
  const address = "https://github.com/owner/name";
  assert.equal(liveModel(address, "psm/scene.xml"), "https://live.mujoco.org/?model=github:owner/name/models/psm/scene.xml");
  assert.equal(notebook(`${address}/`, "06_control"), "https://colab.research.google.com/github/owner/name/blob/main/exercises/06_control.ipynb");
  for (const other of ["", "javascript:alert(1)", "https://github.com/owner/name/x?y"]) assert.equal(liveModel(other, "psm/scene.xml"), null);
});
