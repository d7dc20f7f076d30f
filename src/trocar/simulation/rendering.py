"""Pictures of a simulator, without a window: still images and short films.

The scene (light, backdrop, floor) is added to a copy of the model: the simulated one is never touched.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import itertools
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trocar.errors import TrocarError, UnknownName
from trocar.files import write_whole
from trocar.simulation.shapes import VISUAL
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array, quaternion

Picture = NDArray[np.uint8]

# name: (azimuth, elevation) of the viewing direction [deg]; at azimuth 180 the camera looks along -x, with +y to
# the right: the mechanism on the left, the instrument on the right.
CAMERAS: dict[str, tuple[float, float]] = {"iso": (146.0, -19.0), "side": (180.0, -4.0), "tip": (122.0, -10.0)}
TIP_DISTANCE, TIP_FOCUS = 0.043, 0.002  # camera from the wrist, and the point looked at above the tip [m]
ABOVE, BELOW, FLOOR = (0.90, 0.92, 0.94), (0.64, 0.70, 0.77), (0.72, 0.74, 0.76)  # backdrop from top to foot; floor
FRAME = 1.06  # a view is this much wider than what it shows
ASPECT = 4 / 3  # width of a picture over its height, unless said otherwise
MARGIN = 0.15  # floor below the lowest point of the arm at home [m]
SHADOW = (1.6, 4.0)  # radius of where shadows are drawn, over that of what is seen: without and with a floor
TRACE_SEGMENTS = 4000  # of all lines in one picture
GL_PACKAGES = "libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"


@dataclass(frozen=True)
class Trace:
    """A line through points (N, 3) [m] in the base, drawn into a picture. width: [pixels]. rgba: each from 0 to 1."""

    points: Array
    rgba: tuple[float, float, float, float] = (0.0, 0.45, 0.70, 1.0)
    width: float = 2.0

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise TrocarError(f"a trace goes through finite points (N, 3) [m], got shape {points.shape}")
        object.__setattr__(self, "points", points)


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
    if len(size) != 2 or min(size) < 1:
        raise TrocarError(f"size is (width, height) in pixels, got {size!r}")
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
    if len(size) != 2 or min(size) < 1:
        raise TrocarError(f"size is (width, height) in pixels, got {size!r}")
    stage = Stage(spec, qpos, floor)
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


def save_png(path: str | os.PathLike[str], image: Picture) -> Path:
    """Write an image (height, width, 3) as PNG."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, format="PNG")
    return write_whole(path, stream.getvalue())


def render_video(path: str | os.PathLike[str], frames: Iterable[Picture], fps: float = 25.0) -> Path:
    """Write images of one size as a film, .gif or .mp4 (needs ffmpeg); `fps` in frames per second."""
    if not (math.isfinite(fps) and fps > 0):
        raise TrocarError(f"fps must be positive, got {fps!r}")
    suffix = Path(path).suffix.lower()
    if suffix not in (".gif", ".mp4"):
        raise UnknownName("film format", suffix, (".gif", ".mp4"))
    # one at a time: a minute of film at full size would be gigabytes of images
    images = _of_one_size(frames)
    return write_whole(path, _gif(images, fps) if suffix == ".gif" else _mp4(images, fps))


def _of_one_size(frames: Iterable[Picture]) -> Iterator[Picture]:
    """The frames, one or more, all of the shape of the first."""
    shape = None
    for frame in frames:
        shape = frame.shape if shape is None else shape
        if frame.shape != shape:
            break
        yield np.ascontiguousarray(frame)
    else:
        if shape is not None:
            return
    raise TrocarError("a film needs at least one frame, all of one size")


