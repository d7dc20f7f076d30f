"""Many scenes with contact at once: copies of a MuJoCo simulator, stepped in parallel threads.

    scenes = batch.SceneRollouts(tr.Simulator("PSM", objects=[...]), threads=2)
    state = scenes.state(q, dq)                  # (n, N)
    state, log = scenes.rollout(state, tau)      # tau (T, n) or (T, n, N)

Arrays have the shapes of `BatchArms`, the mechanism is the closed chain with all its contacts, and the step is the
simulator's. Efforts are given in advance: MuJoCo runs all steps of a scene without Python.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.rollout import Rollout
from numpy.typing import ArrayLike

from trocar import checks
from trocar.batch.state import REMEDY, BatchLog, NotFinite
from trocar.errors import MAX_LISTED, TrocarError, shown
from trocar.files import check_memory
from trocar.laws.sources.c_source import MAX_THREADS
from trocar.simulation import Simulator
from trocar.simulation.engine import MAX_EFFORT, RUNAWAY
from trocar.spatial import Array

STATE = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
BAD = [mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC]
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL | mujoco.mjtState.mjSTATE_QFRC_APPLIED)


@dataclass(frozen=True, eq=False)
class SceneState:
    """States of N scenes: `rows` (N, S) in MuJoCo's order, q and dq (n, N) of the arm [rad, m; per s]."""

    rows: Array
    q: Array
    dq: Array


