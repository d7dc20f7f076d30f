"""Patient side manipulator, da Vinci Classic: yaw, double parallelogram, counterweight, cable-driven wrist."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike

import numpy as np

from trocar.arms.arm import Arm, Body, Joint, Loop, closure, prismatic, revolute, shift
from trocar.arms.geometry_file import Geometry
from trocar.arms.instruments import load_instrument
from trocar.arms.tables import HALF_PI, built, geometry, read, remote_centre_chain, shared_facts
from trocar.spatial import Array, mdh


def psm(which: str | PathLike[str] | Geometry | None = None, instrument: str | PathLike[str] | None = None) -> Arm:
    """The Classic PSM in a published geometry (default: the one of the identified set) or one from a file."""
    table = read("psm")
    shape = geometry("PSM", table, which, "wang2019")
    build = {"wang2019": _wang2019, "gondokaryono2019": _gondokaryono2019}[shape.frames]
    links, loops, T_carriage = build(shape.lengths, table["serial"]["d_insertion"])
    follower = "counterweight"
    return with_instrument(
        "PSM",
        table,
        shape,
        instrument,
        links,
        loops,
        T_carriage,
        {follower: "insertion"},
        f"psm_{shape.frames}",
        follower,
    )


def with_instrument(
    arm: str,
    table: Mapping,
    shape: Geometry,
    instrument: str | PathLike[str] | None,
    links: tuple[Body, ...],
    loops: tuple[Loop, ...],
    T_carriage: Array,
    transmissions: Mapping[str, str],
    look: str,
    counterweight: str | None = None,
) -> Arm:
    """A PSM (Classic or Si) from its links up to the insertion, with an instrument mounted.

    `T_carriage` is the dVRK's insertion frame in the frame of the body "insertion".
    """
    tool = load_instrument(table["arm"]["instrument"] if instrument is None else instrument, arm)
    coupling = np.eye(7)
    coupling[3:, 3:] = tool.coupling
    joints = tuple(built(Joint, entry) for entry in table["joints"]) + tool.joints
    facts = shared_facts(arm, table, shape, coupling)
    home = np.clip(facts["home"], [j.lower for j in joints], [j.upper for j in joints])
    facts["home"] = tuple(home.tolist())
    facts["sources"] |= {"instrument": tool.source}
    return Arm(
        **facts,
        instrument=tool.name,
        joints=joints,
        tip_joints=6,
        serial=remote_centre_chain(table["serial"]["d_insertion"]) + tool.chain("insertion", np.eye(4)),
        T_last_tip=tool.T_wrist_tip,
        bodies=links + tool.chain("insertion", T_carriage) + tool.jaw_bodies(),
        tip_body=tool.last,
        T_body_tip=tool.T_wrist_tip,
        jaw_length=tool.jaw_length,
        carries="instrument",
        wrist_point=tool.first,
        loops=loops,
        counterweight=counterweight,
        driven={"pitch": "back", **tool.driven},
        transmissions={**transmissions, **tool.transmissions},
        has_rcm=True,
        look=look,
        dvrk_class="psm",
        dvrk_name="PSM1",
    )


def _wang2019(l: Mapping[str, float], d_insertion: float) -> tuple[tuple[Body, ...], tuple[Loop, ...], Array]:
    """Frames of Wang et al.; their frame 3 is fixed to frame 2 and omitted. Frame 0 is at y = -l_2L2 of the RCM."""
    T_2_3 = mdh(a=l["l_2L3"], theta=HALF_PI)
    T_0 = shift(y=-l["l_2L2"])
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
        prismatic(
            "insertion",
            "end",
            mdh(a=l["l_3"], alpha=-HALF_PI, d=d_insertion + l["l_2H1"]),
            {"insertion": 1.0},
            "8",
        ),
    )
    loops = (
        closure("LCC1", bodies, "top", (l["l_2L2"], 0.0, 0.0), "end"),
        closure("LCC2", bodies, "front", (-l["l_2L3"], -l["l_2H1"], 0.0), "yaw"),
    )
    return bodies, loops, mdh(theta=math.pi)


def _gondokaryono2019(l: Mapping[str, float], d_insertion: float) -> tuple[tuple[Body, ...], tuple[Loop, ...], Array]:
    """Table 4, corrected. Their frames 3, 5 and 10 are one link, the back bar.

    Frame 0 is at y = -(l_bottom + a_back) of the RCM. Two numbers, beta1 and the depth of frame 9, are not the
    rounded printed ones but follow from the condition that the insertion axis passes through the RCM.
    """
    beta1, beta2 = math.asin(l["a_insertion"] / l["l_back"]), l["beta2"]
    d_9 = l["l_back"] * math.cos(beta1) + d_insertion
    T_0, T_1_2 = shift(y=-(l["l_bottom"] + l["a_back"])), mdh(alpha=-HALF_PI, theta=HALF_PI)
    T_3_5, T_3_10 = mdh(theta=beta1 - beta2), mdh(theta=beta1 + HALF_PI)
    up, down = {"pitch": 1.0}, {"pitch": -1.0}
    follows_insertion = {"insertion": l["counterweight_ratio"]}
    bodies = (
        revolute("yaw", None, T_0 @ mdh(alpha=HALF_PI, theta=HALF_PI), {"yaw": 1.0}, "1"),
        revolute("front", "yaw", T_1_2 @ mdh(a=l["a_front"], theta=-beta1 - HALF_PI), up, "4"),
        revolute("back", "yaw", T_1_2 @ mdh(a=l["a_back"], theta=-beta1 - HALF_PI), up, "3"),
        prismatic(
            "counterweight",
            "back",
            T_3_10 @ mdh(a=l["a_counterweight"], alpha=HALF_PI),
            follows_insertion,
            "11",
        ),
        revolute("top", "back", T_3_5 @ mdh(a=l["l_back_top"], theta=beta2 + HALF_PI), down, "7"),
        revolute("bottom", "back", mdh(a=l["l_back"], theta=beta1 + HALF_PI), down, "6"),
        revolute("end", "bottom", mdh(a=l["l_bottom"]), up, "8"),
        prismatic(
            "insertion",
            "end",
            mdh(a=l["a_insertion"], alpha=-HALF_PI, d=d_9, theta=HALF_PI),
            {"insertion": 1.0},
            "9",
        ),
    )
    loops = (
        closure("c1", bodies, "front", (l["l_back"], 0.0, 0.0), "bottom"),
        closure("c2", bodies, "top", (l["l_bottom"], 0.0, 0.0), "end"),
    )
    return bodies, loops, mdh(theta=HALF_PI)
