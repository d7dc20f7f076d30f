"""Checks of a motion before it is executed: limits, singularities and collisions on a dense grid of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms.arm import violation_text
from trocar.control.trajectories.reference import NEAR_SINGULAR, Reference
from trocar.errors import TrocarError
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.singularities import singular_values
from trocar.spatial import Array

ROUNDING = 1e-6  # relative


class Contacts(Protocol):
    """A collision query, such as `trocar.simulation.planning.collision.CollisionScene`."""

    def contact(self, q: Array) -> object | None:
        """The contact at q (n,), or None; its text appears in the report."""


@dataclass(frozen=True)
class Violation:
    """The first violation of a limit by a motion.

    Attributes:
        kind: "position", "velocity", "acceleration", "singularity" or "collision".
        time: [s]. joint: name of the joint, None if no single joint is responsible. text: full description.
    """

    kind: str
    time: float
    joint: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.kind} at t = {self.time:.4g} s: {self.text}"


@dataclass(frozen=True)
class PathCheck:
    """The result of `check_path`; true if there is no violation.

    Attributes:
        violations: the first of each kind, ordered by time.
        peak_velocity, peak_acceleration: (n,) largest fraction of the limit used by each joint.
        singularity: smallest value of `singularity` along the motion, at singularity_time [s].
        samples: number of times checked.
    """

    violations: tuple[Violation, ...]
    peak_velocity: Array
    peak_acceleration: Array
    singularity: float
    singularity_time: float
    samples: int

    def __bool__(self) -> bool:
        return not self.violations

    def first(self, kind: str) -> Violation | None:
        """The first violation of a kind, or None."""
        return next((v for v in self.violations if v.kind == kind), None)

    def __str__(self) -> str:
        head = "no violation" if self else "; ".join(map(str, self.violations))
        return (
            f"{head} ({self.samples} samples; at most {self.peak_velocity.max():.0%} of the velocity limits and "
            f"{self.peak_acceleration.max():.0%} of the acceleration limits, "
            f"smallest singular value {self.singularity:.3g} at t = {self.singularity_time:.4g} s)"
        )


def check_path(
    mechanism: ArmKinematics,
    reference: Reference,
    duration: float | None = None,
    *,
    start: float | None = None,
    step: float = 5e-3,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    near_singular: float = NEAR_SINGULAR,
    contacts: Contacts | None = None,
) -> PathCheck:
    """Check a motion every `step` [s], ends included, and report the first violation of each kind.

    Args:
        duration, start: [s]. Default: those of the reference.
        velocity, acceleration: limits (n,) instead of the arm's published ones [rad/s, m/s, rad/s^2, m/s^2].
        near_singular: smallest allowed value of `singularity`.
        contacts: collision query to use.
    """
    arm = mechanism.arm
    t = _times(reference, duration, start, step)
    setpoints = [reference(float(time)) for time in t]
    shape = setpoints[0].q.shape
    if shape != (arm.n,):
        raise TrocarError(f"{arm.name} has {arm.n} joints, the reference gives q of shape {shape}")
    q, dq, ddq = (np.array([getattr(s, name) for s in setpoints]) for name in ("q", "dq", "ddq"))
    fastest = _limits(velocity, [j.velocity for j in arm.joints], "velocity")
    hardest = _limits(acceleration, [j.acceleration for j in arm.joints], "acceleration")
    violations: list[Violation] = []

    def look(kind: str, values: Array, low: Array, high: Array, per: str = "") -> None:
        slack = ROUNDING * np.maximum(high - low, 1e-9)
        bad = np.argwhere((values < low - slack) | (values > high + slack))
        if bad.size:
            k, j = (int(i) for i in bad[0])
            joint = arm.joints[j]
            text = violation_text(j, joint.name, low[j], values[k, j], high[j], joint.unit + per)
            violations.append(Violation(kind, float(t[k]), joint.name, text))

    look("position", q, arm.lower, arm.upper)
    look("velocity", dq, -fastest, fastest, "/s")
    look("acceleration", ddq, -hardest, hardest, "/s^2")
    sigma = singular_values(mechanism, q)[..., -1]
    near = np.flatnonzero(sigma < near_singular)
    if near.size:
        text = f"smallest singular value {sigma[near[0]]:.3g}, allowed {near_singular:g}"
        violations.append(Violation("singularity", float(t[near[0]]), None, text))
    if contacts is not None:
        for time, row in zip(t, q, strict=True):
            touch = contacts.contact(row)
            if touch is not None:
                violations.append(Violation("collision", float(time), None, str(touch)))
                break
    worst = int(sigma.argmin())
    return PathCheck(
        violations=tuple(sorted(violations, key=lambda v: v.time)),
        peak_velocity=(np.abs(dq) / fastest).max(0),
        peak_acceleration=(np.abs(ddq) / hardest).max(0),
        singularity=float(sigma[worst]),
        singularity_time=float(t[worst]),
        samples=len(t),
    )


def _times(reference: Reference, duration: float | None, start: float | None, step: float) -> Array:
    begin = float(getattr(reference, "start", 0.0) if start is None else start)
    length = getattr(reference, "duration", None) if duration is None else duration
    if length is None:
        raise TrocarError("this reference has no end; pass a duration [s] to check_path")
    count = int(np.ceil(checks.positive("duration", length) / checks.positive("step", step)))
    return np.linspace(begin, begin + length, count + 1)


def _limits(values: ArrayLike | None, published: list[float], name: str) -> Array:
    limits = np.array(published if values is None else values, dtype=float)
    if limits.shape != (len(published),) or not (limits > 0).all():
        raise TrocarError(f"{name} must be positive limits ({len(published)},), got {values!r}")
    return limits
