"""NeedleHandover: pass a needle from one arm to the other, by friction alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene
from trocar.simulation.skills.handover import BACK, HandoverPlan, plan_handover
from trocar.simulation.skills.handover_setting import handover_scene
from trocar.simulation.skills.hands import Hands
from trocar.spatial import Array, Values, pose
from trocar_learning.envs.arrays import length, pose_numbers
from trocar_learning.envs.task import POINT, POSE, Memory, Policy, SceneOptions, Task, named
from trocar_learning.envs.tasks.lift_task import carrying_reward
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import PERIOD, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

GIVER, TAKER = "PSM1", "PSM2"
PLACE, SIDE, HEIGHT = 0.01, (-0.03, -0.01), (-0.125, -0.105)  # of the giver's tip at the start: x, y, z [m]
GRIPPED = np.radians([30.0, 55.0])  # from the middle of the needle
FRICTION = (0.4, 0.7)
MEETING = np.array([0.0, 0.0, -0.115])  # of the needle at the handover [m]
GOAL_LOW, GOAL_HIGH = np.array([-0.01, 0.0, -0.11]), np.array([0.01, 0.02, -0.09])  # [m]
TOLERANCE = 5e-3
GRIP, OPEN = 0.0, 0.7  # commanded openings [rad]; 0.7 mm of wire hold the jaws open by 0.11 rad
GENTLE = 0.5  # of the expert: share of the largest speed with the needle in the jaws


class NeedleHandoverTask(Task):
    """Pass an SH needle (26 mm, 0.7 mm wire) from PSM1 to PSM2 and bring it to a goal, by friction alone.

    Success: the needle is between the jaws of PSM2, PSM1 does not touch it, and it is within 5 mm (SurRoL's
    NeedleRegrasp) of its goal, for 0.5 s. Place and grip of the needle, its friction and the goal are drawn.
    """

    observed: ClassVar[tuple[str, ...]] = (*named(POSE, "needle"), *named(POINT, "goal"))
    arms: ClassVar[Mapping[str, str]] = MappingProxyType({GIVER: "PSM", TAKER: "PSM"})
    duration: float = 15.0
    force_arms: ClassVar[tuple[str, ...]] = (GIVER, TAKER)
    varies: ClassVar[bool] = True
    goal_tolerance = TOLERANCE
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({GIVER: GRIP})

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        return handover_scene(
            grip_angle=rng.uniform(*GRIPPED),
            side=int(rng.choice([1, -1])),
            tip=(rng.uniform(-PLACE, PLACE), rng.uniform(*SIDE), rng.uniform(*HEIGHT)),
            friction=rng.uniform(*FRICTION),
            arms=options,
            timestep=PERIOD,
        )

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        world.scene.reset()
        return {"goal": rng.uniform(GOAL_LOW, GOAL_HIGH), "held": True, "drops": 0}

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.poses("needle")[:, :3, 3]

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the needle (position, quaternion) and its goal."""
        xp = worlds.xp
        return xp.concatenate([pose_numbers(xp, worlds.poses("needle")), worlds.memory["goal"]], -1)

    def after_period(self, worlds: Worlds) -> None:
        self.note_held(worlds, worlds.held(GIVER, "needle") | worlds.held(TAKER, "needle"))

    def solved(self, worlds: Worlds) -> Values:
        near = length(self.achieved(worlds) - self.desired(worlds)) <= TOLERANCE
        return worlds.held(TAKER, "needle") & near & ~worlds.touched(GIVER, "needle")

    def failed(self, worlds: Worlds) -> Values:
        """The needle has fallen out of reach."""
        return self.achieved(worlds)[:, 2] < MEETING[2] - 0.1

    def reward(self, worlds: Worlds) -> Values:
        tip = worlds.true_tips(TAKER)[:, :3, 3]
        return carrying_reward(worlds.xp, tip, self.achieved(worlds), self.desired(worlds))

    def expert(self, env: TaskEnv) -> Policy:
        """The skill's plan of the meeting, gentle motions, and the rest of the way with PSM2."""
        hands = Hands(env.world.scene)
        return following(self._passing(env, plan_handover(hands, GIVER, TAKER, MEETING, np.random.default_rng(0))))

    def pid(self, env: TaskEnv) -> Policy:
        """The same motions, with the position of the grips but without orientations."""
        world = env.world
        giver, taker = (world.T_world_measured(arm) for arm in (GIVER, TAKER))
        T = world.T_world_object("needle")
        T_meeting = pose(T[:3, :3], MEETING)
        plan = HandoverPlan(T_meeting, pose(giver[:3, :3], giver[:3, 3] + MEETING - T[:3, 3]), np.eye(4), 0.0)
        return following(self._passing(env, plan, pose(taker[:3, :3])))

    def _passing(self, env: TaskEnv, plan: HandoverPlan, R_taker: Array | None = None) -> Script:
        tips, needle = Tips(env), env.world.scene.objects["needle"]
        tips.opening[TAKER] = OPEN
        yield from tips.wait(0.2)
        yield from tips.move(GIVER, plan.T_world_giver, GENTLE)
        yield from tips.wait(0.3)
        T = needle.pose @ plan.T_needle_taker
        if R_taker is not None:
            T = pose(R_taker[:3, :3], needle.pose[:3, 3])
        yield from tips.move(TAKER, T @ BACK)
        yield from tips.wait(0.2)
        T = needle.pose @ plan.T_needle_taker if R_taker is None else T
        yield from tips.move(TAKER, T, 0.5)
        yield from tips.wait(0.2)
        yield from tips.jaws(TAKER, GRIP, 0.6)
        yield from tips.jaws(GIVER, OPEN, 0.4)
        yield from tips.move(GIVER, tips.T[GIVER] @ BACK @ BACK)  # out of the way of both
        for _ in range(3):
            T = tips.T[TAKER].copy()
            T[:3, 3] += env.world.value("goal") - needle.pose[:3, 3]
            yield from tips.move(TAKER, T, GENTLE)
            yield from tips.wait(0.3)
        yield from tips.rest()
