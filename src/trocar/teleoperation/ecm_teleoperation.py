"""Camera control with both MTMs: state machine of the dVRK's mtsTeleOperationECM, without bus or clock.

Source: sawIntuitiveResearchKit 2.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation import camera
from trocar.teleoperation.component import (
    ARMS_TIMEOUT,
    DISABLED,
    ENABLED,
    SETTING_ARMS_STATE,
    Component,
    ComponentState,
    Output,
)
from trocar.teleoperation.samples import CameraSample
from trocar.teleoperation.settings import ECMSettings

MASTERS = ("MTML", "MTMR")


@dataclass
class CameraState(ComponentState):
    """Memory of a `EcmTeleoperation`; the scale is that of the insertion.

    Attributes:
        start: grips when following began. q: ECM joints (4,) then. R: orientations (3, 3) of both MTMs then.
    """

    start: camera.Grips | None = None
    q: Array = field(default_factory=lambda: np.zeros(4))
    R: tuple[Array, Array] = (np.eye(3), np.eye(3))


class EcmTeleoperation(Component[CameraState]):
    """Camera control. Call `step` once per period with a sample; other methods are the dVRK's commands and events.

    `state_command` takes enable and disable.

    Attributes:
        settings: settings as configured. state: everything it remembers.
    """

    def __init__(self, name: str = "MTML_MTMR_ECM", settings: ECMSettings | None = None) -> None:
        self.settings = settings or ECMSettings()
        super().__init__(name, CameraState(self.settings.scale), {"scale": self.settings.scale})
        self._last: CameraSample | None = None

    # -- commands ------------------------------------------------------------------------------------------------------

    def set_scale(self, scale: float) -> None:
        """Change the scale of the insertion, 0 < scale <= 1. As on the dVRK, the insertion jumps if the ECM follows."""
        self._change_scale(scale)

    def clutch(self, pressed: bool) -> None:
        """Press or release the clutch pedal; ignored unless camera control is desired."""
        if pressed == self.state.clutched:
            return
        self.state.clutched = pressed
        if self.state.desired != ENABLED:
            return
        if pressed:
            self._press_clutch()
        else:
            self._report("status", "console clutch released")
            self._enter(SETTING_ARMS_STATE)

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, t: float, sample: CameraSample) -> Output:
        """Commands and events of the cycle at time t [s]."""
        self._t = t
        s, fault = self.state, sample.reason()
        if fault and s.current != DISABLED:
            self._desire_disabled()
            self._report("error", f"{fault}; the ECM holds")
        elif not fault:
            self._last = sample
        if s.desired == DISABLED:
            if s.current != DISABLED:
                self._enter(DISABLED)
        elif not fault:
            self._run(sample)
        return self.output()

    def _run(self, sample: CameraSample) -> None:
        s = self.state
        ready = [state.ready for state in sample.states]
        if s.current == ENABLED:
            if not all(ready):
                names = [name for name, fine in zip((*MASTERS, "ECM"), ready, strict=True) if not fine]
                self._desire_disabled()
                self._report("error", f"{', '.join(names)} not in state ENABLED anymore")
                self._enter(DISABLED)
            elif not s.clutched:
                self._follow(sample)
        elif s.current == DISABLED:
            self._enter(SETTING_ARMS_STATE)
        elif self._prepare(zip((*MASTERS, "ECM"), sample.states, strict=True)):
            self._begin(sample)
        elif self._t - s.since > ARMS_TIMEOUT:
            self._report("error", "timed out while setting up arms state")
            self._desire_disabled()

    def _begin(self, sample: CameraSample) -> None:
        """Start following from here, if both grips are in the work area."""
        if self.settings.check_MTMs_workspace:
            for name, T in zip(MASTERS, (sample.left, sample.right), strict=True):
                if not camera.inside(T[:3, 3]):
                    self._report("error", f"{name} position doesn't seem to be in the work area")
                    self._desire_disabled()
                    return
        s = self.state
        s.start, s.q = camera.grips(sample.left[:3, 3], sample.right[:3, 3]), sample.q.copy()
        s.R = sample.left[:3, :3].copy(), sample.right[:3, :3].copy()
        self._enter(ENABLED)

    def _follow(self, sample: CameraSample) -> None:
        s, settings = self.state, self.settings
        assert s.start is not None
        now = camera.grips(sample.left[:3, 3], sample.right[:3, 3])
        if settings.MTM_is_haptic:
            masters = (sample.left, sample.left_twist), (sample.right, sample.right_twist)
            for name, goal, (T, twist) in zip(MASTERS, camera.goals(now, s.start), masters, strict=True):
                wrench = np.zeros(6)
                wrench[:3] = settings.haptic_feedback_ratio * camera.force(goal, T[:3, 3], twist[:3])
                self._out.command(name, "body/servo_cf", wrench)
        q = s.q + camera.joint_change(now, s.start, s.q[3], s.scale, settings.camera_roll_offset)
        self._out.command("ECM", "servo_jp", q)
        if settings.MTM_is_haptic:
            turned_t = camera.view(s.q).dot(camera.view(q).T)
            for name, R in zip(MASTERS, s.R, strict=True):
                self._out.command(name, "lock_orientation", turned_t.dot(R))

    # -- states --------------------------------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        s = self.state
        if s.following and state != ENABLED:
            self._set_following(False)
        self._change_state(state)
        if state == ENABLED:
            self._free_masters(absolute=True)
            if s.clutched:
                self._press_clutch()
            else:
                self._set_following(True)

    def _free_masters(self, *, absolute: bool) -> None:
        """Command zero force, gravity compensation and locked orientations."""
        if not self.settings.MTM_is_haptic or self._last is None:
            return
        for name, T in zip(MASTERS, (self._last.left, self._last.right), strict=True):
            self._out.command(name, "use_gravity_compensation", True)
            if absolute:
                self._out.command(name, "body/set_cf_orientation_absolute", True)
            self._out.command(name, "body/servo_cf", np.zeros(6))
            self._out.command(name, "lock_orientation", T[:3, :3])

    def _press_clutch(self) -> None:
        self._set_following(False)
        self._report("status", "console clutch pressed")
        self._free_masters(absolute=False)
