/** The peg transfer in Chromium: keyboard alone, two touch points, mouse, gamepad, expert, replays, hostile links. */
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

const text = (page: Page, id: string): Promise<string> => page.locator(`#${id}`).innerText();
const travelled = async (page: Page, side: string): Promise<number> => parseFloat(await text(page, `path-${side}`));
/** Wait until a hand's path is longer than at a start; default: than now. */
async function moves(page: Page, side: string, start?: number): Promise<void> {
  const least = (start ?? (await travelled(page, side))) + 2; // [mm]
  await until(page, async () => (await travelled(page, side)) > least, `the ${side} hand`);
}

for (const [width, height] of WIDTHS)
  test(`the peg transfer is played at ${width}`, async () => {
    const { context, page, faults } = await site.page(width, height);
    await page.goto(`${site.address}/peg_transfer.html`);
    await ready(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, "the page scrolls sideways");
    assert.equal(await text(page, "time"), "3:00.0");
    await page.locator("#view").focus();
    for (const [side, key] of [["left", "d"], ["right", "i"]]) {
      await page.keyboard.down(key);
      await until(page, async () => (await page.locator(`#hand-${side}.active`).count()) === 1, `the ${side} hand is marked`);
      await moves(page, side);
      await page.keyboard.up(key);
    }
    await page.keyboard.press("x");
    await until(page, async () => (await text(page, "left-jaw")).startsWith("open"), "the jaws");
    for (const key of ["ArrowLeft", "ArrowUp", "+", "-"]) await page.keyboard.press(key);
    for (const action of ["x-", "x+", "y-", "y+", "z-", "z+", "turn-", "turn+"]) {
      await page.locator(`[id="right-${action}"]`).focus(); // buttons work with the keyboard too
      await page.keyboard.down(" ");
      await page.waitForTimeout(60);
      await page.keyboard.up(" ");
    }
    await page.locator("#pause").click();
    const stopped = await text(page, "time");
    await page.locator("#step").click();
    assert.equal(await text(page, "pause"), "Run");
    await page.locator("#pause").click();
    await page.locator("#speed").selectOption("0.5");
    await until(page, async () => (await text(page, "time")) < stopped, "time");
    await page.locator("#link").click();
    await until(page, () => page.evaluate(() => location.hash.startsWith("#seed=0&inputs=")), "a link");
    assert.ok(page.url().length < 2000, `${page.url().length} characters`);
    await page.locator("#replay").click();
    await moves(page, "right");
    await page.locator("#seed").selectOption("7");
    assert.equal(await text(page, "time"), "3:00.0");
    await page.locator("#expert").click();
    await until(page, async () => (await page.locator("#seed").inputValue()) === "0", "the expert");
    await moves(page, "left");
    await page.waitForTimeout(process.env.TROCAR_SCREENSHOTS ? 8000 : 0);
    await shot(page, `pegs-${width}`);
    await page.locator("#again").click();
    assert.equal(await text(page, "points"), "0");
    assert.deepEqual(faults, []);
    await context.close();
  });

test("two touch points lead two hands, and the mouse one", async () => {
  const { context, page, faults } = await site.page(400, 800);
  await page.goto(`${site.address}/peg_transfer.html`);
  await ready(page);
  const balls = (await page.evaluate(() => JSON.parse(document.getElementById("view")!.dataset.tips!))) as [number, number][];
  const box = (await page.locator("#view").boundingBox())!;
  const at = balls.map(([x, y]) => ({ x: box.x + x, y: box.y + y }));
  const touch = await context.newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", shift: number): Promise<unknown> =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : at.map(({ x, y }, id) => ({ x, y: y + shift, id })) });
  await send("touchStart", 0);
  for (let k = 1; k <= 6; k++) await send("touchMove", 6 * k);
  await Promise.all([moves(page, "left", 0), moves(page, "right", 0)]);
  await send("touchEnd", 0);
  await page.locator("#again").click();
  await page.mouse.move(at[1].x, at[1].y);
  await page.mouse.down();
  await page.mouse.move(at[1].x - 20, at[1].y + 25, { steps: 5 });
  await page.mouse.wheel(0, -400);
  await moves(page, "right", 0);
  await page.mouse.up();
  await page.locator("#upright").check();
  assert.deepEqual(faults, []);
  await context.close();
});

test("a gamepad leads both hands and closes the jaws", { skip: SHORT }, async () => {
  const { context, page, faults } = await site.page(1024, 768);
  await page.addInitScript(() => {
    const button = (value: number): GamepadButton => ({ pressed: value > 0, touched: value > 0, value });
    const buttons = Array.from({ length: 17 }, (_, k) => button(k === 4 || k === 11 ? 1 : 0)); // lift left, right jaw
    navigator.getGamepads = () => [{ connected: true, mapping: "standard", axes: [0, 0, 0.8, 0], buttons } as unknown as Gamepad];
  });
  await page.goto(`${site.address}/peg_transfer.html`);
  await ready(page);
  await Promise.all([moves(page, "left", 0), moves(page, "right", 0)]);
  await until(page, async () => (await text(page, "right-jaw")).startsWith("open"), "the jaws");
  assert.deepEqual(faults, []);
  await context.close();
});

test("a hostile replay gets one line, and all pages work without a network", async () => {
  const { context, page, faults } = await site.page(1024, 768);
  await page.goto(`${site.address}/peg_transfer.html#seed=999`);
  await ready(page);
  for (const bad of ["seed=0&inputs=AAAA", "seed=NaN&inputs=A", `seed=0&inputs=${"A".repeat(40000)}`]) {
    await page.evaluate((hash) => ((document.getElementById("message")!.textContent = ""), (location.hash = hash)), bad);
    await until(page, async () => (await text(page, "message")).startsWith("The link"), "a complaint");
  }
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  await until(page, () => page.evaluate(() => navigator.serviceWorker.controller !== null), "the service worker");
  await context.setOffline(true);
  await page.goto(`${site.address}/peg_transfer.html`);
  await ready(page);
  await page.locator("#expert").click();
  await moves(page, "left");
  await page.goto(`${site.address}/index.html#scene=ecm`); // another page, a scene that was not shown
  await ready(page);
  assert.equal(await page.locator(".joint").count(), 4);
  assert.deepEqual(faults, []);
  await context.close();
});
