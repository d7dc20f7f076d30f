/** Runs in a page: the scripted runs of the arms, and the expert's game. */
import { built, contestWorld, fetched } from "../src/loading";
import { PegScene } from "../src/peg_scene";
import { read } from "../src/replay";
import { table } from "../src/table";
import { DEFAULTS } from "../src/world";
import { gameRow, run, type Script } from "./scripted";

export async function scripted(name: string, script: Script, seconds: number, sample: number): Promise<number[][]> {
  return run(await built(name, table.scenes[name], { ...DEFAULTS, encoders: false }), script, seconds, sample);
}

export async function game(seconds: number, sample: number): Promise<number[][]> {
  const scene = new PegScene(await contestWorld(), table.contest);
  const { seed, inputs } = await read(new TextDecoder().decode(await fetched("expert.txt")), table.contest);
  scene.reset(seed);
  const rows: number[][] = [];
  inputs.slice(0, Math.round(seconds / table.contest.input.period)).forEach((input, k) => {
    scene.advance(input, false);
    if ((k + 1) % sample === 0) rows.push(gameRow(scene));
  });
  return rows;
}
