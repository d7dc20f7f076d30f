"""Shapes of the Si arms, PSM_Si and ECM_Si: a yaw drum, three smooth covers, a spar with a telescoping carriage.

Drawn in the base frame at q = 0 (origin at the remote centre, z up, the mechanism at -y), from the joint positions of
the arm's own geometry. No drawing of the covers is published: their sizes are ours, in the proportions of the machine.
Collision shapes are in `arm_shapes`.
"""

from __future__ import annotations

from tools.shapes.carving import Circle, plate, rounded_box, turned
from tools.shapes.ecm import add_endoscope
from tools.shapes.psm import add_cannula, add_carriage
from tools.shapes.solid_sketch import SolidSkeleton, SolidSketch
from trocar.appearance.sketch import Drawing, Interval
from trocar.arms import Arm
from trocar.spatial import Array

BACK_X, MIDDLE_X, SPAR_X = 0.040, 0.034, 0.030  # half widths of the covers [m]
SPAR_FOOT = 0.050  # [m] above the remote centre
BAR: Interval = (-0.050, -0.042)  # the hidden bars run next to the covers


def add_si(drawing: Drawing, arm: Arm) -> None:
    """Add every visible shape of a Si arm except a wristed instrument."""
    skeleton = SolidSkeleton(drawing, arm)
    at, on = skeleton.at, skeleton.on
    _base(on(None), at["yaw"])
    _yaw(on("yaw"), at["yaw"], at["back"])
    _back(on("back"), at["back"], at["middle"])
    _middle(on("middle"), at["middle"], at["end"])
    for bar, pin in skeleton.pins.items():
        on(bar).hull(plate([(at[bar], 0.009), (pin, 0.009)], BAR, bevel=0.001), "aluminium")
    z = float(at["insertion"][2])
    top = z + 0.130
    _spar(on("end"), at["end"], top)
    if arm.carries == "instrument":
        _slide(on("carriage"), at["carriage"], top)
        add_carriage(on("insertion"), z, -0.026)
        add_cannula(on("end"), SPAR_FOOT + 0.024)
        return
    on("end").rod([0, 0, -0.040], [0, 0, SPAR_FOOT], 0.0076, "bright")
    on("end").rod([0, 0, -0.003], [0, 0, 0.003], 0.0078, "dark")
    on("end").hull(turned([(SPAR_FOOT - 0.016, 0.017), (SPAR_FOOT + 0.022, 0.019)], axis="z"), "column")
    on("insertion").hull(rounded_box(0.027, (-0.056, -0.030), (z - 0.002, z + 0.112), 0.006), "cover")
    add_endoscope(on("roll"), z, skeleton.T[arm.tip_body] @ arm.T_body_tip)


def _base(sketch: SolidSketch, yaw: Array) -> None:
    """The drum at the end of the set-up arm."""
    profile = [(-0.105, 0.040), (-0.095, 0.054), (-0.020, 0.062), (-0.002, 0.062)]
    sketch.hull(turned([(yaw[1] + y, r) for y, r in profile]), "cast")
    sketch.rod([0, yaw[1] - 0.012, 0], [0, yaw[1] - 0.008, 0], 0.0628, "dark")


def _yaw(sketch: SolidSketch, yaw: Array, pitch: Array) -> None:
    """A long rounded housing that leads from the yaw axis forwards and down to the pitch axis."""
    shoulder = turned([(yaw[1] + 0.002, 0.058), (yaw[1] + 0.030, 0.060), (yaw[1] + 0.070, 0.054)])
    neck = plate([([0, yaw[1] + 0.150, -0.030], 0.048)], 0.046, bevel=0.014)
    sketch.hull([shoulder, neck], "cast")
    for side in (-1.0, 1.0):
        inner, outer = side * (BACK_X + 0.001), side * 0.066
        ear: list[Circle] = [([0, yaw[1] + 0.150, -0.030], 0.046), (pitch, 0.040)]
        sketch.hull(plate(ear, (inner, outer), bevel=0.008), "cast")
        sketch.rod([outer, *pitch[1:]], [outer + side * 0.003, *pitch[1:]], 0.028, "cover")
    sketch.hull(plate([([0, yaw[1] + 0.150, -0.030], 0.046), ([0, yaw[1] + 0.175, -0.045], 0.030)], 0.046), "cast")
    sketch.rod(pitch - [0.066, 0, 0], pitch + [0.066, 0, 0], 0.018, "steel")


def _back(sketch: SolidSketch, pitch: Array, elbow: Array) -> None:
    """The lower cover."""
    sketch.hull(plate([(pitch, 0.038), (elbow, 0.036)], BACK_X, bevel=0.010), "cover")
    for joint, radius in ((pitch, 0.024), (elbow, 0.022)):
        sketch.rod(joint - [BACK_X + 0.002, 0, 0], joint + [BACK_X + 0.002, 0, 0], radius, "column")


def _middle(sketch: SolidSketch, elbow: Array, end: Array) -> None:
    """The long cover to the spar, slimmer at its far end, with forks at both joints."""
    along = end - elbow
    cover: list[Circle] = [(elbow + 0.10 * along, 0.040), (elbow + 0.86 * along, 0.030)]
    sketch.hull(plate(cover, MIDDLE_X, bevel=0.010), "cast")
    strip: list[Circle] = [(elbow + 0.20 * along, 0.008), (elbow + 0.70 * along, 0.006)]
    for side in (-1.0, 1.0):
        sketch.hull(plate(strip, (side * MIDDLE_X, side * (MIDDLE_X + 0.0008))), "cover")
        for joint, step in ((elbow, 0.16), (end, -0.18)):
            inner = side * (BACK_X + 0.003 if step > 0 else MIDDLE_X)
            fork: list[Circle] = [(joint, 0.022), (joint + step * along, 0.024)]
            sketch.hull(plate(fork, (inner, inner + side * 0.007), bevel=0.002), "cast")
    sketch.rod(elbow - [0.050, 0, 0], elbow + [0.050, 0, 0], 0.010, "steel")
    sketch.rod(end - [0.042, 0, 0], end + [0.042, 0, 0], 0.009, "steel")


def _spar(sketch: SolidSketch, end: Array, top: float) -> None:
    """The tall column behind the insertion axis, and the bracket to the cannula at its foot."""
    behind, ahead = end[1] - 0.024, -0.056
    sketch.hull(rounded_box(SPAR_X, (behind, ahead), (SPAR_FOOT, top), 0.010), "cast")
    sketch.box(0.016, (ahead - 0.002, ahead + 0.0006), (SPAR_FOOT + 0.060, top - 0.012), "dark")
    heel = rounded_box(0.024, (behind + 0.010, ahead), (SPAR_FOOT - 0.004, SPAR_FOOT + 0.024), 0.005)
    toe = rounded_box(0.018, (-0.030, 0.004), (SPAR_FOOT - 0.012, SPAR_FOOT + 0.018), 0.004)
    sketch.hull([heel, toe], "cover")


def _slide(sketch: SolidSketch, carriage: Array, top: float) -> None:
    """The half-way slide on the spar."""
    sketch.hull(rounded_box(0.026, (-0.055, -0.040), (carriage[2] - 0.030, top - 0.020), 0.005), "cover")
    sketch.hull(rounded_box(0.020, (-0.041, -0.026), (carriage[2] + 0.020, top - 0.030), 0.003), "column")
