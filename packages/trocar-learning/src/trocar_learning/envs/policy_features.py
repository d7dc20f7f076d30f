"""Features of observations that a policy's network takes instead of them: NumPy for one episode, torch for many.

A feature function depends on the observation alone, so that a policy with features needs nothing but its sensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from trocar.batch.worlds.layout import WristLayout, wrist_layout
from trocar.batch.worlds.wrist_arrays import tip_poses
from trocar.simulation.objects.solid import needle
from trocar.simulation.skills.needle_frames import grip_frame
from trocar.spatial import Array, ArrayModule, Values
from trocar_learning.envs.arrays import matrices
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.envs.tasks import peg_lift

FAR, NEAR = 0.02, 3e-3  # scales of distances [m]: the place of the tray, the reach of the jaws
TURN, EFFORT = 0.1, 0.1  # scales of angles [rad] and of the jaws' effort [N m]
ALIKE = 1.0  # weight of a grip's distance [1/m] against the trace of the rotation to it
MAX_FAR = 4.0  # of a distance: a needle that falls off its rails falls for ever
# tip poses of jaws around an object, in its frame (k, 4, 4)
GRIPS: Mapping[str, Array] = MappingProxyType(
    {
        "needle_grip": np.array([grip_frame(needle("needle", np.eye(4)), 0.0, -np.pi / 2, side) for side in (1, -1)]),
        "peg_grip": peg_lift.GRIPS,
    }
)

Features = Callable[[Values], Values]  # observations (n, m) -> features (n, k)


class GripFeatures:
    """Features of NeedlePick and PegLift: the nearest grip of the object and its goal, relative to the tip.

    Two scales of the way to the grip and of the rotation to it (sine of the angle, along its axis), both along the
    world's axes; two scales of the object's way to its goal; opening and effort of the jaws; the last action.

    Args:
        xp: numpy or torch. wrist, T_world_base: of the arm. grips: T_object_tip (k, 4, 4).
    """

    size = 28

    def __init__(self, xp: ArrayModule, wrist: WristLayout, T_world_base: Array, grips: Array) -> None:
        self._xp, self._wrist, self._T_world_base = xp, wrist, T_world_base
        self._grips = grips

    def error(self, observation: Values) -> tuple[Values, Values]:
        """Way (n, 3) of the tip to the nearest grip [m], and sine times axis (n, 3) of the rotation to it.

        The nearest grip is the one to which the tip turns least; of several, the one whose place is nearest.
        """
        xp = self._xp
        T = tip_poses(xp, self._wrist, self._T_world_base, observation[:, :6])
        R, R_thing = T[:, :3, :3], matrices(xp, observation[:, 31:35])
        grips = self._grips
        if xp is not np:
            grips = xp.as_tensor(grips, dtype=observation.dtype, device=observation.device)
        turns = R_thing[:, None] @ grips[:, :3, :3]  # (n, k, 3, 3)
        ways = observation[:, None, 28:31] + (R_thing[:, None] @ grips[:, :3, 3:])[..., 0] - T[:, None, :3, 3]
        alike = (R[:, None] * turns).sum(-1).sum(-1)
        nearest = (alike - ALIKE * (ways * ways).sum(-1) ** 0.5).argmax(-1)
        row = xp.arange(len(nearest)) if xp is np else xp.arange(len(nearest), device=observation.device)
        turn, way = turns[row, nearest], ways[row, nearest]
        E = (turn[:, :, None, :] * R[:, None, :, :]).sum(-1)  # turn times the transpose of R
        spin = 0.5 * xp.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], -1)
        return way, spin

    def __call__(self, observation: Values) -> Values:
        """Features (n, 28) of observations (n, 38)."""
        xp = self._xp
        way, spin = self.error(observation)
        lift = observation[:, 35:38] - observation[:, 28:31]
        return xp.concatenate(
            [
                *(xp.clip(way / FAR, -MAX_FAR, MAX_FAR), xp.tanh(way / NEAR), spin, xp.tanh(spin / TURN)),
                *(xp.clip(lift / FAR, -MAX_FAR, MAX_FAR), xp.tanh(lift / NEAR)),
                *(observation[:, 6:7], xp.clip(observation[:, 20:21] / EFFORT, -2.0, 2.0), observation[:, 21:28]),
                xp.clip((way * way).sum(-1)[:, None] ** 0.5 / FAR, 0.0, MAX_FAR),
            ],
            axis=-1,
        )


def grip_features(env: TaskEnv, name: str = "needle_grip") -> Features:
    """`GripFeatures` of an environment of NeedlePick or PegLift."""
    world = env.world
    return GripFeatures(np, wrist_layout(world.arms["PSM"].arm), world.T_world_base["PSM"], GRIPS[name])


# Features by name: their task, the number of inputs and outputs, and the function of an environment.
FEATURES: Mapping[str, tuple[str, int, int, Callable[[TaskEnv], Features]]] = MappingProxyType(
    {
        "needle_grip": ("NeedlePick", 38, GripFeatures.size, grip_features),
        "peg_grip": ("PegLift", 38, GripFeatures.size, partial(grip_features, name="peg_grip")),
    }
)
