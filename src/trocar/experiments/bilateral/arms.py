"""Arms for bilateral control: many at once in generated code, or one in the MuJoCo engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from trocar import batch
from trocar.mechanics import Mechanism
from trocar.simulation import Simulator
from trocar.spatial import Array


@dataclass(frozen=True)
class Wall:
    """A horizontal elastic wall below the tip.

    Attributes:
        stiffness: one number or (N,) [N/m]. damping: [N s/m]. gap: depth below the tip's start [m].
    """

    stiffness: ArrayLike = 1000.0
    damping: float = 1.0
    gap: float = 0.01


class TipArm(Protocol):
    """N arms of one kind: state, kinematics of the tip, and a step under joint efforts."""

    mechanism: Mechanism
    N: int
    q: Array  # (n, N)
    dq: Array
    contact: Array  # force of the wall on the tip (3, N) [N], in the step just taken

    def reset(self, q: ArrayLike) -> None: ...
    def step(self, tau: Array, force: Array | None, J: Array) -> None:
        """Advance one step under joint efforts tau (n, N), with an external force (3, N) on the tip [N].

        J: (6, m, N), `jacobian(q)` of the current state.
        """

    def position(self, q: Array) -> Array: ...
    def jacobian(self, q: Array) -> Array: ...
    def gravity(self, q: Array) -> Array: ...


@lru_cache
def _loaded(name: str) -> batch.BatchArms:
    return batch.load(name)


class CompiledArm:
    """N arms stepped by `trocar.batch`, with a wall that may differ between them."""

    def __init__(
        self, name: str, N: int, wall: Wall | None = None, dt: float = 1e-3, q: ArrayLike | None = None
    ) -> None:
        self.N, self.dt = N, dt
        surfaces: list[Any] = []
        self._plain = _loaded(name)
        self.mechanism = self._plain.mechanism
        self.start = np.array(self.mechanism.arm.home if q is None else q, dtype=float)
        if wall is not None:
            z = self.mechanism.forward_kinematics(self.start)[2, 3]
            k = np.broadcast_to(np.asarray(wall.stiffness, dtype=float), (N,)).copy()
            surfaces = [batch.Plane(normal=[0, 0, 1], offset=z - wall.gap, stiffness=k, damping=wall.damping)]
        self._arms = batch.load(self.mechanism, surfaces=surfaces) if surfaces else self._plain
        self.reset(self.start)

    def reset(self, q: ArrayLike) -> None:
        q = np.asarray(q, dtype=float)
        self._state = self._arms.state(np.tile(q[:, None], self.N))
        self._read()

    def step(self, tau: Array, force: Array | None, J: Array) -> None:
        if force is not None:
            tau = tau.copy()
            tau[: J.shape[1]] += np.einsum("imN,iN->mN", J[:3], force)
        self._state = self._arms.step(self._state, tau, self.dt)
        self._read()

    def _read(self) -> None:
        self.q, self.dq = self._state.q, self._state.dq
        self.contact = np.zeros((3, self.N))
        if len(self._state.contact):
            self.contact[2] = self._state.contact[0]

    def position(self, q: Array) -> Array:
        return self._plain.tip_pose(q)[:3, 3]

    def jacobian(self, q: Array) -> Array:
        return self._plain.jacobian(q)

    def gravity(self, q: Array) -> Array:
        return self._plain.bias(q, np.zeros_like(q))


class EngineArm:
    """One arm in the MuJoCo engine, N = 1; the wall is a spring and a damper at the tip."""

    N = 1

    def __init__(self, name: str, wall: Wall | None = None, dt: float = 1e-3, q: ArrayLike | None = None) -> None:
        self.sim = Simulator(name, timestep=dt)
        self.mechanism, self.wall = self.sim.mechanism, wall
        self.start = np.array(self.mechanism.arm.home if q is None else q, dtype=float)
        self._surface = self.mechanism.forward_kinematics(self.start)[2, 3] - (wall.gap if wall else 0.0)
        self.reset(self.start)

    def reset(self, q: ArrayLike) -> None:
        self.sim.reset(q)
        self.contact = np.zeros((3, 1))
        self.q, self.dq = self.sim.q[:, None], self.sim.dq[:, None]

    def step(self, tau: Array, force: Array | None, J: Array) -> None:
        self.contact = np.zeros((3, 1))
        if self.wall is not None:
            depth = self._surface - self.position(self.q)[2]
            rate = -(J[2, :, 0] @ self.dq[: J.shape[1]])
            pressed = float(np.asarray(self.wall.stiffness).ravel()[0]) * depth + self.wall.damping * rate
            self.contact[2] = np.where(depth > 0.0, np.maximum(pressed, 0.0), 0.0)
        total = self.contact if force is None else self.contact + force
        self.sim.apply_wrench([*total[:, 0], 0.0, 0.0, 0.0])
        self.sim.step(tau[:, 0])
        self.q, self.dq = self.sim.q[:, None], self.sim.dq[:, None]

    def position(self, q: Array) -> Array:
        return self.mechanism.forward_kinematics(q[:, 0])[:3, 3:]

    def jacobian(self, q: Array) -> Array:
        return self.mechanism.jacobian(q[:, 0])[..., None]

    def gravity(self, q: Array) -> Array:
        return self.mechanism.gravity(q[:, 0])[:, None]
