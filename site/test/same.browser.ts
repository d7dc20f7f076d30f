/** The physics in Chromium against Python with the same version of MuJoCo; TROCAR_SITE_SECONDS=10 for whole runs. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import type * as Runs from "./runs.page";
import { CHROMIUM, Site } from "./browser";
import { reference, scripts } from "./scene_files";
import { apart } from "./scripted";

const seconds = Number(process.env.TROCAR_SITE_SECONDS ?? 1);
const BOUND = 1e-6; // [rad, m]
const BEFORE_CONTACT = 1.9; // the expert's jaws close on a peg; contacts amplify the last digits [s]
let site: Site;
let page: Page;

before(async () => {
  assert.ok(CHROMIUM, "no Chromium: apt install chromium");
  site = await Site.open();
  ({ page } = await site.page(600, 400, true));
  await page.goto(`${site.address}/icon.svg`);
});
after(() => site.close());

for (const [name, expected] of Object.entries(reference.runs))
  test(`${name} moves in Chromium as in Python with MuJoCo ${reference.mujoco}`, async () => {
    const length = Math.min(seconds, scripts[name].seconds);
    const rows = await page.evaluate(
      async ([at, ...input]) => ((await import(at)) as typeof Runs).scripted(...input),
      ["/page/runs.page.mjs", name, scripts[name], length, reference.sample] as const,
    );
    const largest = apart(rows, expected);
    console.log(`${name}: ${length} s, largest difference ${largest.toExponential(1)}`);
    assert.equal(rows.length, Math.floor((length * 1500) / reference.sample));
    assert.ok(largest < BOUND, String(largest));
  });

test(`the expert's game moves in Chromium as in Python with MuJoCo ${reference.mujoco}`, async () => {
  const length = Math.max(seconds, BEFORE_CONTACT);
  const rows = await page.evaluate(
    async ([at, ...input]) => ((await import(at)) as typeof Runs).game(...input),
    ["/page/runs.page.mjs", length, reference.game_sample] as const,
  );
  const free = Math.floor(BEFORE_CONTACT / 0.2);
  console.log(`peg transfer: until the jaws close ${apart(rows.slice(0, free), reference.game).toExponential(1)}, ${length} s ${apart(rows, reference.game).toExponential(1)}`);
  assert.ok(apart(rows.slice(0, free), reference.game) < BOUND);
});
