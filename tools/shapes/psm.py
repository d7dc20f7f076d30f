"""Shapes of the Classic PSM: cast base, boat-shaped yaw housing, parallelogram, insertion column and carriage.

Everything is drawn in the base frame at q = 0 (origin at the remote centre, z up, the mechanism at -y), from the
joint positions of the arm's own geometry; so it does not depend on the published frame conventions. Sizes that no
table gives are those of the real machine's covers, to about 5 mm.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from manifold3d import Manifold

from tools.shapes.carving import bar, block, hull, lathe, plate, polygon, prism, rectangle, rounded_box, turned
from tools.shapes.solid_sketch import SolidSkeleton, SolidSketch
from trocar.appearance.sketch import COLLISION, Drawing
from trocar.arms import Arm
from trocar.spatial import Array

# Half widths across the linkage [m]: back plates, and the forks of the two long bars that pass the column.
BACK_X, FORK_X = 0.050, 0.043
BASE_DEPTH = 0.152  # yaw axis to the mounting plane [m]
COLUMN = {"top": 0.395, "behind": 0.026, "ahead": 0.017, "half_width": 0.037}  # about the joint of the bottom bar [m]
CARRIAGE = (-0.052, 0.068)  # below and above the insertion frame [m]
CANNULA_END, CANNULA_RADIUS = -0.036, 0.0060  # [m]; the tube is 4 cm into the patient


def add_psm(drawing: Drawing, arm: Arm) -> None:
    """Add every shape of the Classic PSM except its instrument."""
    skeleton = SolidSkeleton(drawing, arm)
    at, pins, on = skeleton.at, skeleton.pins, skeleton.on
    pitch, bottom, top, end = (at[name] for name in ("back", "bottom", "top", "end"))
    insertion = float(at["insertion"][2])
    _base(on(None), pitch[1])
    _yaw(on("yaw"), pitch[1])
    _back(on("back"), pitch, bottom, top)
    _counterweight(on("counterweight"), bottom)
    _bottom(on("bottom"), bottom, end, top[2] - bottom[2])
    _top(on("top"), top, pins["top"])
    _front(on("front"), at["front"], pins["front"])
    _column(on("end"), end)
    add_cannula(on("end"), end[2] - 0.058)
    add_carriage(on("insertion"), insertion, end[1] + COLUMN["ahead"])


def _base(sketch: SolidSketch, y: float) -> None:
    """Pedestal with a domed motor cover behind the yaw axis, and a rail to the bearing in front of the boat."""
    foot = -BASE_DEPTH
    profile = [(y - 0.260, 0.050), (y - 0.257, 0.057), (y - 0.250, 0.063), (y - 0.238, 0.0665), (y - 0.222, 0.068)]
    profile += [(y - 0.165, 0.068), (y - 0.152, 0.066), (y - 0.143, 0.061), (y - 0.138, 0.052)]
    dome = turned(profile, (0.0, np.pi))
    body = hull([dome, rounded_box(0.068, (y - 0.256, y - 0.138), (foot, 0.0), 0.006)])
    body += hull(rounded_box(0.060, (y - 0.150, y - 0.088), (foot, -0.062), 0.007))
    # an arch for the cables at the foot, a seam round the cover, bolt holes
    body -= bar([-0.1, y - 0.232, foot], [0.1, y - 0.232, foot], 0.017, 24)
    body -= block(0.1, (y - 0.300, y - 0.232), (foot - 0.01, foot + 0.006))
    seam = hull(rounded_box(0.0665, (y - 0.2565, y - 0.1395), 0.2, 0.005))
    body -= block(0.1, (y - 0.3, y - 0.1375), (-0.0435, -0.0405)) - seam
    for z in (-0.125, -0.075):
        body -= bar([-0.1, y - 0.118, z], [0.1, y - 0.118, z], 0.004, 10)
    sketch.solid(body, "cast")
    rail = [(-0.100, -0.142), (0.085, -0.142), (0.150, -0.070), (0.150, 0.010)]
    sides = Manifold()
    for (y_a, z_a), (y_b, z_b) in pairwise(rail):
        for x in (-0.028, 0.028):
            ends = [([0, y + y_a, z_a], 0.0050), ([0, y + y_b, z_b], 0.0050)]
            sides += hull(plate(ends, (x - 0.006, x + 0.006)))
    for y_c in (0.020, 0.080):
        sides += block(0.030, (y + y_c - 0.010, y + y_c + 0.010), (-0.145, -0.139))
    sketch.solid(sides, "aluminium")
    bearing = hull(plate([([0, 0, 0], 0.030), ([0, 0, -0.040], 0.034)], (y + 0.145, y + 0.156), "y", 0.002))
    sketch.solid(bearing, "cast")
    sketch.rod([0, y + 0.132, 0], [0, y + 0.159, 0], 0.015, "steel")


def _yaw(sketch: SolidSketch, y: float) -> None:
    """The boat: an open tub, a half disc about the pitch axis between two half-round necks on the yaw axis."""
    deck = 0.012

    def tub(inset: float) -> Manifold:
        """The tub below the deck, smaller by a wall of `inset` [m]."""
        middle = [0.0, y + 0.012, 0.0]
        disc = hull(
            [
                plate([(middle, 0.124 - inset)], 0.068 - inset, sides=48),
                plate([(middle, 0.107 - inset)], 0.081 - inset, sides=48),
            ]
        )
        ends = [(y - 0.163 + inset, 0.052), (y - 0.148, 0.056), (y - 0.128, 0.056), (y - 0.090, 0.070)]
        ends += [(y + 0.100, 0.072), (y + 0.120, 0.066), (y + 0.135 - inset, 0.054)]
        neck = lathe([(at, radius - inset) for at, radius in ends], "y", 40)
        neck += block(0.052 - inset, (ends[0][0], ends[-1][0]), (0.0, 0.1))
        return disc + neck

    shell = tub(0.0) - tub(0.005).translate([0.0, 0.0, 1e-4])
    shell -= block(0.2, (y - 0.3, y + 0.3), (deck, 0.3))
    sketch.solid(shell, "cover")
    # the drives inside, with the drum of the pitch cable
    sketch.hull(rounded_box(0.050, (y - 0.150, y - 0.075), (-0.045, deck - 0.002), 0.004), "dark")
    sketch.hull(rounded_box(0.045, (y + 0.075, y + 0.125), (-0.040, deck - 0.004), 0.004), "dark")
    sketch.rod([0, y - 0.170, 0], [0, y - 0.130, 0], 0.046, "column")
    sketch.rod([-0.078, y, 0], [0.078, y, 0], 0.011, "steel")


def _back(sketch: SolidSketch, pitch: Array, bottom: Array, top: Array) -> None:
    """A pair of plates: a bar down from the two upper joints, widened to a triangle that reaches the pitch axis."""
    foot = np.array([0, bottom[1] - 0.012, 0.0])
    knee = bottom + 0.42 * (foot - bottom)
    for x in (-BACK_X, BACK_X):
        bar_of = [(top, 0.013), (bottom, 0.014), (foot, 0.017)]
        web = [(knee, 0.016), (foot, 0.018), (pitch, 0.026), (foot - [0, -0.02, 0.05], 0.018)]
        side = hull(plate(bar_of, (x - 0.005, x + 0.005), bevel=0.001))
        flange = hull(plate(web, (x - 0.005, x + 0.005), bevel=0.001))
        pocket = [(knee + [0, 0.012, -0.026], 0.007), (foot + [0, 0.014, 0.004], 0.008), (pitch, 0.015)]
        flange -= hull(plate(pocket, (x + np.sign(x) * 0.003, x + np.sign(x) * 0.01), sides=12))
        for joint in (top, bottom):
            side -= bar(joint + [x - 0.01, 0, 0], joint + [x + 0.01, 0, 0], 0.0085)
            sketch.rod(joint + [x - 0.0035, 0, 0], joint + [x + 0.0035, 0, 0], 0.0080, "steel")
        sketch.solid(side + flange, "cast")
    for joint in (top, bottom):
        sketch.rod(joint - [BACK_X, 0, 0], joint + [BACK_X, 0, 0], 0.0055, "steel")
    brace = knee - [0, 0, 0.012]
    sketch.hull(
        rounded_box(BACK_X, (brace[1] - 0.020, brace[1] - 0.012), (brace[2] - 0.02, brace[2] + 0.02), 0.002), "cast"
    )


def _counterweight(sketch: SolidSketch, bottom: Array) -> None:
    """Block between the back plates. It starts low in the boat, because it climbs by up to the insertion's 0.24 m."""
    y, z = bottom[1] + 0.006, -0.068
    sketch.hull(rounded_box(0.030, (y - 0.017, y + 0.017), (z - 0.034, z + 0.034), 0.003), "tungsten")
    for x in (-0.012, 0.012):
        sketch.rod([x, y, z - 0.036], [x, y, z + 0.036], 0.005, "steel")