class Stage:
    """A copy of a model with light, backdrop and floor, and what is needed to draw it.

    Args:
        home: qpos that the view is chosen for. floor: its height [m]; "below" for one below the arm, on a plinth.
        samples: of every pixel, for smooth edges; 0 for one.
    """

    def __init__(self, spec: mujoco.MjSpec, home: Array, floor: float | str | None, samples: int = 8) -> None:
        self.corners, fixed = _corners(spec, home)
        self.extent = self.corners.min(0), self.corners.max(0)
        dressed = _dressed(spec, *self.extent)
        if floor == "below":
            _add_floor(dressed, float(self.extent[0][2]) - MARGIN)
            feet = _add_plinth(dressed, fixed, float(self.extent[0][2]) - MARGIN)
            self.corners = np.vstack([self.corners, feet])
        elif floor is not None:
            _add_floor(dressed, float(floor))
        dressed.visual.quality.offsamples = samples
        self.model = dressed.compile()
        # the shadow map, in units of MuJoCo's extent: no larger than needed, for sharp shadows
        radius = float(np.linalg.norm(self.extent[1] - self.extent[0])) / 2
        self.model.vis.map.shadowclip = SHADOW[floor is not None] * radius / self.model.stat.extent
        self.data = mujoco.MjData(self.model)
        self.scene = mujoco.MjvScene(self.model, maxgeom=self.model.ngeom + 100 + TRACE_SEGMENTS)
        self.options = mujoco.MjvOption()
        self.size: tuple[int, int] | None = None
        self.context: Any = None

    def view(self, direction: tuple[float, float], zoom: float = 1.0, aspect: float = ASPECT) -> mujoco.MjvCamera:
        """A camera that sees the whole model at home from a direction (azimuth, elevation) [deg].

        Args:
            zoom: above 1 for a closer view, which may leave something out. aspect: width over height.
        """
        camera = mujoco.MjvCamera()
        camera.azimuth, camera.elevation = direction
        azimuth, elevation = np.radians(direction)
        ahead = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
        half = math.tan(math.radians(self.model.vis.global_.fovy) / 2) / FRAME
        x, y, depth = (self.corners @ axis for axis in (right, np.cross(right, ahead), ahead))
        # the camera's place across, and how far back: the nearest from which no corner is outside the four planes
        sides = [((x - half * aspect * depth).max(), (x + half * aspect * depth).min(), half * aspect)]
        sides += [((y - half * depth).max(), (y + half * depth).min(), half)]
        back = max((high - low) / (2 * slope) for high, low, slope in sides)
        across = [(high + low) / 2 for high, low, _ in sides]
        middle = float(depth.min() + depth.max()) / 2
        camera.lookat = across[0] * right + across[1] * np.cross(right, ahead) + middle * ahead
        camera.distance = (middle + back) / zoom
        return camera

    def picture(
        self,
        qpos: Array,
        camera: mujoco.MjvCamera,
        size: tuple[int, int],
        traces: Sequence[Trace] = (),
        shadows: bool = True,
    ) -> Picture:
        self.arrange(qpos)
        self.prepare(size)
        mujoco.mjv_updateScene(
            self.model, self.data, self.options, None, camera, mujoco.mjtCatBit.mjCAT_ALL, self.scene
        )
        for trace in traces:
            self._draw(trace)
        self.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        image = np.empty((size[1], size[0], 3), dtype=np.uint8)
        rectangle = mujoco.MjrRect(0, 0, *size)
        mujoco.mjr_render(rectangle, self.scene, self.context)
        mujoco.mjr_readPixels(image, None, rectangle, self.context)
        return np.ascontiguousarray(image[::-1])

    def arrange(self, qpos: Array, bodies: Mapping[str, Array] = MappingProxyType({})) -> None:
        """Everything where it is at qpos; fixed bodies given by name at other poses (4, 4) in the world."""
        for name, T in bodies.items():
            body = self.model.body(name)
            body.pos, body.quat = T[:3, 3], quaternion(T[:3, :3])
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_flex(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def _draw(self, trace: Trace) -> None:
        """Add a line to the scene, segment by segment."""
        colour, zero = np.array(trace.rgba, dtype=np.float32), np.zeros(3)
        for start, end in zip(trace.points[:-1], trace.points[1:], strict=True):
            geom = self.scene.geoms[self.scene.ngeom]
            mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_LINE, zero, zero, np.eye(3).ravel(), colour)
            mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_LINE, trace.width, start, end)
            self.scene.ngeom += 1

    def prepare(self, size: tuple[int, int]) -> None:
        """The OpenGL context, with an off-screen buffer of this size."""
        gl_context().make_current()
        if self.size != size:
            if self.context is not None:
                self.context.free()
            self.model.vis.global_.offwidth, self.model.vis.global_.offheight = size
            self.context = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100)
            self.size = size
        # every time: another stage may have drawn since
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.context)


_STAGES: weakref.WeakKeyDictionary[Simulator, Stage] = weakref.WeakKeyDictionary()


def _stage(sim: Simulator) -> Stage:
    """The stage of a simulator, made once."""
    if sim not in _STAGES:
        home = np.zeros(sim.model.nq)
        home[: len(sim.arm.bodies)] = sim.arm.E @ np.array(sim.arm.home)
        length = float(np.linalg.norm(sim.gravity_vector))
        upright = length > 0.0 and sim.gravity_vector[2] < -0.999 * length
        _STAGES[sim] = Stage(sim.spec, home, "below" if upright else None)
    return _STAGES[sim]


_CONTEXTS = threading.local()  # OpenGL lets a context be current in one thread only


def gl_context() -> Any:
    """The OpenGL context of this thread; where there is no display, one that needs none (EGL)."""
    if not hasattr(_CONTEXTS, "own"):
        _CONTEXTS.own = _new_gl_context()
    return _CONTEXTS.own


def _new_gl_context() -> Any:
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform == "linux" and not shown:
        os.environ.setdefault("MUJOCO_GL", "egl")
    backend = os.environ.get("MUJOCO_GL", "").lower()
    try:
        # MuJoCo chooses its context class when it is first imported, which may be before the variable was set.
        module = importlib.import_module(f"mujoco.{backend}") if backend in ("egl", "osmesa") else mujoco
        context = module.GLContext(64, 64)  # pictures have a buffer of their own
        context.make_current()
    except Exception as error:  # each platform fails in its own way: ImportError, AttributeError, RuntimeError, ...
        raise TrocarError(
            f"no OpenGL context for rendering (MUJOCO_GL={backend or 'unset'}): {error}. "
            f"On Debian or Ubuntu without a display: apt install {GL_PACKAGES}, then MUJOCO_GL=egl"
        ) from error
    return context


