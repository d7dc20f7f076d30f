"""Shapes of the Classic PSM: cast base, boat-shaped yaw housing, parallelogram, insertion column and carriage.

Everything is drawn in the base frame at q = 0 (origin at the remote centre, z up, the mechanism at -y), from the
joint positions of the arm's own geometry; so the published frame conventions do not matter here. Sizes that no
table gives are those of the real machine's covers, to about 5 mm.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.simulation.instrument_shapes import add_instrument
from trocar.simulation.shapes import COLLISION, Sketch, on_bodies, plate, rounded_box, turned
from trocar.spatial import Array

# Half widths across the linkage [m]: back plates, and the forks of the two long bars that pass beside the column.
BACK_X, FORK_X = 0.050, 0.043
BASE_DEPTH = 0.152  # yaw axis to the mounting plane [m]
COLUMN = {"top": 0.395, "behind": 0.026, "ahead": 0.017, "half_width": 0.037}  # about the joint of the bottom bar [m]
CARRIAGE = (-0.052, 0.068)  # below and above the insertion frame [m]
CANNULA_END, CANNULA_RADIUS = -0.036, 0.0060  # [m]; the tube is 4 cm into the patient


@dataclass(frozen=True)
class Joints:
    """Positions (3,) of the linkage's joints in the base at q = 0 [m], and the height of the insertion frame."""

    pitch: Array
    bottom_back: Array
    top_back: Array
    bottom_end: Array
    top_end: Array
    front_low: Array
    front_high: Array
    insertion: float

    @classmethod
    def of(cls, arm: Arm) -> Joints:
        T = poses_at_zero(arm.bodies)
        at = {name: pose[:3, 3] for name, pose in T.items()}
        closed = {frozenset((p.body_a, p.body_b)): (T[p.body_a] @ np.array([*p.point_a, 1.0]))[:3] for p in arm.loops}
        (other_end,) = (p for bodies, p in closed.items() if "front" in bodies)
        low, high = sorted((at["front"], other_end), key=lambda p: float(p[2]))
        return cls(
            pitch=at["back"],
            bottom_back=at["bottom"],
            top_back=at["top"],
            bottom_end=at["end"],
            top_end=closed[frozenset(("top", "end"))],
            front_low=low,
            front_high=high,
            insertion=float(at["insertion"][2]),
        )


def add_psm(spec: mujoco.MjSpec, arm: Arm) -> None:
    """Add every shape of the Classic PSM with its instrument."""
    joints, T, on = Joints.of(arm), poses_at_zero(arm.bodies), on_bodies(spec, arm.bodies)
    _base(on(None), joints)
    _yaw(on("yaw"), joints)
    _back(on("back"), joints)
    _counterweight(on("counterweight"), joints)
    _bottom(on("bottom"), joints)
    _top(on("top"), joints)
    _front(on("front"), joints)
    _column(on("end"), joints)
    add_cannula(on("end"), joints.bottom_end[2] - 0.058)
    add_carriage(on("insertion"), joints.insertion, joints.bottom_end[1] + COLUMN["ahead"])
    add_instrument(spec, arm, joints.insertion + CARRIAGE[0] - float(T["roll"][2, 3]))


