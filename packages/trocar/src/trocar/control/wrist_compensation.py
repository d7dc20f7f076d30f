"""Compensation of a wrist behind elastic cables: the command whose rest position is the goal.

The law is the inverse of `mechanics.CableWrist`, in closed form. It acts along the whole way, not at its end only, and
keeps the history of the commands that were sent: the joints depend on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import load_arm
from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables, load_wrist
from trocar.errors import TrocarError
from trocar.mechanics.cable_wrist import CableWrist, WristState
from trocar.spatial import Array

SPEED = 2.0  # of the correction, in addition to the speed of the goal [rad/s]; assumed
# A contact yields at least by this before it slides [rad]: the inverse of a rigid one jumps when the motion reverses.
MIN_PRESLIDING = 1e-3
# With a period, the history of commands at a joint limit is followed in steps of this size [rad]: it takes 1 ms.
STEP_AT_LIMIT = 0.01
_HALVINGS = 12  # of the way to a goal that is too fast


class WristCompensation:
    """Commands of the wrist's motors for which its joints reach their goals.

        compensation = WristCompensation("hwang2020")
        psm.move_jp(compensation(goal))

    Call it once for every command sent, in their order. When the goal reverses, the command crosses the play of the
    joints ahead of it, at most `SPEED` faster than the goal if the time between commands is given. Commands stay
    within the joint limits; what then is missing is not made up for.

    Args:
        cables: those of the wrist: `WristCables`, their name or file (`trocar identify-wrist`).
        q: joints (n,) of the arm that its encoders report now. Default: zero. The history begins here, with relaxed
            cables: after a move of the wrist by some 0.3 rad in each direction the beginning does not matter.
        arm: the arm, with its limits and the order of its joints.

    Attributes:
        wrist: indices (3,) of roll, wrist pitch and wrist yaw.
        state: joints and friction that the law expects after the last command.
    """

    def __init__(self, cables: WristCables | str | Path, q: ArrayLike | None = None, arm: Any = "PSM") -> None:
        facts = load_arm(arm) if isinstance(arm, str) else arm
        if not set(CABLE_JOINTS) <= set(facts.joint_names):
            raise TrocarError(f"{facts.name} has no wrist of {', '.join(CABLE_JOINTS)} to compensate")
        known = cables if isinstance(cables, WristCables) else load_wrist(cables)
        F, d = known.friction, known.presliding
        presliding = np.maximum(d, np.divide(MIN_PRESLIDING, F, out=np.ones(3), where=F > 0.0))
        self._law = CableWrist(WristCables(**(vars(known) | {"presliding": presliding})))
        self.wrist = [facts.joint_names.index(name) for name in CABLE_JOINTS]
        self._lower, self._upper = facts.lower[self.wrist], facts.upper[self.wrist]
        self._F, self._d, self._minus_F = F, presliding, -F
        self._from_q = np.linalg.inv(known.coupling)
        self._from_f = self._from_q @ np.linalg.inv(known.stiffness)
        self._n = facts.n
        self.begin(np.zeros(facts.n) if q is None else q)

    def begin(self, q: ArrayLike) -> None:
        """Begin the history with relaxed cables and encoders at q (n,) [rad, m]."""
        wrist = self._wrist_of(q)
        self.state: WristState = self._law.relaxed(wrist)
        self._sent = self._goal = self._rested = wrist

    def follow(self, q: ArrayLike) -> None:
        """Note that something else moved the motors to q (n,) [rad, m], on a straight way in joint space."""
        wrist = self._wrist_of(q)
        if not np.array_equal(wrist, self._sent):
            self.state = _last(self._law.rest(wrist[None], self.state))
            self._sent = self._goal = self._rested = wrist

    def __call__(self, goal: ArrayLike, period: float | None = None) -> Array:
        """Command (k,) for goals (k,) of the first k joints: the wrist's are changed, all others are the goal's.

        Args:
            period: time since the last command [s]. Default: the correction has any speed.
        """
        command = np.array(goal, dtype=float)
        wrist = self._wrist_of(command)
        if period is not None:
            checks.positive("period", period)
        command[self.wrist] = self.wrist_command(wrist, period)
        return command

    def wrist_command(self, goal: Array, period: float | None = None) -> Array:
        """As a call, for goals (3,) of roll, wrist pitch and wrist yaw."""
        command, f, q = *self._inverse(goal), goal
        if period is not None:
            reach = np.abs(goal - self._goal) + SPEED * period
            if (np.abs(command - self._sent) > reach).any():
                command, f, q = self._within(goal, reach)
        self._goal = goal
        allowed = np.minimum(np.maximum(command, self._lower), self._upper)
        if np.array_equal(allowed, command):
            self.state, self._rested = WristState(q, q - self._d * f, f), allowed
        elif np.abs(allowed - self._rested).max() > (0.0 if period is None else STEP_AT_LIMIT):
            self.state = _last(self._law.rest(allowed[None], self.state))
            self._rested = allowed
        self._sent = allowed
        return allowed.copy()

    def _inverse(self, q: Array) -> tuple[Array, Array]:
        """Command (3,) and friction torques (3,) at which the joints rest at q (3,), from the current state."""
        f = np.minimum(np.maximum((q - self.state.s) / self._d, self._minus_F), self._F)
        return self._from_q.dot(q) + self._from_f.dot(f), f

    def _within(self, goal: Array, reach: Array) -> tuple[Array, Array, Array]:
        """The farthest command on the way to a goal that is within reach (3,) of the last one, and its joints."""
        start, share, step = self.state.q, 0.0, 1.0
        best = *self._inverse(start), start
        for _ in range(_HALVINGS):
            step *= 0.5
            q = start + (share + step) * (goal - start)
            command, f = self._inverse(q)
            if not (np.abs(command - self._sent) > reach).any():
                share, best = share + step, (command, f, q)
        return best

    @property
    def memory(self) -> tuple[WristState, Array, Array, Array]:
        """State, for a snapshot. Assign it to restore the snapshot."""
        return self.state, self._sent, self._goal, self._rested

    @memory.setter
    def memory(self, memory: tuple[WristState, Array, Array, Array]) -> None:
        self.state, self._sent, self._goal, self._rested = memory

    def _wrist_of(self, q: ArrayLike) -> Array:
        array = np.asarray(q, dtype=float)
        if array.ndim != 1 or not max(self.wrist) < len(array) <= self._n or not np.isfinite(array).all():
            raise TrocarError(f"joints must be {max(self.wrist) + 1} to {self._n} finite numbers, got {q!r}")
        return array[self.wrist]


def _last(states: WristState) -> WristState:
    """The state of the last row."""
    return WristState(*(value[-1] for value in states))
