"""Settings of one arm that stands alone: of a recording, a shadow, or a live robot of one arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from trocar import checks
from trocar.arms import Arm
from trocar.errors import TrocarError, check_known, shown
from trocar.robot.controller.constants import PERIOD
from trocar.simulation import Scene, SceneArm
from trocar.simulation.scene_file import arm_scene

CHANGES = ("counterweight", "friction", "instrument")  # options that can change while an arm runs
RECORDED = 3 * PERIOD  # interval between rows of a recording: 500 Hz [s]


@dataclass(frozen=True, kw_only=True)
class ArmSettings(SceneArm):
    """One arm with its base at the world origin.

    Attributes:
        arm: name or facts. gravity: (3,) [m/s^2] in base axes. Default: as the arm is usually mounted.
    """

    arm: str | Arm = "PSM"
    gravity: tuple[float, float, float] | None = None

    @property
    def name(self) -> str:
        return self.arm if isinstance(self.arm, str) else self.arm.name

    def build(self, *, contacts: bool = True) -> Scene:
        """A scene of this arm at its start, with the timestep of the controllers."""
        return arm_scene(self, self.gravity, contacts=contacts)


def checked_changes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Changed options of an arm by name, checked before anything changes."""
    check_known("option that can be changed", CHANGES, *options)
    for key in ("counterweight", "friction"):
        checks.flag(key, options.get(key, True))
    tool = options.get("instrument", "")  # a text from outside never opens a file
    if not (isinstance(tool, PathLike) or (isinstance(tool, str) and not tool.endswith(".toml"))):
        raise TrocarError(f"instrument must be a name, or the Path of a file, got {shown(tool)}")
    return dict(options)
