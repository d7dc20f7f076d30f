"""Patient side manipulator, da Vinci Si: Table I of Zhou et al. 2025 with the dVRK's numeric lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike

from trocar.arms.arm import Arm, Body, Loop, closure, prismatic, revolute, shift
from trocar.arms.geometry_file import Geometry
from trocar.arms.psm import with_instrument
from trocar.arms.tables import HALF_PI, geometry, read
from trocar.spatial import Array, mdh, rotation


def psm_si(which: str | PathLike[str] | Geometry | None = None, instrument: str | PathLike[str] | None = None) -> Arm:
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
    return with_instrument(
        "PSM_Si", table, shape, instrument, links, loops, mdh(theta=math.pi), {"carriage": "insertion"}, "psm_si"
    )


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
    x1, y1, z1 = T_2_middle[:3, 3]
    x2, y2, z2 = T_middle_end[:3, 3]
    loops = (
        closure("yaw_bar", bodies, "yaw_bar", (float(x1), float(y1), float(z1)), "middle"),
        closure("back_bar", bodies, "back_bar", (float(x2), float(y2), float(z2)), "end"),
    )
    return bodies, loops


def _square_to(link: Array, turned: float, length: float) -> tuple[float, float]:
    """A step (x, y) of the given length, perpendicular to a link (3,) that is rotated about z by an angle [rad]."""
    x, y, _ = rotation("z", turned) @ link
    return -length * y / math.hypot(x, y), length * x / math.hypot(x, y)