def _bottom(sketch: SolidSketch, back: Array, end: Array, height: float) -> None:
    """The thick bar: a cover around both bars, open below, with forks to the joints at its two ends."""
    length = end[1] - back[1]
    begin, stop = back[1] + 0.045 * length, back[1] + 0.70 * length
    low, high = back[2] - 0.009, back[2] + height + 0.012
    section = rectangle(0.048, (low - 0.02, high), 0.007)
    inside = rectangle(0.0468, (low - 0.04, high - 0.003), 0.005)
    cover = prism(section, (begin, stop), "y") - prism(inside, (begin - 0.01, stop + 0.01), "y")
    # side view: the far end is cut obliquely, with a shorter top that reaches over the joints at the back
    slant = 0.55 * (high - low)
    outline = [(begin + 0.020, low), (stop, low), (stop, low + 0.45 * (high - low)), (stop - slant, high + 1e-3)]
    outline += [(begin, high + 1e-3), (begin, high - 0.012), (begin + 0.020, high - 0.016)]
    cover ^= prism(outline, 0.1)
    middle = back[2] + 0.25 * height
    window = rectangle((stop - 0.080, stop - 0.008), (middle - 0.009, middle + 0.009), 0.003)
    for x in (-0.048, 0.048):
        cover -= prism(window, (x - 0.0006, x + 0.0006))
    sketch.solid(cover, "cast")
    for x in (-FORK_X, FORK_X):
        across = (x - 0.0035, x + 0.0035)
        bend = np.array([0, stop + 0.035, end[2]])
        inside_end = np.array([0, stop - 0.030, end[2] + 0.016])
        fork = hull(plate([(end, 0.0085), (bend, 0.0085)], across, bevel=0.001))
        sketch.solid(fork + hull(plate([(bend, 0.0085), (inside_end, 0.0085)], across, bevel=0.001)), "aluminium")
        inner = np.sign(x) * 0.038
        sketch.hull(
            plate([(back, 0.010), (back + [0, 0.12 * length, 0], 0.010)], (inner - 0.004, inner + 0.004)), "aluminium"
        )
    sketch.rod(end - [FORK_X + 0.0055, 0, 0], end + [FORK_X + 0.0055, 0, 0], 0.005, "steel")
    sketch.box(0.048, (back[1], stop), (low, high), COLLISION)