def _dressed(scene: mujoco.MjSpec, low: Array, high: Array) -> mujoco.MjSpec:
    """A copy of a specification with a light and a backdrop; `low`, `high` (3,) are the model's corners [m]."""
    spec = scene.copy()
    spec.visual.headlight.ambient = [0.36, 0.36, 0.37]
    spec.visual.headlight.diffuse = [0.32, 0.32, 0.33]
    spec.visual.headlight.specular = [0.10, 0.10, 0.10]
    spec.visual.rgba.haze = [*(np.array(ABOVE) + BELOW) / 2, 1.0]  # the backdrop at the horizon
    spec.visual.quality.shadowsize = 4096
    spec.visual.map.znear = 0.005  # times the model's extent: the close-up is at 5 cm
    spec.add_texture(
        name="backdrop",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=ABOVE,
        rgb2=BELOW,
        width=512,
        height=512,
    )
    above = (low + high) / 2 + [1.2, -0.6, 2.2]
    spec.worldbody.add_light(
        name="key",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=above,
        dir=(low + high) / 2 - above,
        diffuse=[0.54, 0.54, 0.52],
        specular=[0.3, 0.3, 0.3],
        castshadow=True,
    )
    # a second one from the other side, so that what the first leaves in shadow keeps its shape
    spec.worldbody.add_light(
        name="fill",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        dir=[1.0, 0.7, -0.5],
        diffuse=[0.20, 0.21, 0.23],
        specular=[0.1, 0.1, 0.1],
        castshadow=False,
    )
    return spec


def _add_floor(spec: mujoco.MjSpec, z: float) -> None:
    """A floor at height z [m]."""
    spec.add_material(name="floor", rgba=[*FLOOR, 1.0], specular=0.0)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, z], material="floor", **VISUAL)


def _add_plinth(spec: mujoco.MjSpec, fixed: Array, z: float) -> Array:
    """A plinth from height z [m] up to the lowest of the points (n, 3) that are fixed to the base; its feet (k, 3)."""
    standing = fixed[fixed[:, 2].min() + 0.01 > fixed[:, 2]] if len(fixed) else fixed
    if not len(standing):
        return standing
    low, high = standing.min(0) - 0.02, standing.max(0) + 0.02
    top = float(standing[:, 2].min())
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=[*(low + high)[:2] / 2, (top + z) / 2],
        size=[*(high - low)[:2] / 2, (top - z) / 2],
        rgba=[0.60, 0.63, 0.67, 1.0],
        **VISUAL,
    )
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1])])


def _corners(spec: mujoco.MjSpec, qpos: Array) -> tuple[Array, Array]:
    """Corners (n, 3) of all visible shapes or of boxes around them, and of those fixed to the base, at qpos [m]."""
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points, fixed = [], [np.empty((0, 3))]
    for i in np.flatnonzero(model.geom_group == VISUAL["group"]):
        if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_MESH:
            m = int(model.geom_dataid[i])
            local = model.mesh_vert[model.mesh_vertadr[m] : model.mesh_vertadr[m] + model.mesh_vertnum[m]]
        else:
            local = model.geom_aabb[i, :3] + signs * model.geom_aabb[i, 3:]
        corners = data.geom_xpos[i] + local @ data.geom_xmat[i].reshape(3, 3).T
        points.append(corners)
        if model.geom_bodyid[i] == 0:
            fixed.append(corners)
    return np.vstack(points), np.vstack(fixed)


def _gif(images: Iterator[Picture], fps: float) -> bytes:
    colours = (Image.fromarray(image).quantize(128) for image in images)
    first = next(colours)
    stream = io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=colours, duration=round(1000 / fps), loop=0)
    return stream.getvalue()


def _mp4(images: Iterator[Picture], fps: float) -> bytes:
    program = shutil.which("ffmpeg")
    if program is None and importlib.util.find_spec("imageio_ffmpeg"):
        program = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    if program is None:
        raise TrocarError("an .mp4 film needs ffmpeg: install it (apt install ffmpeg) or write a .gif instead")
    first = next(images)
    height, width = first.shape[:2]
    with tempfile.TemporaryDirectory() as folder:
        target, log = Path(folder) / "film.mp4", Path(folder) / "log"
        command = [program, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        command += ["-r", f"{fps:g}", "-i", "-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]
        command += ["-pix_fmt", "yuv420p", str(target)]
        with log.open("wb") as errors, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors) as process:
            assert process.stdin is not None
            try:
                # a broken pipe is ffmpeg giving up: its log says why
                with contextlib.suppress(BrokenPipeError):
                    for image in itertools.chain([first], images):
                        process.stdin.write(image.tobytes())
                    process.stdin.close()
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise TrocarError(f"ffmpeg failed: {log.read_text(errors='replace').strip()}")
        return target.read_bytes()
