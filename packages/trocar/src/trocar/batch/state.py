"""State of the arms in a batch, the meaning of its rows, and the recorded motion of a rollout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Values

# For logs that do not fit into memory.
REMEDY = "Record fewer steps with every=, or nothing with log=False"


@dataclass(frozen=True)
class Layout:
    """Numbers of rows, in this order: q and dq (n each), Coulomb friction forces, contact forces, stop forces,
    states of Dahl elements, motors and friction contacts of a wrist with cables (0 or 6), memory of a controller.
    """

    n: int
    friction: int
    contact: int
    stops: int
    dahl: int
    wrist: int = 0
    control: int = 0

    @property
    def rows(self) -> int:
        """Number of rows of a state, without those of a controller."""
        return 2 * self.n + self.friction + self.contact + self.stops + self.dahl + self.wrist

    def part(self, name: str) -> slice:
        """Rows of one of `friction`, `contact`, `stops`, `dahl` and `wrist`."""
        start = 2 * self.n
        for part in ("friction", "contact", "stops", "dahl", "wrist"):
            count = getattr(self, part)
            if part == name:
                return slice(start, start + count)
            start += count
        raise KeyError(name)


class NotFinite(TrocarError):
    """An arm has diverged: its state is not finite, or far beyond any arm's. `arm`: the first one, None if alone."""

    def __init__(self, message: str, arm: int | None) -> None:
        self.arm = arm
        super().__init__(message)


class BatchState:
    """Positions, velocities and friction memory of one arm or of N. Read-only.

    Attributes:
        rows: (R,) or (R, N), each row one scalar of all arms. layout: meaning of the rows.
        integral: integral of a PID controller (n,) or (n, N) [rad s, m s], None before it has run.
    """

    __slots__ = ("integral", "layout", "rows")

    def __init__(self, rows: Values, layout: Layout, integral: Values = None) -> None:
        self.rows, self.layout, self.integral = rows, layout, integral

    @property
    def batch(self) -> tuple[int, ...]:
        """() for one arm, (N,) for N arms."""
        return tuple(self.rows.shape[1:])

    @property
    def q(self) -> Values:
        """Positions (n,) or (n, N) [rad, m]."""
        return self.rows[: self.layout.n]

    @property
    def dq(self) -> Values:
        """Velocities (n,) or (n, N) [rad/s, m/s]."""
        return self.rows[self.layout.n : 2 * self.layout.n]

    @property
    def friction(self) -> Values:
        """Coulomb friction forces (f,) or (f, N) of the last step, on the coordinates with friction [N m, N]."""
        return self.rows[self.layout.part("friction")]

    @property
    def contact(self) -> Values:
        """Contact forces (3 s,) or (3 s, N) of the s surfaces: normal, then along two tangents, each [N]."""
        return self.rows[self.layout.part("contact")]

    @property
    def stops(self) -> Values:
        """Forces (n,) or (n, N) of the joint limits in the last step [N m, N]."""
        return self.rows[self.layout.part("stops")]

    @property
    def hysteresis(self) -> Values:
        """States (k,) or (k, N) of the Dahl elements, in [-1, 1]."""
        return self.rows[self.layout.part("dahl")]

    @property
    def motors(self) -> Values:
        """Roll, wrist pitch and wrist yaw at the motors' encoders (3,) or (3, N) [rad]; none for a rigid wrist."""
        return self.rows[self.layout.part("wrist")][:3]

    def __repr__(self) -> str:
        arms = f"{self.batch[0]} arms" if self.batch else "one arm"
        return f"<BatchState: {arms}, {self.layout.n} joints>"


@dataclass(frozen=True, eq=False)
class BatchLog:
    """Motion and efforts of all arms, in rows as in a `Recording`: q and dq at t, tau and ddq of the step from t.

    Attributes:
        t: (S,) times of the samples [s]. samples: (S, 4 n) or (S, 4 n, N): q, dq, tau and ddq.
        mechanism: the simulated mechanism. backend: name of the backend.
    """

    t: Values
    samples: Values
    mechanism: Mechanism
    backend: str

    @property
    def q(self) -> Values:
        """(S, n) or (S, n, N) [rad, m]."""
        return self._part(0)

    @property
    def dq(self) -> Values:
        """(S, n) or (S, n, N) [rad/s, m/s]."""
        return self._part(1)

    @property
    def tau(self) -> Values:
        """Applied efforts (S, n) or (S, n, N) [N m, N]."""
        return self._part(2)

    @property
    def ddq(self) -> Values:
        """(S, n) or (S, n, N) [rad/s^2, m/s^2]."""
        return self._part(3)

    def __len__(self) -> int:
        return len(self.t)

    def recording(self, arm: int = 0) -> Recording:
        """The motion of one arm of the batch: tau as the robot would report it, channel applied_tau as applied."""
        samples = np.asarray(self.samples, dtype=float)
        if samples.ndim == 3:
            count = samples.shape[2]
            arm = checks.count("arm", arm, -count, count - 1)
            samples = samples[:, :, arm]
        else:
            arm = checks.count("arm", arm, 0, 0)
        q, dq, tau, ddq = np.split(samples, 4, axis=1)
        facts, parameters = self.mechanism.arm, self.mechanism.parameters
        return Recording(
            t=np.asarray(self.t),
            q=q,
            dq=dq,
            ddq=ddq,
            tau=tau + self.mechanism.effort_bias,
            joints=facts.joint_names,
            joint_units=facts.joint_units,
            extra={"applied_tau": tau},
            extra_units={"applied_tau": "N m or N"},
            provenance={
                "arm": facts.name,
                "parameters": "" if parameters is None else parameters.name,
                "engine": f"batch, {self.backend}",
                "batch_index": int(arm),
            },
        )

    def _part(self, k: int) -> Values:
        n = self.mechanism.n
        return self.samples[:, k * n : (k + 1) * n]
