import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Controls } from "../src/controls";
import { CHANNELS, NOTHING } from "../src/hands";
import { BadLink } from "../src/link";
import { PegScene } from "../src/peg_scene";
import { MAX_REPLAY, read, written } from "../src/replay";
import { table } from "../src/table";
import { contestWorld, reference } from "./scene_files";
import { gameRow } from "./scripted";

const { contest } = table;
const expert = readFileSync("src/generated/expert.txt", "utf8");
const seconds = Number(process.env.TROCAR_SITE_SECONDS ?? 9);
const BEFORE_CONTACT = 1.9; // the first jaws close on a peg [s]
// Contacts amplify the last digits: bounds of joints [rad, m] and pegs [m] in the first transfer, and its time [s].
const [FREE, JOINTS, PEGS, FIRST] = [1e-6, 1e-3, 1e-4, 9];

test("the expert's game moves as in Python and gives its points", async () => {
  const game = await read(expert, contest);
  const world = await contestWorld({ encoders: false });
  const scene = new PegScene(world, contest);
  scene.reset(game.seed);
  const largest = { free: 0, joints: 0, pegs: 0 };
  for (const [k, input] of game.inputs.slice(0, Math.round(seconds / contest.input.period)).entries()) {
    scene.advance(input);
    const row = reference.game[(k + 1) / reference.game_sample - 1];
    if (!row || scene.referee.time > FIRST) continue;
    const difference = gameRow(scene).map((x, j) => Math.abs(x - row[j]));
    if (scene.referee.time < BEFORE_CONTACT) largest.free = Math.max(largest.free, ...difference);
    largest.joints = Math.max(largest.joints, ...difference.slice(0, -6));
    largest.pegs = Math.max(largest.pegs, ...difference.slice(-6));
  }
  const { placements, points, drops, time } = scene.referee;
  console.log(`peg transfer: ${time.toFixed(1)} s, ${points} points, ${drops} drops, differences`, largest);
  assert.ok(largest.free < FREE && largest.joints < JOINTS && largest.pegs < PEGS);
  assert.equal(placements.filter(({ counted }) => !counted).length + drops, 0);
  assert.ok(points >= Math.floor((time - 1) / 8), `${points} points`);
  world.delete();
});

test("a game is the same each time", async () => {
  const world = await contestWorld();
  const scene = new PegScene(world, contest);
  const { inputs } = await read(expert, contest);
  const [first, again] = [0, 1].map(() => {
    scene.reset(3);
    inputs.slice(0, 20).forEach((input) => scene.advance(input));
    return [...world.data.qpos] as number[];
  });
  assert.deepEqual(again, first);
  world.delete();
});

test("a replay is read as it was written", async () => {
  const game = await read(expert, contest);
  assert.equal(game.inputs.length, contest.rules.duration / contest.input.period);
  assert.deepEqual(await read(await written(game), contest), game);
  assert.deepEqual(await read(await written({ seed: 5, inputs: [] }), contest), { seed: 5, inputs: [] });
});

const zeros = { seed: 0, inputs: [Array<number>(2 * CHANNELS).fill(0)] };
for (const [what, text, complaint] of [
  ["too long", `seed=0&inputs=${"A".repeat(MAX_REPLAY)}`, /characters; at most/],
  ["an unknown board", "seed=999", /there are boards/],
  ["no number", "seed=NaN", /must be seed=/],
  ["markup", "seed=0&inputs=<script>", /must be seed=/],
  ["cut", expert.slice(0, 500), /cannot be unpacked|numbers each/],
  ["not deflated", "seed=0&inputs=AAAA", /cannot be unpacked/],
  ["too fast", await written({ seed: 0, inputs: [zeros.inputs[0].map(() => 100)] }), /faster/],
  ["half an input", await written({ seed: 0, inputs: [[0, 0, 0]] }), /numbers each/],
  ["longer than a trial", await written({ seed: 0, inputs: Array<number[]>(9001).fill(zeros.inputs[0]) }), /longer than a trial/],
] as const)
  test(`a replay is refused in one line: ${what}`, async () => {
    await assert.rejects(
      read(text, contest),
      (error: unknown) => error instanceof BadLink && complaint.test(error.message) && error.message.length < 200 && !error.message.includes("\n"),
    );
  });

test("a person can lift a peg: a pointer leads, keys turn, the jaws close", async () => {
  const scene = new PegScene(await contestWorld(), contest);
  scene.reset(0);
  const controls = new Controls(contest);
  const { left } = contest.hands;
  const hand = scene.hands.find(({ arm }) => arm.name === left)!;
  const [x, y, z, angle] = contest.objects[0].blue;
  const play = (seconds: number): void => {
    for (let k = 0; k < seconds / contest.input.period; k++) {
      const input = controls.input("left", hand);
      scene.advance(scene.hands.flatMap((one) => (one === hand ? input : NOTHING)));
    }
  };
  const wall = (k: number): number => angle + (2 * Math.PI * k) / 3;
  const off = (k: number): number => Math.sin(Math.atan2(hand.R[4], hand.R[1]) - wall(k)); // of the jaws from a wall
  const lead = (k: number, height: number): void => {
    const [c, s] = [Math.cos(wall(k)), Math.sin(wall(k))];
    controls.targets.left = [x + 0.0058 * c - 0.004 * s, y + 0.0058 * s + 0.004 * c, z + height]; // between corner and middle
  };
  lead(0, 0.045);
  play(2.5);
  const nearest = [0, 1, 2].reduce((best, k) => (Math.abs(off(k)) < Math.abs(off(best)) ? k : best), 0);
  lead(nearest, 0.045);
  for (let k = 0; k < 100 && Math.abs(off(nearest)) > 0.03; k++) {
    const key = off(nearest) > 0 ? "KeyZ" : "KeyC";
    controls.key(key, true);
    play(0.02);
    controls.key(key, false);
  }
  play(0.5);
  lead(nearest, 0.0197);
  play(1.2);
  controls.key("KeyX", true);
  play(0.6);
  controls.targets.left![2] += 0.03;
  play(1.2);
  const { p, fingers } = scene.seen().pegs.blue;
  assert.ok(p[2] - z > 0.02, `the peg is lifted by ${p[2] - z} m`);
  assert.deepEqual(fingers[left].sort(), contest.fingers);
  scene.world.delete();
});
