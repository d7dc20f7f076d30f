"""Shapes of a master (MTM): top panel, outer yaw bracket, parallelogram, L-shaped gimbal and finger grips.

Drawn in the base frame at q = 0 (origin at the shoulder, z up, the forearm towards -y), from the joint positions of
the arm's own geometry. Sizes that no table gives are those of the real machine's covers, to about 5 mm. The two
masters are mirror images of each other. Collision shapes are in `arm_shapes`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from manifold3d import Manifold, OpType

from tools.shapes.carving import Circle, bar, hull, lathe, plate, rounded_box, turned
from tools.shapes.solid_sketch import SolidSkeleton, SolidSketch
from trocar.appearance.sketch import Drawing, Interval
from trocar.arms import Arm
from trocar.spatial import Array

PANEL = 0.190  # top panel above the shoulder [m]
BRACKET_X, CRANK_X = -0.106, -0.056  # lateral positions of the bracket and the crank next to the upper arm [m]


def add_mtm(drawing: Drawing, arm: Arm) -> None:
    """Add every visible shape of a master."""
    skeleton = SolidSkeleton(drawing, arm)
    at, on, elbow_pin = skeleton.at, skeleton.on, skeleton.pins["rod"]
    side = -1.0 if arm.name == "MTML" else 1.0
    _panel(on(None), side)
    _outer_yaw(on("outer_yaw"), side)
    _crank(on("crank"), at["rod"], side)
    _rod(on("rod"), at["rod"], elbow_pin, side)
    _upper_arm(on("upper_arm"), at["forearm"], side)
    _forearm(on("forearm"), at["forearm"], at["wrist_platform"], elbow_pin, side)
    wrist = at["wrist_platform"]
    _platform(on("wrist_platform"), wrist, at["forearm"][2] + 0.042, side)
    _pitch(on("wrist_pitch"), wrist, side)
    _yaw(on("wrist_yaw"), wrist)
    _grips(on("wrist_roll"), wrist)


def _across(side: float, *x: float) -> Interval:
    """An interval of x, mirrored for the left master."""
    low, high = sorted(side * value for value in x)
    return low, high


def _panel(sketch: SolidSketch, side: float) -> None:
    """The plate under which the master hangs, with the drum of the outer yaw axis."""
    outline: list[Circle] = [
        ([-0.095 * side, -0.010, 0], 0.029),
        ([0.085 * side, -0.010, 0], 0.022),
        ([0.040 * side, 0.145, 0], 0.022),
        ([-0.062 * side, 0.145, 0], 0.022),
    ]
    panel = hull(plate(outline, (PANEL + 0.045, PANEL + 0.057), "z", 0.002))
    for x, y in ((-0.095, -0.010), (0.085, -0.010), (0.040, 0.145), (-0.062, 0.145)):
        panel -= bar([x * side, y, PANEL], [x * side, y, PANEL + 0.1], 0.005, 12)
    sketch.solid(panel, "cast")
    sketch.solid(
        lathe([(PANEL + 0.020, 0.042), (PANEL + 0.034, 0.042), (PANEL + 0.038, 0.036), (PANEL + 0.046, 0.036)]),
        "aluminium",
    )


def _outer_yaw(sketch: SolidSketch, side: float) -> None:
    """A shelf under the panel and a long bracket next to the arm that carries the shoulder axis."""
    shelf: list[Circle] = [
        ([0.012 * side, -0.010, 0], 0.034),
        ([0.002 * side, 0.030, 0], 0.042),
        ([side * (BRACKET_X + 0.006), 0.060, 0], 0.014),
        ([side * (BRACKET_X + 0.006), -0.030, 0], 0.014),
    ]
    across = _across(side, BRACKET_X - 0.008, BRACKET_X + 0.014)
    outline: list[Circle] = [([0, 0.030, PANEL + 0.014], 0.008), ([0, -0.036, PANEL + 0.014], 0.008)]
    outline += [([0, 0, -0.029], 0.044)]
    bracket = hull(plate(shelf, (PANEL - 0.012, PANEL + 0.022), "z", 0.003))
    bracket += hull(plate(outline, across, bevel=0.003, sides=32))
    rib = [([0, 0.000, PANEL - 0.020], 0.020), ([0, 0.000, 0.040], 0.012)]
    inner = side * (BRACKET_X + 0.014)
    bracket -= hull(plate(rib, (inner - 0.003, inner + 0.003)))
    sketch.solid(bracket, "cover")
    sketch.rod([side * BRACKET_X, 0, 0], [side * (CRANK_X - 0.018), 0, 0], 0.030, "column")


def _crank(sketch: SolidSketch, pin: Array, side: float) -> None:
    """The short lever of the parallelogram, between the bracket and the upper arm."""
    across = _across(side, CRANK_X - 0.018, CRANK_X + 0.008)
    sketch.hull(plate([([0, 0, 0], 0.037), (pin, 0.015)], across, bevel=0.003), "aluminium")
    sketch.rod([side * (CRANK_X - 0.024), *pin[1:]], [side * (CRANK_X + 0.024), *pin[1:]], 0.007, "steel")


def _rod(sketch: SolidSketch, top: Array, low: Array, side: float) -> None:
    """The slender rod that carries the crank's motion down to the forearm."""
    across = _across(side, CRANK_X + 0.010, CRANK_X + 0.020)
    sketch.hull(plate([(top, 0.011), (low, 0.011)], across, bevel=0.002), "bright")
    for joint in (top, low):
        sketch.rod([across[0] - 0.001, *joint[1:]], [across[1] + 0.001, *joint[1:]], 0.0065, "steel")


