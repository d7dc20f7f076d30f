"""A motion that separates stiffness, friction and coupling of wrist cables: rests of single joints, and of all.

Single wrist joints go back and forth, far in large steps and a little in steps smaller than the play: the width of a
loop shows the friction over the stiffness, its sides the presliding, the other joints the coupling. Pitch and yaw go
around the corners of their range in both directions, and along its diagonals: the friction of one changes how the other
follows. At last all joints move, which separates the wrist from the registration of the camera.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise

import numpy as np

from trocar.arms import Arm
from trocar.arms.wrist_cables import CABLE_JOINTS
from trocar.errors import TrocarError
from trocar.identification.excitation.limits import ExcitationLimits
from trocar.identification.wrist.joint_pairs import JOINTS, JointPairs
from trocar.recording import Recording
from trocar.spatial import Array

REACH = np.array([1.2, 0.8, 0.8])  # [rad] of roll, wrist pitch and wrist yaw about home
SWING = np.array([0.3, 0.3, 0.04])  # [rad, m] of yaw, pitch and insertion about home
FINE = np.array([0.08, 0.3, 0.4])  # [rad] the little way of each: some half widths of its play
STEPS, FINE_STEPS = 5, 10  # from the middle to the end of a way
CORNERS, STRIDES = 24, 4  # of the last part, and steps between two of them
PATHS = (  # of wrist pitch and yaw, in units of their reach
    ((0, 0), (1, 1), (1, -1), (-1, -1), (-1, 1), (1, 1)),
    ((1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)),
    ((1, 1), (-1, -1), (1, 1)),
    ((1, 1), (1, -1), (-1, 1), (1, -1), (0, 0)),
)
MOVE, REST = 0.4, 0.6  # [s] of a step at least, and of a rest
SETTLED = 0.35  # [s] of a rest that do not count
PEAK = 1.875  # largest over mean velocity of a quintic step


@dataclass(frozen=True, kw_only=True)
class WristMotion:
    """A motion of rests: positions (N, n) [rad, m] and the time (N,) at which each rest ends [s]; rows to play."""

    rests: Array
    ends: Array
    rows: Recording


def wrist_motion(arm: Arm, limits: ExcitationLimits, rate: float, seed: int = 0) -> WristMotion:
    """The motion of an arm with a wrist, sampled at `rate` [Hz]; raises an error if it leaves the limits."""
    if missing := [joint for joint in JOINTS if joint not in arm.joint_names]:
        raise TrocarError(f"{arm.name} has no joint {', '.join(missing)}; the motion is for a PSM")
    home = np.clip(arm.home, limits.lower[: arm.n], limits.upper[: arm.n])  # the jaw may not close
    rests = _rests(arm, home, seed)
    steps = np.diff(rests, axis=0)
    moving = np.maximum(MOVE, PEAK * (np.abs(steps @ limits.A.T) / limits.velocity).max(1))
    ends = REST + np.concatenate([[0.0], np.cumsum(moving + REST)])
    t = np.arange(int(ends[-1] * rate) + 1) / rate
    k = np.searchsorted(ends, t, side="left") - 1  # step under way; -1 in the first rest
    u = np.clip((t - ends[k]) / moving[k.clip(0, len(moving) - 1)], 0.0, 1.0) * (k >= 0)
    begin, step, T = rests[k.clip(0)], steps[k.clip(0, len(steps) - 1)], moving[k.clip(0, len(moving) - 1)]
    shapes = u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u) ** 2 / T, 60 * u * (1 - u) * (1 - 2 * u) / T**2
    q, dq, ddq = (shape[:, None] * step for shape in shapes)
    q = begin + q
    violation, where = limits.violation(q, dq)
    if violation > 1e-9:
        raise TrocarError(f"the motion leaves the limit of {where} by {violation:.2g}")
    about = {"source": "excitation of the wrist", "arm": arm.name, "instrument": arm.instrument, "rate": rate}
    rows = Recording(
        t=t,
        q=q,
        dq=dq,
        ddq=ddq,
        joints=arm.joint_names,
        joint_units=arm.joint_units,
        provenance={**about, "trocar": version("trocar")},
    )
    return WristMotion(rests=rests, ends=ends, rows=rows)


def pairs_at_rest(motion: WristMotion, recording: Recording, truth: Array, name: str) -> JointPairs:
    """Reported and true joints of a rehearsal at the end of every rest that it reached."""
    columns = [recording.joints.index(joint) for joint in JOINTS]
    ends = motion.ends[motion.ends - 0.5 * (REST - SETTLED) <= recording.t[-1]]
    last = [(recording.t > end - (REST - SETTLED)) & (recording.t <= end) for end in ends]
    means = [[values[rows][:, columns].mean(0) for rows in last] for values in (recording.q, truth)]
    return JointPairs(name=name, command=np.array(means[0]), seen=np.array(means[1]))


def _rests(arm: Arm, home: Array, seed: int) -> Array:
    """Rest positions (N, n) about home [rad, m]; the jaw does not move."""
    wrist = []
    for joint in np.eye(3):
        for size, steps in ((REACH, STEPS), (FINE, FINE_STEPS)):
            wrist.append(_along(np.outer([0.0, 1.0, -1.0, 0.0], joint), steps) * size)
    wrist += [_along(np.column_stack([np.zeros(len(path)), path]), STEPS) * REACH for path in PATHS]
    columns = [arm.joint_names.index(joint) for joint in CABLE_JOINTS]
    q = np.tile(home, (sum(map(len, wrist)), 1))
    q[:, columns] += np.concatenate(wrist)
    size = np.zeros(arm.n)
    size[[arm.joint_names.index(joint) for joint in JOINTS]] = [*SWING, *REACH]
    corners = home + size * np.random.default_rng(seed).uniform(-1.0, 1.0, (CORNERS, arm.n))
    return np.concatenate([q, _along(np.array([home, *corners, home]), STRIDES, equal=True)])


def _along(points: Array, count: int, equal: bool = False) -> Array:
    """Points (k, m) joined by straight lines, in steps of 1/count, or of `count` steps each; without the first one."""
    points = np.asarray(points, dtype=float)
    ways = []
    for a, b in pairwise(points):
        n = count if equal else max(1, round(count * float(np.abs(b - a).max())))
        ways.append(a + (b - a) * (np.arange(1, n + 1) / n)[:, None])
    return np.concatenate(ways)
