"""The scene of the peg transfer: two PSMs with large needle drivers over a board with posts, a wall and two pegs.

World: x to the right and y away as the camera sees them, z up. Board frame: origin on its upper face, in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from trocar.arms.arm import CONTROL_RATE
from trocar.simulation.objects.scene_object import OBJECT
from trocar.simulation.objects.solid import GRIP_IMPRATIO, GRIP_SOLIMP, Box, Cylinder, Solid
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array, inverse, pose, rotation

PEGS = ("blue", "red")
COLOURS = {"blue": (0.10, 0.25, 0.80), "red": (0.82, 0.10, 0.12)}
LEFT, RIGHT = -1, 1  # sides of the wall: signs of x
HAND = {LEFT: "PSM2", RIGHT: "PSM1"}  # arm of each side, as a surgeon has them

# Board of JHU in the simulators of the dVRK (dvrk_simulator_base, share/assets, Apache-2.0): 48 posts on a grid.
PLATE = np.array([0.150, 0.110, 0.005])  # [m]
COLUMNS, ROWS, PITCH = 8, 6, 0.020  # [m]
POST_RADIUS, POST_HEIGHT = 2e-3, 0.020  # [m]
# The competition's wall has no published size; assumed, 10 mm higher than the posts.
WALL = np.array([0.004, 0.110, 0.030])  # [m]
# Peg (ibid. and SurRoL's block.urdf): outer radius 10 mm, opening of radius 4.8 mm, depth 14.5 mm, 10 g.
PEG_RADIUS, HOLE_RADIUS, PEG_HEIGHT, PEG_MASS = 0.010, 4.8e-3, 0.0145, 0.010
PEG_WALL = 2e-3  # thickness [m]; assumed
CORNER_RADIUS = 1.2e-3  # of its rounded edges [m]
PEG_FRICTION = 0.6  # of rubber on steel and plastic; assumed

# Remote centres of the two PSMs from the middle, the board below them [m], and the tilt of their bases inwards; not
# published. Upright arms would reach the limit of their pitch joint over the wall.
APART, DEPTH, TILT = 0.08, 0.15, np.radians(25.0)
WAITING = np.array([0.0, 0.0, 0.07, 0.0, 0.0, 0.0, 0.5])  # joints at the start [rad, m]
MIN_APART = 0.03  # of the posts on which pegs start [m]: on neighbouring posts their corners touch
MAX_SHIFT, MAX_TURN = 0.008, np.radians(10.0)  # of the drawn board

# The competition's camera, an OAK-D-SR: baseline [m], horizontal angle of view [rad], width and height [pixels]. With
# square pixels the vertical angle is 55 degrees. Its place is not published: in front of the board and above it.
BASELINE, VIEW, PIXELS = 0.020, np.radians(80.0), (1280, 800)
CAMERA, LOOKED_AT = np.array([0.0, -0.105, -0.035]), np.array([0.0, 0.0, -0.125])  # [m]


def T_world_camera() -> Array:
    """Optical frame (4, 4) midway between the two cameras: x right, y down, z away."""
    z = (LOOKED_AT - CAMERA) / np.linalg.norm(LOOKED_AT - CAMERA)
    x = np.array([1.0, 0.0, 0.0])
    return pose(np.stack([x, np.cross(z, x), z], axis=1), CAMERA)


def T_camera_world() -> Array:
    """The world in the optical frame of the left camera (4, 4), the frame of reference of the competition's poses."""
    return inverse(T_world_camera() @ pose(p=[-BASELINE / 2, 0.0, 0.0]))


@dataclass(frozen=True)
class ContestSetting:
    """The drawn part of the scene.

    Attributes:
        T_world_board: (4, 4). posts: index of the post on which each peg starts. turns: of the pegs about it [rad].
    """

    T_world_board: Array = field(default_factory=lambda: pose(p=[0.0, 0.0, -DEPTH]))
    posts: tuple[int, int] = (13, 16)
    turns: tuple[float, float] = (0.0, 0.0)


def post_places() -> Array:
    """Axes (48, 2) of the posts in the board frame [m], row by row from the front left."""
    x = PITCH * (np.arange(COLUMNS) - (COLUMNS - 1) / 2)
    y = PITCH * (np.arange(ROWS) - (ROWS - 1) / 2)
    return np.array([(a, b) for b in y for a in x])