def _base(sketch: Sketch, joints: Joints) -> None:
    """Pedestal with a domed motor cover behind the yaw axis, and a rail to the bearing in front of the boat."""
    y = joints.pitch[1]
    sketch.hull(rounded_box((-0.063, 0.063), (y - 0.255, y - 0.130), (-BASE_DEPTH, 0.0), 0.010), "cast")
    profile = [(y - 0.260, 0.048), (y - 0.254, 0.058), (y - 0.240, 0.066), (y - 0.225, 0.068)]
    profile += [(y - 0.160, 0.068), (y - 0.145, 0.065), (y - 0.137, 0.056)]
    dome = turned(profile, (0.0, np.pi))
    skirt = dome[dome[:, 2] < 1e-9] - [0.0, 0.0, 0.035]
    sketch.hull(np.vstack([dome, skirt]), "cast")
    sketch.box((-0.0635, 0.0635), (y - 0.2545, y - 0.1365), (-0.038, -0.035), "dark")
    sketch.hull(rounded_box((-0.058, 0.058), (y - 0.140, y - 0.092), (-BASE_DEPTH, -0.055), 0.008), "cast")
    sketch.box((-0.050, 0.050), (y - 0.253, y - 0.100), (-BASE_DEPTH - 0.004, -BASE_DEPTH), "dark")
    rail = [(-0.100, -0.142), (0.085, -0.142), (0.150, -0.070), (0.150, 0.004)]
    for (y_a, z_a), (y_b, z_b) in pairwise(rail):
        for x in (-0.026, 0.026):
            ends = [([0, y + y_a, z_a], 0.0045), ([0, y + y_b, z_b], 0.0045)]
            sketch.hull(plate(ends, (x - 0.007, x + 0.007)), "aluminium")
    sketch.hull(rounded_box((-0.033, 0.033), (y + 0.145, y + 0.156), (-0.045, 0.020), 0.004), "cast")
    sketch.rod([0, y + 0.132, 0], [0, y + 0.159, 0], 0.015, "steel")


def _yaw(sketch: Sketch, joints: Joints) -> None:
    """The boat: a half disc about the pitch axis with rounded sides, between two half-round necks on the yaw axis."""
    y, deck = joints.pitch[1], 0.012
    angles = np.linspace(np.pi, 2.0 * np.pi, 33)
    rows = ((0.030, 0.123), (0.055, 0.121), (0.070, 0.114), (0.078, 0.105), (0.081, 0.094))  # (half width, radius)
    belly = np.array(
        [
            [side * x, y + r * np.cos(angle), r * np.sin(angle)]
            for x, r in rows
            for side in (-1.0, 1.0)
            for angle in angles
        ]
    )
    rim = belly[np.abs(belly[:, 2]) < 1e-9] + [0.0, 0.0, deck]
    sketch.hull(np.vstack([belly, rim]), "cover")
    for profile in (
        [(y - 0.163, 0.052), (y - 0.156, 0.058), (y - 0.090, 0.072)],
        [(y + 0.090, 0.074), (y + 0.122, 0.064), (y + 0.134, 0.052)],
    ):
        neck = turned(profile, (np.pi, 2.0 * np.pi))
        sketch.hull(np.vstack([neck, neck[np.abs(neck[:, 2]) < 1e-9] + [0.0, 0.0, deck - 0.001]]), "cover")
    sketch.rod([0, y - 0.170, 0], [0, y - 0.130, 0], 0.046, "column")
    # the open deck, in which the bars stand
    sketch.box((-0.064, 0.064), (y - 0.088, y + 0.108), (deck, deck + 0.0006), "dark")
    sketch.rod([-0.0835, y, 0], [0.0835, y, 0], 0.013, "column")


def _back(sketch: Sketch, joints: Joints) -> None:
    """A pair of plates: a bar down from the two upper joints, widened to a triangle that reaches the pitch axis."""
    foot = np.array([0, joints.bottom_back[1] - 0.012, 0.0])
    knee = joints.bottom_back + 0.42 * (foot - joints.bottom_back)
    for x in (-BACK_X, BACK_X):
        across = (x - 0.005, x + 0.005)
        bar = [(joints.top_back, 0.013), (joints.bottom_back, 0.014), (foot, 0.017)]
        web = [(knee, 0.016), (foot, 0.018), (joints.pitch, 0.024), (foot - [0, -0.02, 0.05], 0.018)]
        sketch.hull(plate(bar, across, bevel=0.001), "cast")
        sketch.hull(plate(web, (x - 0.0035, x + 0.0035), bevel=0.001), "cast")
        for joint in (joints.top_back, joints.bottom_back):
            side = np.array([np.sign(x) * (BACK_X + 0.0065), 0, 0])
            sketch.rod(joint, joint + side, 0.0065, "steel")
    brace = knee - [0, 0, 0.012]
    sketch.hull(
        rounded_box((-BACK_X, BACK_X), (brace[1] - 0.020, brace[1] - 0.012), brace[2] + np.array([-0.02, 0.02]), 0.002),
        "cast",
    )


