"""Shapes of the Classic ECM: base, yaw housing with two drums, parallelogram, scope column, carriage and camera.

Drawn in the base frame at q = 0 (origin at the remote centre, z up, the mechanism at -y), from the joint positions of
the arm's own geometry. Sizes that no table gives are those of the real machine's covers, to about 5 mm. Collision
shapes are in `arm_shapes`.
"""

from __future__ import annotations

import numpy as np

from tools.shapes.carving import Circle, bar, block, hull, lathe, plate, prism, rounded_box, tube, turned
from tools.shapes.solid_sketch import SolidSkeleton, SolidSketch
from trocar.appearance.sketch import Drawing
from trocar.arms import Arm
from trocar.spatial import Array

SCOPE_RADIUS = 0.006  # [m]; 12 mm endoscope
YAW_REACH = 0.199  # pitch axis to the mounting face of the base [m]
COLUMN_TOP, COLUMN_FOOT = 0.570, 0.045  # [m] above the remote centre
FRONT_X, BOTTOM_X, COLUMN_X = 0.030, 0.025, 0.026  # half widths across the linkage [m]
FENDER_X, DRUM_X = 0.050, (0.052, 0.088)  # half width of the front bar's foot, and the drums next to it [m]


def add_ecm(drawing: Drawing, arm: Arm) -> None:
    """Add every visible shape of the Classic ECM with its endoscope."""
    skeleton = SolidSkeleton(drawing, arm)
    at, pins, on = skeleton.at, skeleton.pins, skeleton.on
    _base(on(None), at["front"])
    _yaw(on("yaw"), at["front"])
    _front(on("front"), at["front"], at["bottom"], at["top"])
    on("back").hull(plate([(at["back"], 0.010), (pins["back"], 0.010)], (-0.0345, -0.0325), bevel=0.0005), "aluminium")
    _bottom(on("bottom"), at["bottom"], at["end"], pins["back"])
    on("top").hull(plate([(at["top"], 0.009), (pins["top"], 0.009)], 0.005), "aluminium")
    _column(on("end"), at["end"][1])
    _carriage(on("insertion"), float(at["insertion"][2]), at["end"][1])
    add_endoscope(on("roll"), float(at["insertion"][2]), skeleton.T[arm.tip_body] @ arm.T_body_tip)


def _base(sketch: SolidSketch, pitch: Array) -> None:
    """A cast foot that widens to its mounting plane, with a flange towards the yaw axis."""
    face = pitch[1] - YAW_REACH
    foot = rounded_box(0.079, (face - 0.155, face), (-0.102, -0.062), 0.008)
    flank = rounded_box(0.062, (face - 0.130, face), (-0.056, -0.030), 0.010)
    body = hull([foot, flank])
    shoulder = rounded_box(0.060, (face - 0.120, face - 0.002), (0.000, 0.058), 0.024)
    body += hull([flank, shoulder])
    sketch.solid(body, "cast")
    sketch.rod([0, face - 0.004, 0], [0, face + 0.006, 0], 0.055, "column")


def _yaw(sketch: SolidSketch, pitch: Array) -> None:
    """An eight-sided housing on the yaw axis, and the two drums of the pitch drive next to the front bar."""
    y, face = pitch[1], pitch[1] - YAW_REACH
    turns = np.radians(np.arange(0, 360, 45) + 22.5)
    ring = np.array([[0.078 * np.cos(a), 0.0, 0.074 * np.sin(a) - 0.012] for a in turns])
    housing = hull([0.86 * ring + [0, face + 0.006, 0], ring + [0, face + 0.020, 0], ring + [0, y - 0.095, 0]])
    housing -= block(FENDER_X + 0.002, (y - 0.105, y), (-0.03, 0.2))
    for side in (-1.0, 1.0):
        inner, outer = side * DRUM_X[0], side * DRUM_X[1]
        drum = plate([([0, y, 0], 0.069)], (inner, outer), bevel=0.005, sides=40)
        housing += hull(drum)
        housing += hull(
            plate([([0, y, 0], 0.058), ([0, y - 0.085, -0.016], 0.058)], (inner, side * 0.080), bevel=0.006)
        )
        lug = [([0, y - 0.020, -0.062], 0.038), ([0, y - 0.052, -0.052], 0.040)]
        housing += hull(plate(lug, (inner, side * 0.076), bevel=0.004))
        housing -= hull(plate([([0, y, 0], 0.0530)], (outer - side * 0.002, outer + side * 0.01), sides=40))
        housing += hull(plate([([0, y, 0], 0.0490)], (outer - side * 0.004, outer), sides=40))
        for a in turns:
            bolt = np.array([outer, y + 0.061 * np.cos(a), 0.061 * np.sin(a)])
            sketch.rod(bolt - [side * 0.001, 0, 0], bolt + [side * 0.001, 0, 0], 0.0032, "steel")
    housing += hull(rounded_box(0.070, (y - 0.085, y - 0.045), (-0.100, -0.045), 0.008))
    sketch.solid(housing, "cover")
    sketch.rod([-DRUM_X[0], y, 0], [DRUM_X[0], y, 0], 0.020, "steel")