def used_posts(side: int) -> list[int]:
    """Posts of a side of the wall on which pegs start: not those beside the wall or on the rim."""
    places = post_places()
    inside = (np.sign(places[:, 0]) == side) & (np.abs(places[:, 0]) > PITCH) & (np.abs(places[:, 0]) < 3 * PITCH)
    return [int(k) for k in np.flatnonzero(inside & (np.abs(places[:, 1]) < 2 * PITCH))]


def draw_setting(rng: np.random.Generator) -> ContestSetting:
    """Draw the pose of the board and the places of the pegs on its left side."""
    x, y = rng.uniform(-MAX_SHIFT, MAX_SHIFT, 2)
    T = pose(rotation("z", rng.uniform(-MAX_TURN, MAX_TURN)), [x, y, -DEPTH])
    places, first = post_places(), int(rng.choice(used_posts(LEFT)))
    second = int(rng.choice([k for k in used_posts(LEFT) if np.linalg.norm(places[k] - places[first]) > MIN_APART]))
    a, b = rng.uniform(-np.pi, np.pi, 2).tolist()
    return ContestSetting(T, (first, second), (a, b))


def board(T: Array) -> Solid:
    """The fixed board at T (4, 4), with its posts and its wall."""
    shapes: list[Any] = [Box([0.0, 0.0, -PLATE[2] / 2], PLATE), Box([0.0, 0.0, WALL[2] / 2], WALL)]
    shapes += [Cylinder([x, y, -1e-3], [x, y, POST_HEIGHT], POST_RADIUS) for x, y in post_places()]
    return Solid("board", shapes, T, friction=0.3, colour=(0.86, 0.86, 0.84))


@dataclass(frozen=True)
class Peg(Solid):
    """A peg: a triangular ring of three walls, held by friction. Frame: origin in the middle of its lower end, z up.

    The walls face the directions 0, 120 and 240 degrees.
    """

    def add_to(self, spec: mujoco.MjSpec) -> None:
        super().add_to(spec)
        spec.option.impratio = GRIP_IMPRATIO
        for geom in spec.body(OBJECT + self.name).geoms:
            geom.solimp = GRIP_SOLIMP


def peg(name: str, T: Array) -> Peg:
    """A peg at T (4, 4) in the world."""
    middle = HOLE_RADIUS + PEG_WALL / 2
    half = np.sqrt(PEG_RADIUS**2 - (HOLE_RADIUS + PEG_WALL) ** 2)
    shapes: list[Any] = []
    for angle in (0.0, 2 * np.pi / 3, -2 * np.pi / 3):
        R, corner = rotation("z", angle), rotation("z", angle + np.pi / 3)
        centre = R @ [middle, 0.0, PEG_HEIGHT / 2]
        shapes.append(Box(centre, [PEG_WALL, 2 * half, PEG_HEIGHT], R))
        edge = corner @ [PEG_RADIUS - CORNER_RADIUS, 0.0, 0.0]
        shapes.append(Cylinder(edge, edge + [0.0, 0.0, PEG_HEIGHT], CORNER_RADIUS))
    return Peg(name, shapes, T, mass=PEG_MASS, friction=PEG_FRICTION, stiffness=None, colour=COLOURS[name])


def contest_scene(
    setting: ContestSetting | None = None, options: Mapping[str, Mapping[str, Any]] | None = None, **changes: Any
) -> Scene:
    """The scene of the peg transfer, at the period of the dVRK's controllers.

    Args:
        setting: the drawn part. Default: the board in the middle. options: of `SceneArm`, by arm.
        changes: other arguments of `Scene`.
    """
    drawn = ContestSetting() if setting is None else setting
    T = np.asarray(drawn.T_world_board)
    places = post_places()
    pegs = [
        peg(name, T @ pose(rotation("z", turn), [*places[post], 1e-4]))
        for name, post, turn in zip(PEGS, drawn.posts, drawn.turns, strict=True)
    ]
    arms = {
        HAND[side]: SceneArm(
            arm="PSM",
            base=pose(rotation("z", side * np.pi / 2) @ rotation("x", TILT), [side * APART, 0.0, 0.0]),
            q=WAITING,
            **(options or {}).get(HAND[side], {}),
        )
        for side in (RIGHT, LEFT)
    }
    return Scene(arms, **{"objects": [board(T), *pegs], "timestep": 1.0 / CONTROL_RATE, **changes})
