"""Patient side manipulators, da Vinci Classic and Si: yaw, double parallelogram, insertion, cable-driven wrist.

The Classic has a counterweight. The Si is Table I of Zhou et al. 2025 with the dVRK's numeric lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from trocar.arms.arm import Arm, Body, Joint, Loop, closure, prismatic, revolute, shift
from trocar.arms.instruments import load_instrument
from trocar.arms.tables import HALF_PI, File, Geometry, built, geometry, read, remote_centre_chain, shared_facts
from trocar.spatial import Array, mdh, rotation


class ArmLinkage(NamedTuple):
    """Links up to the insertion, their loops, and the dVRK's insertion frame in the frame of the body "insertion"."""

    bodies: tuple[Body, ...]
    loops: tuple[Loop, ...]
    T_carriage: Array


def psm(which: File | Geometry | None = None, instrument: File | None = None) -> Arm:
    """The Classic PSM in a published geometry (default: the one of the identified set) or one from a file."""
    table = read("psm")
    shape = geometry("PSM", table, which, "wang2019")
    build = {"wang2019": _wang2019, "gondokaryono2019": _gondokaryono2019}[shape.frames]
    linkage = build(shape.lengths, table["serial"]["d_insertion"])
    return _with_instrument("PSM", table, shape, instrument, linkage, "counterweight", f"psm_{shape.frames}")


def psm_si(which: File | Geometry | None = None, instrument: File | None = None) -> Arm:
    """The PSM of a da Vinci Si: carriage and instrument each slide by half of the insertion, one on the other."""
    table = read("psm_si")
    shape = geometry("PSM_Si", table, which, "zhou2025")
    l = shape.lengths
    links, loops = si_parallelogram(l)
    half = {"insertion": 0.5}
    T_3_carriage = mdh(a=-l["l_3L"], d=l["l_3H"])
    links += (
        prismatic("carriage", "end", mdh(a=l["l_2L2"], alpha=-HALF_PI, d=l["l_c2"]) @ T_3_carriage, half, "3'"),
        prismatic("insertion", "carriage", mdh(a=l["l_3L"], d=-l["l_3H"]), half, "3"),
    )
    linkage = ArmLinkage(links, loops, mdh(theta=math.pi))
    return _with_instrument("PSM_Si", table, shape, instrument, linkage, "carriage", "psm_si")


def _with_instrument(
    arm: str, table: Mapping, shape: Geometry, instrument: File | None, linkage: ArmLinkage, follower: str, look: str
) -> Arm:
    """A PSM (Classic or Si) with an instrument mounted; the body `follower` moves with the insertion."""
    tool = load_instrument(table["arm"]["instrument"] if instrument is None else instrument, arm)
    coupling = np.eye(7)
    coupling[3:, 3:] = tool.coupling
    joints = tuple(built(Joint, entry) for entry in table["joints"]) + tool.joints
    facts = shared_facts(arm, table, shape, coupling)
    facts["home"] = tuple(np.clip(facts["home"], [j.lower for j in joints], [j.upper for j in joints]).tolist())
    facts["sources"] |= {"instrument": tool.source}
    return Arm(
        **facts,
        instrument=tool.name,
        joints=joints,
        tip_joints=6,
        serial=remote_centre_chain(table["serial"]["d_insertion"]) + tool.chain("insertion", np.eye(4)),
        T_last_tip=tool.T_wrist_tip,
        bodies=linkage.bodies + tool.chain("insertion", linkage.T_carriage) + tool.jaw_bodies(),
        tip_body=tool.last,
        T_body_tip=tool.T_wrist_tip,
        jaw_length=tool.jaw_length,
        carries="instrument",
        wrist_point=tool.first,
        loops=linkage.loops,
        counterweight=follower if follower == "counterweight" else None,
        driven={"pitch": "back", **tool.driven},
        transmissions={follower: "insertion", **tool.transmissions},
        has_rcm=True,
        look=look,
        dvrk_class="psm",
        dvrk_name="PSM1",
    )


def _wang2019(l: Mapping[str, float], d_insertion: float) -> ArmLinkage:
    """Frames of Wang et al.; their frame 3 is fixed to frame 2 and omitted. Frame 0 is at y = -l_2L2 of the RCM."""
    T_2_3 = mdh(a=l["l_2L3"], theta=HALF_PI)
    T_0, T_end_insertion = shift(y=-l["l_2L2"]), mdh(a=l["l_3"], alpha=-HALF_PI, d=d_insertion + l["l_2H1"])
    up, down = {"pitch": 1.0}, {"pitch": -1.0}
    follows_insertion = {"insertion": l["counterweight_ratio"]}
    bodies = (
        revolute("yaw", None, T_0 @ mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}, "1"),
        revolute("back", "yaw", mdh(alpha=-HALF_PI, theta=-HALF_PI), up, "2"),
        prismatic("counterweight", "back", mdh(a=l["l_2L3"], alpha=-HALF_PI), follows_insertion, "9"),
        revolute("top", "back", T_2_3 @ mdh(a=l["l_2H1"] + l["l_2H2"], theta=HALF_PI), down, "5"),
        revolute("bottom", "back", T_2_3 @ mdh(a=l["l_2H1"], theta=HALF_PI), down, "4"),
        revolute("front", "bottom", mdh(a=l["l_2L1"], theta=math.pi), up, "7"),
        revolute("end", "bottom", mdh(a=l["l_2L2"]), up, "6"),
        prismatic("insertion", "end", T_end_insertion, {"insertion": 1.0}, "8"),
    )
    loops = (
        closure("LCC1", bodies, "top", (l["l_2L2"], 0.0, 0.0), "end"),
        closure("LCC2", bodies, "front", (-l["l_2L3"], -l["l_2H1"], 0.0), "yaw"),
    )
    return ArmLinkage(bodies, loops, mdh(theta=math.pi))


