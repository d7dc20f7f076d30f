/** Scenes from models/ for tests in Node, through the same pack as the page's. */
import load, { type MainModule } from "@mujoco/mujoco";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { table } from "../src/table";
import { World, type Options } from "../src/world";

export const ROOT = path.resolve(process.cwd(), "..");
let engine: Promise<MainModule> | null = null;

export async function world(name: string, options?: Partial<Options>): Promise<World> {
  engine ??= load();
  const scene = table.scenes[name];
  const root = path.join(ROOT, "models", name);
  const files = new Map<string, Uint8Array>();
  for (const file of [`${name}.xml`, "scene.xml", ...readdirSync(path.join(root, "assets")).map((x) => `assets/${x}`)])
    files.set(file, readFileSync(path.join(root, file)));
  return new World(await engine, table, scene, files, { friction: true, counterweight: true, encoders: true, ...options });
}
