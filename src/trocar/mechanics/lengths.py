"""The few lengths and ranges that closed forms of an arm are written in, read from its serial chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.spatial import Array, mdh

HALF_PI = np.pi / 2
Range = tuple[float, float]


@dataclass(frozen=True)
class Shaft:
    """Lengths [m] of an arm with a remote centre: depth L = q3 + offset of the wrist pitch axis (ECM: of the tip)
    below it, and `wrist` from there to the wrist yaw axis, where the tip is (ECM: 0)."""

    offset: float
    wrist: float


@dataclass(frozen=True)
class Master:
    """Lengths [m] of an MTM: upper arm a_2; elbow to wrist r, which is gamma [rad] off the forearm."""

    upper_arm: float
    r: float
    gamma: float


def shaft(arm: Arm) -> Shaft:
    """Lengths of a PSM or ECM, after checking that its serial chain is the one the formulas are for."""
    wristed = arm.family == "PSM"
    if arm.family == "MTM" or len(arm.serial) != (6 if wristed else 4):
        raise TrocarError(f"no closed form for {arm.name} with {arm.instrument}: it is for a wrist of pitch, then yaw")
    d_insertion = float(arm.serial[2].placement[:3, 3] @ arm.serial[2].placement[:3, 2])
    d_roll = float(arm.serial[3].placement[2, 3])
    a = float(arm.serial[5].placement[0, 3]) if wristed else 0.0
    expected = [
        mdh(alpha=HALF_PI, theta=HALF_PI),
        mdh(alpha=-HALF_PI, theta=-HALF_PI),
        mdh(alpha=HALF_PI, d=d_insertion),
        mdh(d=d_roll),
    ]
    if wristed:
        expected += [mdh(alpha=-HALF_PI, theta=-HALF_PI), mdh(a=a, alpha=-HALF_PI, theta=-HALF_PI)]
    _check_chain(arm, expected)
    return Shaft(d_insertion + d_roll, a)


def master(arm: Arm) -> Master:
    """Lengths of an MTM, after the same check."""
    if arm.family != "MTM":
        raise TrocarError(f"{arm.name} is no MTM")
    a_2, T_3_4 = float(arm.serial[2].placement[0, 3]), arm.serial[3].placement
    a_3, d_4 = float(T_3_4[0, 3]), float(T_3_4[:3, 3] @ T_3_4[:3, 2])
    expected = [
        mdh(theta=-HALF_PI),
        mdh(alpha=HALF_PI, theta=-HALF_PI),
        mdh(a=a_2, theta=HALF_PI),
        mdh(a=a_3, alpha=-HALF_PI, d=d_4),
        mdh(alpha=HALF_PI),
        mdh(alpha=-HALF_PI, theta=-HALF_PI),
        mdh(alpha=HALF_PI, theta=HALF_PI),
    ]
    _check_chain(arm, expected)
    return Master(a_2, float(np.hypot(a_3, d_4)), float(np.arctan2(d_4, a_3)))


def cosine_range(lower: float, upper: float) -> Range:
    """Smallest and largest cosine over an interval [rad]."""
    ends = np.cos([lower, upper])
    turns = np.floor(upper / np.pi) - np.ceil(lower / np.pi) + 1  # multiples of pi inside
    peaks = np.cos(np.pi * (np.ceil(lower / np.pi) + np.arange(max(0, int(turns)))))
    values = np.concatenate([ends, np.round(peaks)])
    return float(values.min()), float(values.max())


def distance_range(lengths: Master, q2: Range, q3: Range) -> Range:
    """Smallest and largest u [m], the signed distance of an MTM's wrist from the yaw axis, over a box of q2, q3."""
    psi = (q3[0] + lengths.gamma, q3[1] + lengths.gamma)
    found: list[float] = []
    # extremes lie on an edge of the box, or where both derivatives vanish: cos q2 = 0
    stationary = HALF_PI + np.pi * np.arange(np.ceil(q2[0] / np.pi - 0.5), np.floor(q2[1] / np.pi - 0.5) + 1)
    for value in (*q2, *stationary):
        cosines = cosine_range(value + psi[0], value + psi[1])
        found += [lengths.upper_arm * float(np.sin(value)) + lengths.r * c for c in cosines]
    for value in psi:
        sine, cosine = lengths.upper_arm - lengths.r * np.sin(value), lengths.r * np.cos(value)
        phase = float(np.arctan2(sine, cosine))
        found += [float(np.hypot(sine, cosine)) * c for c in cosine_range(q2[0] - phase, q2[1] - phase)]
    return min(found), max(found)


def _check_chain(arm: Arm, expected: Sequence[Array]) -> None:
    for body, placement in zip(arm.serial, expected, strict=True):
        if dict(body.coupling) != {body.name: 1.0} or np.abs(body.placement - placement).max() > 1e-12:
            raise TrocarError(f"{arm.name} with {arm.instrument}: no closed form, '{body.name}' is placed otherwise")
