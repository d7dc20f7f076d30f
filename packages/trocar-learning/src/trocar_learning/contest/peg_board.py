"""The scene of the peg transfer: two PSMs with large needle drivers over a board with posts, a wall and two pegs.

World: x to the right and y away as the camera sees them, z up. Board frame: origin on its upper face, in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import mujoco
import numpy as np

from trocar.arms.arm import CONTROL_RATE
from trocar.errors import TrocarError, check_known
from trocar.mechanics import load_mechanism
from trocar.simulation.objects.scene_object import OBJECT
from trocar.simulation.objects.solid import GRIP_IMPRATIO, GRIP_SOLIMP, Box, Cylinder, Solid
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array, inverse, pose, rotation
from trocar_learning.contest.episode_draws import RobotDraws
from trocar_learning.contest.layouts import LAYOUTS, LEFT, RIGHT, BoardLayout

PEGS = ("blue", "red")
COLOURS = {"blue": (0.10, 0.25, 0.80), "red": (0.82, 0.10, 0.12)}
HAND = {LEFT: "PSM2", RIGHT: "PSM1"}  # arm of each side, as a surgeon has them

# Peg (dvrk_simulator_base, share/assets, and SurRoL's block.urdf): outer radius 10 mm, opening of radius 4.8 mm, depth
# 14.5 mm, 10 g.
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
BEHIND = 0.03  # tip of an ECM behind that place: its angle of view is smaller [m]
CAMERA, LOOKED_AT = np.array([0.0, -0.105, -0.035]), np.array([0.0, 0.0, -0.125])  # [m]


def T_world_camera() -> Array:
    """Optical frame (4, 4) midway between the two cameras: x right, y down, z away."""
    z = (LOOKED_AT - CAMERA) / np.linalg.norm(LOOKED_AT - CAMERA)
    x = np.array([1.0, 0.0, 0.0])
    return pose(np.stack([x, np.cross(z, x), z], axis=1), CAMERA)


@cache
def T_camera_world() -> Array:
    """The world in the optical frame of the left camera (4, 4), the frame of reference of the competition's poses."""
    T = inverse(T_world_camera() @ pose(p=[-BASELINE / 2, 0.0, 0.0]))
    T.setflags(write=False)
    return T


@dataclass(frozen=True)
class ContestSetting:
    """The drawn part of the scene.

    Attributes:
        T_world_board: (4, 4). posts: index of the post on which each peg starts. turns: of the pegs about it [rad].
        variant: contest, or surrol with its board.
    """

    T_world_board: Array = field(default_factory=lambda: pose(p=[0.0, 0.0, -DEPTH]))
    posts: tuple[int, int] = (13, 16)
    turns: tuple[float, float] = (0.0, 0.0)
    variant: str = "contest"


def draw_setting(rng: np.random.Generator, variant: str = "contest") -> ContestSetting:
    """Draw the pose of the board and the places of the pegs on its left side."""
    check_known("variant of the peg transfer", LAYOUTS, variant)
    layout = LAYOUTS[variant]
    x, y = rng.uniform(-MAX_SHIFT, MAX_SHIFT, 2)
    T = pose(rotation("z", rng.uniform(-MAX_TURN, MAX_TURN)), [x, y, -DEPTH])
    posts, left = layout.posts, layout.used_on(LEFT)
    first = int(rng.choice(left))
    second = int(rng.choice([k for k in left if np.linalg.norm(posts[k] - posts[first]) > MIN_APART]))
    a, b = rng.uniform(-np.pi, np.pi, 2).tolist()
    return ContestSetting(T, (first, second), (a, b), variant)


def seeded_setting(seed: int) -> ContestSetting:
    """The setting of a seed: that of the nominal environment `trocar/PegTransfer-v0`."""
    rng = np.random.default_rng(seed)
    RobotDraws.of(rng, len(HAND))  # which the nominal robot ignores
    return draw_setting(rng)


@dataclass(frozen=True, kw_only=True)
class Board(Solid):
    """A fixed board with its posts and its wall."""

    layout: BoardLayout


def board(T: Array, layout: BoardLayout) -> Board:
    """A board at T (4, 4)."""
    thickness, wall = layout.plate[2], layout.wall
    shapes: list[Any] = [Box([0.0, 0.0, -thickness / 2], layout.plate)]
    if wall is not None:
        shapes.append(Box([0.0, 0.0, wall[2] / 2], wall))
    shapes += [Cylinder([x, y, -1e-3], [x, y, layout.post_height], layout.post_radius) for x, y in layout.posts]
    return Board("board", shapes, T, friction=0.3, colour=(0.86, 0.86, 0.84), layout=layout)


def layout_of(scene: Scene) -> BoardLayout:
    """The layout of the board of a scene."""
    thing = scene.objects["board"].thing if "board" in scene.objects else None
    if not isinstance(thing, Board):
        raise TrocarError("the scene has no peg board; use contest_scene")
    return thing.layout


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


def peg_on(setting: ContestSetting, name: str) -> Peg:
    """A peg on the post of a setting."""
    k = PEGS.index(name)
    x, y = LAYOUTS[setting.variant].posts[setting.posts[k]]
    return peg(name, np.asarray(setting.T_world_board) @ pose(rotation("z", setting.turns[k]), [x, y, 1e-4]))


def contest_scene(
    setting: ContestSetting | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    endoscope: bool = False,
    **changes: Any,
) -> Scene:
    """The scene of the peg transfer, at the period of the dVRK's controllers.

    Args:
        setting: the drawn part. Default: the board in the middle. options: of `SceneArm`, by arm.
        endoscope: add an ECM, 30 mm behind the cameras. changes: other arguments of `Scene`.
    """
    drawn = ContestSetting() if setting is None else setting
    T, layout = np.asarray(drawn.T_world_board), LAYOUTS[drawn.variant]
    pegs = [peg_on(drawn, name) for name in PEGS]
    arms = {HAND[side]: contest_arm(side, (options or {}).get(HAND[side], {})) for side in (RIGHT, LEFT)}
    if endoscope:
        arms["ECM"] = _endoscope()
    return Scene(arms, **{"objects": [board(T, layout), *pegs], "timestep": 1.0 / CONTROL_RATE, **changes})


def contest_arm(side: int, options: Mapping[str, Any]) -> SceneArm:
    """The PSM of a side at its start; options: of `SceneArm`."""
    base = pose(rotation("z", side * np.pi / 2) @ rotation("x", TILT), [side * APART, 0.0, 0.0])
    return SceneArm(arm="PSM", base=base, q=WAITING, **options)


def _endoscope() -> SceneArm:
    """An ECM with its tip behind the camera: x left, y up, z away."""
    mechanism = load_mechanism("ECM")
    q, tip = np.array(mechanism.arm.home), T_world_camera() @ pose(np.diag([-1.0, -1.0, 1.0]), [0.0, 0.0, -BEHIND])
    return SceneArm(arm="ECM", base=tip @ inverse(mechanism.forward_kinematics(q)), q=q)
