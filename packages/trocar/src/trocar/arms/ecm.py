"""Endoscope camera manipulators: da Vinci Classic (Gondokaryono et al. 2019) and Si."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from trocar.arms.arm import Arm, Joint, closure, prismatic, revolute, shift
from trocar.arms.instruments import load_endoscope
from trocar.arms.psm import ArmLinkage, si_parallelogram
from trocar.arms.tables import HALF_PI, File, Geometry, built, geometry, read, remote_centre_chain, shared_facts
from trocar.spatial import mdh


def ecm(which: File | Geometry | None = None, instrument: File | None = None) -> Arm:
    """The Classic ECM."""
    table = read("ecm")
    shape = geometry("ECM", table, which, "gondokaryono2019")
    linkage = _gondokaryono2019(shape.lengths, table["serial"]["d_insertion"])
    return _with_endoscope("ECM", table, shape, instrument, linkage, "front")


def ecm_si(which: File | Geometry | None = None, instrument: File | None = None) -> Arm:
    """The Si ECM: the parallelogram of the Si PSM, and an insertion without the half-way carriage."""
    table = read("ecm_si")
    shape = geometry("ECM_Si", table, which, "saw")
    l = shape.lengths
    links, loops = si_parallelogram(l)
    T_end_insertion = mdh(a=l["l_2L2"], alpha=-HALF_PI, d=l["l_c2"])
    links += (prismatic("insertion", "end", T_end_insertion, {"insertion": 1.0}),)
    return _with_endoscope("ECM_Si", table, shape, instrument, ArmLinkage(links, loops, mdh(theta=math.pi)), "back")


def _with_endoscope(
    arm: str, table: Mapping, shape: Geometry, instrument: File | None, linkage: ArmLinkage, pitch_body: str
) -> Arm:
    scope = load_endoscope(table["arm"]["instrument"] if instrument is None else instrument, arm)
    chain, T_insertion_roll = remote_centre_chain(table["serial"]["d_insertion"]), mdh(d=scope.d_roll)
    facts = shared_facts(arm, table, shape, np.eye(4))
    facts["sources"] |= {"instrument": scope.source}
    return Arm(
        **facts,
        instrument=scope.name,
        joints=tuple(built(Joint, entry) for entry in table["joints"]),
        tip_joints=4,
        serial=(*chain, revolute("roll", "insertion", T_insertion_roll, {"roll": 1.0})),
        T_last_tip=scope.T_roll_tip,
        bodies=(*linkage.bodies, revolute("roll", "insertion", linkage.T_carriage @ T_insertion_roll, {"roll": 1.0})),
        tip_body="roll",
        T_body_tip=scope.T_roll_tip,
        carries="endoscope",
        wrist_point="tip",
        loops=linkage.loops,
        driven={"pitch": pitch_body},
        has_rcm=True,
        look=arm.lower(),
        dvrk_class="ecm",
        dvrk_name="ECM",
    )


def _gondokaryono2019(l: Mapping[str, float], d_insertion: float) -> ArmLinkage:
    """Table 5, corrected. Their frames 3 and 5 are one link, the front bar.

    Frame 0 is at y = d_yaw - l_bottom of the RCM. As for the PSM, beta1 and the depth of frame 9 follow from the
    condition that the insertion axis passes through the dVRK's RCM.
    """
    beta1, beta2 = math.asin(l["a_insertion"] / l["l_front"]), l["beta2"]
    d_9 = l["l_front"] * math.cos(beta1) + d_insertion
    T_8_9 = mdh(a=l["a_insertion"], alpha=-HALF_PI, d=d_9, theta=math.pi)
    T_0 = shift(y=l["d_yaw"] - l["l_bottom"])
    T_1_2, T_3_5 = mdh(a=l["a_2"], alpha=-HALF_PI, theta=HALF_PI), mdh(theta=beta1 - beta2)
    up, down = {"pitch": 1.0}, {"pitch": -1.0}
    bodies = (
        revolute("yaw", None, T_0 @ mdh(alpha=HALF_PI, d=l["d_yaw"], theta=HALF_PI), {"yaw": 1.0}, "1"),
        revolute("back", "yaw", T_1_2 @ mdh(a=l["a_back"], theta=-beta1 - HALF_PI), up, "4"),
        revolute("front", "yaw", mdh(alpha=-HALF_PI, theta=-beta1), up, "3"),
        revolute("top", "front", T_3_5 @ mdh(a=l["l_front_top"], theta=beta2 + HALF_PI), down, "7"),
        revolute("bottom", "front", mdh(a=l["l_front"], theta=beta1 + HALF_PI), down, "6"),
        revolute("end", "bottom", mdh(a=l["l_bottom"]), up, "8"),
        prismatic("insertion", "end", T_8_9, {"insertion": 1.0}, "9"),
    )
    loops = (
        closure("c1", bodies, "back", (l["l_front"], 0.0, 0.0), "bottom"),
        closure("c2", bodies, "top", (l["l_bottom"], 0.0, 0.0), "end"),
    )
    return ArmLinkage(bodies, loops, np.eye(4))