def _top(sketch: SolidSketch, back: Array, end: Array) -> None:
    """The slimmer bar: mostly inside the bottom bar's cover, seen at both ends."""
    along = end - back
    for x in (-FORK_X, FORK_X):
        across = (x - 0.003, x + 0.003)
        sketch.hull(plate([(end, 0.0085), (back + 0.55 * along, 0.0085)], across, bevel=0.001), "bright")
        inner = np.sign(x) * 0.038
        sketch.hull(plate([(back, 0.009), (back + 0.12 * along, 0.009)], (inner - 0.004, inner + 0.004)), "bright")
    web = back[1] + along[1] * np.array([0.60, 0.80])
    sketch.box(FORK_X, (web[0], web[1]), (back[2] - 0.003, back[2] + 0.003), "bright")
    sketch.rod(end - [FORK_X + 0.0055, 0, 0], end + [FORK_X + 0.0055, 0, 0], 0.005, "steel")
    sketch.rod(back + 0.60 * along, end, 0.009, COLLISION, round_ends=True)


def _front(sketch: SolidSketch, *ends: Array) -> None:
    """A single thin bar, to one side."""
    low, high = sorted(ends, key=lambda p: float(p[2]))
    sketch.hull(plate([(low, 0.010), (high, 0.010)], (-0.041, -0.027), bevel=0.002), "bright")
    for joint in (low, high):
        sketch.rod(joint - [0.045, 0, 0], joint - [0.023, 0, 0], 0.006, "steel")


