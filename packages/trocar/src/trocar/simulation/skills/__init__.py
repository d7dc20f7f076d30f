"""Skills: motions of arms that grip, hand over, drive a needle through tissue and pull its thread."""

from trocar.simulation.skills.handover import Handover, HandoverPlan, hand_over, plan_handover
from trocar.simulation.skills.handover_setting import handover_scene
from trocar.simulation.skills.hands import Hands
from trocar.simulation.skills.knot_setting import knot_scene, loose_knot
from trocar.simulation.skills.knot_tightening import TightKnot, tighten_knot
from trocar.simulation.skills.needle_frames import arc_pose, grip_frame
from trocar.simulation.skills.picking import Picked, pick
from trocar.simulation.skills.scissors import Snip, cut
from trocar.simulation.skills.suture_setting import suture_scene, wound_scene
from trocar.simulation.skills.suturing import Stitching, bite, pull_through, regrasp
from trocar.simulation.skills.tissue_handling import TissueResponse, palpate, retract
from trocar.simulation.skills.tying import TiedThrow, tie_throw
from trocar.simulation.skills.tying_setting import tie_scene
from trocar.simulation.skills.wound_closing import Tightening, WoundClosure, close_wound, tighten, wound_width

__all__ = [
    "Handover", "HandoverPlan", "Hands", "Picked", "Snip", "Stitching", "TiedThrow", "TightKnot", "Tightening",
    "TissueResponse", "WoundClosure", "arc_pose", "bite", "close_wound", "cut", "grip_frame", "hand_over",
    "handover_scene", "knot_scene", "loose_knot", "palpate", "pick", "plan_handover", "pull_through", "regrasp",
    "retract", "suture_scene", "tie_scene", "tie_throw", "tighten", "tighten_knot", "wound_scene", "wound_width",
]  # fmt: skip
