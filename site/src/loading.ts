/** MuJoCo and the scenes, from files beside the page. */
import load, { type MainModule } from "@mujoco/mujoco";
import { bytes, unpack } from "./pack";
import { table } from "./table";
import { World, type Options } from "./world";

export type Progress = (share: number) => void;

async function fetched(name: string, progress: Progress = () => {}): Promise<Uint8Array> {
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

export async function loadedWorld(scene: string, options?: Options, progress?: Progress): Promise<World> {
  if (!packs.has(scene)) packs.set(scene, fetched(`scenes/${scene}.pack`).then(unpack));
  const [mj, files] = await Promise.all([mujoco(progress), packs.get(scene)!]);
  return new World(mj, table, table.scenes[scene], files, options);
}

/** Keep the page for use without a network. */
export function keepOffline(): void {
  if ("serviceWorker" in navigator && location.protocol.startsWith("http"))
    navigator.serviceWorker.register("worker.js").catch((error: unknown) => console.info("not kept offline:", error));
}