def _column(sketch: SolidSketch, end: Array) -> None:
    """The tall cover of the insertion drive, with a guide slot and a foot that tapers to the cannula's mount."""
    y, z = end[1], end[2]
    behind, ahead, half = y - COLUMN["behind"], y + COLUMN["ahead"], COLUMN["half_width"]
    foot, top = z - 0.030, z + COLUMN["top"]
    cover = hull(
        [
            rounded_box(half, (behind, ahead), (foot, top - 0.020), 0.009),
            rounded_box(half - 0.003, (behind + 0.003, ahead), (top - 0.030, top), 0.007),
        ]
    )
    heel = rounded_box(half - 0.002, (behind, ahead), (foot - 0.004, foot + 0.020), 0.004)
    toe = rounded_box(0.019, (-0.034, 0.002), (foot - 0.050, foot - 0.018), 0.004)
    cover += hull([heel, toe])
    cover += hull(rounded_box(0.019, (-0.020, 0.012), (foot - 0.050, foot - 0.008), 0.005))
    cover -= block(0.014, (ahead - 0.006, ahead + 0.01), (z + 0.020, top - 0.020))  # the guide slot
    for x in (-0.022, 0.022):
        cover -= block((x - 0.0032, x + 0.0032), (ahead - 0.003, ahead + 0.01), (z + 0.010, top - 0.020))
    sketch.solid(cover, "column")
    sketch.box(0.014, (ahead - 0.007, ahead - 0.0055), (z + 0.020, top - 0.020), "dark")
    sketch.rod([0, ahead - 0.002, z + 0.020], [0, ahead - 0.002, top - 0.020], 0.0028, "steel")  # lead of the drive
    for x in (-0.022, 0.022):
        sketch.box((x - 0.003, x + 0.003), (ahead - 0.003, ahead + 0.0015), (z + 0.010, top - 0.020), "steel")
    sketch.box(half, (behind, ahead), (foot, top), COLLISION)


