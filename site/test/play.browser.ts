/** Every control of both pages in Chromium, at three widths; pictures go to the folder TROCAR_SCREENSHOTS. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import path from "node:path";
import type { Page } from "playwright-core";
import { CHROMIUM, Site } from "./browser";

let site: Site;
before(async () => {
  assert.ok(CHROMIUM, "no Chromium: apt install chromium");
  site = await Site.open();
});
after(() => site.close());

const ready = (page: Page) => page.waitForSelector("body[data-ready]");
const shot = async (page: Page, name: string): Promise<void> => {
  const folder = process.env.TROCAR_SCREENSHOTS;
  if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`) });
};
const seconds = (page: Page): Promise<number> => page.locator("#time").innerText().then(parseFloat);
const reading = (page: Page, joint: string): Promise<number> =>
  page.locator(`.joint:has(#joint-${joint}) .readings span`).first().innerText().then((text) => parseFloat(text.replace("\u2212", "-")));

async function until(page: Page, condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let k = 0; k < 300; k++) {
    if (await condition()) return;
    await page.waitForTimeout(100);
  }
  assert.fail(`waited in vain for ${what}`);
}

for (const [width, height] of [[1280, 800], [1024, 768], [390, 844]])
  test(`every control works at ${width}`, async () => {
    const { context, page, faults } = await site.page(width, height);
    await page.goto(site.address);
    await ready(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, "the page scrolls sideways");
    await until(page, async () => (await seconds(page)) > 0.5, "time");
    await page.locator("#joint-yaw").focus();
    await page.keyboard.press("End"); // the keyboard alone
    await until(page, async () => (await reading(page, "yaw")) > 60, "yaw");
    await shot(page, `play-${width}`);
    await page.locator("#view").focus();
    const before = await page.locator("#joint-pitch").inputValue();
    for (let k = 0; k < 5; k++) await page.keyboard.press("Shift+ArrowUp");
    for (const key of ["ArrowLeft", "ArrowUp", "+", "-"]) await page.keyboard.press(key);
    const moved = (await page.locator("#joint-insertion").inputValue()) + (await page.locator("#joint-pitch").inputValue());
    assert.notEqual(moved, `0.12${before}`, "the tip was not led");
    await page.locator("#plot-joint").selectOption({ label: "insertion" });
    for (const [axis, force] of [["x", 5], ["y", 1], ["z", -1]]) await page.locator(`#force-${axis}`).fill(String(force));
    await until(page, async () => Math.abs(parseFloat((await page.locator("#now-push").innerText()).replace("\u2212", "-"))) > 3, "a push");
    await page.locator("#release").click();
    for (const id of ["friction", "counterweight", "encoders", "motors", "motors"]) await page.locator(`#${id}`).click();
    await page.locator("#push-mode").check();
    const box = (await page.locator("#view").boundingBox())!;
    await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.5 * box.width + 40, box.y + 0.5 * box.height + 20, { steps: 4 });
    await page.mouse.up();
    await page.locator("#speed").selectOption("0.2");
    await page.locator("#step").click();
    assert.equal(await page.locator("#pause").innerText(), "Run");
    await page.locator("#pause").click();
    await page.locator("#link").click();
    const address = page.url();
    assert.match(address, /#scene=psm&q=/);
    await page.locator("#reset").click();
    for (const scene of ["mtmr", "mtml", "ecm", "cart_classic"]) {
      await page.locator("#scene").selectOption(scene);
      await until(page, async () => (await page.locator("#loading").isHidden()) && (await page.locator("#scene").inputValue()) === scene, scene);
    }
    await page.locator("#arm").selectOption({ label: "ECM" });
    assert.equal(await page.locator(".joint").count(), 4);
    await shot(page, `cart-${width}`);
    await page.goto(site.address + "/understand.html");
    await ready(page);
    await page.locator("#counterweight-pitch").fill("0.4");
    await page.locator("#counterweight-yaw").fill("0.3");
    await page.locator("#rcm-force").fill("20");
    await page.locator("#rcm-run").click();
    await until(page, async () => /^[\d.]+ nm/.test(await page.locator("#rcm-largest").innerText()), "the remote centre");
    await shot(page, `understand-${width}`);
    assert.deepEqual(faults, []);
    await context.close();
  });

test("a link reproduces a state, and a hostile one gets one line", async () => {
  const { context, page, faults } = await site.page(1024, 768);
  await page.goto(`${site.address}/#scene=psm&q=0.5,0,0.1,0,0,0,0&motors=1&counterweight=0`);
  await ready(page);
  await until(page, async () => Math.abs((await reading(page, "yaw")) - 28.6) < 0.3, "yaw of the link");
  assert.equal(await page.locator("#counterweight").isChecked(), false);
  for (const bad of ["scene=nowhere", "scene=psm&q=NaN,0,0,0,0,0,0", `scene=psm&q=${"1,".repeat(3000)}`]) {
    await page.evaluate((hash) => (location.hash = hash), bad);
    await until(page, async () => (await page.locator("#message").innerText()).startsWith("The link"), "a complaint");
    await page.evaluate(() => (document.getElementById("message")!.textContent = ""));
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("the page works without a network after the first load", async () => {
  const { context, page, faults } = await site.page(1024, 768);
  await page.goto(site.address);
  await ready(page);
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  await until(page, () => page.evaluate(() => navigator.serviceWorker.controller !== null), "the service worker");
  await context.setOffline(true);
  await page.goto(`${site.address}/index.html#scene=ecm`);
  await page.reload();
  await ready(page);
  assert.equal(await page.locator(".joint").count(), 4);
  assert.deepEqual(faults, []);
  await context.close();
});
