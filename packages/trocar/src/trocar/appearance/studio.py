"""Studio: a copy of a model with light, background and floor, cameras that frame it, and lines drawn into it.

The simulated model is never changed.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from trocar.appearance.films import Picture
from trocar.appearance.kinematic_model import hang
from trocar.appearance.sketch import VISUAL
from trocar.errors import TrocarError
from trocar.spatial import Array

ABOVE, BELOW, FLOOR = (0.90, 0.92, 0.94), (0.64, 0.70, 0.77), (0.72, 0.74, 0.76)  # background from top to bottom; floor
FRAME = 1.06  # width of a view relative to its content
ASPECT = 4 / 3  # default ratio of picture width to height
MARGIN = 0.15  # distance of the floor below the lowest point of the arm at home [m]
SHADOW = (1.6, 4.0)  # radius of the shadow map relative to that of the view: without and with a floor
TRACE_SEGMENTS = 4000  # most segments of all lines in one picture
# Without a graphics card, most of the time of a picture goes into triangles. MuJoCo divides cylinders along their axis
# like balls, into 16 parts, although only round objects show it.
ROUND = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_ELLIPSOID)
OBJECTS, STACKS = 0, 8  # group of the geoms of objects; parts in fast pictures without round objects
GL_PACKAGES = "libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"
_CONTEXTS = threading.local()  # OpenGL lets a context be current in one thread only


@dataclass(frozen=True)
class Trace:
    """A line through points (N, 3) [m] in the base, drawn into a picture. width: [pixels]. rgba: each from 0 to 1."""

    points: Array
    rgba: tuple[float, float, float, float] = (0.0, 0.45, 0.70, 1.0)
    width: float = 2.0

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise TrocarError(f"a trace needs finite points (N, 3) [m], got shape {points.shape}")
        object.__setattr__(self, "points", points)


def check_size(size: tuple[int, int]) -> None:
    """Raise an error unless this is a valid size (width, height) [pixels] of a picture."""
    if len(size) != 2 or min(size) < 1:
        raise TrocarError(f"size must be (width, height) in pixels, got {size!r}")


class Studio:
    """A copy of a model with light, background and floor, and the resources to draw it.

    Args:
        home: qpos that determines the view. floor: its height [m]; "below" for one below the arm, on a plinth.
        samples: samples per pixel, for smooth edges; 0 means one.
    """

    def __init__(self, spec: mujoco.MjSpec, home: Array, floor: float | str | None, samples: int = 8) -> None:
        self.corners, fixed = _corners(spec, home)
        self.extent = self.corners.min(0), self.corners.max(0)
        dressed = _dressed(spec, *self.extent)
        if floor == "below":
            floor = float(self.extent[0][2]) - MARGIN
            self.corners = np.vstack([self.corners, _add_plinth(dressed, fixed, floor)])
        if floor is not None:
            _add_floor(dressed, float(floor))
        dressed.visual.quality.offsamples = samples
        if not samples and not any(geom.type in ROUND and geom.group == OBJECTS for geom in dressed.geoms):
            dressed.visual.quality.numstacks = STACKS
        self.model = dressed.compile()
        # the shadow map, in units of MuJoCo's extent: no larger than needed, for sharp shadows
        radius = float(np.linalg.norm(self.extent[1] - self.extent[0])) / 2
        self.model.vis.map.shadowclip = SHADOW[floor is not None] * radius / self.model.stat.extent
        self.data = mujoco.MjData(self.model)
        self._layers = self.model.flex_elemlayer.copy()
        self.model.flex_elemlayer[:] = 0  # so that the scene has room for the faces of all elements
        self.scene = mujoco.MjvScene(self.model, maxgeom=self.model.ngeom + 100 + TRACE_SEGMENTS)
        self.model.flex_elemlayer[:] = self._layers
        self.options = mujoco.MjvOption()
        self.size: tuple[int, int] | None = None
        self.context: Any = None

    def view(self, direction: tuple[float, float], zoom: float = 1.0, aspect: float = ASPECT) -> mujoco.MjvCamera:
        """A camera that sees the whole model at home from a direction (azimuth, elevation) [deg].

        zoom: above 1 for a closer view, which may crop the model. aspect: width over height.
        """
        camera = mujoco.MjvCamera()
        camera.azimuth, camera.elevation = direction
        azimuth, elevation = np.radians(direction)
        ahead = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
        half = math.tan(math.radians(self.model.vis.global_.fovy) / 2) / FRAME
        x, y, depth = (self.corners @ axis for axis in (right, np.cross(right, ahead), ahead))
        # lateral position and distance of the camera: the nearest for which no corner is outside the four planes
        sides = [((x - half * aspect * depth).max(), (x + half * aspect * depth).min(), half * aspect)]
        sides += [((y - half * depth).max(), (y + half * depth).min(), half)]
        back = max((high - low) / (2 * slope) for high, low, slope in sides)
        across = [(high + low) / 2 for high, low, _ in sides]
        middle = float(depth.min() + depth.max()) / 2
        camera.lookat = across[0] * right + across[1] * np.cross(right, ahead) + middle * ahead
        camera.distance = (middle + back) / zoom
        return camera

    def picture(
        self, qpos: Array, camera: mujoco.MjvCamera, size: tuple[int, int], traces: Sequence[Trace], shadows: bool
    ) -> Picture:
        """Image (height, width, 3) of the model at qpos, with lines drawn into it. size: (width, height) [pixels]."""
        self.arrange(qpos)
        self.prepare(size)
        self.update(camera, shadows)
        self.add_traces(traces)
        return self.drawn()[0]

    def update(self, camera: mujoco.MjvCamera, shadows: bool) -> None:
        """Update the scene to the current model state."""
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self.model, self.data, self.options, None, camera, everything, self.scene)
        self.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows

    def drawn(self, depth: bool = False) -> tuple[Picture, NDArray[np.float32] | None]:
        """Image (height, width, 3) of the scene, upright, and OpenGL's depth (height, width) if requested."""
        assert self.size is not None
        width, height = self.size
        image = np.empty((height, width, 3), dtype=np.uint8)
        buffer = np.empty((height, width), dtype=np.float32) if depth else None
        rectangle = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(rectangle, self.scene, self.context)
        mujoco.mjr_readPixels(image, buffer, rectangle, self.context)
        return np.ascontiguousarray(image[::-1]), None if buffer is None else buffer[::-1]

    def arrange(self, qpos: Array, bodies: Mapping[str, Array] = MappingProxyType({})) -> None:
        """Move everything to qpos, and fixed bodies given by name to other poses (4, 4) in the world."""
        hang(self.model, bodies)
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_flex(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def cut(self, layers: NDArray[np.int32]) -> None:
        """Draw soft bodies by their elements in layer 0 if layers differ from the compiled ones, else by their skin.

        layers: `flex_elemlayer` of the simulated model, in which cut elements have another layer.
        """
        whole = np.array_equal(layers, self._layers)
        flags = self.options.flags
        flags[mujoco.mjtVisFlag.mjVIS_FLEXSKIN] = flags[mujoco.mjtVisFlag.mjVIS_FLEXEDGE] = whole
        flags[mujoco.mjtVisFlag.mjVIS_FLEXFACE] = not whole
        self.model.flex_elemlayer[:] = layers

    def _connect(self, kind: mujoco.mjtGeom, rgba: Sequence[float], width: float, ends: tuple[Array, Array]) -> Any:
        """Add a line or an arrow from one point to another to the scene."""
        geom, zero = self.scene.geoms[self.scene.ngeom], np.zeros(3)
        mujoco.mjv_initGeom(geom, kind, zero, zero, np.eye(3).ravel(), np.array(rgba, dtype=np.float32))
        mujoco.mjv_connector(geom, kind, width, *ends)
        self.scene.ngeom += 1
        return geom

    def add_traces(self, traces: Sequence[Trace]) -> None:
        """Add lines to the scene; see `update`."""
        for trace in traces:
            for segment in pairwise(trace.points):
                self._connect(mujoco.mjtGeom.mjGEOM_LINE, trace.rgba, trace.width, segment)

    def add_arrows(self, ends: Array, rgb: Sequence[float], radius: float) -> None:
        """Add arrows to the scene, with tails and heads (k, 2, 3) and shafts of this radius [m]; see `update`."""
        for arrow in ends[: self.scene.maxgeom - self.scene.ngeom]:
            geom = self._connect(mujoco.mjtGeom.mjGEOM_ARROW, [*rgb, 1.0], radius, arrow)
            geom.size[2] *= 2.0  # drawn from the tail on, but MuJoCo's connector is half as long
            geom.specular = 0.0  # a highlight would change the colour, which has a meaning

    def add_spheres(self, centres: Array, rgb: Sequence[float], radius: float) -> None:
        """Add spheres with centres (k, 3) and this radius [m] to the scene; see `update`."""
        for centre in centres[: self.scene.maxgeom - self.scene.ngeom]:
            geom, colour = self.scene.geoms[self.scene.ngeom], np.array([*rgb, 1.0], dtype=np.float32)
            size, R = np.full(3, radius), np.eye(3).ravel()
            mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_SPHERE, size, np.asarray(centre, dtype=float), R, colour)
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
        # every time, because another studio may have drawn since
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.context)


