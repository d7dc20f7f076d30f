"""An MTM drives a PSM: state machine and law of the dVRK's mtsTeleOperationPSM, without bus or clock.

Source: sawIntuitiveResearchKit 2.4. Differences are listed in docs/teleoperation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation.arm_states import ARMS_TIMEOUT, Preparation
from trocar.teleoperation.law import (
    WITHOUT_GRIPPER,
    Activity,
    JawGhost,
    Origins,
    origins,
    psm_goal,
    psm_twist,
    roll,
    turn,
)
from trocar.teleoperation.outputs import Output
from trocar.teleoperation.pair_sample import PairSample
from trocar.teleoperation.settings import PSMSettings

DISABLED, SETTING_ARMS_STATE, ALIGNING_MTM, ENABLED = "DISABLED", "SETTING_ARMS_STATE", "ALIGNING_MTM", "ENABLED"
DESIRED = {"enable": ENABLED, "disable": DISABLED, "align_MTM": ALIGNING_MTM}  # by state_command
REMINDER = 2.0  # between two warnings while aligning [s]


@dataclass
class PairState:
    """Memory of a `TeleopPSM`.

    Attributes:
        current, desired: states. following: the PSM follows. clutched: the pedal is down.
        scale, align_MTM, rotation_locked, translation_locked: settings that commands change.
        at: origins of following. offset: turn from MTM to PSM when it was last observed (3, 3).
        activity: signs of an operator; was_active: before the clutch. ghost: of the gripper.
        wrench: user's wrench (6,) on the MTM's grip while following, None if there is none.
        since: time of the last reminder or change of state [s]. asked: PSM orientation (3, 3) that the MTM turns to.
        back: the clutch was released. faulty: reason why samples are not used, "" if they are.
    """

    scale: float
    align_MTM: bool
    rotation_locked: bool
    translation_locked: bool
    ghost: JawGhost
    current: str = DISABLED
    desired: str = DISABLED
    following: bool = False
    clutched: bool = False
    at: Origins = field(default_factory=Origins)
    offset: Array = field(default_factory=lambda: np.eye(3))
    activity: Activity = field(default_factory=Activity)
    was_active: bool = False
    wrench: Array | None = None
    since: float = 0.0
    asked: Array | None = None
    back: bool = False
    faulty: str = ""


class TeleopPSM:
    """One pair. Call `step` once per period with a sample; other methods are the dVRK's commands and events.

    Args:
        name: in messages, such as MTMR_PSM1. settings: as configured.
        jaw: limits of the PSM's jaw [rad]. Default (None): it opens as far as the gripper.

    Attributes:
        state: all that it remembers.
    """

    def __init__(
        self, name: str = "MTMR_PSM1", settings: PSMSettings | None = None, jaw: tuple[float, float] | None = None
    ) -> None:
        self.name, self.settings = name, settings or PSMSettings()
        s = self.settings
        self.state = PairState(s.scale, s.align_MTM, s.rotation_locked, s.translation_locked, JawGhost.of(s, jaw))
        self._out, self._preparation = Output(), Preparation()
        self._last: PairSample | None = None  # commands between two steps refer to it
        self._t = 0.0
        for topic, value in self._configuration().items():
            self._out.event(topic, value)
        for topic in ("current_state", "desired_state"):
            self._out.event(topic, DISABLED)
        self._out.event("following", False)

    def _configuration(self) -> dict[str, object]:
        s = self.state
        return {
            "scale": s.scale,
            "align_mtm": s.align_MTM,
            "rotation_locked": s.rotation_locked,
            "translation_locked": s.translation_locked,
        }

    @property
    def idle(self) -> bool:
        """True if a step would do nothing, whatever the sample."""
        s = self.state
        return s.current == s.desired == DISABLED and not (self._out.commands or self._out.events)

    # -- commands ------------------------------------------------------------------------------------------------------

    def state_command(self, command: str) -> None:
        """enable, disable or align_MTM."""
        if command not in DESIRED:
            self._say("warning", f"{command} doesn't seem to be a valid state_command")
            return
        desired = DESIRED[command]
        if desired != self.state.desired:
            self.state.desired = desired
            self.state.activity.active = False  # the operator must show again
            self._say("status", f"set desired state to {desired}")
        self._out.event("desired_state", desired)

    def clutch(self, pressed: bool) -> None:
        """Press or release the clutch pedal."""
        if pressed == self.state.clutched:
            return
        self.state.clutched = pressed
        if pressed:
            self._press_clutch()
            return
        self._say("status", "console clutch released")
        if self.state.desired != DISABLED:
            self.state.back = True
            self._enter(SETTING_ARMS_STATE)

    def set_scale(self, scale: float) -> None:
        """Change the scale, 0 < scale <= 1; the PSM does not jump."""
        if not 0.0 < scale <= 1.0:
            self._say("warning", f"set_scale, scale must be within ]0;1], received {scale:g}")
            return
        self.state.scale = scale
        self._out.event("scale", scale)
        self._take_origins()

    def lock_translation(self, lock: bool) -> None:
        """Keep the PSM's position, or follow again from here."""
        self.state.translation_locked = lock
        self._out.event("translation_locked", lock)
        self._take_origins()

    def lock_rotation(self, lock: bool) -> None:
        """Keep the PSM's orientation and the MTM's; releasing it aligns them again."""
        self.state.rotation_locked = lock
        self._out.event("rotation_locked", lock)
        if not lock:
            self._enter(DISABLED)
            return
        self._take_origins()
        if self.state.current == ENABLED and self._last is not None:
            self._command_master("lock_orientation", self._last.master[:3, :3])

    def set_align_MTM(self, align: bool) -> None:
        """Align the MTM before following, or not; a pair that is enabled starts again."""
        self.state.align_MTM = align
        self._out.event("align_mtm", align)
        if self.state.current == ENABLED:
            self._enter(DISABLED)

    def following_mtm_body_servo_cf(self, wrench: Array) -> None:
        """Wrench (6,) [N, N m] on the MTM while following; every change of following clears it."""
        w = np.asarray(wrench, dtype=float)
        if w.shape != (6,) or not np.isfinite(w).all():
            self._say("warning", f"following/mtm/body/servo_cf, expected 6 finite values, received {wrench}")
        elif self.state.following:
            self.state.wrench = w

    def arm_error(self, message: str) -> None:
        """An arm has published an error."""
        self._desire_disabled()
        self._say("error", f"received from arm [{message}]")

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, t: float, sample: PairSample) -> Output:
        """Commands and events of the cycle at time t [s]."""
        self._t = t
        fault = sample.reason()
        if self._usable(fault):
            self._last = sample
            self._check_arms(sample)
            if self.state.current == ENABLED:
                self._follow(sample)
            elif self.state.current == ALIGNING_MTM:
                self._align(sample)
            self._leave(sample)
        return self.output()

    def output(self) -> Output:
        """Commands and events since the last step."""
        out, self._out = self._out, Output()
        return out

    def _usable(self, fault: str) -> bool:
        """False while samples must not be used: the PSM holds, and following needs a new alignment."""
        s = self.state
        if fault and not s.faulty:
            self._say("error", f"{fault}; the PSM holds until the MTM is aligned again")
            s.activity.active = s.was_active = False
            if s.current in (ENABLED, ALIGNING_MTM):
                self._enter(SETTING_ARMS_STATE)
        elif s.faulty and not fault:
            self._say("status", "samples are valid again")
        s.faulty = fault
        if fault and s.desired == DISABLED and s.current != DISABLED:
            self._enter(DISABLED)
        return not fault

    def _check_arms(self, sample: PairSample) -> None:
        s = self.state
        if s.desired == DISABLED:
            if s.current != DISABLED:
                self._enter(DISABLED)
        elif s.current not in (DISABLED, SETTING_ARMS_STATE):
            for arm, state in (("PSM", sample.slave_state), ("MTM", sample.master_state)):
                if not state.ready:
                    self._desire_disabled()
                    self._say("error", f"{arm} is not in state ENABLED anymore")

    def _follow(self, sample: PairSample) -> None:
        s, settings = self.state, self.settings
        if s.clutched:
            return
        if s.wrench is not None:
            self._command_master("body/servo_cf", s.wrench)
        goal = psm_goal(
            sample.master,
            s.at,
            s.scale,
            translation_locked=s.translation_locked,
            rotation_locked=s.rotation_locked,
            base=sample.base,
        )
        self._out.command("PSM", "servo_cp", (goal, psm_twist(sample.twist, settings, s.scale)))
        if not settings.ignore_jaw and sample.jaw is not None:
            gripper = sample.gripper
            jaw = WITHOUT_GRIPPER if gripper is None else s.ghost.follow(gripper, settings)
            self._out.command("PSM", "jaw/servo_jp", jaw)

    def _align(self, sample: PairSample) -> None:
        """Turn the MTM to the PSM; again when the PSM has turned since."""
        s = self.state
        if s.clutched or not s.align_MTM:
            return
        R = sample.slave[:3, :3]
        if s.asked is None or turn(s.asked.T @ R) > self.settings.start_orientation_tolerance:
            goal = sample.master_setpoint.copy()
            goal[:3, :3] = s.asked = R.copy()
            self._command_master("move_cp", goal)

    def _leave(self, sample: PairSample) -> None:
        """Go on to another state when this one is done."""
        s = self.state
        match s.current:
            case "DISABLED":
                if s.desired != DISABLED:
                    self._enter(SETTING_ARMS_STATE)
            case "SETTING_ARMS_STATE":
                arms = (("PSM", sample.slave_state), ("MTM", sample.master_state))
                if self._preparation.proceed(arms, self._out):
                    self._enter(ALIGNING_MTM)
                elif self._t - s.since > ARMS_TIMEOUT:
                    for arm, state in arms:
                        if not state.ready:
                            self._say("error", f"timed out while setting up {arm} state")
                    self._desire_disabled()
            case "ALIGNING_MTM":
                if s.desired == ENABLED:
                    self._check_alignment(sample)
            case "ENABLED":
                if s.desired != ENABLED:
                    self._enter(s.desired)

    def _check_alignment(self, sample: PairSample) -> None:
        s, settings = self.state, self.settings
        s.offset = sample.master[:3, :3].T @ sample.slave[:3, :3]
        error = turn(s.offset) if s.align_MTM else 0.0
        if not s.activity.active:
            s.activity.observe(roll(sample.master, sample.slave), sample.gripper, settings)
        aligned = error <= settings.start_orientation_tolerance
        if aligned and s.activity.active and not sample.master_state.busy:
            self._enter(ENABLED)
        elif self._t - s.since > REMINDER:
            s.since = self._t
            if not aligned:
                self._say("warning", f"unable to align MTM, angle error is {math.degrees(error):.1f} (deg)")
            elif not s.activity.active:
                self._say("warning", "pinch/twist MTM gripper a bit")
            else:
                self._say("warning", "waiting for the MTM to end its move")

    # -- states --------------------------------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        s, sample = self.state, self._last
        if s.following and state != ENABLED:
            self._set_following(False)
            self._out.command("PSM", "hold")  # ends the velocity that came with the last goal
        s.current, s.since = state, self._t
        self._out.event("current_state", state)
        self._say("status", f"current state is {state}")
        if state == DISABLED:
            if sample is None or sample.master_state.ready:
                self._command_master("hold")
        elif state == SETTING_ARMS_STATE:
            self._preparation.restart()
        elif state == ALIGNING_MTM:
            self._begin_alignment(sample)
        else:
            self._begin_following(sample)

    def _begin_alignment(self, sample: PairSample | None) -> None:
        s = self.state
        assert sample is not None
        self._out.event("scale", s.scale)
        s.asked = None
        if not s.align_MTM and not s.clutched:
            self._command_master("move_cp", sample.master_setpoint.copy())  # stay
        if s.back:
            s.activity.active, s.back = s.was_active, False
        s.activity.restart()
        self._align(sample)

    def _begin_following(self, sample: PairSample | None) -> None:
        s, settings = self.state, self.settings
        assert sample is not None
        self._take_origins()
        if not settings.ignore_jaw:
            if sample.jaw is None:
                self._say("warning", "unable to get jaw position.  Make sure there is an instrument on the PSM")
                self._desire_disabled()
            else:
                s.ghost.start(sample.jaw)
        self._free_master(sample, s.rotation_locked)
        if s.clutched:
            self._press_clutch()
        else:
            self._set_following(True)

    def _free_master(self, sample: PairSample, locked: bool) -> None:
        """No wrench but gravity compensation; the orientation locked where it is, or free."""
        self._command_master("use_gravity_compensation", True)
        self._command_master("body/servo_cf", np.zeros(6))
        if locked:
            self._command_master("lock_orientation", sample.master[:3, :3])
        else:
            self._command_master("unlock_orientation")

    def _press_clutch(self) -> None:
        s, sample = self.state, self._last
        s.was_active = s.activity.active
        self._set_following(False)
        self._say("status", "console clutch pressed")
        if sample is None or not (sample.master_state.ready and sample.slave_state.ready):
            return
        self._free_master(sample, s.align_MTM or s.rotation_locked)
        self._out.command("PSM", "hold")

    def _command_master(self, name: str, value: Any = None) -> None:
        """Send a command to an MTM that has motors."""
        if self.settings.MTM_is_haptic:
            self._out.command("MTM", name, value)

    def _set_following(self, following: bool) -> None:
        self.state.following, self.state.wrench = following, None
        self._out.event("following", following)

    def _take_origins(self) -> None:
        if self._last is not None:
            self.state.at = origins(self._last.master, self._last.slave, self._last.base)
            self.state.offset = self.state.at.offset

    def _desire_disabled(self) -> None:
        self.state.desired = DISABLED
        self._out.event("desired_state", DISABLED)

    def _say(self, kind: str, text: str) -> None:
        self._out.event(kind, f"{self.name}: {text}")
