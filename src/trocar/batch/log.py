"""Recorded motion of a rollout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording


@dataclass(frozen=True, eq=False)
class BatchLog:
    """Motion and efforts of all arms, in rows as in a `Recording`: q and dq at t, tau and ddq of the step from t.

    Attributes:
        t: (S,) times of the samples [s]. samples: (S, 4 n) or (S, 4 n, N): q, dq, tau and ddq.
        mechanism: the simulated mechanism. backend: name of the backend.
    """

    t: Any
    samples: Any
    mechanism: Mechanism
    backend: str

    @property
    def q(self) -> Any:
        """(S, n) or (S, n, N) [rad, m]."""
        return self._part(0)

    @property
    def dq(self) -> Any:
        """(S, n) or (S, n, N) [rad/s, m/s]."""
        return self._part(1)

    @property
    def tau(self) -> Any:
        """Applied efforts (S, n) or (S, n, N) [N m, N]."""
        return self._part(2)

    @property
    def ddq(self) -> Any:
        """(S, n) or (S, n, N) [rad/s^2, m/s^2]."""
        return self._part(3)

    def __len__(self) -> int:
        return len(self.t)

    def recording(self, arm: int = 0) -> Recording:
        """The motion of one arm of the batch: tau as the robot would report it, channel applied_tau as applied."""
        samples = np.asarray(self.samples, dtype=float)
        if samples.ndim == 3:
            count = samples.shape[2]
            if not -count <= arm < count:
                raise TrocarError(f"the batch has arms 0 to {count - 1}, got {arm}")
            samples = samples[:, :, arm]
        elif arm:
            raise TrocarError(f"the log has one arm, 0, got {arm}")
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

    def _part(self, k: int) -> Any:
        n = self.mechanism.n
        return self.samples[:, k * n : (k + 1) * n]


def check_fits(count: int, item: int, what: str) -> None:
    """Raise an error unless `count` numbers of `item` bytes fit into the free memory."""
    needed = count * item
    try:
        with open("/proc/meminfo") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        available = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return  # unknown on this system: the allocation itself reports
    if needed > available:
        raise TrocarError(
            f"{what} needs {needed / 1e9:.1f} GB, {available / 1e9:.1f} GB are free; "
            "record fewer steps with every=, or nothing with log=False"
        )
