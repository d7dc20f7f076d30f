"""The scene `bench`: a PSM above a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trocar.arms.arm import CONTROL_RATE
from trocar.simulation import Scene, SceneArm, Solid
from trocar.simulation.named_scene import NamedScene
from trocar.simulation.objects.solid import Box
from trocar.spatial import pose


def _build(
    seed: int = 0, parameters: Mapping[str, str] | None = None, endoscope: bool = False, **options: Any
) -> Scene:
    """The scene; the seed moves the block by up to 10 mm. `trocar teleop` asks for an endoscope."""
    shift = 1e-3 * (seed % 11)
    block = Solid("block", [Box([0.0, 0.0, 0.0], [0.04, 0.04, 0.02])], pose(p=[shift, 0.0, -0.2]))
    arms = {"PSM1": SceneArm(arm="PSM", parameters=(parameters or {}).get("PSM1"))}
    if endoscope:
        arms["ECM"] = SceneArm(arm="ECM", base=pose(p=[0.0, -0.6, 0.0]))
    return Scene(arms, **{"objects": [block], "timestep": 1.0 / CONTROL_RATE, **options})


BENCH = NamedScene(arms=("PSM1",), timestep=1.0 / CONTROL_RATE, build=_build)
