"""Shapes of a patient cart: feet, column, and the set-up joints of every arm.

The set-up joints are drawn on one body each, in its joint frame, from the published table: a post on every vertical
axis, a tube along the link. Sizes that no table gives are those of the real machine's covers, to about 5 mm; none are
published for the Si cart, and its shapes are our own simple ones. None of these shapes collides.
"""

from __future__ import annotations

import numpy as np
from manifold3d import Manifold

from tools.shapes.carving import block, hull, lathe, plate, rounded_box, tube
from tools.shapes.solid_sketch import SolidSketch
from trocar.appearance.kinematic_model import FLOOR
from trocar.appearance.sketch import Drawing
from trocar.arms.suj import SetUpArm
from trocar.spatial import Array, inverse

POST, TUBE = 0.060, 0.046  # radii [m]
BELOW, ABOVE = 0.0575, 0.110  # a post from the tube's axis: to its face with the previous link, to its dome [m]
LEVEL = 1e-9


def cart_drawing(name: str) -> Drawing:
    """Feet and column of the "Classic" or "Si" cart, in the world of the cart."""
    drawing = Drawing("cart")
    sketch, floor = SolidSketch(drawing), FLOOR
    if name == "Classic":
        feet = Manifold()
        for x in (-0.381, 0.381):
            feet += hull(rounded_box((x - 0.075, x + 0.075), (-0.560, 0.365), (floor, floor + 0.130), 0.020))
        for y in (-0.440, -0.100):
            feet += hull(rounded_box(0.330, (y - 0.075, y + 0.075), (floor + 0.020, floor + 0.115), 0.010))
        sketch.solid(feet, "cast")
        column = hull(rounded_box(0.085, (-0.187, -0.015), (floor + 0.110, 1.730), 0.012))
        for side in (-1.0, 1.0):  # the slots of the carriers
            column -= block((side * 0.080, side * 0.1), (-0.125, -0.075), (floor + 0.250, 1.600))
        column -= block(0.025, (-0.020, 0.0), (floor + 0.250, 1.600))
        column += lathe([(floor + 0.110, 0.125), (floor + 0.122, 0.125), (floor + 0.126, 0.118)]).translate(
            [0, -0.101, 0]
        )
        sketch.solid(column, "aluminium")
        sketch.hull(rounded_box(0.0815, (-0.180, -0.0185), (floor + 0.251, 1.599), 0.001), "column")
        sketch.hull(rounded_box(0.092, (-0.194, -0.008), (1.715, 1.800), 0.014), "cast")
        cabinet = hull(rounded_box(0.060, (-0.440, -0.185), (floor + 0.110, 0.640), 0.012))
        seam = hull(rounded_box(0.057, (-0.437, -0.188), (floor, 0.637), 0.010))
        cabinet -= block(0.1, (-0.3345, -0.3305), (floor, 0.7)) - seam
        sketch.solid(cabinet, "cast")
        for z in (0.15, 0.19, 0.23, 0.27):  # louvres of the fan
            sketch.box(0.035, (-0.4412, -0.4388), (z, z + 0.012), "dark")
        sketch.solid(
            tube([[-0.05, -0.40, 0.62], [-0.05, -0.40, 0.70], [0.05, -0.40, 0.70], [0.05, -0.40, 0.62]], 0.010),
            "column",
        )
    else:
        skirt = [([-0.30, 0.25, 0], 0.12), ([0.30, 0.25, 0], 0.12), ([-0.30, -0.62, 0], 0.16), ([0.30, -0.62, 0], 0.16)]
        sketch.hull(plate(skirt, (floor + 0.020, floor + 0.200), "z", 0.040), "cast")
        sketch.hull(plate(skirt, (floor, floor + 0.040), "z", 0.012), "dark")
        sketch.hull(rounded_box(0.130, (-0.220, 0.060), (floor + 0.150, 1.500), 0.045), "aluminium")
        sketch.hull(rounded_box(0.150, (-0.240, 0.080), (1.460, 1.560), 0.045), "cover")
        for x in (-0.1306, 0.1306):
            sketch.box((x - 0.002, x + 0.002), (-0.120, -0.040), (floor + 0.250, 1.450), "column")

    return drawing


def set_up_drawing(facts: SetUpArm) -> Drawing:
    """Every link of the set-up joints of one arm, each in its joint frame."""
    drawing = Drawing()
    names = [body.name for body in facts.bodies]
    for i, name in enumerate(names):
        sketch, last = SolidSketch(drawing, name), i + 1 == len(names)
        follower = None if last else facts.bodies[i + 1].placement
        if name == "column":
            assert follower is not None
            _carrier(sketch, follower[2, 3], reach=0.0896 if facts.arm in ("PSM", "ECM") else 0.100)
        elif name == "tilt":
            _stirrup(sketch)
        elif name == "swivel":
            _saddle(sketch)
        elif follower is not None and abs(follower[2, 2] - 1.0) < LEVEL:
            _link(sketch, facts.bodies[i].placement[2, 3], follower[:3, 3])
        elif follower is not None:
            _wrist(sketch, facts.bodies[i].placement[2, 3])
        else:
            _mount(sketch, facts.bodies[i].placement[2, 3], facts.T_last_base, facts.arm)
    return drawing


