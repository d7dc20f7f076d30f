"""The common part of tasks on a moving reference: its motion, the tip's error and a model-based residual."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from trocar.control import Setpoint
from trocar.control.observers import MomentumObserver
from trocar.control.trajectories.paths import SCALINGS
from trocar.mechanics import Mechanism
from trocar.spatial import Array
from trocar_learning.envs.actions import ResidualEffort
from trocar_learning.envs.task import Task
from trocar_learning.envs.tasks.reach import effort_limits
from trocar_learning.envs.world import World

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

LOWER = np.array([-0.5, -0.35, 0.10, -0.8, -0.4, -0.4, 0.3])  # of the centre of the motion [rad, m]
UPPER = np.array([0.5, 0.35, 0.15, 0.8, 0.4, 0.4, 0.3])
SIZE = np.array([0.20, 0.16, 0.02, 0.4, 0.3, 0.3, 0.0])  # largest amplitude
FREQUENCY = (0.25, 0.6)  # [Hz]
FRICTION_STEP = 0.005  # at which friction is integrated along the reference [s]
RESIDUAL_BANDWIDTH = 4.0  # of PID in addition to computed torque of 15 rad/s [rad/s]
RAMP = 1.0  # the motion fades in from rest [s]
PREVIEW = 0.02 * np.arange(5)  # of the observed reference [s]


class ReferenceTask(Task):
    """A PSM follows sinusoids of all joints: tip speeds of 10 to 60 mm/s, as in surgery (SurRoL caps at 50 mm/s)."""

    mode = "residual_effort"

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        self.centre = rng.uniform(LOWER, UPPER)
        self.size = SIZE * rng.uniform(0.4, 1.0, 7)
        self.rate = 2.0 * np.pi * rng.uniform(*FREQUENCY, 7)
        self.phase = rng.uniform(0.0, 2.0 * np.pi, 7)
        self.stopped: float | None = None  # time at which the reference was frozen [s]
        world.scene.reset({"PSM": self.centre})

    def reference(self, t: float) -> Setpoint:
        if self.stopped is not None and t > self.stopped:
            q = self._wave(self.stopped).q
            return Setpoint(q)
        return self._wave(t)

    def _wave(self, t: float) -> Setpoint:
        r, dr, ddr = SCALINGS["quintic"](min(t / RAMP, 1.0))
        if t > RAMP:
            dr = ddr = 0.0
        dr, ddr = dr / RAMP, ddr / RAMP**2
        w = self.rate
        s, c = self.size * np.sin(w * t + self.phase), self.size * np.cos(w * t + self.phase)
        return Setpoint(self.centre + r * s, dr * s + r * w * c, ddr * s + 2.0 * dr * w * c - r * w * w * s)

    def tip_error(self, world: World) -> float:
        """Distance of the tip from its reference [m]."""
        tip = world.tips["PSM"]
        goal = world.T_world_base["PSM"] @ tip.pose(self._positions(np.array([world.time]))[0, : tip.n])
        return math.dist(world.T_world_tip("PSM")[:3, 3], goal[:3, 3])

    def observation(self, world: World) -> Array:
        """Five samples of the reference, 20 ms apart."""
        return self._positions(world.time + PREVIEW).ravel()

    def _positions(self, times: Array) -> Array:
        """Positions (k, 7) of the reference at times (k,) [s]: as `reference`, at once."""
        t = times if self.stopped is None else np.minimum(times, self.stopped)
        u = np.minimum(t / RAMP, 1.0)
        r = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)  # the quintic of `SCALINGS`, for arrays
        return np.asarray(self.centre + r[:, None] * self.size * np.sin(np.outer(t, self.rate) + self.phase))


class ModelResidual:
    """Residual efforts that turn nominal computed torque into that of a better model, and cancel what remains.

    What no model explains is taken from a momentum observer at the control rate.

    Attributes:
        observer: with the better model. observed: its residual (n,) [N m, N].
    """

    def __init__(self, env: TaskEnv, model: Mechanism, bandwidth: float = 20.0) -> None:
        (mode,) = env.modes.values()
        assert isinstance(mode, ResidualEffort)
        self.limits = effort_limits(env)
        self._env, self._model, self._nominal = env, model, mode.nominal
        self.observer = MomentumObserver(model, bandwidth)
        state = env.world.state("PSM")
        self.observer.reset(state.q, state.dq)
        self.observed = np.zeros(7)
        # an action takes effect after the delay, and acts for a period
        self._ahead = (env.draw.delay + 0.5) * env.period
        t = np.arange(0.0, env.task.duration + 1.0, FRICTION_STEP)
        motion = [env.task.reference(time) for time in t.tolist()]
        self._friction = model.friction_along(
            np.array([at.q for at in motion]), FRICTION_STEP, np.array([at.dq for at in motion])
        )

    def update(self) -> None:
        """Take the measurements of the last period."""
        env = self._env
        if env.world.time > 0.0:
            state = env.world.state("PSM")
            reported = env.mean_effort("PSM") + self._model.effort_bias
            self.observed = self.observer.update(state.q, state.dq, reported, env.period)

    def efforts(self) -> Array:
        """Residual efforts (n,) [N m, N]: difference of the models along the reference, hysteresis included."""
        t = self._env.world.time + self._ahead
        at = self._env.task.reference(t)
        better, nominal = (m.inverse_dynamics(at.q, at.dq, at.ddq) for m in (self._model, self._nominal))
        friction = self._friction[min(round(t / FRICTION_STEP), len(self._friction) - 1)]
        return np.asarray(better + friction - nominal - self._nominal.friction(at.q, at.dq))