class SceneRollouts:
    """Copies of a simulated arm and of the objects it can touch.

    Args:
        sim: a `Simulator` with all forces in the MuJoCo model: no friction with memory, load-dependent friction or
            cables.
        threads: number of threads.
        mass: masses (B, N) [kg] of the bodies in `sim.mechanism.tree.names`, for each of N scenes.
        gravity: (3, N) [m/s^2]. friction: (N,), a factor for all sliding friction coefficients of contacts.
    """

    def __init__(
        self,
        sim: Simulator,
        *,
        threads: int = 1,
        mass: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        friction: ArrayLike | None = None,
    ) -> None:
        threads = checks.count("threads", threads, high=MAX_THREADS)
        if not isinstance(sim, Simulator):
            raise TrocarError(f"sim must be a Simulator, got {shown(sim)}")
        if sim.accuracy == "exact":
            raise TrocarError('scenes require accuracy="fast" or "discrete"; the simulator has "exact"')
        self.sim, self.mechanism = sim, sim.mechanism
        self._stepped = sim.scene.stepped[sim.arm.name]
        if self._stepped.forces.acts:
            raise TrocarError(
                f"{sim.arm.name} has friction with memory or by load, or cables, which act outside MuJoCo's model; "
                "scenes require parameters without them (wang2019, gondokaryono2019) or friction=False"
            )
        acting = [name for name, placed in sim.objects.items() if placed.acts]
        if acting:
            raise TrocarError(f"{', '.join(acting)} acts between the steps of MuJoCo and cannot be part of a batch")
        self.model, bodies = sim.model, len(self.mechanism.tree.names)
        varied = {"mass": (mass, bodies), "gravity": (gravity, 3), "friction": (friction, None)}
        self._varied = {name: _checked(name, x, rows) for name, (x, rows) in varied.items() if x is not None}
        sizes = {x.shape[-1] for x in self._varied.values()}
        if len(sizes) > 1:
            raise TrocarError(f"parameters belong to batches of different sizes: {', '.join(map(str, sorted(sizes)))}")
        self._models = [self._world(k) for k in range(max(sizes))] if sizes else None
        self._runner = Rollout(nthread=threads)
        self._data = [mujoco.MjData(self.model) for _ in range(threads)]

    def state(self, q: ArrayLike, dq: ArrayLike | None = None) -> SceneState:
        """States with arms at q (n, N) with rates dq (n, N) and objects at their initial poses."""
        q, n = checks.real_array("q", q), self.sim.n
        dq = np.zeros_like(q) if dq is None else checks.real_array("dq", dq)
        if q.ndim != 2 or q.shape[0] != n or q.shape != dq.shape or not q.size:  # MuJoCo crashes without scenes
            raise TrocarError(f"q and dq must have shape ({n}, N), got {q.shape} and {dq.shape}")
        if self._models is not None and len(self._models) != q.shape[1]:
            raise TrocarError(f"the parameters belong to {len(self._models)} scenes, but q has {q.shape[1]}")
        before = self.sim.snapshot()
        rows = np.empty((q.shape[1], mujoco.mj_stateSize(self.model, STATE)))
        for k, row in enumerate(rows):
            self.sim.reset(q[:, k], dq[:, k])
            mujoco.mj_getState(self.model, self.sim.data, row, STATE)
        self.sim.restore(before)
        return SceneState(rows, q, dq)

    def rollout(self, state: SceneState, tau: ArrayLike, *, every: int = 1) -> tuple[SceneState, BatchLog]:
        """The states after the steps of tau (T, n) or (T, n, N) [N m, N], and a log sampled every `every` steps."""
        every = checks.count("every", every)
        if not isinstance(state, SceneState):
            raise TrocarError(f"the state must be a SceneState from state() or rollout(), got {shown(state)}")
        tau, (n, count) = checks.real_array("tau", tau), state.q.shape
        if tau.ndim not in (2, 3) or tau.shape[1:] not in ((n,), (n, count)) or not len(tau):
            raise TrocarError(f"tau must have shape (T, {n}) or (T, {n}, {count}), got {tau.shape}")
        tau = np.broadcast_to(tau if tau.ndim == 3 else tau[..., None], (len(tau), n, count))
        check_memory(len(tau) * count * 2 * state.rows.shape[1] * 8, f"a log of {len(tau)} steps", REMEDY)
        if not (np.abs(tau) < MAX_EFFORT).all():
            raise TrocarError(f"tau must be finite and below {MAX_EFFORT:g} [N m, N]")
        motor = np.einsum("mj,tjk->ktm", self._stepped.motor_from_joint, tau)
        applied = np.zeros((count, len(tau), self.model.nv))
        applied[..., self._stepped.v] = self._stepped.forces.constant
        models = self.model if self._models is None else self._models
        rows, _ = self._runner.rollout(
            models, self._data, state.rows, np.concatenate([motor, applied], axis=2), control_spec=CONTROL
        )
        whole = np.concatenate([state.rows[:, None], rows], axis=1)[..., 1:]  # without the time
        qpos, qvel = whole[..., : self.model.nq], whole[..., self.model.nq :][..., : self.model.nv]
        links = qpos[..., self._stepped.q], qvel[..., self._stepped.v]
        q, dq = (np.einsum("jp,ktp->tjk", self._stepped.D, part) for part in links)
        ddq = np.diff(dq, axis=0) / self.sim.timestep
        self._check_diverged(qpos, qvel, count)
        samples = np.concatenate([q[:-1], dq[:-1], tau, ddq], axis=1)[::every]
        times = self.sim.timestep * every * np.arange(len(samples))
        end = SceneState(rows[:, -1].copy(), q[-1], dq[-1])
        return end, BatchLog(times, samples, self.mechanism, "mujoco")

    def _check_diverged(self, qpos: Array, qvel: Array, count: int) -> None:
        """Raise an error that lists the scenes beyond the bounds of a `Simulator`, or reset by MuJoCo."""
        acceleration = np.linalg.norm(np.diff(qvel, axis=1), axis=2).max(axis=1) / self.sim.timestep
        runaway = ~(acceleration < RUNAWAY)  # also True for NaN
        for stop in self.sim.scene.engine.stops:
            runaway |= (stop.violation(qpos[..., stop.address]) > stop.runaway).any(axis=1)
        warned = sum(int(data.warning[kind].number) for data in self._data for kind in BAD)
        if runaway.any():
            bad = np.flatnonzero(runaway).tolist()
            listed = f"{', '.join(map(str, bad[:MAX_LISTED]))}{', ...' if len(bad) > MAX_LISTED else ''}"
            raise NotFinite(f"{len(bad)} of {count} scenes have diverged: {listed}; use lower efforts", bad[0])
        if warned:
            raise NotFinite(
                f"{warned} of {count} scenes have diverged and were reset by MuJoCo; use lower efforts", None
            )

    def _world(self, k: int) -> mujoco.MjModel:
        """The model of one scene, with its own parameters."""
        model = copy.copy(self.model)
        if "mass" in self._varied:
            for name, mass in zip(self.mechanism.tree.names, self._varied["mass"][:, k], strict=True):
                model.body(name).mass = mass
        if "gravity" in self._varied:
            model.opt.gravity = self._varied["gravity"][:, k]
        if "friction" in self._varied:
            model.geom_friction[:, 0] *= self._varied["friction"][k]
            model.pair_friction[:, :2] *= self._varied["friction"][k]
        return model


def _checked(name: str, values: ArrayLike, rows: int | None) -> Array:
    array = checks.real_array(name, values)
    fine = array.ndim == (1 if rows is None else 2) and (rows is None or array.shape[0] == rows)
    if not fine or not np.isfinite(array).all() or (name != "gravity" and (array < 0).any()):
        shape = "(N,)" if rows is None else f"({rows}, N)"
        raise TrocarError(f"{name} must be finite numbers {shape}, not negative, got shape {array.shape}")
    return array