def _upper_arm(sketch: SolidSketch, elbow: Array, side: float) -> None:
    """A square tube from above the shoulder down to the elbow's fork; the motor sticks out at the shoulder."""
    sketch.hull(rounded_box(0.024, (-0.022, 0.026), (elbow[2] + 0.030, 0.080), 0.005), "cast")
    sketch.rod([side * (CRANK_X + 0.006), 0, 0], [-0.02 * side, 0, 0], 0.019, "aluminium")
    sketch.rod([0.02 * side, 0, 0], [0.069 * side, 0, 0], 0.022, "cover")
    sketch.rod([0.069 * side, 0, 0], [0.074 * side, 0, 0], 0.017, "dark")
    for x in (-0.0265, 0.0265):
        fork: list[Circle] = [(elbow, 0.020), (elbow + [0, 0, 0.055], 0.021)]
        sketch.hull(plate(fork, (x - 0.004, x + 0.004), bevel=0.001), "cast")
    sketch.rod(elbow - [0.032, 0, 0], elbow + [0.032, 0, 0], 0.008, "steel")


def _forearm(sketch: SolidSketch, elbow: Array, wrist: Array, pin: Array, side: float) -> None:
    """A bar from the elbow to the drum under the gimbal, with an arm to the rod's pin."""
    sketch.hull(plate([(elbow, 0.016), (elbow + [0, -0.050, 0.004], 0.018)], 0.0215, bevel=0.002), "column")
    sketch.hull(rounded_box(0.021, (wrist[1], elbow[1] - 0.020), (elbow[2] - 0.013, elbow[2] + 0.024), 0.004), "column")
    drum = [(elbow[2] - 0.030, 0.022), (elbow[2] - 0.026, 0.026), (elbow[2] + 0.032, 0.026), (elbow[2] + 0.034, 0.024)]
    sketch.hull(turned(drum, axis="z") + [0, wrist[1], 0], "column")
    across = _across(side, 0.0, CRANK_X + 0.009)
    sketch.rod([across[0], *pin[1:]], [across[1], *pin[1:]], 0.006, "steel")
    sketch.hull(plate([(pin, 0.012), (pin + [0, 0.030, 0.004], 0.014)], 0.016, bevel=0.001), "column")


def _platform(sketch: SolidSketch, wrist: Array, low: float, side: float) -> None:
    """The outer L of the gimbal: a shelf above the forearm, and an upright with the wrist pitch motor."""
    shelf: list[Circle] = [([0, wrist[1], 0], 0.026), ([0.110 * side, wrist[1], 0], 0.025)]
    frame = hull(plate(shelf, (low - 0.006, low + 0.022), "z", 0.002))
    top, foot = ([0, wrist[1], wrist[2] - 0.008], 0.025), ([0, wrist[1], low + 0.018], 0.025)
    frame += hull(plate([top, foot], _across(side, 0.096, 0.136), bevel=0.003, sides=32))
    frame -= hull(plate([([0, *wrist[1:]], 0.015)], _across(side, 0.1345, 0.15)))
    sketch.solid(frame, "aluminium")
    sketch.rod([0.080 * side, *wrist[1:]], [0.100 * side, *wrist[1:]], 0.010, "steel")
    sketch.rod([0.133 * side, *wrist[1:]], [0.1352 * side, *wrist[1:]], 0.012, "column")


