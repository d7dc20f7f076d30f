"""Sizes of peg boards. Board frame: origin on the upper face of the plate, in the middle, x to the right, z up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from trocar.spatial import Array

LEFT, RIGHT = -1, 1  # sides of the middle: signs of x


@dataclass(frozen=True, eq=False)
class BoardLayout:
    """A board.

    Attributes:
        plate: size (3,) [m]. posts: axes (k, 2) [m]. used: indices of posts on which pegs start and are placed.
        post_radius, post_height: [m]. wall: size (3,) of a wall in the middle [m]; None for none.
    """

    plate: Array
    posts: Array
    used: tuple[int, ...]
    post_radius: float
    post_height: float
    wall: Array | None

    @property
    def height(self) -> float:
        """Height of its highest part [m]."""
        return self.post_height if self.wall is None else float(self.wall[2])

    def side(self, post: int) -> int:
        """Side of a post."""
        return RIGHT if self.posts[post, 0] > 0 else LEFT

    def used_on(self, side: int) -> list[int]:
        """Used posts of a side."""
        return [post for post in self.used if self.side(post) == side]


def _competition() -> BoardLayout:
    """Board of JHU in the simulators of the dVRK (dvrk_simulator_base, share/assets, Apache-2.0): 48 posts on a grid.

    The competition's wall has no published size; assumed, 10 mm higher than the posts. Posts next to the wall and on
    the rim are not used.
    """
    columns, rows, pitch = 8, 6, 0.020
    x = pitch * (np.arange(columns) - (columns - 1) / 2)
    y = pitch * (np.arange(rows) - (rows - 1) / 2)
    posts = np.array([(a, b) for b in y for a in x])  # row by row from the front left
    across = np.abs(posts[:, 0])
    used = np.flatnonzero((across > pitch) & (across < 3 * pitch) & (np.abs(posts[:, 1]) < 2 * pitch))
    plate, wall = np.array([0.150, 0.110, 0.005]), np.array([0.004, 0.110, 0.030])
    return BoardLayout(plate, posts, tuple(used.tolist()), 2e-3, 0.020, wall)


def _surrol() -> BoardLayout:
    """Board of SurRoL (surrol/assets/peg_board/peg_board.urdf, collision shapes): 6 posts on each side and no wall.

    SurRoL's y is x here, its x is -y. Its bimanual task starts on the hexagon at the left.
    """
    theirs = [(-30.0, 43.0), (-10.0, 43.0), (10.0, 43.0), (-30.0, 13.0), (-10.0, 13.0), (10.0, 13.0)]
    theirs += [(-33.0, -27.0), (13.0, -27.0), (-21.5, -7.081), (1.5, -7.081), (-21.5, -46.919), (1.5, -46.919)]
    posts = 1e-3 * np.array([(y, -x) for x, y in theirs])
    return BoardLayout(np.array([0.154, 0.103, 0.022]), posts, tuple(range(len(posts))), 1e-3, 0.025, None)


LAYOUTS: Mapping[str, BoardLayout] = MappingProxyType({"contest": _competition(), "surrol": _surrol()})