def _front(sketch: SolidSketch, pitch: Array, bottom: Array, top: Array) -> None:
    """The tall bar: a wide rounded foot between the drums, narrow at the upper joints."""
    head = (bottom + top) / 2
    foot = hull(plate([(pitch + [0, 0.006, 0.004], 0.084)], FENDER_X, bevel=0.005, sides=48))
    foot -= block(0.1, (pitch[1] - 0.2, pitch[1] + 0.2), (pitch[2] - 0.2, pitch[2] - 0.030))
    # cut along the back of the bar
    y, z = pitch[1], pitch[2]
    foot -= prism([(y - 0.2, z - 0.2), (y - 0.060, z - 0.2), (y - 0.050, z + 0.045), (y - 0.2, z + 0.20)], 0.1)
    across = FRONT_X
    spine = hull(plate([(pitch + [0, -0.002, 0.040], 0.056), (head, 0.036)], across, bevel=0.005, sides=32))
    spine += hull(plate([(head, 0.041)], 0.0285, bevel=0.003, sides=32))
    spine -= block(0.1, (y - 0.2, y + 0.2), (z - 0.2, z - 0.030))
    groove: list[Circle] = [(pitch + 0.50 * (head - pitch), 0.016), (head + 0.12 * (pitch - head), 0.010)]
    for side in (-1.0, 1.0):
        spine -= hull(plate(groove, (side * (FRONT_X - 0.002), side * (FRONT_X + 0.01))))
    sketch.solid(foot + spine, "cast")
    for joint, radius in ((bottom, 0.011), (top, 0.008)):
        sketch.rod(joint - [FRONT_X + 0.003, 0, 0], joint + [FRONT_X + 0.003, 0, 0], radius, "steel")


def _bottom(sketch: SolidSketch, back: Array, end: Array, lever: Array) -> None:
    """The level bar: a channel around both rods with a slanted far end, and the lever that the inner rod pushes."""
    low, high = back[2] - 0.019, back[2] + 0.053
    begin, stop = back[1] + 0.044, end[1] - 0.022
    cover = hull(rounded_box(BOTTOM_X, (begin, stop), (low, high), 0.007))
    cover -= block(BOTTOM_X - 0.004, (begin - 0.1, stop + 0.1), (low + 0.004, high - 0.004))
    slant = 0.75 * (high - low)
    cover ^= prism([(begin, low), (stop, low), (stop, low + 0.010), (stop - slant, high), (begin, high)], 0.1)
    for x in (-BOTTOM_X, BOTTOM_X):
        across = (x - 0.002, x + 0.002)
        fork: list[Circle] = [(end, 0.014), ([0, stop - 0.030, end[2] + 0.006], 0.024)]
        cover += hull(plate(fork, across, bevel=0.0005))
        cover += hull(plate([(back, 0.016), ([0, begin + 0.03, back[2] + 0.010], 0.026)], across, bevel=0.0005))
    for step in (0.25, 0.55):
        hole = back + step * (end - back) + [0, 0, 0.014]
        cover -= bar(hole - [0.1, 0, 0], hole + [0.1, 0, 0], 0.004, 12)
    sketch.solid(cover, "cast")
    sketch.hull(plate([(back, 0.012), (lever, 0.010)], (-0.0365, -0.0345)), "aluminium")
    sketch.rod(end - [BOTTOM_X + 0.004, 0, 0], end + [BOTTOM_X + 0.004, 0, 0], 0.007, "steel")


