"""Scenes that code builds, offered by name: entry points `trocar.scenes`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trocar.appearance.camera_place import CameraPlace
    from trocar.simulation.scene import Scene


@dataclass(frozen=True, kw_only=True)
class NamedScene:
    """A scene that code builds.

    Attributes:
        arms: names of its arms; it always has all of them.
        timestep: default time step [s].
        build: function of `seed` and of the options of `Scene` (timestep, accuracy, contacts, objects), with
            `parameters`, a set or file by arm, and, if given, `arm_options`, other fields of `SceneArm` by arm.
            `endoscope=True` adds an ECM where the scene has none.
        attend: function of a live `Robot` on this scene; returns a context manager that is open while the robot runs,
            such as a referee. The text of what it yields, such as a score, is shown meanwhile and printed at the end.
        aim: of a person at this scene, as in "put the pegs on the other side"; "" for none.
        camera: place of its stereo camera, if it does not move with an ECM.
    """

    arms: tuple[str, ...]
    timestep: float
    build: Callable[..., Scene]
    attend: Callable[[Any], AbstractContextManager[object]] = lambda robot: nullcontext()
    camera: CameraPlace | None = None
    aim: str = ""