def add_cannula(sketch: SolidSketch, mount: float) -> None:
    """Mount at height `mount` [m] with its latch, and the tube through the remote centre, with dark bands there."""
    clamp = lathe([(mount - 0.019, 0.0125), (mount - 0.016, 0.0145), (mount + 0.012, 0.0165), (mount + 0.015, 0.0145)])
    sketch.solid(clamp, "column")
    bowl = lathe([(mount + 0.014, 0.0085), (mount + 0.020, 0.0095), (mount + 0.031, 0.0130), (mount + 0.034, 0.0130)])
    sketch.solid(bowl - bar([0, 0, mount + 0.020], [0, 0, mount + 0.05], 0.0095), "bright")
    for x in (-1.0, 1.0):  # the two levers of the latch
        root = rounded_box((x * 0.013, x * 0.020), (-0.010, 0.008), (mount - 0.010, mount + 0.010), 0.003)
        grip = rounded_box((x * 0.020, x * 0.026), (0.000, 0.010), (mount - 0.002, mount + 0.012), 0.002)
        sketch.hull([root, grip], "dark")
    tube = lathe([(CANNULA_END, CANNULA_RADIUS - 5e-4), (CANNULA_END + 1e-3, CANNULA_RADIUS), (mount, CANNULA_RADIUS)])
    sketch.solid(tube, "bright")
    sketch.rod([0, 0, -0.003], [0, 0, 0.003], CANNULA_RADIUS + 2e-4, "dark")
    for z in (-0.012, 0.012):
        sketch.rod([0, 0, z - 0.0008], [0, 0, z + 0.0008], CANNULA_RADIUS + 2e-4, "dark")


def add_carriage(sketch: SolidSketch, z: float, rail: float) -> None:
    """Carriage on the rail at y = `rail` [m], sterile adapter with its four discs, and the instrument's housing."""
    low, high = z + CARRIAGE[0], z + CARRIAGE[1]
    sketch.hull(rounded_box(0.034, (rail + 0.001, rail + 0.008), (low + 0.008, high - 0.004), 0.003), "column")
    # the adapter: a tray with a rim around the end of the instrument
    tray = hull(rounded_box(0.041, (rail + 0.007, rail + 0.013), (low + 0.001, high), 0.003))
    rim = rounded_box(0.038, (rail + 0.008, rail + 0.026), (low + 0.004, high - 0.003), 0.004)
    inside = rounded_box(0.035, (rail + 0.013, rail + 0.040), (low - 0.02, high - 0.006), 0.004)
    sketch.solid(tray + (hull(rim) - hull(inside)), "plastic")
    centre = (low + high) / 2
    for x in (-0.015, 0.015):
        for step in (-0.018, 0.018):
            disc = np.array([x, rail + 0.013, centre + step])
            sketch.rod(disc, disc + [0, 0.005, 0], 0.0115, "dark")
    # the housing: deep at the top, its lower front cut away towards the shaft
    front = rail + 0.070
    outline = [(rail + 0.017, low + 0.004), (rail + 0.044, low + 0.004), (front, low + 0.024), (front, high - 0.012)]
    outline += [(front - 0.006, high - 0.006), (rail + 0.017, high - 0.006)]
    housing = prism(polygon(outline, 0.004), 0.034)
    housing ^= prism(
        polygon(
            [(-0.034, rail), (0.034, rail), (0.034, rail + 0.044)]
            + [(0.025, front), (-0.025, front), (-0.034, rail + 0.044)],
            0.005,
        ),
        (low - 0.01, high + 0.01),
        "z",
    )
    for side in (-1.0, 1.0):  # recesses of the release buttons
        housing -= block((side * 0.0325, side * 0.05), (rail + 0.026, rail + 0.044), (centre - 0.016, centre + 0.020))
        button = rounded_box(
            (side * 0.031, side * 0.0365), (rail + 0.028, rail + 0.042), (centre - 0.014, centre + 0.018), 0.002
        )
        sketch.hull(button, "cover")
    sketch.solid(housing, "cast")
    label = rectangle(0.019, (low + 0.036, high - 0.022), 0.003)
    sketch.solid(prism(label, (front - 0.002, front + 0.0006), "y"), "column")
    sketch.box(0.013, (front, front + 0.0010), (high - 0.040, high - 0.034), "bright")
    for x in (-0.010, 0.010):  # flush ports on the shoulder
        sketch.rod([x, rail + 0.050, high - 0.008], [x, rail + 0.050, high + 0.001], 0.0032, "dark")
    sketch.solid(lathe([(low - 0.016, 0.0060), (low - 0.010, 0.0075), (low + 0.010, 0.0140)]), "cast")