def _pitch(sketch: SolidSketch, wrist: Array, side: float) -> None:
    """The middle L: an upright on the pitch axis and a shelf below the hand."""
    low = wrist[2] - 0.092
    upright: list[Circle] = [([0, wrist[1], wrist[2]], 0.014), ([0, wrist[1], low + 0.020], 0.014)]
    frame = hull(plate(upright, _across(side, 0.062, 0.078), bevel=0.002))
    frame += hull(
        plate([([0, wrist[1], 0], 0.015), ([0.064 * side, wrist[1], 0], 0.014)], (low, low + 0.026), "z", 0.002)
    )
    gusset: list[Circle] = [([0.060 * side, 0, low + 0.030], 0.004), ([0.064 * side, 0, low + 0.055], 0.004)]
    gusset += [([0.034 * side, 0, low + 0.022], 0.004)]
    frame += hull(plate(gusset, (wrist[1] - 0.010, wrist[1] + 0.010), "y"))
    sketch.solid(frame, "cast")
    sketch.rod([0, wrist[1], low + 0.020], [0, wrist[1], low + 0.030], 0.012, "steel")


def _yaw(sketch: SolidSketch, wrist: Array) -> None:
    """The inner L: from the yaw axis back and up to the roll axis behind the hand."""
    low, behind = wrist[2] - 0.064, wrist[1] + 0.062
    frame = hull(plate([([0, wrist[1], 0], 0.013), ([0, behind, 0], 0.011)], (low, low + 0.016), "z", 0.002))
    frame += hull(rounded_box(0.011, (behind - 0.006, behind + 0.012), (low, wrist[2] + 0.008), 0.004))
    roll = [(behind - 0.012, 0.0115), (behind - 0.010, 0.0135), (behind + 0.016, 0.0135), (behind + 0.019, 0.0110)]
    frame += lathe(roll, "y").translate([0.0, 0.0, float(wrist[2])])
    sketch.solid(frame, "cover")


def _grips(sketch: SolidSketch, wrist: Array) -> None:
    """Roll hub and two finger levers, spread like a pair of tweezers, each with a pad and the strap of a finger."""
    hub, tip, z = wrist[1] + 0.048, wrist[1] - 0.034, float(wrist[2])
    profile = [(hub - 0.026, 0.006), (hub - 0.020, 0.0095), (hub - 0.016, 0.015), (hub, 0.015), (hub + 0.004, 0.011)]
    hand = lathe(profile, "y").translate([0.0, 0.0, z])
    for x in (-1.0, 1.0):
        root = plate([([0, hub - 0.018, z], 0.007)], _across(x, 0.004, 0.010))
        knee = plate([([0, tip + 0.034, z], 0.0065)], _across(x, 0.0170, 0.0205))
        end = plate([([0, tip + 0.010, z], 0.0095)], _across(x, 0.0160, 0.0190), sides=24)
        hand += hull([root, knee]) + hull([knee, end])
        pad: list[Circle] = [([0, tip + 0.010, z], 0.0085), ([0, tip + 0.024, z], 0.0070)]
        sketch.hull(plate(pad, _across(x, 0.0175, 0.0212), bevel=0.0008), "dark")
        arc = np.linspace(-0.42 * np.pi, 0.42 * np.pi, 7)
        strap = [
            hull(
                np.array(
                    [
                        [x * (0.0185 + r * 1.25 * np.cos(a)), tip + y, z + r * np.sin(a)]
                        for a in pair
                        for r in (0.0105, 0.0117)
                        for y in (0.009, 0.021)
                    ]
                )
            )
            for pair in pairwise(arc)
        ]
        sketch.solid(Manifold.batch_boolean(strap, OpType.Add), "column")
    sketch.solid(hand, "cast")
    sketch.rod([0, tip + 0.055, z], [0, hub - 0.014, z], 0.004, "steel")
