/** Uses every function of a world once; build.mjs records what MuJoCo's bindings compile meanwhile. */
import { NOTHING } from "../src/hands";
import { PegScene } from "../src/peg_scene";
import { table } from "../src/table";
import { contestWorld, world } from "./scene_files";

export async function useAll(): Promise<void> {
  const w = await world("mtmr");
  const ecm = await world("ecm", { counterweight: false, friction: false });
  for (const each of [w, ecm]) {
    const [arm] = each.arms;
    each.pushes = [{ body: 2, point: [0, 0, 0], force: [1, 0, 0] }];
    each.step(3);
    each.efforts(arm);
    each.reach(arm, each.joints(arm), each.tipAt(arm, each.joints(arm)));
    each.pointOf(2, each.tipPosition(arm));
    each.loopGap();
    each.needed(arm, arm.arm.home, arm.arm.home, arm.arm.home);
    each.mj.mj_setConst(each.model, each.data);
    each.delete();
  }
  const pegs = new PegScene(await contestWorld(), table.contest);
  pegs.reset(0);
  pegs.advance([...NOTHING, ...NOTHING]);
  pegs.world.delete();
}
