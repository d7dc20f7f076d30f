"""Both MTMs drive the ECM: state machine of the dVRK's mtsTeleOperationECM, without bus or clock.

Source: sawIntuitiveResearchKit 2.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation import camera
from trocar.teleoperation.arm_states import ARMS_TIMEOUT, READY, ArmState, Preparation
from trocar.teleoperation.outputs import Output
from trocar.teleoperation.pair_sample import STILL
from trocar.teleoperation.settings import ECMSettings

DISABLED, SETTING_ARMS_STATE, ENABLED = "DISABLED", "SETTING_ARMS_STATE", "ENABLED"
DESIRED = {"enable": ENABLED, "disable": DISABLED}  # by state_command
MASTERS = ("MTML", "MTMR")


@dataclass(frozen=True, slots=True)
class CameraSample:
    """Reports of both MTMs and the ECM at one time.

    Attributes:
        left, right: measured poses (4, 4) of MTML and MTMR in HRSV. left_twist, right_twist: (6,) [m/s, rad/s].
        q: set-point joints of the ECM (4,) [rad, m]. states: operating states by arm.
        fault: why the sample must not be followed, "" if it may.
    """

    left: Array
    right: Array
    q: Array
    left_twist: Array = field(default_factory=lambda: STILL)
    right_twist: Array = field(default_factory=lambda: STILL)
    states: tuple[ArmState, ArmState, ArmState] = (READY, READY, READY)  # MTML, MTMR, ECM
    fault: str = ""

    def reason(self) -> str:
        """Reason why the sample must not be followed, "" if it may."""
        if self.fault:
            return self.fault
        poses, twists = (self.left, self.right), (self.left_twist, self.right_twist)
        # squares are summed quicker than values
        if not math.isfinite(sum(float(np.vdot(x, x)) for x in poses) + sum(float(x.dot(x)) for x in twists)):
            return "a pose or twist of an MTM has a value that is not finite"
        return "" if math.isfinite(float(self.q.dot(self.q))) else "ECM setpoint_js has a value that is not finite"


@dataclass
class CameraState:
    """Memory of a `TeleopECM`.

    Attributes:
        current, desired: states. following: the ECM follows. clutched: the pedal is down. scale: of the insertion.
        start: grips when following began. q: ECM joints (4,) then. R: orientations of both MTMs then.
        since: time of the last change of state [s].
    """

    scale: float
    current: str = DISABLED
    desired: str = DISABLED
    following: bool = False
    clutched: bool = False
    start: camera.Grips | None = None
    q: Array = field(default_factory=lambda: np.zeros(4))
    R: tuple[Array, Array] = (np.eye(3), np.eye(3))
    since: float = 0.0


class TeleopECM:
    """Camera control. Call `step` once per period with a sample; other methods are the dVRK's commands and events.

    Attributes:
        state: all that it remembers.
    """

    def __init__(self, name: str = "MTML_MTMR_ECM", settings: ECMSettings | None = None) -> None:
        self.name, self.settings = name, settings or ECMSettings()
        self.state = CameraState(self.settings.scale)
        self._out, self._preparation = Output(), Preparation()
        self._last: CameraSample | None = None
        self._t = 0.0
        self._out.event("scale", self.state.scale)
        for topic in ("current_state", "desired_state"):
            self._out.event(topic, DISABLED)
        self._out.event("following", False)

    @property
    def idle(self) -> bool:
        """True if a step would do nothing, whatever the sample."""
        s = self.state
        return s.current == s.desired == DISABLED and not (self._out.commands or self._out.events)

    # -- commands ------------------------------------------------------------------------------------------------------

    def state_command(self, command: str) -> None:
        """enable or disable."""
        if command not in DESIRED:
            self._say("warning", f"{command} doesn't seem to be a valid state_command")
            return
        desired = DESIRED[command]
        if desired != self.state.desired:
            self.state.desired = desired
            self._say("status", f"set desired state to {desired}")
        self._out.event("desired_state", desired)

    def set_scale(self, scale: float) -> None:
        """Change the scale of the insertion, 0 < scale <= 1. As on the dVRK the insertion jumps while following."""
        if not 0.0 < scale <= 1.0:
            self._say("warning", f"set_scale, scale must be within ]0;1], received {scale:g}")
            return
        self.state.scale = scale
        self._out.event("scale", scale)

    def clutch(self, pressed: bool) -> None:
        """Press or release the clutch pedal; it acts while camera control is desired."""
        if pressed == self.state.clutched:
            return
        self.state.clutched = pressed
        if self.state.desired != ENABLED:
            return
        if pressed:
            self._press_clutch()
        else:
            self._say("status", "console clutch released")
            self._enter(SETTING_ARMS_STATE)

    def arm_error(self, message: str) -> None:
        """An arm has published an error."""
        self._desire_disabled()
        self._say("error", f"received from arm [{message}]")

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, t: float, sample: CameraSample) -> Output:
        """Commands and events of the cycle at time t [s]."""
        self._t = t
        s, fault = self.state, sample.reason()
        if fault and s.current != DISABLED:
            self._desire_disabled()
            self._say("error", f"{fault}; the ECM holds")
        elif not fault:
            self._last = sample
        if s.desired == DISABLED:
            if s.current != DISABLED:
                self._enter(DISABLED)
        elif not fault:
            self._run(sample)
        return self.output()

    def output(self) -> Output:
        """Commands and events since the last step."""
        out, self._out = self._out, Output()
        return out

    def _run(self, sample: CameraSample) -> None:
        s = self.state
        ready = [state.ready for state in sample.states]
        if s.current == ENABLED:
            if not all(ready):
                names = [name for name, fine in zip((*MASTERS, "ECM"), ready, strict=True) if not fine]
                self._desire_disabled()
                self._say("error", f"{', '.join(names)} not in state ENABLED anymore")
                self._enter(DISABLED)
            elif not s.clutched:
                self._follow(sample)
        elif s.current == DISABLED:
            self._enter(SETTING_ARMS_STATE)
        elif self._preparation.proceed(zip((*MASTERS, "ECM"), sample.states, strict=True), self._out):
            self._begin(sample)
        elif self._t - s.since > ARMS_TIMEOUT:
            self._say("error", "timed out while setting up arms state")
            self._desire_disabled()

    def _begin(self, sample: CameraSample) -> None:
        """Follow from here, if both grips are where a surgeon's hands are."""
        if self.settings.check_MTMs_workspace:
            for name, T in zip(MASTERS, (sample.left, sample.right), strict=True):
                if not camera.inside(T[:3, 3]):
                    self._say("error", f"{name} position doesn't seem to be in the work area")
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
            grip = zip(
                MASTERS, camera.goals(now, s.start), (sample.left, sample.right), self._twists(sample), strict=True
            )
            for name, goal, T, twist in grip:
                f = settings.haptic_feedback_ratio * camera.force(goal, T[:3, 3], twist[:3])
                wrench = np.zeros(6)
                wrench[:3] = f
                self._out.command(name, "body/servo_cf", wrench)
        q = s.q + camera.joint_change(now, s.start, s.q[3], s.scale, settings.camera_roll_offset)
        self._out.command("ECM", "servo_jp", q)
        if settings.MTM_is_haptic:
            turned_t = camera.view(s.q).dot(camera.view(q).T)
            for name, R in zip(MASTERS, s.R, strict=True):
                self._out.command(name, "lock_orientation", turned_t.dot(R))

    @staticmethod
    def _twists(sample: CameraSample) -> tuple[Array, Array]:
        return sample.left_twist, sample.right_twist

    # -- states --------------------------------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        s = self.state
        if s.following and state != ENABLED:
            self._set_following(False)
        s.current, s.since = state, self._t
        self._out.event("current_state", state)
        self._say("status", f"current state is {state}")
        if state == SETTING_ARMS_STATE:
            self._preparation.restart()
        elif state == ENABLED:
            self._free_masters(absolute=True)
            if s.clutched:
                self._press_clutch()
            else:
                self._set_following(True)

    def _free_masters(self, *, absolute: bool) -> None:
        """No force, gravity compensation, orientation locked where it is."""
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
        self._say("status", "console clutch pressed")
        self._free_masters(absolute=False)

    def _set_following(self, following: bool) -> None:
        self.state.following = following
        self._out.event("following", following)

    def _desire_disabled(self) -> None:
        self.state.desired = DISABLED
        self._out.event("desired_state", DISABLED)

    def _say(self, kind: str, text: str) -> None:
        self._out.event(kind, f"{self.name}: {text}")
