"""The common part of tasks on a moving reference: its motion, the tip's error and a model-based residual."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.batch.worlds.reference_waves import WAVES, Waves
from trocar.control import Setpoint
from trocar.control.observers import MomentumObserver
from trocar.control.trajectories.paths import SCALINGS
from trocar.mechanics import Mechanism
from trocar.spatial import Array, Values
from trocar_learning.envs.actions import ResidualEffort
from trocar_learning.envs.arrays import distance
from trocar_learning.envs.task import Memory, Task, named
from trocar_learning.envs.tasks.reach import effort_limits
from trocar_learning.envs.world import World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

LOWER = np.array([-0.5, -0.35, 0.10, -0.8, -0.4, -0.4, 0.3])  # of the centre of the motion [rad, m]
UPPER = np.array([0.5, 0.35, 0.15, 0.8, 0.4, 0.4, 0.3])
SIZE = np.array([0.20, 0.16, 0.02, 0.4, 0.3, 0.3, 0.0])  # largest amplitude
FREQUENCY = (0.25, 0.6)  # [Hz]
FRICTION_STEP = 0.005  # at which friction is integrated along the reference [s]
RESIDUAL_BANDWIDTH = 4.0  # of PID in addition to computed torque of 15 rad/s [rad/s]
RAMP = 1.0  # the motion fades in from rest [s]
JOINTS = ("yaw", "pitch", "insertion", "roll", "wrist_pitch", "wrist_yaw", "jaw")
PREVIEW = 0.02 * np.arange(5)  # of the observed reference [s]


class ReferenceTask(Task):
    """A PSM follows sinusoids of all joints: tip speeds of 10 to 60 mm/s, as in surgery (SurRoL caps at 50 mm/s)."""

    observed: ClassVar[tuple[str, ...]] = named(JOINTS, *(f"reference {1e3 * t:.0f} ms" for t in PREVIEW))
    mode = "residual_effort"

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        centre, size = rng.uniform(LOWER, UPPER), SIZE * rng.uniform(0.4, 1.0, 7)
        rate, phase = 2.0 * np.pi * rng.uniform(*FREQUENCY, 7), rng.uniform(0.0, 2.0 * np.pi, 7)
        world.scene.reset({"PSM": centre})
        # stopped: time at which the reference was frozen [s]; error: of the tip [m]
        return {"centre": centre, "size": size, "rate": rate, "phase": phase, "stopped": np.inf, "error": 0.0}

    def reference(self, world: World, t: float) -> Setpoint:
        stopped = world.value("stopped")
        return Setpoint(_wave(world, stopped).q) if t > stopped else _wave(world, t)

    def waves(self, worlds: Worlds) -> Waves:
        return Waves(**{name: worlds.memory[name] for name in WAVES}, ramp=RAMP)

    def tip_errors(self, worlds: Worlds) -> Values:
        """Distances (n,) of the tip from its reference [m]."""
        goal = worlds.tips_at("PSM", self._positions(worlds, PREVIEW[:1])[:, 0])
        return distance(worlds.xp, worlds.true_tips("PSM")[:, :3, 3], goal[:, :3, 3])

    def observation(self, worlds: Worlds) -> Values:
        """Five samples of the reference, 20 ms apart."""
        return self._positions(worlds, PREVIEW).reshape(worlds.n, -1)

    def _positions(self, worlds: Worlds, ahead: Array) -> Values:
        """Positions (n, k, 7) of the reference some times (k,) later [s]."""
        memory = {name: worlds.memory[name][:, None] for name in (*WAVES, "stopped")}
        times = worlds.xp.minimum(worlds.times[:, None] + worlds.put(ahead), memory.pop("stopped"))
        return Waves(**memory, ramp=RAMP).positions(worlds.xp, times)


def _wave(world: World, t: float) -> Setpoint:
    """The reference at a time [s], if it is not stopped."""
    centre, size, w, phase = (world.value(name) for name in WAVES)
    r, dr, ddr = SCALINGS["quintic"](min(t / RAMP, 1.0))
    if t > RAMP:
        dr = ddr = 0.0
    dr, ddr = dr / RAMP, ddr / RAMP**2
    s, c = size * np.sin(w * t + phase), size * np.cos(w * t + phase)
    return Setpoint(centre + r * s, dr * s + r * w * c, ddr * s + 2.0 * dr * w * c - r * w * w * s)


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
        motion = [env.task.reference(env.world, time) for time in t.tolist()]
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
        at = self._env.task.reference(self._env.world, t)
        better, nominal = (m.inverse_dynamics(at.q, at.dq, at.ddq) for m in (self._model, self._nominal))
        friction = self._friction[min(round(t / FRICTION_STEP), len(self._friction) - 1)]
        return np.asarray(better + friction - nominal - self._nominal.friction(at.q, at.dq))
