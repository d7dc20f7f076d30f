"""Shapes of the Classic ECM: base, yaw housing with two drums, parallelogram, scope column, carriage and camera.

Drawn in the base frame at q = 0 (origin at the remote centre, z up, the mechanism at -y), from the joint positions of
the arm's own geometry. Sizes that no table gives are those of the real machine's covers, to about 5 mm. What collides
is drawn elsewhere (see `geometry`).
"""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.simulation.shapes import Drawing, Sketch, on_bodies
from trocar.simulation.solid_shapes import Circle, plate, rounded_box, turned
from trocar.spatial import Array

SCOPE_RADIUS = 0.006  # [m]; 12 mm endoscope
YAW_REACH = 0.199  # pitch axis to the mounting face of the base [m]
COLUMN_TOP, COLUMN_FOOT = 0.570, 0.045  # [m] above the remote centre
FRONT_X, BOTTOM_X, COLUMN_X = 0.032, 0.025, 0.026  # half widths across the linkage [m]


def add_ecm(drawing: Drawing, arm: Arm) -> None:
    """Add every visible shape of the Classic ECM with its endoscope."""
    T, on = poses_at_zero(arm.bodies), on_bodies(drawing, arm.bodies)
    at = {name: pose[:3, 3] for name, pose in T.items()}
    closed = {p.name: (T[p.body_a] @ np.array([*p.point_a, 1.0]))[:3] for p in arm.loops}
    _base(on(None), at["front"])
    _yaw(on("yaw"), at["front"])
    _front(on("front"), at["front"], at["bottom"], at["top"])
    on("back").hull(plate([(at["back"], 0.010), (closed["c1"], 0.010)], (-0.0345, -0.0325), bevel=0.0005), "aluminium")
    _bottom(on("bottom"), at["bottom"], at["end"], closed["c1"])
    on("top").hull(plate([(at["top"], 0.009), (closed["c2"], 0.009)], (-0.005, 0.005)), "aluminium")
    _column(on("end"), at["end"][1])
    _carriage(on("insertion"), float(at["insertion"][2]), at["end"][1])
    add_endoscope(on("roll"), float(at["insertion"][2]), T[arm.tip_body] @ arm.T_body_tip)


def _base(sketch: Sketch, pitch: Array) -> None:
    """A cast foot with sloping flanks, a flange towards the yaw axis."""
    face = pitch[1] - YAW_REACH
    foot = rounded_box((-0.079, 0.079), (face - 0.155, face), (-0.102, -0.070), 0.006)
    shoulder = rounded_box((-0.060, 0.060), (face - 0.120, face), (-0.020, 0.058), 0.018)
    sketch.hull(np.vstack([foot, shoulder]), "cast")
    sketch.rod([0, face - 0.004, 0], [0, face + 0.006, 0], 0.055, "column")


def _yaw(sketch: Sketch, pitch: Array) -> None:
    """An eight-sided housing on the yaw axis, and the two drums of the pitch drive beside the front bar."""
    y, face = pitch[1], pitch[1] - YAW_REACH
    turns = np.radians(np.arange(0, 360, 45) + 22.5)
    ring = np.array([[0.078 * np.cos(a), 0.0, 0.074 * np.sin(a) - 0.012] for a in turns])
    sketch.hull(
        np.vstack([0.86 * ring + [0, face + 0.006, 0], ring + [0, face + 0.020, 0], ring + [0, y - 0.075, 0]]), "cover"
    )
    for side in (-1.0, 1.0):
        inner, outer = side * (FRONT_X + 0.004), side * 0.088
        drum = plate([([0, y, 0], 0.069), ([0, y - 0.055, -0.020], 0.066)], (inner, outer), bevel=0.006)
        sketch.hull(drum, "cover")
        sketch.rod([outer, y, 0], [outer + side * 0.002, y, 0], 0.052, "column")
        for a in turns:
            bolt = np.array([outer, y + 0.060 * np.cos(a), 0.060 * np.sin(a)])
            sketch.rod(bolt, bolt + [side * 0.0012, 0, 0], 0.0035, "steel")
    sketch.hull(rounded_box((-0.060, 0.060), (y - 0.085, y - 0.045), (-0.100, -0.040), 0.008), "cover")
    sketch.rod([-0.088, y, 0], [0.088, y, 0], 0.020, "steel")


