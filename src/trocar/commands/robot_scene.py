"""Scene of the robot that `trocar run`, `serve` and `crtk-check` control."""

from __future__ import annotations

import trocar as tr
from trocar.commands import options
from trocar.errors import check_known


def built_scene(scene: str, arms: list[str], parameters: list[str] | None, *, only: bool = True) -> tr.Scene:
    """The scene of a name or file, or an arm alone, for the controllers of a robot.

    Args:
        arms: names of the arms to load with `only`, otherwise of those to control. Default: all.
        parameters: parameter sets or files, as ARM=SET.
    """
    from trocar.robot.controller.constants import PERIOD
    from trocar.simulation.scene_file import arms_of

    known = arms_of(scene)
    check_known("arm of the scene", known, *arms)
    loaded = arms if arms and only else known
    sets = options.parameters_by_arm(parameters, loaded)
    return tr.load_scene(scene, arms=loaded, parameters=sets, timestep=PERIOD)
