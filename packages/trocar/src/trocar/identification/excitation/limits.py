"""Limits of an excitation: positions, velocities and motor efforts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array

RANGE = 0.9  # fraction of a joint's range that is used if no range is published
SPEED = 0.8  # fraction of its trajectory velocity
EFFORT = 0.75  # fraction of each motor's effort; the rest is for the controller and for model errors


@dataclass(frozen=True, kw_only=True, eq=False)
class ExcitationLimits:
    """lower <= A q <= upper and |A dq| <= velocity, row by row; |tau_motor| <= effort, motor by motor.

    Attributes:
        names: names of the rows: joints, then motors coupled to several joints.
        A: (r, n). lower, upper: (r,) [rad, m]. velocity: (r,) [rad/s, m/s].
        motors: their names. effort: (n,) [N m, N]; infinite if there is no limit.
    """

    names: tuple[str, ...]
    A: Array
    lower: Array
    upper: Array
    velocity: Array
    motors: tuple[str, ...]
    effort: Array

    def __post_init__(self) -> None:
        rows = len(self.names)
        if self.A.ndim != 2 or any(x.shape != (rows,) for x in (self.A[:, 0], self.lower, self.upper, self.velocity)):
            raise TrocarError(f"limits of {rows} rows need A ({rows}, n) and lower, upper, velocity ({rows},)")
        for i, name in enumerate(self.names):
            if not (np.isfinite([self.lower[i], self.upper[i]]).all() and self.lower[i] < self.upper[i]):
                raise TrocarError(f"no room for {name}: it must stay between {self.lower[i]:g} and {self.upper[i]:g}")
            if not (np.isfinite(self.velocity[i]) and self.velocity[i] > 0):
                raise TrocarError(f"the velocity limit of {name} must be positive, got {self.velocity[i]!r}")
        n = self.A.shape[1]
        if self.effort.shape != (n,) or len(self.motors) != n or not (self.effort > 0).all():
            raise TrocarError(f"efforts must be positive, one for each of {n} motors, got {self.effort}")

    @property
    def middle(self) -> Array:
        """(r,) [rad, m]."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half(self) -> Array:
        """(r,) half of each range [rad, m]."""
        return 0.5 * (self.upper - self.lower)

    def violation(self, q: Array, dq: Array) -> tuple[float, str]:
        """Largest excess over a limit along states (N, n), as a fraction of that limit's half range, and its name.

        Negative if everything is inside.
        """
        position = (np.abs(q @ self.A.T - self.middle) / self.half - 1.0).max(0)
        velocity = (np.abs(dq @ self.A.T) / self.velocity - 1.0).max(0)
        worst = np.concatenate([position, velocity])
        i = int(worst.argmax())
        kind, name = "position" if i < len(self.names) else "velocity", (*self.names, *self.names)[i]
        return float(worst[i]), f"{kind} of {name}"


def excitation_limits(
    arm: Arm, changes: Mapping[str, tuple[float, float, float]] | None = None, effort: float = EFFORT
) -> ExcitationLimits:
    """Limits for an arm: its excitation ranges if it has some, otherwise fractions of the joint ranges and velocities.

    Motors that move several joints, such as the discs of an instrument, are limited if the arm has ranges for them.

    Args:
        changes: joint name -> (lower, upper, velocity) to use instead; they must be within the joint's range.
        effort: allowed fraction of each motor's largest effort, above 0 and at most 1.
    """
    if not 0.0 < effort <= 1.0:
        raise TrocarError(f"the fraction of the motors' effort must be above 0 and at most 1, got {effort!r}")
    chosen = {}
    for joint in arm.joints:
        middle, half = 0.5 * (joint.lower + joint.upper), 0.5 * (joint.upper - joint.lower)
        usual = middle - RANGE * half, middle + RANGE * half, SPEED * joint.velocity
        lower, upper, velocity = arm.excitation.joints.get(joint.name, usual)
        # an instrument may restrict a joint to less than its excitation range
        chosen[joint.name] = max(lower, joint.lower), min(upper, joint.upper), velocity
    changes = changes or {}
    check_known(f"joint of {arm.name}", arm.joint_names, *changes)
    chosen |= changes
    for joint in arm.joints:
        lower, upper, _ = chosen[joint.name]
        if lower < joint.lower - 1e-9 or upper > joint.upper + 1e-9:
            raise TrocarError(
                f"{joint.name} may move from {joint.lower:g} to {joint.upper:g}, got {lower:g} to {upper:g}"
            )
    motor_from_joint = zip(arm.motors.names, np.linalg.inv(arm.motors.coupling), strict=True)
    ranges = arm.excitation.motors
    coupled = {name: row for name, row in motor_from_joint if name in ranges and np.count_nonzero(row) > 1}
    lowers, uppers, velocities = np.array([*chosen.values(), *(ranges[name] for name in coupled)], dtype=float).T
    return ExcitationLimits(
        names=(*chosen, *coupled),
        A=np.array([*np.eye(arm.n), *coupled.values()]),
        lower=lowers,
        upper=uppers,
        velocity=velocities,
        motors=arm.motors.names,
        effort=effort * arm.motors.effort,
    )
