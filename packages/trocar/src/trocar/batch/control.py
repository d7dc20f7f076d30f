"""Controllers that run inside a rollout at every step, with references and gains shared or per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from trocar.errors import check_known
from trocar.spatial import Values


class BatchControl:
    """A controller in the generated code. `law`: its name in `equations/control.py`."""

    law: ClassVar[str]
    gain_names: ClassVar[tuple[str, ...]] = ("kp", "kd")

    @property
    def gains(self) -> dict[str, Values]:
        return {name: getattr(self, name) for name in self.gain_names}

    @property
    def references(self) -> tuple[ArrayLike | None, ...]:
        """References up to the last one that is not None; code without the others is shorter."""
        references = [getattr(self, name, None) for name in ("q_ref", "dq_ref", "ddq_ref")]
        count = max(k + 1 for k, reference in enumerate(references) if k == 0 or reference is not None)
        return tuple(references[:count])


@dataclass(frozen=True, eq=False)
class BatchJointPD(BatchControl):
    """tau = kp (q_ref - q) + kd (dq_ref - dq).

    Args:
        q_ref, dq_ref: (T, n) for all arms or (T, n, N); or (n,) or (n, N), held. dq_ref: default zero [rad, m; per s].
        kp: [N m/rad, N/m]. kd: [N m s/rad, N s/m]. One number, (n,), or (n, N).
    """

    law = "pd"
    q_ref: ArrayLike
    kp: ArrayLike
    kd: ArrayLike
    dq_ref: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class BatchJointPID(BatchControl):
    """tau_motor = kp e + ki int(e) + kd e' in actuator space, like the dVRK's own controller; see `control.JointPID`.

    Args:
        q_ref, dq_ref: as for `BatchJointPD`.
        kp, ki, kd: gains of the actuators, one number, (n,), or (n, N). Default: the arm's published ones.
    """

    law, gain_names = "pid", ("kp", "ki", "kd")
    q_ref: ArrayLike
    kp: ArrayLike | None = None
    ki: ArrayLike | None = None
    kd: ArrayLike | None = None
    dq_ref: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class BatchComputedTorque(BatchControl):
    """tau = M (ddq_ref + kd (dq_ref - dq) + kp (q_ref - q)) + c + g.

    Args:
        q_ref, dq_ref, ddq_ref: as for `BatchJointPD`. kp: [1/s^2]. kd: [1/s]. One number, (n,), or (n, N).
        model: "nominal", the equations of `arms.mechanism`; or "own", those with each arm's parameters.
    """

    q_ref: ArrayLike
    kp: ArrayLike
    kd: ArrayLike
    dq_ref: ArrayLike | None = None
    ddq_ref: ArrayLike | None = None
    model: str = "nominal"

    def __post_init__(self) -> None:
        check_known("model of BatchComputedTorque", ("nominal", "own"), self.model)

    @property
    def law(self) -> str:  # type: ignore[override]
        return "computed_torque" if self.model == "own" else "nominal_computed_torque"
