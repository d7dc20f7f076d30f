"""Camera control with two MTMs: forces that keep them apart, and joint positions of the ECM.

Positions are in the display frame HRSV: X left, Y up, Z away; the origin is between the eyes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trocar.spatial import Array, unit

SPRING = 150.0  # stiffness towards the goal of each MTM [N/m]
FRICTION = np.array([-10.0, -10.0, -40.0])  # viscous, by axis [N s/m]
BOX = np.array([[-0.4, -0.2, 0.01], [0.4, 0.2, 0.8]])  # work area: both grips must be inside to start [m]


@dataclass(frozen=True)
class Grips:
    """Geometry of two grips, seen from the eyes.

    Attributes:
        middle: midpoint (3,) [m]. up, side: unit vectors (3,) of the picture that the grips hold.
        width, depth: half of the distance right - left, along `side` and along the line of sight [m].
    """

    middle: Array
    up: Array
    side: Array
    width: float
    depth: float


def grips(left: Array, right: Array) -> Grips:
    """Geometry of grips at two positions (3,) [m]."""
    apart, middle = right - left, 0.5 * (left + right)
    up = unit(_cross(apart, middle))
    side = unit(_cross(middle, up))
    return Grips(middle, up, side, 0.5 * float(side.dot(apart)), 0.5 * float(unit(middle).dot(apart)))


def goals(now: Grips, start: Grips) -> tuple[Array, Array]:
    """Goals (3,) of the left and right grip: width and depth as at the start, about the current midpoint."""
    half = start.width * now.side + start.depth * unit(now.middle)
    return now.middle - half, now.middle + half


def force(goal: Array, position: Array, velocity: Array) -> Array:
    """Force (3,) on a grip [N]."""
    return SPRING * (goal - position) + FRICTION * velocity


def joint_change(now: Grips, start: Grips, q4: float, scale: float, camera_roll_offset: float = 0.0) -> Array:
    """Change (4,) of the ECM's joints since the start [rad, m]; `q4` is its roll at the start [rad]."""
    (x0, y0, z0), (x, y, z) = start.middle.tolist(), now.middle.tolist()
    (u0, v0, _), (u, v, _) = start.up.tolist(), now.up.tolist()
    sideways, upwards, rolled = -_angle(z0, x0, z, x), _angle(y0, z0, y, z), -_angle(u0, v0, u, v)
    r = rolled + q4 + camera_roll_offset
    c, s = math.cos(r), math.sin(r)
    inwards = scale * (_length(start.middle) - _length(now.middle))
    return np.array([sideways * c - upwards * s, upwards * c + sideways * s, inwards, rolled])


def _angle(x0: float, y0: float, x: float, y: float) -> float:
    """Angle from (x0, y0) to (x, y) in their plane, from the first axis towards the second [rad]."""
    return math.atan2(x0 * y - y0 * x, x0 * x + y0 * y)


def _length(v: Array) -> float:
    return math.sqrt(v.dot(v))  # np.linalg.norm without its overhead


def _cross(a: Array, b: Array) -> Array:
    """Cross product (3,); np.cross takes ten times as long for two vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def view(q: Array) -> Array:
    """Orientation (3, 3) that camera control gives the ECM at joints q (4,): Rz(q4) Ry(q1) Rx(q2)."""
    y, x, _, z = q.tolist()
    cz, sz, cy, sy, cx, sx = math.cos(z), math.sin(z), math.cos(y), math.sin(y), math.cos(x), math.sin(x)
    return np.array(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def inside(position: Array) -> bool:
    """True if a grip is inside the work area in front of the eyes."""
    return bool((position >= BOX[0]).all() and (position <= BOX[1]).all())