def _front(sketch: Sketch, pitch: Array, bottom: Array, top: Array) -> None:
    """The tall bar: a cover that is wide and round at the pitch axis and narrow at the upper joints."""
    across, head = (-FRONT_X, FRONT_X), (bottom + top) / 2
    bulge = pitch + [0, 0.022, 0.036]
    sketch.hull(plate([(bulge, 0.066), (pitch + [0, -0.012, 0.026], 0.054)], across, bevel=0.006), "cast")
    sketch.hull(plate([(pitch + [0, -0.004, 0.040], 0.058), (head, 0.034)], across, bevel=0.006), "cast")
    sketch.hull(plate([(head, 0.041)], (-0.0275, 0.0275), bevel=0.004), "cast")
    for joint, radius in ((bottom, 0.011), (top, 0.008)):
        sketch.rod(joint - [FRONT_X + 0.003, 0, 0], joint + [FRONT_X + 0.003, 0, 0], radius, "steel")
    groove: list[Circle] = [(pitch + [0, -0.020, 0.085], 0.010), (head + [0, 0.012, -0.060], 0.007)]
    for side in (-1.0, 1.0):
        sketch.hull(plate(groove, (side * FRONT_X, side * (FRONT_X + 0.0008))), "column")


def _bottom(sketch: Sketch, back: Array, end: Array, lever: Array) -> None:
    """The level bar: a cover around both rods with a slanted far end, and the lever that the inner rod pushes."""
    low, high = back[2] - 0.019, back[2] + 0.053
    begin, stop = back[1] + 0.040, end[1] - 0.022
    cover = rounded_box((-BOTTOM_X, BOTTOM_X), (begin, stop), (low, high), 0.007)
    ahead = cover[:, 1] > (begin + stop) / 2
    cover[ahead, 1] -= 0.45 * (cover[ahead, 2] - low)
    sketch.hull(cover, "cast")
    for x in (-BOTTOM_X, BOTTOM_X):
        across = (x - 0.002, x + 0.002)
        fork: list[Circle] = [(end, 0.013), ([0, stop - 0.020, end[2]], 0.018)]
        sketch.hull(plate(fork, across, bevel=0.0005), "aluminium")
        sketch.hull(
            plate([(back, 0.016), ([0, begin + 0.03, back[2] + 0.006], 0.022)], across, bevel=0.0005), "aluminium"
        )
    for step in (0.25, 0.55):
        hole = back + step * (end - back) + [0, 0, 0.014]
        sketch.rod(hole - [BOTTOM_X + 0.0006, 0, 0], hole + [BOTTOM_X + 0.0006, 0, 0], 0.004, "dark")
    sketch.hull(plate([(back, 0.012), (lever, 0.010)], (-0.0365, -0.0345)), "aluminium")
    sketch.rod(end - [BOTTOM_X + 0.004, 0, 0], end + [BOTTOM_X + 0.004, 0, 0], 0.007, "steel")


