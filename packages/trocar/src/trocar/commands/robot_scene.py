"""Scene of the robot that `trocar run`, `serve` and `crtk-check` control."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import trocar as tr
from trocar.commands import options
from trocar.errors import TrocarError, check_known


def built_scene(
    scene: str, arms: list[str], parameters: list[str] | None, *, only: bool = True, seed: int | None = None
) -> tr.Scene:
    """The scene of a name or file, or an arm alone, for the controllers of a robot.

    Args:
        arms: names of the arms to load with `only`, otherwise of those to control. Default: all.
        parameters: parameter sets or files, as ARM=SET; wrists, as ARM.wrist=FILE.
        seed: of a scene that is drawn at random. Default: 0.
    """
    from trocar.robot.controller.constants import PERIOD
    from trocar.simulation.scene_file import arms_of, named_scene

    named = named_scene(scene)
    if seed is not None and (named is None or seed < 0):
        raise TrocarError(f"--seed is at least 0 and goes with a scene that is drawn; got {seed} with {scene}")
    drawn: dict[str, Any] = {} if named is None else {"seed": seed or 0}
    known = arms_of(scene)
    check_known("arm of the scene", known, *arms)
    loaded = arms if arms and only else known
    chosen = options.parameters_by_arm(parameters, loaded)
    return tr.load_scene(scene, arms=loaded, arm_options=chosen, timestep=PERIOD, **drawn)


def attended(running: ExitStack, robot: tr.Robot, scene: str) -> object | None:
    """The attendant of a robot on another package's scene, such as a referee, closed with `running`; or None."""
    from trocar.simulation.scene_file import named_scene

    named = named_scene(scene)
    return None if named is None else running.enter_context(named.attend(robot))
