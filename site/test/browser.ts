/** The built page on a server of files, and Debian's Chromium. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const KINDS: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"];

/** The short form of the tests has the narrowest window only, and no test of what another test shows too. */
export const SHORT = process.env.TROCAR_SITE_SHORT === "1";
export const WIDTHS = SHORT ? [[390, 844]] : [[1280, 800], [1024, 768], [390, 844]];

export class Site {
  private constructor(readonly server: Server, readonly browser: Browser, readonly address: string) {}

  static async open(root = process.env.TROCAR_SITE ?? path.resolve("build/site")): Promise<Site> {
    const server = createServer(async (request, response) => {
      const name = decodeURIComponent(new URL(request.url!, "http://x").pathname).replace(/\/$/, "/index.html");
      const folder = name.startsWith("/page/") ? "build" : root; // modules of the tests
      try {
        const content = await readFile(path.join(folder, path.normalize(name)));
        response.writeHead(200, { "content-type": KINDS[path.extname(name)] ?? "application/octet-stream", "content-length": content.length });
        response.end(content);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    return new Site(server, browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  /** A fresh profile with one page, and all that goes wrong on it. */
  async page(width: number, height: number, bypassCSP = false): Promise<{ context: BrowserContext; page: Page; faults: string[] }> {
    const context = await this.browser.newContext({ viewport: { width, height }, hasTouch: width < 500, bypassCSP });
    const page = await context.newPage();
    const faults: string[] = [];
    page.setDefaultTimeout(120_000);
    page.on("console", (message) => {
      const driver = message.text().includes("GL Driver Message"); // of software rendering while screenshots are taken
      if (["error", "warning"].includes(message.type()) && !driver) faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(this.address) && !/^(data|blob):/.test(request.url())) faults.push(`request to ${request.url()}`);
    });
    return { context, page, faults };
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.server.close();
  }
}

export const ready = (page: Page): Promise<unknown> => page.waitForSelector("body[data-ready]");

/** A picture in the folder TROCAR_SCREENSHOTS, if there is one. */
export async function shot(page: Page, name: string, fullPage = false): Promise<void> {
  const folder = process.env.TROCAR_SCREENSHOTS;
  if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage });
}

export async function until(page: Page, condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let k = 0; k < 600; k++) {
    if (await condition()) return;
    await page.waitForTimeout(50);
  }
  assert.fail(`waited in vain for ${what}`);
}
