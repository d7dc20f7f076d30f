"""Tip frames at a needle: where jaws grip it, and the needle's pose along an arc through tissue."""

from __future__ import annotations

import numpy as np

from trocar.simulation.objects.solid import Needle
from trocar.spatial import Array, pose

REACH = 6.5e-3  # distance of the wire from the jaws' axis, along the jaws [m]


def grip_frame(needle: Needle, angle: float, approach: float = -np.pi / 2, side: int = 1) -> Array:
    """T_needle_tip (4, 4) of jaws that grip a needle, with their x axis along the wire.

    Args:
        angle: of the gripped point from the middle of the arc, positive towards the needle's point [rad].
        approach: angle of the jaws about the wire [rad]: 0 points to the centre, -pi/2 against the needle's z axis.
        side: 1 or -1: x towards the needle's point or away from it.
    """
    radial = np.array([np.cos(angle), np.sin(angle), 0.0])
    along = np.array([-np.sin(angle), np.cos(angle), 0.0])
    z = -np.cos(approach) * radial + np.sin(approach) * np.array([0.0, 0.0, 1.0])
    x = side * along
    return pose(np.stack([x, np.cross(z, x), z], axis=1), needle.radius * radial - REACH * z)


def arc_pose(height: float, angle: float, lean: float = 0.0) -> Array:
    """T_world_needle (4, 4) of a half-circle needle on an arc through a horizontal surface z = 0.

    The centre is above the origin, and the arc lies in the xz plane, leaned about the x axis.

    Args:
        height: of the centre [m]. angle: of the needle's point about the centre, from +x towards +z [rad]; it grows
            along the arc. lean: [rad], positive towards +y.
    """
    outward = np.array([np.cos(angle), 0.0, np.sin(angle)])
    x = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    R = np.stack([x, outward, np.cross(x, outward)], axis=1)
    c, s = np.cos(lean), np.sin(lean)
    leaned = pose(np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]))
    return np.asarray(leaned @ pose(R, [0.0, 0.0, height]))
