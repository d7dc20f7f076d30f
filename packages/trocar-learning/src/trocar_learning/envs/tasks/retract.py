"""Retract: lift the edge of a sheet of tissue without pulling too hard."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.tissue import PlacedTissue, Tissue
from trocar.spatial import Array, Values, pose, rotation
from trocar_learning.envs.arrays import length, points
from trocar_learning.envs.task import POINT, Memory, Policy, SceneOptions, Task, named
from trocar_learning.envs.tasks.lift_task import carrying_reward
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import PERIOD, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

START = np.array([0.0, 0.0, 0.10, 0.0, 0.0, 0.0, 0.8])  # joints [rad, m]
LENGTH, WIDTH, THICKNESS = 0.05, 0.02, 3e-3  # of the sheet; it is held at its lower edge [m]
PLACE, BELOW = 0.01, (0.015, 0.03)  # of the edge: largest distance aside, distance below the jaws [m]
TURN = np.radians(90.0)  # largest turn of the sheet about the vertical: its edge has any direction
YOUNG = (2e4, 6e4)  # [Pa]
LIFT, ASIDE = 0.015, 5e-3  # [m]
TOLERANCE, MAX_FORCE = 3e-3, 2.0  # [m], [N]
REACH = 8e-3  # of the jaws over the edge [m]
OPEN, GRIP = 0.8, 0.08  # commanded openings [rad]: at 0.1 stiff sheets slip, at 0.06 cells of soft ones turn inside out
PULLING = 0.25  # of the expert: share of the largest speed


class RetractTask(Task):
    """Grip a standing sheet of tissue, 3 mm thick, by its upper edge, and lift the edge to a goal 15 mm higher.

    Success: the sheet is between the jaws and the middle of its edge within 3 mm of the goal (sofa_env, retraction),
    for 0.5 s. The jaws never pull with more than 2 N, the force of a study of liver damage by graspers; beyond it the
    episode ends. Place, turn and stiffness of the sheet and the goal's displacement to the side are drawn.
    """

    observed: ClassVar[tuple[str, ...]] = named(POINT, "edge", "direction", "goal")
    duration: float = 8.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    batched: ClassVar[bool] = False
    goal_tolerance = TOLERANCE

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        arm = SceneArm(arm="PSM", base=np.eye(4), q=START, **options["PSM"])
        mechanism, _ = arm.loaded()
        tip = mechanism.forward_kinematics(START)
        jaws = (tip @ [0.0, 0.0, mechanism.arm.jaw_length, 1.0])[:3]
        R = tip[:3, :3] @ rotation("z", rng.uniform(-TURN, TURN))
        edge = jaws + [*rng.uniform(-PLACE, PLACE, 2), -rng.uniform(*BELOW)]
        # the sheet's x axis downwards, its normal along the axis in which the jaws open
        self.R, down = R, np.array([0.0, 0.0, -1.0])
        y = np.cross(R[:, 1], down)
        axes = np.stack([down, y, np.cross(down, y)], axis=1)
        sheet = Tissue(
            "sheet",
            (LENGTH, WIDTH, THICKNESS),
            pose(axes, edge + LENGTH / 2 * down),
            cells=(4, 3, 1),
            fixed=("+x",),
            young=rng.uniform(*YOUNG),
        )
        return Scene({"PSM": arm}, objects=[sheet], accuracy="discrete", timestep=PERIOD)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        world.scene.reset()
        goal = _edge(world) + [*rng.uniform(-ASIDE, ASIDE, 2), LIFT]
        return {"goal": goal, "held": False, "drops": 0, "strongest": 0.0}

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.each(_edge)

    def observation(self, worlds: Worlds) -> Values:
        """Middle of the edge and its direction, goal."""
        along = worlds.each(lambda world: _edge(world, 1.0)) - worlds.each(lambda world: _edge(world, -1.0))
        direction = along / length(along)[:, None]
        return np.concatenate([self.achieved(worlds), direction, worlds.memory["goal"]], -1)

    def privileged(self, worlds: Worlds) -> Values:
        return worlds.each(lambda world: (world.contact_force("PSM"), _sheet(world).thing.young / 1e4))

    def after_period(self, worlds: Worlds) -> None:
        memory = worlds.memory
        self.note_held(worlds, worlds.held("PSM", "sheet"))
        memory["strongest"] = np.maximum(memory["strongest"], worlds.forces)

    def solved(self, worlds: Worlds) -> Values:
        near = length(self.achieved(worlds) - self.desired(worlds)) <= TOLERANCE
        return worlds.memory["held"] & near & ~self.failed(worlds)

    def failed(self, worlds: Worlds) -> Values:
        return worlds.memory["strongest"] > MAX_FORCE

    def reward(self, worlds: Worlds) -> Values:
        jaws = points(worlds.xp, worlds.true_tips("PSM"), [0.0, 0.0, 0.01])
        reward = carrying_reward(worlds.xp, jaws, self.achieved(worlds), self.desired(worlds), farthest=0.1)
        return np.where(self.failed(worlds), -10.0, reward)

    def expert(self, env: TaskEnv) -> Policy:
        """Jaws across the edge, a gentle grip, and a slow pull that follows the edge to the goal."""
        return following(self._retracting(env, self.R))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, without the orientation of the edge."""
        return following(self._retracting(env, env.world.T_world_measured("PSM")[:3, :3]))

    def _retracting(self, env: TaskEnv, R: Array) -> Script:
        tips, world = Tips(env), env.world
        length = world.arms["PSM"].arm.jaw_length
        tips.opening["PSM"] = OPEN
        T = pose(R, _edge(world) + (REACH - length) * R[:, 2])
        yield from tips.move("PSM", T @ pose(p=[0.0, 0.0, -0.01]))
        yield from tips.wait(0.2)
        yield from tips.move("PSM", T, 0.4)
        yield from tips.wait(0.2)
        yield from tips.jaws("PSM", GRIP, 0.8)
        while True:
            way = world.value("goal") - _edge(world)
            yield from tips.move("PSM", pose(p=way) @ tips.T["PSM"], PULLING)
            yield from tips.wait(0.3)


def _sheet(world: World) -> PlacedTissue:
    sheet = world.scene.objects["sheet"]
    assert isinstance(sheet, PlacedTissue)
    return sheet


def _edge(world: World, side: float = 0.0) -> Array:
    """A point (3,) of the gripped edge [m]: its middle, or an end at a side of -1 or 1."""
    return _sheet(world).position([-LENGTH / 2, side * WIDTH / 2, 0.0])
