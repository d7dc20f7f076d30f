"""Shapes of a master (MTM): top panel, outer yaw bracket, parallelogram, L-shaped gimbal and finger grips.

Drawn in the base frame at q = 0 (origin at the shoulder, z up, the forearm towards -y), from the joint positions of
the arm's own geometry. Sizes that no table gives are those of the real machine's covers, to about 5 mm. The two
masters are mirror images of each other. What collides is drawn elsewhere (see `geometry`).
"""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.simulation.shapes import Drawing, Sketch, on_bodies
from trocar.simulation.solid_shapes import Circle, Interval, plate, rounded_box, turned
from trocar.spatial import Array

PANEL = 0.190  # top panel above the shoulder [m]
BRACKET_X, CRANK_X = -0.106, -0.056  # the bracket hangs, and the crank turns, beside the upper arm [m]


def add_mtm(drawing: Drawing, arm: Arm) -> None:
    """Add every visible shape of a master."""
    T, on = poses_at_zero(arm.bodies), on_bodies(drawing, arm.bodies)
    at = {name: pose[:3, 3] for name, pose in T.items()}
    side = -1.0 if arm.name == "MTML" else 1.0
    (loop,) = arm.loops
    elbow_pin = (T[loop.body_a] @ np.array([*loop.point_a, 1.0]))[:3]
    _panel(on(None), side)
    _outer_yaw(on("outer_yaw"), side)
    _crank(on("crank"), at["rod"], side)
    _rod(on("rod"), at["rod"], elbow_pin, side)
    _upper_arm(on("upper_arm"), at["forearm"], side)
    _forearm(on("forearm"), at["forearm"], at["wrist_platform"], elbow_pin, side)
    wrist = at["wrist_platform"]
    _platform(on("wrist_platform"), wrist, at["forearm"][2] + 0.042, side)
    _pitch(on("wrist_pitch"), wrist, side)
    _yaw(on("wrist_yaw"), wrist, side)
    _grips(on("wrist_roll"), wrist)


def _across(side: float, *x: float) -> Interval:
    """An interval of x, mirrored for the left master."""
    low, high = sorted(side * value for value in x)
    return low, high


def _panel(sketch: Sketch, side: float) -> None:
    """The plate under which the master hangs, with the drum of the outer yaw axis."""
    outline: list[Circle] = [
        ([-0.085 * side, 0.000, 0], 0.035),
        ([0.075 * side, 0.000, 0], 0.032),
        ([0.060 * side, 0.135, 0], 0.032),
        ([-0.060 * side, 0.135, 0], 0.032),
    ]
    sketch.hull(plate(outline, (PANEL + 0.045, PANEL + 0.057), "z", 0.002), "cast")
    sketch.rod([0, 0, PANEL + 0.020], [0, 0, PANEL + 0.046], 0.040, "aluminium")


def _outer_yaw(sketch: Sketch, side: float) -> None:
    """A shelf under the panel and a long bracket beside the arm that carries the shoulder axis."""
    shelf: list[Circle] = [
        ([0, 0, 0], 0.043),
        ([side * (BRACKET_X + 0.030), 0.040, 0], 0.036),
        ([side * (BRACKET_X + 0.030), -0.040, 0], 0.036),
    ]
    sketch.hull(plate(shelf, (PANEL - 0.012, PANEL + 0.022), "z", 0.004), "cover")
    across = _across(side, BRACKET_X - 0.008, BRACKET_X + 0.014)
    outline: list[Circle] = [([0, 0.034, PANEL], 0.040), ([0, -0.034, PANEL], 0.040), ([0, 0, -0.018], 0.050)]
    sketch.hull(plate(outline, across, bevel=0.004), "cover")
    sketch.rod([side * BRACKET_X, 0, 0], [side * (CRANK_X - 0.018), 0, 0], 0.030, "column")


def _crank(sketch: Sketch, pin: Array, side: float) -> None:
    """The short lever of the parallelogram, between the bracket and the upper arm."""
    across = _across(side, CRANK_X - 0.018, CRANK_X + 0.008)
    sketch.hull(plate([([0, 0, 0], 0.037), (pin, 0.015)], across, bevel=0.003), "aluminium")
    sketch.rod([side * (CRANK_X - 0.024), *pin[1:]], [side * (CRANK_X + 0.024), *pin[1:]], 0.007, "steel")


def _rod(sketch: Sketch, top: Array, low: Array, side: float) -> None:
    """The slender rod that carries the crank's motion down to the forearm."""
    across = _across(side, CRANK_X + 0.010, CRANK_X + 0.020)
    sketch.hull(plate([(top, 0.011), (low, 0.011)], across, bevel=0.002), "bright")
    for joint in (top, low):
        sketch.rod([across[0] - 0.001, *joint[1:]], [across[1] + 0.001, *joint[1:]], 0.0065, "steel")


def _upper_arm(sketch: Sketch, elbow: Array, side: float) -> None:
    """A square tube from above the shoulder down to the elbow's fork; the motor sticks out at the shoulder."""
    sketch.hull(rounded_box((-0.024, 0.024), (-0.022, 0.026), (elbow[2] + 0.030, 0.080), 0.005), "cast")
    sketch.rod([side * (CRANK_X + 0.006), 0, 0], [-0.02 * side, 0, 0], 0.019, "aluminium")
    sketch.rod([0.02 * side, 0, 0], [0.069 * side, 0, 0], 0.022, "cover")
    sketch.rod([0.069 * side, 0, 0], [0.074 * side, 0, 0], 0.017, "dark")
    for x in (-0.0265, 0.0265):
        fork: list[Circle] = [(elbow, 0.020), (elbow + [0, 0, 0.055], 0.021)]
        sketch.hull(plate(fork, (x - 0.004, x + 0.004), bevel=0.001), "cast")
    sketch.rod(elbow - [0.032, 0, 0], elbow + [0.032, 0, 0], 0.008, "steel")