def _counterweight(sketch: Sketch, joints: Joints) -> None:
    """Block between the back plates. It starts low in the boat: it climbs by up to the insertion's 0.24 m."""
    y, z = joints.bottom_back[1] + 0.006, -0.068
    sketch.hull(rounded_box((-0.030, 0.030), (y - 0.017, y + 0.017), (z - 0.034, z + 0.034), 0.003), "tungsten")
    for x in (-0.012, 0.012):
        sketch.rod([x, y, z - 0.036], [x, y, z + 0.036], 0.005, "steel")


def _bottom(sketch: Sketch, joints: Joints) -> None:
    """The thick bar: a cover around both bars, with forks to the joints at its two ends."""
    back, end = joints.bottom_back, joints.bottom_end
    length = end[1] - back[1]
    height = joints.top_back[2] - back[2]
    begin, stop = back[1] + 0.08 * length, back[1] + 0.70 * length
    low, high = back[2] - 0.009, back[2] + height + 0.012
    cover = rounded_box((-0.048, 0.048), (begin, stop), (low, high), 0.009)
    # the far end is cut at a slant, the top shorter
    ahead = cover[:, 1] > (begin + stop) / 2
    cover[ahead, 1] -= 0.55 * (cover[ahead, 2] - low)
    sketch.hull(cover, "cast")
    window = (stop - 0.075, stop - 0.012)
    middle = back[2] + 0.25 * height
    sketch.box((-0.0484, 0.0484), window, (middle - 0.007, middle + 0.007), "column")
    for x in (-FORK_X, FORK_X):
        across = (x - 0.0035, x + 0.0035)
        bend = np.array([0, stop + 0.035, end[2]])
        inside = np.array([0, stop - 0.030, end[2] + 0.016])
        sketch.hull(plate([(end, 0.0085), (bend, 0.0085)], across, bevel=0.001), "aluminium")
        sketch.hull(plate([(bend, 0.0085), (inside, 0.0085)], across, bevel=0.001), "aluminium")
        inner = np.sign(x) * 0.038
        sketch.hull(
            plate([(back, 0.010), (back + [0, 0.12 * length, 0], 0.010)], (inner - 0.004, inner + 0.004)), "aluminium"
        )
    sketch.rod(end - [FORK_X + 0.0055, 0, 0], end + [FORK_X + 0.0055, 0, 0], 0.005, "steel")
    sketch.box((-0.048, 0.048), (back[1], stop), (low, high), COLLISION)


def _top(sketch: Sketch, joints: Joints) -> None:
    """The slimmer bar: mostly inside the bottom bar's cover, seen at both ends."""
    back, end = joints.top_back, joints.top_end
    along = end - back
    for x in (-FORK_X, FORK_X):
        across = (x - 0.003, x + 0.003)
        sketch.hull(plate([(end, 0.0085), (back + 0.55 * along, 0.0085)], across, bevel=0.001), "bright")
        inner = np.sign(x) * 0.038
        sketch.hull(plate([(back, 0.009), (back + 0.12 * along, 0.009)], (inner - 0.004, inner + 0.004)), "bright")
    web = back[1] + along[1] * np.array([0.60, 0.80])
    sketch.box((-FORK_X, FORK_X), (web[0], web[1]), back[2] + np.array([-0.003, 0.003]), "bright")
    sketch.rod(end - [FORK_X + 0.0055, 0, 0], end + [FORK_X + 0.0055, 0, 0], 0.005, "steel")
    sketch.rod(back + 0.60 * along, end, 0.009, COLLISION, round_ends=True)