def _dome(sketch: SolidSketch, p: Array, low: float, high: float, radius: float, look: str) -> None:
    """A post about a vertical axis through p, from one height to another; the second end is a dome [m]."""
    sketch.rod(p + [0, 0, low], p + [0, 0, high], radius, look)
    sketch.ball(p + [0, 0, high], radius, look)


def _seam(sketch: SolidSketch, p: Array, radius: float) -> None:
    """The gap between two covers that rotate against each other about z: a dark ring."""
    sketch.rod(p - [0, 0, 0.0015], p + [0, 0, 0.0015], radius + 0.0006, "dark")


def _carrier(sketch: SolidSketch, height: float, reach: float) -> None:
    """The slide on the column, with the bearing of the shoulder axis; the shoulder is `height` [m] above the frame."""
    face = height - 0.0856
    sketch.rod([0, 0, face - 0.250], [0, 0, face], 0.072, "cover")
    low = rounded_box((-reach - 0.030, -reach + 0.012), 0.070, (face - 0.330, face - 0.010), 0.006)
    high = rounded_box((-0.060, 0.020), 0.064, (face - 0.235, face - 0.004), 0.010)
    sketch.hull([low, high], "cover")
    _seam(sketch, np.array([0.0, 0.0, face]), 0.072)


def _link(sketch: SolidSketch, incoming: float, step: Array) -> None:
    """A post on the joint, a level tube, and the bearing of the next joint, which is `step` (3,) [m] away."""
    up = -1.0 if incoming < 0 else 1.0
    a, d = float(step[0]), float(step[2])
    far = np.array([a, 0.0, 0.0])
    wide = 0.072 if abs(incoming) > 0.2 else POST
    _dome(
        sketch,
        np.zeros(3),
        -up * (0.0856 if wide > POST else BELOW),
        up * (0.136 if wide > POST else ABOVE),
        wide,
        "cast",
    )
    sketch.rod([0, 0, 0], far, TUBE + 0.006 * (wide > POST), "cast")
    towards = 1.0 if d > 0 else -1.0
    meet = towards * max(abs(d) - BELOW, 0.02) if towards > 0 else towards * BELOW
    sketch.rod(far, far + [0, 0, meet], POST, "cast")
    _seam(sketch, far + [0, 0, meet], POST)
    if towards > 0:
        sketch.ball(far, POST, "cast")
    else:
        _dome(sketch, far, 0.0, ABOVE, POST - 0.004, "cast")


def _wrist(sketch: SolidSketch, incoming: float) -> None:
    """The post below the elbow link, or on it, and the level capsule on the tilt axis, which is -y."""
    reach = -np.sign(incoming) * (abs(incoming) - BELOW)
    sketch.rod([0, 0, 0], [0, 0, reach], 0.054, "column")
    sketch.rod([0, 0.110, 0], [0, -0.055, 0], 0.050, "column", round_ends=True)


def _stirrup(sketch: SolidSketch) -> None:
    """The link from the tilt axis (z, y up) down, outwards below the arm, and up to the swivel axis."""
    out, low = -0.310, -0.181
    sketch.rod([0, 0, -0.350], [0, 0, out - 0.020], 0.048, "cast")
    sketch.rod([0, 0, out], [0, low, out], 0.040, "cast", round_ends=True)
    sketch.rod([0, low, out], [0, low, 0], 0.038, "cast", round_ends=True)
    sketch.rod([0, -0.112, 0], [0, low, 0], 0.048, "cast")
    sketch.ball([0, low, 0], 0.048, "cast")


def _saddle(sketch: SolidSketch) -> None:
    """The plate below the arm's base, on the swivel axis (z up, x to the remote centre)."""
    sketch.rod([0, 0, -0.011], [0, 0, -0.004], 0.046, "steel")
    sketch.hull(plate([([-0.205, 0, 0], 0.050), ([0.010, 0, 0], 0.046)], (-0.012, -0.003), "z", 0.002), "column")


def _mount(sketch: SolidSketch, incoming: float, T_last_base: Array, arm: str) -> None:
    """The post of the last vertical axis and the arm's mount, in its direction."""
    reach = -np.sign(incoming) * (abs(incoming) - BELOW)
    mount = SolidSketch(sketch.drawing, sketch.body, sketch.T_body_drawing @ T_last_base)
    if arm == "ECM":
        pad = rounded_box(0.060, (-0.680, -0.550), (-0.116, -0.102), 0.004)
    else:
        pad = rounded_box(0.050, (-0.735, -0.720), 0.050, 0.006)
    T_base_last = inverse(T_last_base)
    foot = rounded_box(0.050, 0.050, 0.050, 0.030) @ T_base_last[:3, :3].T + T_base_last[:3, 3]
    sketch.rod([0, 0, 0], [0, 0, reach], 0.054, "column")
    sketch.ball([0, 0, 0], 0.054, "column")
    mount.hull([pad, foot], "column")
