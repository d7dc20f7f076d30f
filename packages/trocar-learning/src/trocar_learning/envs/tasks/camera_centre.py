"""CameraCentre: keep a moving target in the centre of the endoscope's image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.appearance.camera_place import CameraPlace
from trocar.appearance.endoscope_camera import BASELINE, R_TIP_OPTICAL, VIEW
from trocar.errors import TrocarError
from trocar.spatial import Array, Values, pose
from trocar_learning.envs.actions import JointTarget
from trocar_learning.envs.arrays import distance
from trocar_learning.envs.task import Memory, Policy, Task
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

LOWER, UPPER = np.array([-0.5, -0.3, 0.06, -0.8]), np.array([0.5, 0.5, 0.12, 0.8])  # of the start [rad, m]
DEPTH, ASIDE = (0.07, 0.11), 0.6  # of the target: from the lens [m]; share of the half image
HALF_VIEW = np.tan(np.radians(30.0))  # half of the image width over the depth: 60 degrees
RADIUS, RATE = (3e-3, 8e-3), (0.8, 1.6)  # of the target's circle [m], [rad/s]: 2 to 13 mm/s
# Fixed gains: joint angles per image coordinate of an image that is not turned, at the middle depth; the share of it
# that acts at once, and per period.
UNTURNED, GAIN, INTEGRAL = np.array([[-0.29, 0.0], [0.0, 0.29]]), 0.3, 0.1


class CameraCentreTask(Task):
    """Turn the ECM so that a target on a circle stays in the centre of the image.

    The target moves as in SurRoL's ActiveTrack. Image coordinates are -1 to 1 over the width of 60 degrees.
    Success: the target within 0.01 of the image's width from the centre, the threshold of SurRoL's StaticTrack, for
    0.5 s.
    """

    observed: ClassVar[tuple[str, ...]] = ("target u", "target v")
    arms: ClassVar = {"ECM": "ECM"}
    mode = "joint_target"
    duration: float = 4.0
    batched: ClassVar[bool] = False
    goal_tolerance = 0.02

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        q = rng.uniform(LOWER, UPPER)
        world.scene.reset({"ECM": q})
        depth, (x, y) = rng.uniform(*DEPTH), rng.uniform(-ASIDE, ASIDE, 2)
        radius, rate = rng.uniform(*RADIUS), rng.uniform(*RATE) * rng.choice([-1.0, 1.0])
        phase = rng.uniform(0.0, 2.0 * np.pi)
        T = world.scene.T_world_tip("ECM")
        centre = (T @ np.array([x * depth * HALF_VIEW, 0.7 * y * depth * HALF_VIEW, depth, 1.0]))[:3]
        # the circle is parallel to the first image
        return {"radius": radius, "rate": rate, "phase": phase, "centre": centre, "axes": T[:3, :2]}

    def target(self, world: World, t: float) -> Array:
        """Position (3,) of the target in the world [m]."""
        a, radius = world.value("rate") * t + world.value("phase"), world.value("radius")
        circle = world.value("axes").dot([radius * math.cos(a), radius * math.sin(a)])
        return np.asarray(world.value("centre") + circle)

    def image(self, world: World, T_world_tip: Array, t: float) -> Array:
        """Image coordinates (2,) of the target for a pose of the lens: to the right, upwards."""
        x, y, z = (self.target(world, t) - T_world_tip[:3, 3]) @ T_world_tip[:3, :3]
        return np.array([-x, y]) / (max(z, 1e-3) * HALF_VIEW)  # x of the tip frame points left

    def _seen(self, world: World) -> Array:
        return world.once("image", "ECM", lambda: self.image(world, world.T_world_tip("ECM"), world.time))

    def achieved(self, worlds: Worlds) -> Values:
        return worlds.each(self._seen)

    def desired(self, worlds: Worlds) -> Values:
        return np.zeros((worlds.n, 2))

    def camera(self, world: World, middle: Array) -> CameraPlace:
        """The endoscope."""
        return CameraPlace(world.scene.T_world_tip("ECM") @ pose(R_TIP_OPTICAL), VIEW, BASELINE)

    def marks(self, world: World) -> Array:
        return self.target(world, world.time)[None]

    def observation(self, worlds: Worlds) -> Values:
        return self.achieved(worlds)

    def privileged(self, worlds: Worlds) -> Values:
        return worlds.each(lambda world: self.target(world, world.time))

    def _away(self, worlds: Worlds) -> Values:
        """Distances (n,) of the target from the middle of the image."""
        return distance(worlds.xp, self.achieved(worlds), self.desired(worlds))

    def solved(self, worlds: Worlds) -> Values:
        return self._away(worlds) <= self.goal_tolerance

    def reward(self, worlds: Worlds) -> Values:
        return -self._away(worlds)

    def expert(self, env: TaskEnv) -> Policy:
        """Inverse kinematics of the lens for the place of the target when the action has taken effect."""
        mode = _joint_target(env)
        mechanism, base = env.world.scene.arms["ECM"].mechanism, env.world.T_world_base["ECM"]
        q, sag = env.world.arms["ECM"].q.copy(), np.zeros(4)
        wanted = [q.copy()] * (env.draw.delay + 2)
        ahead = (env.draw.delay + 1.5) * env.period

        def policy(observation: object) -> Array:
            t = env.world.time + ahead
            at = [self.image(env.world, base @ mechanism.forward_kinematics(x), t) for x in _nearby(q)]
            J = np.stack([(at[1] - at[0]) / STEP, (at[2] - at[0]) / STEP], axis=1)
            q[:2] -= np.linalg.solve(J, at[0])
            # what the encoders report differs from the command by the load over the gain of the PID
            sag[:2] += SAG_SHARE * (wanted.pop(0) - env.world.arms["ECM"].q)[:2]
            wanted.append(q.copy())
            return np.clip(mode.action(q + sag), -1.0, 1.0)

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """Feedback of the image with the gains of an image that is not turned."""
        mode, q = _joint_target(env), env.world.arms["ECM"].q.copy()
        integral = np.zeros(2)

        def policy(observation: object) -> Array:
            e = self.achieved(env.world)[0]
            integral[:] += INTEGRAL * e
            return np.clip(mode.action(q + np.append(UNTURNED @ (GAIN * e + integral), [0.0, 0.0])), -1.0, 1.0)

        return policy


SAG_SHARE = 0.05  # of the difference from the command that the expert adds per period
STEP = 1e-4  # of finite differences [rad]


def _nearby(q: Array) -> list[Array]:
    return [q, q + STEP * np.eye(4)[0], q + STEP * np.eye(4)[1]]


def _joint_target(env: TaskEnv) -> JointTarget:
    (mode,) = env.modes.values()
    if not isinstance(mode, JointTarget):
        raise TrocarError(f"this policy acts by joint targets, not by {env.mode}; use the default mode of the task")
    return mode
