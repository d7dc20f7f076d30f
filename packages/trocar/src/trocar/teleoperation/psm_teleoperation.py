"""An MTM drives a PSM: state machine and law of the dVRK's mtsTeleOperationPSM, without bus or clock.

Source: sawIntuitiveResearchKit 2.4. Differences are listed in docs/teleoperation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation import law
from trocar.teleoperation.component import (
    ALIGNING_MTM,
    ARMS_TIMEOUT,
    DISABLED,
    ENABLED,
    SETTING_ARMS_STATE,
    Component,
    ComponentState,
    Output,
    PairSample,
)
from trocar.teleoperation.settings import PSMSettings

REMINDER = 2.0  # time between warnings while aligning [s]


@dataclass(kw_only=True)
class PairState(ComponentState):
    """Memory of a `PsmTeleoperation`.

    Attributes:
        align_MTM, rotation_locked, translation_locked: settings that commands change.
        at: origins of following. offset: last observed rotation (3, 3) from MTM to PSM.
        activity: signs of an operator. was_active: the operator was active before the clutch was pressed.
        ghost: gripper angle that the jaw follows.
        wrench: user's wrench (6,) on the MTM's grip while following, None if there is none.
        asked: PSM orientation (3, 3) to which the MTM is turning.
        back: the clutch was released. faulty: reason why samples are not used, "" if they are.
    """

    align_MTM: bool
    rotation_locked: bool
    translation_locked: bool
    ghost: law.JawGhost
    at: law.Origins = field(default_factory=lambda: law.origins(np.eye(4), np.eye(4)))
    offset: Array = field(default_factory=lambda: np.eye(3))
    activity: law.Activity = field(default_factory=law.Activity)
    was_active: bool = False
    wrench: Array | None = None
    asked: Array | None = None
    back: bool = False
    faulty: str = ""


class PsmTeleoperation(Component[PairState]):
    """One pair. Call `step` once per period with a sample; other methods are the dVRK's commands and events.

    `state_command` takes enable, disable and align_MTM.

    Args:
        name: name in messages, such as MTMR_PSM1. settings: settings as configured.
        jaw: limits of the PSM's jaw [rad]. Default (None): it opens as far as the gripper.

    Attributes:
        settings: settings as configured. state: everything it remembers.
    """

    DESIRED = Component.DESIRED | {"align_MTM": ALIGNING_MTM}

    def __init__(
        self, name: str = "MTMR_PSM1", settings: PSMSettings | None = None, jaw: tuple[float, float] | None = None
    ) -> None:
        self.settings = s = settings or PSMSettings()
        values = {x: getattr(s, x) for x in ("scale", "align_MTM", "rotation_locked", "translation_locked")}
        state = PairState(**values, ghost=law.JawGhost.of(s, jaw))
        super().__init__(name, state, {name.lower(): value for name, value in values.items()})
        self._last: PairSample | None = None  # sample that commands between two steps refer to

    # -- commands ------------------------------------------------------------------------------------------------------

    def _desired_changed(self) -> None:
        self.state.activity.active = False  # the operator must be detected again

    def _release_clutch(self) -> None:
        self._report("status", "console clutch released")
        if self.state.desired != DISABLED:
            self.state.back = True
            self._enter(SETTING_ARMS_STATE)

    def set_scale(self, scale: float) -> None:
        """Change the scale, 0 < scale <= 1; the PSM does not jump."""
        if self._change_scale(scale):
            self._take_origins()

    def lock_translation(self, lock: bool) -> None:
        """Keep the PSM's position, or follow again from the current one."""
        self._set("translation_locked", lock)
        self._take_origins()

    def lock_rotation(self, lock: bool) -> None:
        """Lock the orientations of PSM and MTM; unlocking aligns them again."""
        self._set("rotation_locked", lock)
        if not lock:
            self._enter(DISABLED)
            return
        self._take_origins()
        if self.state.current == ENABLED and self._last is not None:
            self._command_master("lock_orientation", self._last.master[:3, :3])

    def set_align_MTM(self, align: bool) -> None:
        """Enable or disable the alignment of the MTM; an enabled pair restarts."""
        self._set("align_MTM", align)
        if self.state.current == ENABLED:
            self._enter(DISABLED)

    def _set(self, name: str, value: bool) -> None:
        setattr(self.state, name, value)
        self._out.event(name.lower(), value)

    def following_mtm_body_servo_cf(self, wrench: Array) -> None:
        """Apply a wrench (6,) [N, N m] to the MTM while following; every change of `following` clears it."""
        w = np.asarray(wrench, dtype=float)
        if w.shape != (6,) or not np.isfinite(w).all():
            self._report("warning", f"following/mtm/body/servo_cf, expected 6 finite values, received {wrench}")
        elif self.state.following:
            self.state.wrench = w

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, t: float, sample: PairSample) -> Output:
        """Commands and events of the cycle at time t [s]."""
        self._t = t
        if self._usable(sample.reason()):
            self._last = sample
            self._check_arms(sample)
            if self.state.current == ENABLED:
                self._follow(sample)
            elif self.state.current == ALIGNING_MTM:
                self._align(sample)
            self._leave(sample)
        return self.output()

    def _usable(self, fault: str) -> bool:
        """Handle a fault; False while there is one. The PSM holds, and following requires a new alignment."""
        s = self.state
        if fault and not s.faulty:
            self._report("error", f"{fault}; the PSM holds until the MTM is aligned again")
            s.activity.active = s.was_active = False
            if s.current in (ENABLED, ALIGNING_MTM):
                self._enter(SETTING_ARMS_STATE)
        elif s.faulty and not fault:
            self._report("status", "samples are valid again")
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
                    self._report("error", f"{arm} is not in state ENABLED anymore")

    def _follow(self, sample: PairSample) -> None:
        s, settings = self.state, self.settings
        if s.clutched:
            return
        if s.wrench is not None:
            self._command_master("body/servo_cf", s.wrench)
        locked = {"translation_locked": s.translation_locked, "rotation_locked": s.rotation_locked}
        goal = law.psm_goal(sample.master, s.at, s.scale, **locked, base=sample.base)
        self._out.command("PSM", "servo_cp", (goal, law.psm_twist(sample.twist, settings, s.scale)))
        if not settings.ignore_jaw and sample.jaw is not None:
            gripper = sample.gripper
            jaw = law.WITHOUT_GRIPPER if gripper is None else s.ghost.follow(gripper, settings)
            self._out.command("PSM", "jaw/servo_jp", jaw)

    def _align(self, sample: PairSample) -> None:
        """Rotate the MTM to the PSM's orientation; repeat if the PSM has rotated since."""
        s = self.state
        if s.clutched or not s.align_MTM:
            return
        R = sample.slave[:3, :3]
        if s.asked is None or law.turn(s.asked.T @ R) > self.settings.start_orientation_tolerance:
            goal = sample.master_setpoint.copy()
            goal[:3, :3] = s.asked = R.copy()
            self._command_master("move_cp", goal)

    def _leave(self, sample: PairSample) -> None:
        """Enter the next state when the current one is complete."""
        s = self.state
        match s.current:
            case "DISABLED":
                if s.desired != DISABLED:
                    self._enter(SETTING_ARMS_STATE)
            case "SETTING_ARMS_STATE":
                if self._prepare((("PSM", sample.slave_state), ("MTM", sample.master_state))):
                    self._enter(ALIGNING_MTM)
                elif self._t - s.since > ARMS_TIMEOUT:
                    for arm, state in (("PSM", sample.slave_state), ("MTM", sample.master_state)):
                        if not state.ready:
                            self._report("error", f"timed out while setting up {arm} state")
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
        error = law.turn(s.offset) if s.align_MTM else 0.0
        if not s.activity.active:
            s.activity.observe(law.roll(sample.master, sample.slave), sample.gripper, settings)
        aligned = error <= settings.start_orientation_tolerance
        if aligned and s.activity.active and not sample.master_state.busy:
            self._enter(ENABLED)
        elif self._t - s.since > REMINDER:
            s.since, reason = self._t, "waiting for the MTM to end its move"
            if not aligned:
                reason = f"unable to align MTM, angle error is {math.degrees(error):.1f} (deg)"
            elif not s.activity.active:
                reason = "pinch/twist MTM gripper a bit"
            self._report("warning", reason)

    # -- states --------------------------------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        s, sample = self.state, self._last
        if s.following and state != ENABLED:
            self._set_following(False)
            self._out.command("PSM", "hold")  # stops the velocity that was sent with the last goal
        self._change_state(state)
        if state == DISABLED:
            if sample is None or sample.master_state.ready:
                self._command_master("hold")
        elif state == ALIGNING_MTM:
            self._begin_alignment(sample)
        elif state == ENABLED:
            self._begin_following(sample)

    def _begin_alignment(self, sample: PairSample | None) -> None:
        s = self.state
        assert sample is not None
        self._out.event("scale", s.scale)
        s.asked = None
        if not s.align_MTM and not s.clutched:
            self._command_master("move_cp", sample.master_setpoint.copy())  # stay in place
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
                self._report("warning", "unable to get jaw position.  Make sure there is an instrument on the PSM")
                self._desire_disabled()
            else:
                s.ghost.start(sample.jaw)
        self._free_master(sample, s.rotation_locked)
        self._follow_unless_clutched()

    def _free_master(self, sample: PairSample, locked: bool) -> None:
        """Command zero wrench and gravity compensation, with the orientation locked or free."""
        self._command_master("use_gravity_compensation", True)
        self._command_master("body/servo_cf", np.zeros(6))
        name, R = ("lock_orientation", sample.master[:3, :3]) if locked else ("unlock_orientation", None)
        self._command_master(name, R)

    def _press_clutch(self) -> None:
        s, sample = self.state, self._last
        s.was_active = s.activity.active
        super()._press_clutch()
        if sample is not None and sample.master_state.ready and sample.slave_state.ready:
            self._free_master(sample, s.align_MTM or s.rotation_locked)
            self._out.command("PSM", "hold")

    def _command_master(self, name: str, value: Any = None) -> None:
        """Send a command to the MTM, if it has motors."""
        if self.settings.MTM_is_haptic:
            self._out.command("MTM", name, value)

    def _set_following(self, following: bool) -> None:
        self.state.wrench = None
        super()._set_following(following)

    def _take_origins(self) -> None:
        if self._last is not None:
            self.state.at = law.origins(self._last.master, self._last.slave, self._last.base)
            self.state.offset = self.state.at.offset