def _column(sketch: SolidSketch, y: float) -> None:
    """The column on which the scope slides, its joint plates, and the bracket to the cannula."""
    behind, ahead = y - 0.012, y + 0.040
    column = hull(rounded_box(COLUMN_X, (behind, ahead), (COLUMN_FOOT, COLUMN_TOP), 0.005))
    column += hull(rounded_box(COLUMN_X + 0.002, (behind, ahead + 0.012), (COLUMN_TOP - 0.075, COLUMN_TOP), 0.006))
    for low, high in ((0.090, 0.235), (0.330, 0.500)):
        flare = rounded_box(COLUMN_X, (behind - 0.008, behind + 0.010), (low + 0.035, high - 0.035), 0.003)
        root = rounded_box(COLUMN_X, (behind, behind + 0.010), (low, high), 0.003)
        column += hull([flare, root])
    run = (COLUMN_FOOT + 0.020, COLUMN_TOP - 0.076)
    column -= block(0.011, (ahead - 0.005, ahead + 0.1), run)
    for side in (-1.0, 1.0):  # long recesses on the flanks
        flank = (COLUMN_FOOT + 0.030, COLUMN_TOP - 0.095)
        column -= block((side * (COLUMN_X - 0.002), side * 0.1), (ahead - 0.030, ahead - 0.008), flank)
    sketch.solid(column, "column")
    for x in (-0.017, 0.017):
        sketch.box((x - 0.004, x + 0.004), (ahead - 0.001, ahead + 0.003), run, "steel")
    sketch.box(0.011, (ahead - 0.006, ahead - 0.0045), run, "dark")
    sketch.rod([0, ahead - 0.001, run[0]], [0, ahead - 0.001, run[1]], 0.003, "steel")
    # a dog-leg to the side and down, around the insertion axis
    heel = rounded_box(0.022, (y - 0.010, ahead), (COLUMN_FOOT - 0.010, COLUMN_FOOT + 0.018), 0.004)
    toe = rounded_box(0.017, (-0.040, -0.010), (0.014, 0.044), 0.004)
    clamp = lathe([(0.012, 0.0155), (0.016, 0.018), (0.040, 0.018), (0.046, 0.014)])
    sketch.solid(hull([heel, toe]) + clamp, "column")
    sketch.solid(lathe([(0.044, 0.011), (0.050, 0.011), (0.056, 0.014), (0.060, 0.014)]), "bright")
    sketch.rod([0, 0, -0.040], [0, 0, 0.014], SCOPE_RADIUS + 0.0016, "bright")
    sketch.rod([0, 0, -0.003], [0, 0, 0.003], SCOPE_RADIUS + 0.0018, "dark")


def _carriage(sketch: SolidSketch, z: float, column: float) -> None:
    """Slide on the column with the half ring that holds the endoscope."""
    ahead = column + 0.043
    sketch.hull(rounded_box(0.027, (ahead, -0.030), (z - 0.002, z + 0.112), 0.006), "cover")
    sketch.hull(rounded_box(0.024, (-0.036, -0.014), (z + 0.004, z + 0.036), 0.005), "cover")


def add_endoscope(sketch: SolidSketch, z: float, T_base_tip: Array) -> None:
    """Shaft to the tip, sterile adapter `z` [m] above the remote centre, coupling rings and camera head.

    The end of the shaft is cut perpendicular to the viewing direction: oblique on a 30 degree endoscope.
    """
    end, look = T_base_tip[:3, 3], T_base_tip[:3, 2]
    ring = turned([(end[2], SCOPE_RADIUS)], axis="z")
    ring[:, 2] -= ((ring - end) @ look) / look[2]  # shifted along the shaft to the plane of the window
    ring[:, 2] += max(0.0, float(end[2] - ring[:, 2].min()))
    sketch.hull([ring, turned([(z + 0.002, SCOPE_RADIUS)], axis="z")], "steel")
    sketch.rod([0, 0, end[2] + 0.012], [0, 0, end[2] + 0.016], SCOPE_RADIUS + 1e-4, "dark")
    rings = [(0.000, 0.030), (0.005, 0.036), (0.038, 0.036), (0.043, 0.030), (0.043, 0.0215), (0.060, 0.0215)]
    rings += [(0.104, 0.0215), (0.104, 0.030), (0.113, 0.030), (0.113, 0.024), (0.120, 0.024), (0.120, 0.029)]
    rings += [(0.128, 0.029), (0.128, 0.025), (0.134, 0.025)]
    sketch.solid(lathe([(z + at, radius) for at, radius in rings], sides=24), "aluminium")
    sketch.rod([0, 0, z + 0.060], [0, 0, z + 0.064], 0.0220, "dark")
    head = rounded_box(0.034, 0.034, (z + 0.156, z + 0.226), 0.008)
    sketch.hull([head, turned([(z + 0.133, 0.026)], axis="z")], "cast")
    for side in (-1.0, 1.0):  # focus buttons
        for step in (0.172, 0.196):
            sketch.rod([side * 0.030, 0, z + step], [side * 0.0350, 0, z + step], 0.0075, "cover")
    # the camera's cable above, the light's from a post on the neck
    sketch.rod([0, 0, z + 0.224], [0, 0, z + 0.242], 0.011, "dark")
    turn = np.linspace(0.0, 0.75 * np.pi, 8)
    camera = np.array([[0.0, -0.050 * (1 - np.cos(a)), z + 0.238 + 0.050 * np.sin(a)] for a in turn])
    sketch.rod([-0.020, 0, z + 0.084], [-0.036, 0, z + 0.084], 0.0065, "bright")
    light = np.array([[-0.034 - 0.026 * np.sin(a), 0.0, z + 0.084 + 0.026 * (1 - np.cos(a))] for a in turn[:6]])
    light = np.vstack([light, [-0.058, -0.015, z + 0.190], [-0.046, -0.055, z + 0.245]])
    sketch.solid(tube(camera, 0.0060) + tube(light, 0.0042), "dark")
