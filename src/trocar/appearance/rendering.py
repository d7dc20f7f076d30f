"""Pictures of a simulator, without a window: still images and short films.

The scene (light, backdrop, floor) is added to a copy of the model: the simulated one is never touched.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence

import mujoco
import numpy as np

from trocar.appearance.films import Picture, render_video, save_png
from trocar.appearance.gl_context import gl_context
from trocar.appearance.studio import TRACE_SEGMENTS, Studio, Trace, check_size
from trocar.errors import TrocarError, UnknownName
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

__all__ = [
    "CAMERAS",
    "Picture",
    "Studio",
    "Trace",
    "gl_context",
    "render",
    "render_model",
    "render_video",
    "save_png",
    "view",
]

# name: (azimuth, elevation) of the viewing direction [deg]; at azimuth 180 the camera looks along -x, with +y to
# the right: the mechanism on the left, the instrument on the right.
CAMERAS: dict[str, tuple[float, float]] = {"iso": (146.0, -19.0), "side": (180.0, -4.0), "tip": (122.0, -10.0)}
TIP_DISTANCE, TIP_FOCUS = 0.043, 0.002  # camera from the wrist, and the point looked at above the tip [m]


def render(
    sim: Simulator,
    camera: str | mujoco.MjvCamera = "iso",
    size: tuple[int, int] = (960, 720),
    *,
    traces: Sequence[Trace] = (),
    shadows: bool = True,
) -> Picture:
    """Image (height, width, 3) of the simulator as it is now; always from one thread, which owns the OpenGL context.

    Args:
        camera: "iso", "side" or "tip" (close-up of wrist and jaws, which it follows), or a camera of your own, such as
            `view` gives to start from.
        size: (width, height) [pixels].
        traces: lines to draw, such as the path of the tip.
        shadows: without them a picture takes a third of the time where no graphics card helps; never in close-up.
    """
    if isinstance(camera, str) and camera not in CAMERAS:
        raise UnknownName("camera", camera, CAMERAS)
    check_size(size)
    if sum(len(trace.points) for trace in traces) > TRACE_SEGMENTS:
        raise TrocarError(f"the traces of a picture have at most {TRACE_SEGMENTS} points together; leave some out")
    # at the scale of the jaws the shadow map is too coarse
    shadows = shadows and camera != "tip"
    from_where = view(sim, camera, size) if isinstance(camera, str) else camera
    return _stage(sim).picture(sim.data.qpos, from_where, size, traces, shadows)


def render_model(
    spec: mujoco.MjSpec,
    qpos: Array,
    direction: tuple[float, float] = CAMERAS["iso"],
    size: tuple[int, int] = (960, 720),
    *,
    zoom: float = 1.0,
    floor: float | None = None,
) -> Picture:
    """Image (height, width, 3) of any model at `qpos`, such as those of `still`, on the same stage.

    Args:
        direction: azimuth and elevation of the view [deg]. zoom: above 1 for a closer view.
        floor: height of the floor [m]; None for no floor.
    """
    check_size(size)
    stage = Studio(spec, qpos, floor)
    # lit from above, over the left shoulder of who looks
    azimuth = math.radians(direction[0] - 40.0)
    stage.model.light("key").dir = np.array([np.cos(azimuth), np.sin(azimuth), -1.4]) / math.hypot(1.0, 1.4)
    try:
        return stage.picture(qpos, stage.view(direction, zoom, size[0] / size[1]), size)
    finally:
        if stage.context is not None:
            stage.context.free()


def view(sim: Simulator, camera: str, size: tuple[int, int] = (960, 720)) -> mujoco.MjvCamera:
    """The camera of that name: the whole arm at home, or the tip where it is now. Yours to change, for `render`.

    Args:
        size: of the picture, (width, height) [pixels], which the arm is to fit into.
    """
    result = mujoco.MjvCamera()
    result.azimuth, result.elevation = CAMERAS[camera]
    if camera == "tip":
        tip = sim.tip_pose()
        result.lookat, result.distance = tip[:3, 3] - TIP_FOCUS * tip[:3, 2], TIP_DISTANCE
    else:
        result = _stage(sim).view(CAMERAS[camera], aspect=size[0] / size[1])
    return result


_STAGES: weakref.WeakKeyDictionary[Simulator, Studio] = weakref.WeakKeyDictionary()


def _stage(sim: Simulator) -> Studio:
    """The stage of a simulator, made once."""
    if sim not in _STAGES:
        home = np.zeros(sim.model.nq)
        home[: len(sim.arm.bodies)] = sim.arm.E @ np.array(sim.arm.home)
        length = float(np.linalg.norm(sim.gravity_vector))
        upright = length > 0.0 and sim.gravity_vector[2] < -0.999 * length
        _STAGES[sim] = Studio(sim.spec, home, "below" if upright else None)
    return _STAGES[sim]
