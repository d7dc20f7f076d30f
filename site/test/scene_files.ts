/** Scenes from models/ for tests in Node, through the same pack as the page's. */
import load, { type MainModule } from "@mujoco/mujoco";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { table } from "../src/table";
import type { Script } from "./scripted";
import { DEFAULTS, World, type Options } from "../src/world";

export const ROOT = path.resolve(process.cwd(), "..");
const test = (name: string): unknown => JSON.parse(readFileSync(path.join(ROOT, "site/test", name), "utf8"));
export const scripts = test("scripts.json") as Record<string, Script>;
/** The same runs in Python with the page's version of MuJoCo; `python -m tools.site.record_runs` writes them. */
export const reference = test("reference.json") as {
  mujoco: string;
  sample: number; // periods between rows of the runs
  runs: Record<string, number[][]>;
  game_sample: number; // inputs between rows of the game
  game: number[][];
};
let engine: Promise<MainModule> | null = null;

/** The peg transfer; its meshes are those of the cart. */
export async function contestWorld(options?: Partial<Options>): Promise<World> {
  engine ??= load();
  const text = readFileSync(path.join(ROOT, "site/src/generated/peg_transfer.xml"));
  const files = new Map<string, Uint8Array>([["peg_transfer.xml", text]]);
  for (const [, file] of text.toString().matchAll(/<mesh file="([^"]+)"/g))
    files.set(`assets/${file}`, readFileSync(path.join(ROOT, "models/cart_classic/assets", file)));
  return new World(await engine, table, table.contest.scene, files, { ...DEFAULTS, ...options });
}

export async function world(name: string, options?: Partial<Options>): Promise<World> {
  engine ??= load();
  const scene = table.scenes[name];
  const folder = path.dirname(scene.file);
  const root = path.join(ROOT, "models", folder);
  const own = path.join(ROOT, "site/src/generated", `${name}.xml`);
  const files = new Map<string, Uint8Array>([[`${folder}.xml`, readFileSync(existsSync(own) ? own : path.join(root, `${folder}.xml`))]]);
  for (const file of ["scene.xml", ...readdirSync(path.join(root, "assets")).map((x) => `assets/${x}`)])
    files.set(file, readFileSync(path.join(root, file)));
  return new World(await engine, table, scene, files, { ...DEFAULTS, ...options });
}
