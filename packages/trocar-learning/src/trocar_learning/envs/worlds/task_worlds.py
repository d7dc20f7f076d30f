"""Many worlds of a task: actions, observations, rewards and resets in arrays that stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trocar import checks
from trocar.batch.scenes import SceneBatch
from trocar.batch.worlds.reference_waves import WAVES
from trocar.batch.worlds.status import FAILURES
from trocar.batch.worlds.world_values import world_mask
from trocar.batch.worlds.wrist_arrays import tip_poses, wrist_of
from trocar.errors import TrocarError, check_type
from trocar.spatial import Array, ArrayModule, Values
from trocar_learning.envs.actions import (
    COMPUTED_KD,
    COMPUTED_KP,
    JAW_RANGE,
    JAW_SPEED,
    TIP_SPEED,
    TURN_SPEED,
    checked_actions,
)
from trocar_learning.envs.arrays import chosen, poses
from trocar_learning.envs.registration import task_kind
from trocar_learning.envs.task_env import MAX_OBSERVED
from trocar_learning.envs.world import FREQUENCY, RATE, Worlds
from trocar_learning.envs.worlds.episodes import Episodes
from trocar_learning.envs.worlds.world_robots import WorldRobots

CYCLES = FREQUENCY // RATE  # timesteps of a control period
DIVERGED_REWARD = -10.0  # of a needle 1 m away


class TaskWorlds(Worlds):
    """n worlds of a task in a `SceneBatch`: those of its `TaskEnv` at the level of the episodes.

    Arrays are NumPy's in double precision with threads, and torch's on Warp's device in float32. World k starts with
    episode k; its next ones are k + n, k + 2 n, and so on, modulo their number.

    Args:
        episodes: starts. n: number of worlds. backend, device, options: of `SceneBatch`.

    Attributes:
        batch: the scenes. xp: numpy or torch. size, observed: numbers of an action and of an observation.
        episode: (n,) rows of `episodes`.
    """

    def __init__(self, episodes: Episodes, n: int, *, backend: str = "warp", **options: Values) -> None:
        check_type("episodes", episodes, Episodes, "Episodes, such as Episodes.drawn returns")
        n = checks.count("n", n)
        self.episodes, self.n = episodes, n
        self.batch = SceneBatch(episodes.layout, n, backend=backend, **options, **_own_fields(episodes, n))
        self.task = task_kind(episodes.task)()
        self._tables: dict[str, Values] = {}
        if backend == "threads":
            self.xp: ArrayModule = np
        else:
            self.xp = self._torch()
        self._arms, self._columns = episodes.layout.arms, self.batch.columns
        self._tip_mode = episodes.mode == "tip_increment"
        self.size = sum(7 if self._tip_mode else arm.n for arm in self._arms.values())
        self._coupling = {name: self.put(arm.coupling) for name, arm in self._arms.items()}
        self._joint_efforts = {name: self.put(np.linalg.inv(arm.coupling)) for name, arm in self._arms.items()}
        self._limits = {name: self.put(values) for name, values in episodes.limits.items()}
        self._starts = {name: self.put(getattr(episodes, name)) for name in ("qpos", "qvel", "commanded")}
        self._places = {name: self.put(values) for name, values in episodes.places.items()}
        self._numbers = {name: self.put(values) for name, values in episodes.numbers.items()}
        fields = {k: self.batch.worlds.conditioned_field(k, values) for k, values in episodes.fields.items()}
        self._fields = {name: self.put(values) for name, values in fields.items()}
        self.elapsed = self.put(np.zeros(n, dtype=np.int64))
        self.episode = self.put(np.arange(n) % len(episodes))
        self._last = self.put(np.zeros((n, self.size)))
        self._applied = self.put(np.zeros((n, episodes.layout.model.nu)))  # mean motor efforts of the last period
        self._robots = None if episodes.robots is None else WorldRobots(self, episodes.robots)
        self.memory = {name: values[self.episode] for name, values in self._numbers.items()}
        for name, arm in self._arms.items():
            if episodes.law is not None:
                waves = self.task.waves(self)
                assert waves is not None
                self.batch.follow_waves(name, episodes.law, waves, kp=COMPUTED_KP, kd=COMPUTED_KD)
            elif not self._tip_mode:
                self.batch.apply(name, np.zeros(arm.n), limited=True)
        self.observed = self.reset().shape[1]

    def _torch(self) -> Any:
        """Set torch up on Warp's device and stream."""
        try:
            import torch
            import warp as wp
        except ModuleNotFoundError as missing:
            raise TrocarError(f"worlds on Warp need {missing.name}: pip install 'trocar[gpu]' torch") from None
        device = self.batch.worlds.device
        if device.startswith("cuda"):
            torch.cuda.set_stream(wp.stream_to_torch(wp.get_stream(device)))
        self._to_torch = wp.to_torch
        self._from_torch = wp.from_torch
        return torch

    def put(self, values: Values) -> Values:
        """An array of the worlds' kind and precision, on their device."""
        array = np.array(values)
        if self.xp is np:
            return array
        kind = self.xp.float32 if array.dtype.kind == "f" else None
        return self.xp.as_tensor(array, dtype=kind, device=self.batch.worlds.device)

    def numpy(self, array: Values) -> Array:
        """An array of the worlds in NumPy."""
        return np.asarray(array if self.xp is np else array.cpu())

    def array(self, name: str) -> Values:
        """An array of the backend, which changes in place."""
        if name not in self._tables:
            self._tables[name] = self.shared(self.batch.worlds.array(name))
        return self._tables[name]

    def reset(self, mask: Values = None) -> Values:
        """Start the next episodes of the masked worlds (n,), or without a mask the first ones of all worlds.

        Returns observations (n, observed).
        """
        xp, worlds = self.xp, self.batch.worlds
        if mask is None:
            mask, self.episode = self.put(np.ones(self.n, dtype=bool)), self.put(np.arange(self.n) % len(self.episodes))
        else:
            mask = self._checked_mask(mask)
            self.episode = xp.where(mask, (self.episode + self.n) % len(self.episodes), self.episode)
        row, wide = self.episode, mask[:, None]
        numbers = self._numbers.items()
        self.memory = {name: chosen(xp, mask, values[row], self.memory[name]) for name, values in numbers}
        for name in ("qpos", "qvel"):
            start = self.array(f"{name}_start")
            start[...] = xp.where(wide, self._starts[name][row], start)
        rows = mask if xp is np else self._from_torch(mask)
        for name, places in self._places.items():
            at = places[row]
            worlds.place(self.episodes.layout.objects[name].body, at if xp is np else self._from_torch(at), rows)
        for name, values in self._fields.items():
            field = self.shared(worlds.field(name))
            field[...] = chosen(xp, mask, values[row].reshape(field.shape), field)
        if self._robots is not None:
            self._robots.start(mask)
        if self.episodes.law is not None:
            self._start_waves(wide)
        worlds.reset(rows)
        commanded = self.array("commanded")
        commanded[...] = xp.where(wide, self._starts["commanded"][row], commanded)
        self.elapsed = xp.where(mask, 0, self.elapsed)
        self._last = xp.where(wide, 0.0, self._last)
        self._applied = xp.where(wide, 0.0, self._applied)
        self._measure()
        return self.observation()

    def _checked_mask(self, mask: Values) -> Values:
        if self.xp is np:
            return world_mask(mask, self.n)
        self._check_tensor("mask", mask, (self.n,))
        if mask.dtype != self.xp.bool:
            raise TrocarError(f"mask must be a tensor of booleans, got {mask.dtype}")
        return mask

    def _check_tensor(self, name: str, tensor: Values, shape: tuple[int, ...]) -> None:
        """Raise an error unless this is a tensor of a shape on the worlds' device; its values are not read."""
        check_type(name, tensor, self.xp.Tensor, "a tensor of torch")
        if tuple(tensor.shape) != shape or tensor.device != self.elapsed.device:
            where = f"{tuple(tensor.shape)} on {tensor.device}"
            raise TrocarError(f"{name} must have shape {shape} on {self.elapsed.device}, got {where}")

    def _start_waves(self, mask: Values) -> None:
        """Give the masked worlds (n, 1) the reference of their current episodes."""
        waves = self.task.waves(self)
        for name in self._arms:
            for key in WAVES:
                own = self.shared(getattr(self.batch.worlds.waves[name], key))
                own[...] = self.xp.where(mask, getattr(waves, key), own)

    def shared(self, array: Values) -> Values:
        """An array of the backend as one of these worlds, in the same memory."""
        return array if self.xp is np else self._to_torch(array)

    def step(self, actions: Values) -> tuple[Values, Values, Values, Values, dict[str, Values]]:
        """Apply actions (n, size) for one control period; entries beyond [-1, 1] are clipped.

        Returns observation (n, observed), reward, terminated, truncated (n,) and a dictionary of `is_success`,
        `solved`, `diverged` and figures of the task (n,). A world whose episode is over goes on until its `reset`; one
        that has diverged is terminated, and its observation has zeros instead of what is not finite. An action that is
        not finite raises an error on threads; on Warp, which would wait for the device, its world counts as diverged.
        """
        xp, worlds = self.xp, self.batch.worlds
        actions, refused = self._checked_actions(actions)
        self._command(actions if self._robots is None else self._robots.delayed(actions))
        applied = self.array("applied")
        applied[...] = 0.0
        worlds.step(CYCLES)
        self._applied = self.array("applied") / CYCLES
        self._last, self.elapsed = actions, self.elapsed + 1
        self._measure()
        diverged = ((self.array("status") & FAILURES) != 0) | refused
        solved, success, terminated = self.task.judged(self, diverged)
        reward = xp.where(diverged, DIVERGED_REWARD, xp.nan_to_num(self.task.reward(self)))
        info = {"is_success": success, "solved": solved, "diverged": diverged, "drops": self.task.drops(self)}
        truncated = self.elapsed >= self.task.periods
        return self.observation(), reward, terminated, truncated, info | self.task.details(self)

    def _checked_actions(self, actions: Values) -> tuple[Values, Values]:
        """Actions (n, size) within [-1, 1], and worlds (n,) whose action is not finite: zeros act there."""
        xp, shape = self.xp, (self.n, self.size)
        if xp is np:
            return np.clip(checked_actions(actions, shape), -1.0, 1.0), np.zeros(self.n, dtype=bool)
        self._check_tensor("actions", actions, shape)
        values = actions.to(dtype=xp.float32)
        refused = ~xp.isfinite(values).all(-1)
        return xp.clip(xp.where(refused[:, None], 0.0, values), -1.0, 1.0), refused

    def _command(self, actions: Values) -> None:
        xp, place, period = self.xp, 0, 1.0 / RATE
        commanded, columns = self.array("commanded"), self._columns
        for name, arm in self._arms.items():
            part = actions[:, place : place + (7 if self._tip_mode else arm.n)]
            place += part.shape[1]
            if self._tip_mode:
                low, high = JAW_RANGE
                jaw = commanded[:, columns[name].start + 6]
                opening = 0.5 * (high + low) + 0.5 * (high - low) * part[:, 6]
                change = xp.clip(opening - jaw, -period * JAW_SPEED, period * JAW_SPEED)
                moved = [period * TIP_SPEED * part[:, :3], period * TURN_SPEED * part[:, 3:6], change[:, None]]
                self.batch.tip_increments(name, xp.concatenate(moved, axis=-1), period)
            else:
                self.array("effort")[:, columns[name]] = (self._limits[name] * part) @ self._coupling[name]

    def observation(self) -> Values:
        """Observations (n, observed): joints, rates and mean efforts of every arm, last action, numbers of the task."""
        q, dq = self._joints
        applied = self._applied if self._robots is None else self._applied + self._robots.effort_noise()
        parts = []
        for name in self._arms:
            part = self._columns[name]
            parts += [q[:, part], dq[:, part], applied[:, part] @ self._joint_efforts[name]]
        parts += [self._last, self.task.observation(self)]
        observation = self.xp.clip(self.xp.concatenate(parts, axis=-1), -MAX_OBSERVED, MAX_OBSERVED)
        return self.xp.nan_to_num(observation)

    def _measure(self) -> None:
        """Read the joints; tips and contacts are read when they are needed."""
        self._joints = self._read()
        self._readings: dict[tuple[str, str], Values] = {}

    def _read(self) -> tuple[Values, Values]:
        """Measured joints and joint velocities (n, joints of all arms)."""
        q, dq = self.batch.worlds.joints()
        return self.shared(q), self.shared(dq)

    @property
    def times(self) -> Values:
        return self.elapsed / RATE

    def tips_at(self, arm: str, q: Values) -> Values:
        facts = self._arms[arm]
        return tip_poses(self.xp, wrist_of(facts), facts.T_world_base, q)

    def true_tips(self, arm: str) -> Values:
        """Tips (n, 4, 4) of the simulated arms in the world; without encoders, those of the measured joints."""
        if self._robots is None:
            return self.tips(arm)
        return self._once("true tips", arm, lambda: self.tips_at(arm, self._true_joints(arm)))

    def tips(self, arm: str) -> Values:
        return self._once("tips", arm, lambda: self.tips_at(arm, self._joints[0][:, self._columns[arm]]))

    def true_jaws(self, arm: str) -> Values:
        return self._true_joints(arm)[:, -1]

    def _true_joints(self, arm: str) -> Values:
        return self.shared(self.batch.worlds.read()[0])[:, self._columns[arm]]

    def poses(self, thing: str) -> Values:
        first = self.episodes.layout.objects[thing].q
        if first < 0:
            return self._once("pose", thing, lambda: poses(self.xp, self._places[thing][self.episode]))
        return self._once("pose", thing, lambda: poses(self.xp, self.array("qpos")[:, first : first + 7]))

    def velocities(self, thing: str) -> Values:
        first = self.episodes.layout.objects[thing].v
        return self.array("qvel")[:, first : first + 3]

    def touching(self, arm: str, thing: str) -> Values:
        layout, parts = self.episodes.layout, self._once("touch", "", lambda: self.shared(self.batch.worlds.touch()))
        return parts[:, list(layout.arms).index(arm), list(layout.objects).index(thing)]

    def _once(self, what: str, of: str, read: Callable[[], Values]) -> Values:
        """A reading of this period, read when it is asked for the first time."""
        if (what, of) not in self._readings:
            self._readings[what, of] = read()
        return self._readings[what, of]


def _own_fields(episodes: Episodes, n: int) -> dict[str, Values]:
    """Fields of the model that every world needs for itself, because episodes differ in them."""
    rows = np.arange(n) % len(episodes)
    return {"fields": {name: values[rows] for name, values in episodes.fields.items()}} if episodes.fields else {}
