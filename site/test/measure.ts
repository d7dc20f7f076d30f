/** Size, time to the first motion at 10 Mbit/s, frames/s and real-time factor of every scene: npm run measure. */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { table } from "../src/table";
import { Site } from "./browser";
import { world } from "./scene_files";

const BYTES_PER_SECOND = 10e6 / 8;

const files = readdirSync("build/site", { recursive: true }) as string[];
const sizes = files.map((name) => [name, statSync(path.join("build/site", name))] as const).filter(([, s]) => s.isFile());
console.log(`all files: ${(sizes.reduce((sum, [, s]) => sum + s.size, 0) / 1e6).toFixed(2)} MB`);

for (const name of Object.keys(table.scenes)) {
  const w = await world(name);
  w.step(300);
  const start = performance.now();
  w.step(1500);
  console.log(`${name}: 1 s of physics and control alone ${(1e3 / (performance.now() - start)).toFixed(1)} x real time`);
  w.delete();
}

const site = await Site.open();
for (const name of Object.keys(table.scenes)) {
  const { context, page } = await site.page(1280, 800);
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", {
    offline: false, latency: 0, downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND,
  });
  let loaded = 0;
  network.on("Network.loadingFinished", ({ encodedDataLength }) => (loaded += encodedDataLength));
  const start = performance.now();
  await page.goto(`${site.address}/#scene=${name}`);
  await page.waitForSelector("body[data-ready]");
  const [time, before] = [performance.now() - start, loaded];
  await page.waitForTimeout(12_000);
  const [factor, frames] = await Promise.all(["factor", "frames"].map((id) => page.locator(`#${id}`).innerText()));
  console.log(`${name}: first motion after ${(time / 1e3).toFixed(1)} s, ${(before / 1e6).toFixed(2)} MB until then; ${frames} frames/s, ${factor} real time`);
  await context.close();
}
await site.close();
