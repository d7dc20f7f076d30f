/** MuJoCo and the scenes, from files beside the page. */
import load, { type MainModule } from "@mujoco/mujoco";
import { bytes, unpack } from "./pack";
import { table, type Scene } from "./table";
import { DEFAULTS, World, type Options } from "./world";

export type Progress = (share: number) => void;

export async function fetched(name: string, progress: Progress = () => {}): Promise<Uint8Array> {
  const answer = await fetch(name);
  if (!answer.ok || !answer.body) throw new Error(`${name} could not be loaded: ${answer.status}`);
  const total = Number(answer.headers.get("content-length") ?? 0);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (total) progress(size / total);
  }
  return bytes(new Uint8Array(await new Blob(parts).arrayBuffer()));
}

let engine: Promise<MainModule> | null = null;

export function mujoco(progress?: Progress): Promise<MainModule> {
  engine ??= fetched("mujoco.wasm.pack", progress).then((wasmBinary) => load({ wasmBinary }));
  return engine;
}

const packs = new Map<string, Promise<Map<string, Uint8Array>>>();

/** A world of a scene whose files are in a pack. */
export async function built(name: string, scene: Scene, options?: Options, progress?: Progress): Promise<World> {
  if (!packs.has(name)) packs.set(name, fetched(`scenes/${name}.pack`).then(unpack));
  const [mj, files] = await Promise.all([mujoco(progress), packs.get(name)!]);
  performance.mark("loaded"); // for `npm run measure`
  return new World(mj, table, scene, files, options);
}

export const loadedWorld = (name: string, options?: Options, progress?: Progress): Promise<World> =>
  built(name, table.scenes[name], options, progress);

/** The peg transfer, with exact sensors: encoders would turn the last digit of a browser's sine into another game. */
export const contestWorld = (progress?: Progress): Promise<World> =>
  built("peg_transfer", table.contest.scene, { ...DEFAULTS, encoders: false }, progress);

/** Keep the page for use without a network. */
export function keepOffline(): void {
  if ("serviceWorker" in navigator && location.protocol.startsWith("http"))
    navigator.serviceWorker.register("worker.js").catch((error: unknown) => console.info("not kept offline:", error));
}
