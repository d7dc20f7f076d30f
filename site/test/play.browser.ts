/** Every control of both pages in Chromium, at three widths; pictures go to the folder TROCAR_SCREENSHOTS. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { CHROMIUM, ready, SHORT, shot, Site, until, WIDTHS } from "./browser";

let site: Site;
before(async () => {
  assert.ok(CHROMIUM, "no Chromium: apt install chromium");
  site = await Site.open();
});
after(() => site.close());

const seconds = (page: Page): Promise<number> => page.locator("#time").innerText().then(parseFloat);
const reading = (page: Page, joint: string): Promise<number> =>
  page.locator(`.joint:has(#joint-${joint}) .readings span`).first().innerText().then((text) => parseFloat(text.replace("\u2212", "-")));

for (const [width, height] of WIDTHS)
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
    for (const scene of ["psm_refit", ...(SHORT ? [] : ["mtmr", "mtml", "ecm"]), "cart_classic"]) {
      await page.locator("#scene").selectOption(scene);
      await until(page, async () => (await page.locator("#loading").isHidden()) && (await page.locator("#scene").inputValue()) === scene, scene);
    }
    await page.locator("#arm").selectOption({ label: "ECM" });
    assert.equal(await page.locator(".joint").count(), 4);
    await shot(page, `cart-${width}`);
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

for (const [width, height] of WIDTHS)
  test(`every figure follows its controls at ${width}`, async () => {
    const { context, page, faults } = await site.page(width, height);
    const number = async (id: string): Promise<number> => parseFloat((await page.locator(`#${id}`).innerText()).replace("\u2212", "-"));
    const changes = async (id: string, change: () => Promise<unknown>): Promise<void> => {
      const before = await page.locator(`#${id}`).innerText();
      await change();
      await until(page, async () => (await page.locator(`#${id}`).innerText()) !== before, id);
    };
    for (const name of ["understand", "papers"]) {
      await page.goto(`${site.address}/${name}.html`);
      await ready(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, "the page scrolls sideways");
      if (name === "understand") {
        assert.match(await page.locator("#singularity-place").innerText(), /15\.6 mm/); // the exercise in Python finds it there
        assert.ok(Math.abs((await number("fit-coulomb")) / (await number("true-coulomb")) - 1) < 0.1);
        const keys = async (id: string): Promise<void> => {
          await page.locator(`#${id}`).focus(); // the keyboard alone
          for (let k = 0; k < 12; k++) await page.keyboard.press("ArrowRight");
        };
        for (const [slider, result] of [
          ["counterweight-pitch", "bare"], ["rcm-force", "rcm-force-value"], ["singularity-depth", "singularity-rate"], ["singularity-pitch", "singularity-place"],
          ["singularity-arm", "singularity-determinant"], ["identification-until", "fit-coulomb"], ["control-kp", "control-overshoot"], ["control-kd", "control-overshoot"],
        ])
          await changes(result, () => keys(slider));
        await keys("counterweight-yaw");
        await changes("identification-error", () => page.locator("#identification-coulomb").uncheck());
        await changes("control-error", () => page.locator("#control-friction").uncheck());
        await page.locator("#rcm-run").click();
        await until(page, async () => (await number("rcm-largest")) > 0, "the remote centre");
      } else {
        await until(page, async () => (await number("spiral-without")) > 2, "the spiral");
        await changes("workspace-moved", () => page.locator("#workspace-depth").fill("0.2"));
        await page.locator("#drift-pose").selectOption("2");
        await page.locator("#drift-compensation").uncheck();
        await until(page, async () => (await number("drift-moved-0")) > 1, "a fall");
        await page.locator("#drift-friction").uncheck();
        await page.locator("#drift-friction").check();
        await page.locator("#drift-compensation").check();
        await page.locator("#drift-run").click();
        await page.locator("#spiral-run").click();
      }
      await shot(page, `${name}-${width}`, true);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