def _forearm(sketch: Sketch, elbow: Array, wrist: Array, pin: Array, side: float) -> None:
    """A bar from the elbow to the drum under the gimbal, with an arm to the rod's pin."""
    sketch.hull(plate([(elbow, 0.016), (elbow + [0, -0.050, 0.004], 0.018)], (-0.0215, 0.0215), bevel=0.002), "column")
    sketch.hull(
        rounded_box((-0.021, 0.021), (wrist[1], elbow[1] - 0.020), elbow[2] + np.array([-0.013, 0.024]), 0.004),
        "column",
    )
    drum = [(elbow[2] - 0.030, 0.022), (elbow[2] - 0.026, 0.026), (elbow[2] + 0.032, 0.026), (elbow[2] + 0.034, 0.024)]
    sketch.hull(turned(drum, axis="z") + [0, wrist[1], 0], "column")
    across = _across(side, 0.0, CRANK_X + 0.009)
    sketch.rod([across[0], *pin[1:]], [across[1], *pin[1:]], 0.006, "steel")
    sketch.hull(plate([(pin, 0.012), (pin + [0, 0.030, 0.004], 0.014)], (-0.016, 0.016), bevel=0.001), "column")


def _platform(sketch: Sketch, wrist: Array, low: float, side: float) -> None:
    """The outer L of the gimbal: a shelf above the forearm, and an upright with the wrist pitch motor."""
    shelf: list[Circle] = [([0, wrist[1], 0], 0.026), ([0.110 * side, wrist[1], 0], 0.024)]
    sketch.hull(plate(shelf, (low - 0.006, low + 0.024), "z", 0.003), "plastic")
    upright = rounded_box(
        _across(side, 0.096, 0.136), wrist[1] + np.array([-0.025, 0.025]), (low, wrist[2] + 0.018), 0.006
    )
    sketch.hull(upright, "plastic")
    sketch.rod([0.080 * side, *wrist[1:]], [0.100 * side, *wrist[1:]], 0.010, "steel")


def _pitch(sketch: Sketch, wrist: Array, side: float) -> None:
    """The middle L: an upright on the pitch axis and a shelf below the hand."""
    low = wrist[2] - 0.092
    upright = [([0, wrist[1], wrist[2]], 0.014), ([0, wrist[1], low + 0.014], 0.014)]
    sketch.hull(plate(upright, _across(side, 0.060, 0.080), bevel=0.002), "cast")
    sketch.hull(
        plate([([0, wrist[1], 0], 0.015), ([0.066 * side, wrist[1], 0], 0.014)], (low, low + 0.022), "z", 0.002), "cast"
    )
    sketch.rod([0, wrist[1], low + 0.020], [0, wrist[1], low + 0.030], 0.012, "steel")


def _yaw(sketch: Sketch, wrist: Array, side: float) -> None:
    """The inner L: from the yaw axis back and up to the roll axis behind the hand."""
    low, behind = wrist[2] - 0.064, wrist[1] + 0.062
    sketch.hull(plate([([0, wrist[1], 0], 0.013), ([0, behind, 0], 0.011)], (low, low + 0.016), "z", 0.002), "cover")
    upright = rounded_box((-0.011, 0.011), (behind - 0.006, behind + 0.012), (low, wrist[2] + 0.013), 0.004)
    sketch.hull(upright, "cover")
    sketch.rod([0, behind - 0.012, wrist[2]], [0, behind + 0.014, wrist[2]], 0.011, "cover")


def _grips(sketch: Sketch, wrist: Array) -> None:
    """Roll hub and two finger paddles, spread like a pair of tweezers."""
    hub, tip = wrist[1] + 0.048, wrist[1] - 0.034
    z = wrist[2]
    sketch.hull(
        turned([(hub - 0.024, 0.009), (hub - 0.018, 0.015), (hub, 0.015), (hub + 0.004, 0.011)]) + [0, 0, z], "cast"
    )
    for x in (-1.0, 1.0):
        root = rounded_box(_across(x, 0.004, 0.010), (hub - 0.028, hub - 0.012), (z - 0.007, z + 0.007), 0.002)
        knee = rounded_box(_across(x, 0.017, 0.022), (tip + 0.030, tip + 0.036), (z - 0.008, z + 0.008), 0.002)
        sketch.hull(np.vstack([root, knee]), "cast")
        end = rounded_box(_across(x, 0.014, 0.019), (tip, tip + 0.006), (z - 0.009, z + 0.009), 0.002)
        sketch.hull(np.vstack([knee, end]), "cast")
        pad: list[Circle] = [([0, tip + 0.008, z], 0.008), ([0, tip + 0.026, z], 0.008)]
        sketch.hull(plate(pad, _across(x, 0.0205, 0.0225), bevel=0.0006), "dark")
    sketch.rod([0, tip + 0.055, z], [0, hub - 0.014, z], 0.004, "steel")
