"""Settings of teleoperation components under the names of the dVRK's `configure_parameter`.

Source of the defaults: sawIntuitiveResearchKit 2.4 (teleop_PSM_configuration, teleop_ECM_configuration).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from trocar import checks
from trocar.errors import TrocarError, check_known

PERIOD = 1e-3  # period of a component [s]


@dataclass(frozen=True, kw_only=True)
class _Configured:
    """Settings that can be read from a configuration file.

    Attributes: POSITIVE, NOT_NEGATIVE, AT_MOST_1: names of fields with these bounds.
    """

    POSITIVE: ClassVar[Sequence[str]] = ("scale",)
    NOT_NEGATIVE: ClassVar[Sequence[str]] = ()
    AT_MOST_1: ClassVar[Sequence[str]] = ("scale",)

    @classmethod
    def configured(cls, parameters: Mapping[str, Any]) -> Self:
        """Settings from the mapping `configure_parameter`; missing fields have their defaults."""
        values = dict(parameters)
        scaling = values.pop("gripper_scaling", None)
        if scaling is not None:
            if not isinstance(scaling, Mapping) or set(scaling) != {"zero", "max"}:
                raise TrocarError(f"gripper_scaling must have the angles zero and max [rad], got {scaling!r}")
            values |= {f"gripper_{key}": value for key, value in scaling.items()}
        check_known(f"field of {cls.__name__}:", [f.name for f in fields(cls)], *values)
        return cls(**values)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type == "bool":
                checks.flag(each.name, value)
            elif not (checks.is_number(value) and math.isfinite(value)):
                raise TrocarError(f"{each.name} must be a finite number, got {value!r}")
        checks.attributes(self, type(self).__name__, positive=self.POSITIVE, not_negative=self.NOT_NEGATIVE)
        for name in self.AT_MOST_1:
            checks.number(name, getattr(self, name), 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class PSMSettings(_Configured):
    """Settings of an MTM that drives a PSM.

    Attributes:
        scale: PSM translation per MTM translation, at most 1.
        align_MTM: turn the MTM to the PSM's orientation before following. MTM_is_haptic: the MTM has motors;
            an MTM without motors gets no motion commands, and the operator aligns it by hand.
        rotation_locked, translation_locked: the PSM keeps its orientation or position.
        start_orientation_tolerance: largest angle between MTM and PSM at the start of following [rad].
        start_gripper_threshold, start_roll_threshold: range of the gripper angle and of the roll that shows an
            operator [rad].
        orientation_tolerance_after_clutch: [rad]; read but unused, as on the dVRK.
        jaw_rate: fastest rate of the gripper angle that the jaw follows [rad/s].
        jaw_rate_after_clutch: the same until the jaw has caught up with the gripper [rad/s].
        gripper_zero, gripper_max: gripper angles of the closed and the fully open jaw [rad] (`gripper_scaling`).
        use_MTM_linear_velocity, use_MTM_angular_velocity: send the MTM's velocity along with the goal.
        ignore_jaw: leave the jaw alone.
    """

    POSITIVE = ("scale", "jaw_rate", "jaw_rate_after_clutch")
    NOT_NEGATIVE = ("start_orientation_tolerance", "start_gripper_threshold", "start_roll_threshold")

    scale: float = 0.2
    align_MTM: bool = True
    MTM_is_haptic: bool = True
    rotation_locked: bool = False
    translation_locked: bool = False
    start_orientation_tolerance: float = math.radians(5.0)
    start_gripper_threshold: float = math.radians(40.0)
    start_roll_threshold: float = math.radians(4.0)
    orientation_tolerance_after_clutch: float = math.radians(2.0)
    jaw_rate: float = 4.0 * math.pi
    jaw_rate_after_clutch: float = 0.2 * math.pi
    gripper_zero: float = 0.0
    gripper_max: float = math.radians(60.0)
    use_MTM_linear_velocity: bool = True
    use_MTM_angular_velocity: bool = False
    ignore_jaw: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        zero, largest = self.gripper_zero, self.gripper_max
        if largest <= zero:
            raise TrocarError(f"gripper_max must exceed gripper_zero, got {largest:g} and {zero:g}")


@dataclass(frozen=True, kw_only=True)
class ECMSettings(_Configured):
    """Settings of two MTMs that drive the ECM.

    Attributes:
        scale: insertion per change of the MTMs' distance from the eyes, at most 1. Rotations are not scaled.
        camera_roll_offset: roll of the camera relative to the endoscope [rad].
        MTM_is_haptic: the MTMs have motors, which keep their distance and lock their orientation.
        check_MTMs_workspace: refuse to start while a grip is outside the work area in front of the eyes.
        haptic_feedback_ratio: scale of the forces, 0 to 1.
    """

    NOT_NEGATIVE = ("haptic_feedback_ratio",)
    AT_MOST_1 = ("scale", "haptic_feedback_ratio")

    scale: float = 0.2
    camera_roll_offset: float = 0.0
    MTM_is_haptic: bool = True
    check_MTMs_workspace: bool = True
    haptic_feedback_ratio: float = 1.0