def _front(sketch: Sketch, joints: Joints) -> None:
    """A single thin bar, to one side."""
    low, high = joints.front_low, joints.front_high
    sketch.hull(plate([(low, 0.010), (high, 0.010)], (-0.041, -0.027), bevel=0.002), "bright")
    for joint in (low, high):
        sketch.rod(joint - [0.045, 0, 0], joint - [0.023, 0, 0], 0.006, "steel")


def _column(sketch: Sketch, joints: Joints) -> None:
    """The tall cover of the insertion drive, with a guide slot and a foot that holds the cannula."""
    y, z = joints.bottom_end[1], joints.bottom_end[2]
    behind, ahead, half = y - COLUMN["behind"], y + COLUMN["ahead"], COLUMN["half_width"]
    foot, top = z - 0.030, z + COLUMN["top"]
    sketch.hull(rounded_box((-half, half), (behind, ahead), (foot, top), 0.008), "column")
    sketch.box((-0.014, 0.014), (ahead - 0.004, ahead + 0.0006), (z + 0.020, top - 0.015), "dark")
    for x in (-0.022, 0.022):
        sketch.box((x - 0.003, x + 0.003), (ahead - 0.002, ahead + 0.002), (z + 0.010, top - 0.015), "steel")
    block = rounded_box((-half + 0.004, half - 0.004), (behind, ahead), (foot - 0.004, foot + 0.020), 0.004)
    toe = rounded_box((-0.018, 0.018), (-0.030, 0.006), (foot - 0.044, foot - 0.012), 0.004)
    sketch.hull(np.vstack([block, toe]), "column")
    sketch.box((-half, half), (behind, ahead), (foot, top), COLLISION)


def add_cannula(sketch: Sketch, mount: float) -> None:
    """Mount at height `mount` [m] with its latch, and the tube through the remote centre, with a dark band there."""
    sketch.hull(turned([(mount - 0.017, 0.0125), (mount + 0.015, 0.0155)], axis="z"), "column")
    sketch.hull(turned([(mount + 0.014, 0.0095), (mount + 0.030, 0.0125)], axis="z"), "steel")
    sketch.hull(rounded_box((-0.022, 0.022), (-0.014, -0.004), (mount - 0.008, mount + 0.008), 0.003), "dark")
    sketch.rod([0, 0, CANNULA_END], [0, 0, mount], CANNULA_RADIUS, "bright")
    sketch.rod([0, 0, -0.003], [0, 0, 0.003], CANNULA_RADIUS + 2e-4, "dark")
    for z in (-0.012, 0.012):
        sketch.rod([0, 0, z - 0.0008], [0, 0, z + 0.0008], CANNULA_RADIUS + 2e-4, "dark")


def add_carriage(sketch: Sketch, z: float, rail: float) -> None:
    """Carriage plate on the rail at y = `rail` [m], sterile adapter, and the instrument's housing with its levers."""
    low, high = z + CARRIAGE[0], z + CARRIAGE[1]
    sketch.hull(rounded_box((-0.040, 0.040), (rail + 0.001, rail + 0.011), (low + 0.004, high), 0.004), "cast")
    sketch.hull(
        rounded_box((-0.036, 0.036), (rail + 0.009, rail + 0.022), (low + 0.002, high - 0.006), 0.005), "plastic"
    )
    front = rail + 0.062
    sketch.hull(rounded_box((-0.031, 0.031), (rail + 0.022, front), (low + 0.006, high - 0.008), 0.009), "cast")
    sketch.hull(
        rounded_box((-0.022, 0.022), (front - 0.006, front + 0.0012), (low + 0.026, high - 0.030), 0.001), "column"
    )
    for x in (-0.0325, 0.0325):
        sketch.hull(
            rounded_box((x - 0.003, x + 0.003), (rail + 0.030, rail + 0.048), (z - 0.008, high - 0.026), 0.0025),
            "cover",
        )
    sketch.hull(turned([(low - 0.012, 0.0065), (low + 0.010, 0.0130)], axis="z"), "cast")
