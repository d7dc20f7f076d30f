"""One arm under a controller that follows a target."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from trocar.control import State
from trocar.errors import NearLimit, NearSingular, TrocarError
from trocar.mechanics.workspace import Workspace
from trocar.runtime import arguments
from trocar.runtime.controllers import CONTROLLERS, Mode, orients_tip
from trocar.runtime.references import EffortReference, JointReference, TipReference
from trocar.runtime.settings import TIMESTEP
from trocar.simulation import SimulatedArm
from trocar.spatial import Array


def within_limits(arm: SimulatedArm, q: Array) -> Array:
    """Joint positions (n,) [rad, m] clipped to the limits of an arm."""
    return np.clip(q, arm.arm.lower, arm.arm.upper)


class Driver:
    """Mode, controller, gains and target of one arm. Until a target is set, the arm holds its position.

    Efforts start as those that hold the arm against gravity, minus the effort that the controller adds.

    Attributes:
        controller, kind: name and kind of the controller. gains: by name. law: the control law.
        mechanism: equations of the arm. reference: smooth motion to the target. setpoint: its latest value.
    """

    def __init__(self, arm: SimulatedArm, controller: str, gains: Mapping[str, float] | None = None) -> None:
        checked = arguments.gains(controller, gains)
        self.controller, self.kind = controller, CONTROLLERS[controller]
        self.gains = self.kind.default_gains | checked
        self._arm, self.mechanism = arm, arm.mechanism
        self.law = self.kind.make(self.mechanism, self.gains)
        self.reference: JointReference | TipReference | EffortReference
        match self.kind.mode:
            case Mode.joint:
                self.reference = JointReference(arm.arm, within_limits(arm, arm.q), arm.dq)
            case Mode.cartesian:
                self.reference = TipReference(self.mechanism.forward_kinematics(arm.q))
            case Mode.torque:
                at_rest, nothing = State(arm.time, arm.q, np.zeros(arm.n)), np.zeros(arm.n)
                self.reference = EffortReference(self.mechanism.gravity(arm.q) - self.law(at_rest, nothing))
        self._interval = 1 if self.law.period is None else max(1, round(self.law.period / TIMESTEP))
        self._count = 0
        self.setpoint: Any = self.reference.advance()
        self._effort = np.zeros(arm.n)

    @property
    def mode(self) -> Mode:
        return self.kind.mode

    def moved_to(self, arm: SimulatedArm) -> Driver:
        """The same controller and target for a changed arm."""
        other = Driver(arm, self.controller, self.gains)
        target = self.reference.target
        other.reference.aim(within_limits(arm, target) if self.mode is Mode.joint else target)
        return other

    def retune(self, gains: Mapping[str, float]) -> None:
        """Change gains; the reference continues, an integral restarts at zero."""
        self.gains = self.gains | arguments.gains(self.controller, gains)
        self.law = self.kind.make(self.mechanism, self.gains)

    def aim(self, mode: Mode, target: Array) -> None:
        """Set a target; its mode must match the controller's.

        Joint positions (n,) [rad, m] are clipped to the limits; a tip pose (4, 4) must be reachable; or efforts (n,).
        """
        if mode is not self.mode:
            raise TrocarError(
                f"{self.controller!r} follows a {self.mode} target, not a {mode} one; change the controller"
            )
        if mode is Mode.joint:
            target = within_limits(self._arm, target)
        elif mode is Mode.cartesian:
            self._check_reachable(target)
        self.reference.aim(target)

    def effort(self, state: State) -> Array:
        """Joint efforts (n,) [N m, N] for the next step."""
        self.setpoint = self.reference.advance()
        if self._count % self._interval == 0:
            self._effort = np.asarray(self.law(state, self.setpoint), dtype=float)
        self._count += 1
        return self._effort

    @cached_property
    def _workspace(self) -> Workspace:
        return Workspace(self.mechanism)

    def _check_reachable(self, T: Array) -> None:
        """Raise an error with the reason if the arm cannot reach a pose."""
        if not orients_tip(self.mechanism):
            if not self._workspace.contains(T[:3, 3]):
                raise TrocarError("T: the position is out of reach")
            return
        with suppress(NearSingular, NearLimit):  # if warnings are errors: the arm can still reach the pose
            self.mechanism.inverse_kinematics(T, self._arm.q)
