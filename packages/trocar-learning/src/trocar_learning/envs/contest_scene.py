"""The peg transfer as a scene that trocar offers by name: `load_scene("peg_transfer")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trocar.appearance.camera_place import CameraPlace
from trocar.arms.arm import CONTROL_RATE
from trocar.simulation import Scene
from trocar.simulation.named_scene import NamedScene
from trocar_learning.contest.peg_board import BASELINE, HAND, VIEW, T_world_camera, contest_scene, seeded_setting
from trocar_learning.envs.contest_trial import ContestTrial
from trocar_learning.envs.tasks.peg_rules import DURATION


def _build(
    seed: int | None = None,
    parameters: Mapping[str, str] | None = None,
    arm_options: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> Scene:
    """The scene with the board of a seed. Default: the board in the middle. arm_options: of `SceneArm`, by arm."""
    own = {arm: dict((arm_options or {}).get(arm, {})) for arm in HAND.values()}
    for arm, chosen in (parameters or {}).items():
        own[arm]["parameters"] = chosen
    return contest_scene(None if seed is None else seeded_setting(seed), own, **options)


PEG_TRANSFER = NamedScene(
    arms=tuple(sorted(HAND.values())),
    timestep=1.0 / CONTROL_RATE,
    build=_build,
    attend=ContestTrial,
    aim=(
        "grip a peg, hand it over the wall from one instrument to the other and put it on a post of the other side; "
        f"a point per peg, {DURATION / 60:g} minutes from the first motion"
    ),
    camera=CameraPlace(T_world_camera(), float(VIEW), BASELINE),
)
