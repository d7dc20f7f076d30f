"""The peg transfer of Hwang et al. 2020 with one arm: blocks are seen once, then picked and placed by dead reckoning.

Motion as in their program (github BerkeleyAutomation/dvrkCalibration, motion/dvrkPegTransferMotion.py): over the block,
2 mm above it with open jaws, 6 mm down, close, up, over the peg, down, open, up. World: that of the arm's base, z up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from trocar.arms.arm import CONTROL_RATE
from trocar.robot.robot import Robot
from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.scene_object import OBJECT
from trocar.simulation.objects.solid import GRIP_IMPRATIO, GRIP_SOLIMP, Box, Cylinder, Solid
from trocar.spatial import Array, inverse, pose, rotation


@dataclass(frozen=True)
class PegBoard:
    """Pegs of a board and the block that goes onto them [m].

    Attributes:
        pegs: axes (k, 2), the first half to pick from. peg_radius, peg_height; opening: radius of the block's. block:
            its outer radius and height [m]. mass: of the block [kg].
    """

    pegs: Array
    peg_radius: float
    peg_height: float
    opening: float
    block: tuple[float, float]
    mass: float


def _fls() -> Array:
    """Six pegs in two columns and six in three, as on the board of the FLS (SurRoL, peg_board.urdf) [m]."""
    left = [(-43.0, y) for y in (-30.0, -10.0, 10.0)] + [(-13.0, y) for y in (-30.0, -10.0, 10.0)]
    right = [(27.0, -33.0), (27.0, 13.0), (7.081, -21.5), (7.081, 1.5), (46.919, -21.5), (46.919, 1.5)]
    return 1e-3 * np.array(left + right)


def _grid() -> Array:
    """The used posts of the competition's board, 20 mm apart [m]."""
    return 1e-3 * np.array([(x, y) for x in (-50.0, -30.0, 30.0, 50.0) for y in (-30.0, -10.0, 10.0, 30.0)])


BOARDS = {
    # theirs: "each block's opening has just a 4.5 mm radius", pegs "2.25 mm wide" (Hwang et al., arXiv 2012.12844); the
    # block's other sizes are those of the competition, 2 g assumed
    "FLS": PegBoard(_fls(), 1.125e-3, 0.020, 4.5e-3, (0.010, 0.0145), 2e-3),
    # the board and blocks of the ICRA 2026 competition, as in trocar_learning.contest
    "contest": PegBoard(_grid(), 2e-3, 0.020, 4.8e-3, (0.010, 0.0145), 0.010),
}
WALL, CORNER = 2e-3, 1.2e-3  # thickness and rounding of a block's walls [m]; assumed
FRICTION = 0.6  # of a block; assumed
WALLS = (0.0, 2 * np.pi / 3, -2 * np.pi / 3)  # directions that they face, from the middle [rad]
DEPTH = 0.15  # of the board below the remote centre [m]
SHIFT, TURN = 0.008, np.radians(10.0)  # of the drawn board [m, rad]
OPEN, CLOSED = np.radians(75.0), 0.0  # of the jaws; theirs close to 10 degrees around thicker walls [rad]
ABOVE, BELOW = 2e-3, -6e-3  # ends of the jaws over the block's upper face, before and during the grip [m]
READY = 0.022  # of the block's lower end over the pegs' tops on its way [m]: theirs go up by 22 mm
DROP = 2e-3  # over the board, where the block is let go [m]
ASIDE = 4e-3  # of the grip from the middle of a wall: the farther point from the peg [m]
RATIO = 0.3  # of the largest velocities and accelerations; assumed
JAW_RATIO = 0.1  # of the jaws' largest velocity: 1.9 rad/s; faster ones can flick a block away
PAUSE = 0.3  # after every motion [s]
PLACED = 4e-3, np.cos(np.radians(15.0))  # of a block on its peg: height above the board [m], uprightness


# Options of the arm in the two published columns
ROBOTS: dict[str, dict[str, Any]] = {
    "open loop": {"wrist": "cables"},
    "with compensation": {"wrist": "cables", "compensation": "cables"},
}


@dataclass(frozen=True)
class RingBlock(Solid):
    """A triangular ring of three walls, held by friction. Frame: origin in the middle of its lower end, z up."""

    def add_to(self, spec: mujoco.MjSpec) -> None:
        super().add_to(spec)
        spec.option.impratio = GRIP_IMPRATIO
        for geom in spec.body(OBJECT + self.name).geoms:
            geom.solimp = GRIP_SOLIMP


def block(board: PegBoard, T: Array) -> RingBlock:
    """A block at T (4, 4); its walls face the directions 0, 120 and 240 degrees."""
    radius, height = board.block
    half = np.sqrt(radius**2 - (board.opening + WALL) ** 2)
    shapes: list[Any] = []
    for angle in WALLS:
        R, corner = rotation("z", angle), rotation("z", angle + np.pi / 3)
        shapes.append(Box(R @ [board.opening + WALL / 2, 0.0, height / 2], [WALL, 2 * half, height], R))
        edge = corner @ [radius - CORNER, 0.0, 0.0]
        shapes.append(Cylinder(edge, edge + [0.0, 0.0, height], CORNER))
    return RingBlock("block", shapes, T, mass=board.mass, friction=FRICTION, stiffness=None, colour=(0.82, 0.10, 0.12))


@dataclass(frozen=True)
class Transfer:
    """Result of one transfer.

    Attributes:
        picked: the block hung in the jaws over the pegs. placed: it came to rest on its peg.
        pick_error, place_error: distance of the tip from its goal at the grip and at the release [m].
    """

    picked: bool
    placed: bool
    pick_error: float
    place_error: float


