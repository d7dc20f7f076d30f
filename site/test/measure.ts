/** Size, time to the first motion at 10 Mbit/s, frames/s and real-time factor of every scene: npm run measure. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { table } from "../src/table";
import { PegScene } from "../src/peg_scene";
import { read } from "../src/replay";
import { Site } from "./browser";
import { contestWorld, world } from "./scene_files";

const BYTES_PER_SECOND = 10e6 / 8;

const files = readdirSync("build/site", { recursive: true }) as string[];
const sizes = files.map((name) => [name, statSync(path.join("build/site", name))] as const).filter(([, s]) => s.isFile());
console.log(`all files: ${(sizes.reduce((sum, [, s]) => sum + s.size, 0) / 1e6).toFixed(2)} MB`);

for (const name of Object.keys(table.scenes)) {
  const w = await world(name);
  w.step(1500); // until it is compiled well
  const start = performance.now();
  w.step(1500);
  console.log(`${name}: 1 s of physics and control alone ${(1e3 / (performance.now() - start)).toFixed(1)} x real time`);
  w.delete();
}

const { contest } = table;
const pegs = new PegScene(await contestWorld(), contest);
const { inputs } = await read(readFileSync("src/generated/expert.txt", "utf8"), contest);
pegs.reset(0);
const begin = performance.now();
for (const input of inputs.slice(0, 500)) pegs.advance(input);
console.log(`peg_transfer: 10 s of the expert's game alone ${(1e4 / (performance.now() - begin)).toFixed(1)} x real time`);
pegs.world.delete();

const site = await Site.open();
const places = Object.keys(table.scenes).map((name) => [name, `#scene=${name}`]);
for (const [name, place] of [...places, ["peg_transfer", "peg_transfer.html"], ["understand", "understand.html"], ["papers", "papers.html"]]) {
  const { context, page } = await site.page(1280, 800);
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", {
    offline: false, latency: 0, downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND,
  });
  let size = 0;
  network.on("Network.loadingFinished", ({ encodedDataLength }) => (size += encodedDataLength));
  const start = performance.now();
  await page.goto(`${site.address}/${place}`);
  await page.waitForSelector("body[data-ready]");
  const [time, before] = [performance.now() - start, size];
  const marks = await page.evaluate(() => performance.getEntriesByType("mark").map((mark) => (mark.startTime / 1e3).toFixed(1)));
  console.log(`${name}: shown after ${(time / 1e3).toFixed(1)} s, ${(before / 1e6).toFixed(2)} MB until then, loaded and compiled after ${marks[0]} s`);
  if ((await page.locator("#factor").count()) > 0) {
    if (name === "peg_transfer") await page.locator("#expert").click();
    await page.waitForTimeout(12_000);
    const [factor, frames] = await Promise.all(["factor", "frames"].map((id) => page.locator(`#${id}`).innerText()));
    console.log(`${name}: ${frames} frames/s, ${factor} real time`);
  }
  await context.close();
}
await site.close();