def _gondokaryono2019(l: Mapping[str, float], d_insertion: float) -> ArmLinkage:
    """Table 4, corrected. Their frames 3, 5 and 10 are one link, the back bar.

    Frame 0 is at y = -(l_bottom + a_back) of the RCM. Two numbers, beta1 and the depth of frame 9, are not the
    rounded printed ones but follow from the condition that the insertion axis passes through the RCM.
    """
    beta1, beta2 = math.asin(l["a_insertion"] / l["l_back"]), l["beta2"]
    d_9 = l["l_back"] * math.cos(beta1) + d_insertion
    T_8_9 = mdh(a=l["a_insertion"], alpha=-HALF_PI, d=d_9, theta=HALF_PI)
    T_0, T_1_2 = shift(y=-(l["l_bottom"] + l["a_back"])), mdh(alpha=-HALF_PI, theta=HALF_PI)
    T_3_5 = mdh(theta=beta1 - beta2)
    T_3_11 = mdh(theta=beta1 + HALF_PI) @ mdh(a=l["a_counterweight"], alpha=HALF_PI)
    up, down = {"pitch": 1.0}, {"pitch": -1.0}
    follows_insertion = {"insertion": l["counterweight_ratio"]}
    bodies = (
        revolute("yaw", None, T_0 @ mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}, "1"),
        revolute("front", "yaw", T_1_2 @ mdh(a=l["a_front"], theta=-beta1 - HALF_PI), up, "4"),
        revolute("back", "yaw", T_1_2 @ mdh(a=l["a_back"], theta=-beta1 - HALF_PI), up, "3"),
        prismatic("counterweight", "back", T_3_11, follows_insertion, "11"),
        revolute("top", "back", T_3_5 @ mdh(a=l["l_back_top"], theta=beta2 + HALF_PI), down, "7"),
        revolute("bottom", "back", mdh(a=l["l_back"], theta=beta1 + HALF_PI), down, "6"),
        revolute("end", "bottom", mdh(a=l["l_bottom"]), up, "8"),
        prismatic("insertion", "end", T_8_9, {"insertion": 1.0}, "9"),
    )
    loops = (
        closure("c1", bodies, "front", (l["l_back"], 0.0, 0.0), "bottom"),
        closure("c2", bodies, "top", (l["l_bottom"], 0.0, 0.0), "end"),
    )
    return ArmLinkage(bodies, loops, mdh(theta=HALF_PI))


def si_parallelogram(l: Mapping) -> tuple[tuple[Body, ...], tuple[Loop, ...]]:
    """Links of a Si arm from the yaw to the end link, shared by PSM_Si and ECM_Si.

    Table I lists only the three pitch links. Two bars model the mechanism that keeps them parallel: one from the yaw
    link holds the middle link level, one from the first pitch link holds the end link parallel to it. Frame 0 is at
    y = -(l_1L + l_2L1) of the RCM.
    """
    T_0 = shift(y=-(l["l_1L"] + l["l_2L1"]))
    T_1_1p = mdh(a=-l["l_1H"], alpha=-HALF_PI, theta=HALF_PI)
    T_2_2p = mdh(a=l["l_2L0"], alpha=HALF_PI, d=l["l_2H0"])
    T_2pp_2ppp = mdh(a=l["l_2L1"], alpha=HALF_PI, d=l["l_2H1"])
    up, down = {"pitch": 1.0}, {"pitch": -1.0}
    T_1_2, T_2_middle = T_1_1p @ mdh(a=l["l_1L"], theta=-HALF_PI), T_2_2p @ mdh(alpha=-HALF_PI, theta=HALF_PI)
    T_middle_end = T_2pp_2ppp @ mdh(alpha=-HALF_PI)
    # Each bar is offset from both joints of its link by the same step: a parallelogram, which could fold over where it
    # is flat. So the step is perpendicular to the link in the middle of the pitch range; at the ends of the range the
    # two are 16 degrees apart.
    w, middle = l["assumed"]["bar_offset"], l["assumed"]["bar_square_at"]
    beside_back = shift(*_square_to(T_2_middle[:3, 3], middle, w))
    beside_middle = shift(*_square_to(T_2_middle[:3, :3] @ T_middle_end[:3, 3], -middle, w))
    bodies = (
        revolute("yaw", None, T_0 @ mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}, "1"),
        revolute("yaw_bar", "yaw", T_1_2 @ beside_back, up),
        revolute("back", "yaw", T_1_2, up, "2"),
        revolute("back_bar", "back", beside_middle @ T_2_middle, down),
        revolute("middle", "back", T_2_middle, down, "2''"),
        revolute("end", "middle", T_middle_end, up, "2''''"),
    )
    loops = (
        closure("yaw_bar", bodies, "yaw_bar", tuple(T_2_middle[:3, 3].tolist()), "middle"),
        closure("back_bar", bodies, "back_bar", tuple(T_middle_end[:3, 3].tolist()), "end"),
    )
    return bodies, loops


def _square_to(link: Array, turned: float, length: float) -> tuple[float, float]:
    """A step (x, y) of the given length, perpendicular to a link (3,) that is rotated about z by an angle [rad]."""
    x, y, _ = rotation("z", turned) @ link
    return -length * y / math.hypot(x, y), length * x / math.hypot(x, y)