def _dressed(scene: mujoco.MjSpec, low: Array, high: Array) -> mujoco.MjSpec:
    """A copy of a specification with a light and a background; `low`, `high` (3,) are the model's corners [m]."""
    spec = scene.copy()
    spec.visual.headlight.ambient = [0.36, 0.36, 0.37]
    spec.visual.headlight.diffuse = [0.32, 0.32, 0.33]
    spec.visual.headlight.specular = [0.10, 0.10, 0.10]
    spec.visual.rgba.haze = [*(np.array(ABOVE) + BELOW) / 2, 1.0]  # the background at the horizon
    spec.visual.quality.shadowsize = 4096
    spec.visual.map.znear = 0.005  # times the model's extent: the close-up is at 5 cm
    kind, gradient = mujoco.mjtTexture.mjTEXTURE_SKYBOX, mujoco.mjtBuiltin.mjBUILTIN_GRADIENT
    spec.add_texture(name="backdrop", type=kind, builtin=gradient, rgb1=ABOVE, rgb2=BELOW, width=512, height=512)
    above = (low + high) / 2 + [1.2, -0.6, 2.2]
    key = {"pos": above, "dir": (low + high) / 2 - above, "diffuse": [0.54, 0.54, 0.52], "specular": [0.3, 0.3, 0.3]}
    # a second light from the other side, so that shapes stay visible in the shadow of the first
    fill = {"dir": [1.0, 0.7, -0.5], "diffuse": [0.20, 0.21, 0.23], "specular": [0.1, 0.1, 0.1]}
    for name, light in (("key", key), ("fill", fill)):
        directional = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        spec.worldbody.add_light(name=name, type=directional, castshadow=name == "key", **light)
    return spec