def _column(sketch: Sketch, y: float) -> None:
    """The column on which the scope slides, its joint plates, and the bracket to the cannula."""
    behind, ahead = y - 0.012, y + 0.040
    sketch.hull(rounded_box((-COLUMN_X, COLUMN_X), (behind, ahead), (COLUMN_FOOT, COLUMN_TOP), 0.005), "column")
    for low, high in ((0.090, 0.235), (0.330, 0.500)):
        flare = rounded_box((-COLUMN_X, COLUMN_X), (behind - 0.008, behind + 0.010), (low + 0.035, high - 0.035), 0.003)
        root = rounded_box((-COLUMN_X, COLUMN_X), (behind, behind + 0.010), (low, high), 0.003)
        sketch.hull(np.vstack([flare, root]), "column")
    for x in (-0.017, 0.017):
        sketch.box(
            (x - 0.004, x + 0.004), (ahead - 0.001, ahead + 0.003), (COLUMN_FOOT + 0.020, COLUMN_TOP - 0.010), "steel"
        )
    sketch.box((-0.011, 0.011), (ahead - 0.001, ahead + 0.0006), (COLUMN_FOOT + 0.020, COLUMN_TOP - 0.012), "dark")
    # a dog-leg to the side and down, round the insertion axis
    heel = rounded_box((-0.022, 0.022), (y - 0.010, ahead), (COLUMN_FOOT - 0.010, COLUMN_FOOT + 0.018), 0.004)
    toe = rounded_box((-0.017, 0.017), (-0.040, -0.010), (0.014, 0.044), 0.004)
    sketch.hull(np.vstack([heel, toe]), "column")
    sketch.hull(turned([(0.012, 0.0155), (0.016, 0.018), (0.040, 0.018), (0.046, 0.014)], axis="z"), "column")
    sketch.hull(turned([(0.044, 0.011), (0.060, 0.014)], axis="z"), "bright")
    sketch.rod([0, 0, -0.040], [0, 0, 0.014], SCOPE_RADIUS + 0.0016, "bright")
    sketch.rod([0, 0, -0.003], [0, 0, 0.003], SCOPE_RADIUS + 0.0018, "dark")


def _carriage(sketch: Sketch, z: float, column: float) -> None:
    """Slide on the column with the half ring that holds the endoscope."""
    ahead = column + 0.043
    sketch.hull(rounded_box((-0.027, 0.027), (ahead, -0.030), (z - 0.002, z + 0.112), 0.006), "cover")
    sketch.hull(rounded_box((-0.024, 0.024), (-0.036, -0.014), (z + 0.004, z + 0.036), 0.005), "cover")


def add_endoscope(sketch: Sketch, z: float, T_base_tip: Array) -> None:
    """Shaft to the tip, sterile adapter `z` [m] above the remote centre, coupling rings and camera head.

    The end of the shaft is cut square to where it looks: at a slant on a 30 degree endoscope.
    """
    end, look = T_base_tip[:3, 3], T_base_tip[:3, 2]
    ring = turned([(end[2], SCOPE_RADIUS)], axis="z")
    ring[:, 2] -= ((ring - end) @ look) / look[2]  # slid along the shaft on to the plane of the window
    ring[:, 2] += max(0.0, float(end[2] - ring[:, 2].min()))
    sketch.hull(np.vstack([ring, turned([(z + 0.002, SCOPE_RADIUS)], axis="z")]), "steel")
    sketch.rod([0, 0, end[2] + 0.012], [0, 0, end[2] + 0.016], SCOPE_RADIUS + 1e-4, "dark")
    drum = [(z + 0.000, 0.030), (z + 0.005, 0.036), (z + 0.038, 0.036), (z + 0.044, 0.030)]
    sketch.hull(turned(drum, axis="z"), "aluminium")
    for low, high, radius, look_of in (
        (0.042, 0.105, 0.022, "aluminium"),
        (0.060, 0.064, 0.0226, "dark"),
        (0.102, 0.114, 0.030, "bright"),
        (0.112, 0.128, 0.024, "aluminium"),
        (0.126, 0.134, 0.029, "bright"),
    ):
        sketch.rod([0, 0, z + low], [0, 0, z + high], radius, look_of)
    head = rounded_box((-0.034, 0.034), (-0.034, 0.034), (z + 0.140, z + 0.226), 0.008)
    sketch.hull(np.vstack([head, turned([(z + 0.133, 0.027)], axis="z")]), "cast")
    sketch.box((-0.0346, 0.0346), (-0.022, 0.022), (z + 0.160, z + 0.200), "cover")
    sketch.rod([0, 0, z + 0.224], [0, 0, z + 0.246], 0.011, "dark")