class TransferTrial:
    """One block, one arm and one board, drawn by a seed.

    Args:
        board: of `BOARDS`. options: of `SceneArm`, such as wrist and compensation.
    """

    def __init__(self, board: str, seed: int, **options: Any) -> None:
        self.board = facts = BOARDS[board]
        rng = np.random.default_rng(seed)
        x, y = rng.uniform(-SHIFT, SHIFT, 2)
        self.T_board = pose(rotation("z", rng.uniform(-TURN, TURN)), [x, y, -DEPTH])
        half = len(facts.pegs) // 2
        self.source, self.target = int(rng.integers(half)), half + int(rng.integers(half))
        self.T_block = self.T_board @ pose(rotation("z", rng.uniform(-np.pi, np.pi)), [*facts.pegs[self.source], 1e-4])
        plate = Box([0.0, 0.0, -2.5e-3], [0.150, 0.110, 5e-3])
        posts = [Cylinder([a, b, -1e-3], [a, b, facts.peg_height], facts.peg_radius) for a, b in facts.pegs]
        solid = Solid("board", [plate, *posts], self.T_board, friction=0.3, colour=(0.86, 0.86, 0.84))
        arm = SceneArm(arm="PSM", base=np.eye(4), q=[0.0, 0.0, 0.07, 0.0, 0.0, 0.0, 0.5], **options)
        self.scene = Scene({"PSM1": arm}, objects=[solid, block(facts, self.T_block)], timestep=1.0 / CONTROL_RATE)

    def run(self, film: Any = None) -> Transfer:
        """Pick and place the block. film: called every 40 ms."""
        facts, scene = self.board, self.scene
        with Robot(scene, start="ready") as robot:
            psm = robot.psm("PSM1")
            psm.trajectory_j_set_ratio(RATIO)
            if film is not None:
                robot.every(0.04, film)

            def to(T: Array) -> float:
                psm.move_cp(T).wait()
                robot.sleep(PAUSE)
                return float(np.linalg.norm(scene.T_world_tip("PSM1")[:3, 3] - T[:3, 3]))

            def jaws(opening: float) -> None:
                psm.trajectory_j_set_ratio_v(JAW_RATIO)
                psm.jaw.move_jp(opening).wait()
                psm.trajectory_j_set_ratio_v(RATIO)
                robot.sleep(PAUSE)

            grip = self._grip()
            up = facts.peg_height + READY
            T_block_tip = inverse(self.T_block) @ grip
            to(pose(p=[0.0, 0.0, up]) @ grip)
            jaws(OPEN)
            to(pose(p=[0.0, 0.0, ABOVE - BELOW]) @ grip)
            pick_error = to(grip)
            jaws(CLOSED)
            to(pose(p=[0.0, 0.0, up]) @ grip)
            picked = bool(scene.objects["block"].pose[2, 3] > -DEPTH + 0.5 * up)
            goal = self._placed(T_block_tip)
            to(pose(p=[0.0, 0.0, up]) @ goal)
            place_error = to(pose(p=[0.0, 0.0, DROP]) @ goal)
            jaws(OPEN)
            to(pose(p=[0.0, 0.0, up]) @ goal)
            return Transfer(picked, self.on_target(), pick_error, place_error)

    def _grip(self) -> Array:
        """Tip pose (4, 4) around a wall of the block, the one that needs the smallest turn of the wrist."""
        facts = self.board
        mechanism = self.scene.arms["PSM1"].mechanism
        length, z = mechanism.arm.jaw_length, np.array([0.0, 0.0, -1.0])
        options = []
        for angle in WALLS:
            radial = np.array([np.cos(angle), np.sin(angle), 0.0])
            tangent = np.array([-radial[1], radial[0], 0.0])
            for aside in (-ASIDE, ASIDE):
                for y in (radial, -radial):
                    R = np.stack([np.cross(y, z), y, z], axis=1)
                    end = (facts.opening + WALL / 2) * radial + aside * tangent + [0.0, 0.0, facts.block[1] + BELOW]
                    options.append(self.T_block @ pose(R, end) @ pose(p=[0.0, 0.0, -length]))
        return min(options, key=self._turn)

    def _turn(self, T: Array) -> float:
        """Largest angle of a wrist joint at a tip pose [rad]."""
        mechanism = self.scene.arms["PSM1"].mechanism
        q = mechanism.inverse_kinematics(T, q_seed=np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0]))
        return float(np.abs(np.asarray(q)[3:6]).max())

    def _placed(self, T_block_tip: Array) -> Array:
        """Tip pose (4, 4) with the block on its target peg, in the orientation that turns the wrist least."""
        x, y = self.board.pegs[self.target]
        options = [
            self.T_board @ pose(rotation("z", angle), [x, y, 0.0]) @ T_block_tip
            for angle in np.linspace(-np.pi, np.pi, 24, endpoint=False)
        ]
        return min(options, key=self._turn)

    def on_target(self) -> bool:
        """The block lies on the board, upright, with its target peg in its opening."""
        T = inverse(self.T_board) @ self.scene.objects["block"].pose
        peg = inverse(T) @ [*self.board.pegs[self.target], 0.0, 1.0]
        across = max(float(rotation("z", angle)[:, 0] @ peg[:3]) for angle in WALLS)
        above, upright = PLACED
        return bool(across < self.board.opening and abs(T[2, 3]) <= above and T[2, 2] >= upright)