def _add_floor(spec: mujoco.MjSpec, z: float) -> None:
    spec.add_material(name="floor", rgba=[*FLOOR, 1.0], specular=0.0)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, z], material="floor", **VISUAL)


def _add_plinth(spec: mujoco.MjSpec, fixed: Array, z: float) -> Array:
    """A plinth from height z [m] up to the lowest of the points (n, 3) that are fixed to the base; its feet (k, 3)."""
    standing = fixed[fixed[:, 2].min() + 0.01 > fixed[:, 2]] if len(fixed) else fixed
    if not len(standing):
        return standing
    low, high = standing.min(0) - 0.02, standing.max(0) + 0.02
    top = float(standing[:, 2].min())
    pos, size = [*(low + high)[:2] / 2, (top + z) / 2], [*(high - low)[:2] / 2, (top - z) / 2]
    kind, rgba = mujoco.mjtGeom.mjGEOM_BOX, [0.60, 0.63, 0.67, 1.0]
    spec.worldbody.add_geom(type=kind, pos=pos, size=size, rgba=rgba, **VISUAL)
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1])])


def _corners(spec: mujoco.MjSpec, qpos: Array) -> tuple[Array, Array]:
    """Corners (n, 3) of all visible shapes or of boxes around them, and of those fixed to the base, at qpos [m]."""
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    signs = np.array(list(product((-1, 1), repeat=3)))
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


def gl_context() -> Any:
    """The OpenGL context of this thread; without a display, an EGL context."""
    if not hasattr(_CONTEXTS, "own"):
        _CONTEXTS.own = _new_gl_context()
    return _CONTEXTS.own


def _new_gl_context() -> Any:
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform == "linux" and not display:
        os.environ.setdefault("MUJOCO_GL", "egl")
    backend = os.environ.get("MUJOCO_GL", "").lower()
    try:
        # MuJoCo chooses its context class when it is first imported, which may be before the variable was set.
        module = importlib.import_module(f"mujoco.{backend}") if backend in ("egl", "osmesa") else mujoco
        context = module.GLContext(64, 64)  # pictures use a separate buffer
        context.make_current()
        # GLFW without a display only warns: whether there is a context shows when something is drawn
        mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), mujoco.mjtFontScale.mjFONTSCALE_100).free()
    except Exception as error:  # each platform fails in its own way: ImportError, AttributeError, RuntimeError, ...
        reason = f"no OpenGL context for rendering (MUJOCO_GL={backend or 'unset'}): {error}"
        remedy = f"On Debian or Ubuntu without a display: apt install {GL_PACKAGES}, then MUJOCO_GL=egl"
        raise TrocarError(f"{reason}. {remedy}") from error
    return context
