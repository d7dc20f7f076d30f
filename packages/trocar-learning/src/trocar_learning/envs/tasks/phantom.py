"""Surfaces that behave as organs do under a small indenter: a stiff inclusion below one, another that breathes."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.simulation.objects.scene_object import OBJECT, PlacedObject
from trocar.simulation.objects.solid import Solid
from trocar.spatial import Array, Values

LAYERS = 200  # of the integral over the depth
DISTANCES, MAX_DISTANCE = 60, 0.06  # of the table of stiffness: number, largest distance from the inclusion [m]


@dataclass(frozen=True)
class StiffInclusion:
    """A ball of another stiffness in an elastic block, and the stiffness that an indenter meets above it.

    The indenter is a flat disc. Its load spreads with the depth z over discs of radius a + t z, and every layer yields
    by its mean stiffness. With t = 2 / (pi (1 - nu^2)) a half space without an inclusion has exactly the stiffness of
    the closed form, 2 a E / (1 - nu^2) (Boussinesq).

    Attributes:
        centre: (x, y) in the frame of the surface [m]. radius: [m]. cover: tissue above its highest point [m].
        ratio: its Young's modulus over that of the tissue. young: of the tissue [Pa]. poisson: of both.
        thickness: of the block [m]. indenter: radius a of the disc [m].
    """

    centre: tuple[float, float]
    radius: float
    cover: float
    ratio: float
    young: float
    poisson: float = 0.45
    thickness: float = 0.02
    indenter: float = 3.5e-3

    @property
    def spread(self) -> float:
        """Growth t of the loaded radius with the depth."""
        return 2.0 / (np.pi * (1.0 - self.poisson**2))

    def stiffness(self, distance: Array) -> Array:
        """Stiffness (...) [N/m] at horizontal distances (...) [m] from the centre of the inclusion."""
        step = self.thickness / LAYERS
        z = (np.arange(LAYERS) + 0.5) * step
        loaded = self.indenter + self.spread * z
        inside = np.sqrt(np.maximum(self.radius**2 - (z - self.cover - self.radius) ** 2, 0.0))
        shared = overlap(loaded, inside, np.asarray(distance, dtype=float)[..., None])
        carried = self.young * (np.pi * loaded**2 + (self.ratio - 1.0) * shared)
        return np.asarray(1.0 / (step / carried).sum(axis=-1))


def overlap(a: Array, b: Array, distance: Array) -> Array:
    """Area [m^2] that two circles of radii a and b [m] share, their centres at a distance [m]."""
    d, small, large = distance, np.minimum(a, b), np.maximum(a, b)
    crossing = (d > large - small) & (d < large + small) & (small > 0.0)
    # plain values where the circles do not cross, so that nothing is divided by zero
    x, y, z = np.where(crossing, d, 1.0), np.where(crossing, small, 1.0), np.where(crossing, large, 1.0)
    one = np.arccos(np.clip((x**2 + y**2 - z**2) / (2.0 * x * y), -1.0, 1.0))
    two = np.arccos(np.clip((x**2 + z**2 - y**2) / (2.0 * x * z), -1.0, 1.0))
    kite = 0.5 * np.sqrt(np.maximum((y + z - x) * (x + y - z) * (x - y + z) * (x + y + z), 0.0))
    lens = y**2 * one + z**2 * two - kite
    return np.asarray(np.where(crossing, lens, np.where(d <= large - small, np.pi * small**2, 0.0)))


@dataclass(frozen=True)
class Phantom(Solid):
    """An elastic block with an inclusion, which the end of the jaws of one arm indents without friction.

    Its frame is in the middle of its upper face, z outwards. It is drawn as a box; the engine finds no contact with it.
    The force on the jaws is that of a spring and a damper along z, with the stiffness of the place.

    Attributes:
        inclusion: in it. arm: name of the arm. reach: distance of the indenter from the tip, along its z axis [m].
        viscosity: time constant of the damper [s].
    """

    inclusion: StiffInclusion | None = None
    arm: str = "PSM"
    reach: float = 0.0
    viscosity: float = 0.01

    def add_to(self, spec: mujoco.MjSpec) -> None:
        super().add_to(spec)
        for geom in spec.body(OBJECT + self.name).geoms:
            geom.contype = geom.conaffinity = 0

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedPhantom:
        return PlacedPhantom(self, model, data)


class PlacedPhantom(PlacedObject):
    """A phantom in the state of a simulation.

    Attributes:
        force: on the indenter now [N]. peak: largest force since the last reset [N].
    """

    thing: Phantom

    def __init__(self, thing: Phantom, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        assert thing.inclusion is not None
        names = {model.site(k).name for k in range(model.nsite)}
        site = model.site(f"{thing.arm}/tip" if f"{thing.arm}/tip" in names else "tip").id
        carrier = int(model.site_bodyid[site])
        # views of the tip's place and axes, of the centre of mass of its body and of the wrench on it
        self._tip, self._axis = data.site_xpos[site], data.site_xmat[site].reshape(3, 3)[:, 2]
        self._centre, self._applied = data.xipos[carrier], data.xfrc_applied[carrier]
        T = np.asarray(thing.pose, dtype=float)
        self._normal, self._origin = T[:3, 2].copy(), T[:3, 3].copy()
        self._along, self._middle = T[:3, :2].T.copy(), np.array(thing.inclusion.centre)
        self._step = float(model.opt.timestep)
        self._distance = np.linspace(0.0, MAX_DISTANCE, DISTANCES)
        self._table = thing.inclusion.stiffness(self._distance)
        self.reset()

    def reset(self) -> None:
        self.force = self.peak = self._depth = 0.0

    def after_step(self) -> None:
        end = self._tip + self.thing.reach * self._axis
        away = end - self._origin
        depth, before = -float(away.dot(self._normal)), self._depth
        self._depth = depth
        if depth <= 0.0:
            if self.force:
                self.force = 0.0
                self._applied[:] = 0.0
            return
        x, y = (self._along.dot(away) - self._middle).tolist()
        stiffness = float(np.interp(hypot(x, y), self._distance, self._table))
        rate = (depth - before) / self._step
        self.force = force = max(0.0, stiffness * (depth + self.thing.viscosity * rate))
        self.peak = max(self.peak, force)
        F = force * self._normal
        self._applied[:3], self._applied[3:] = F, np.cross(end - self._centre, F)

    @property
    def memory(self) -> Values:
        return self.force, self.peak, self._depth

    @memory.setter
    def memory(self, memory: Values) -> None:
        self.force, self.peak, self._depth = memory


@dataclass(frozen=True)
class BreathingSolid(Solid):
    """A solid that moves up and down as an organ does under ventilation.

    Attributes:
        amplitude: [m]. rate: [Hz]. phase: at the start [rad].
    """

    amplitude: float = 0.0
    rate: float = 0.2
    phase: float = 0.0

    def height(self, t: float) -> float:
        """Height above the pose at rest [m]."""
        return float(self.amplitude * np.sin(2.0 * np.pi * self.rate * t + self.phase))

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedBreathing:
        return PlacedBreathing(self, model, data)


class PlacedBreathing(PlacedObject):
    """A breathing solid in the state of a simulation: its height is a function of time alone."""

    driven: ClassVar[bool] = True
    thing: BreathingSolid

    def __init__(self, thing: BreathingSolid, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        self._rest = float(model.body_pos[self.body, 2])
        self.after_step()

    def reset(self) -> None:
        self.after_step()

    @property
    def pose(self) -> Array:
        """T_base_object (4, 4) now."""
        T = np.array(self.thing.pose, dtype=float)
        T[2, 3] += self.thing.height(float(self._data.time))
        return T

    @pose.setter
    def pose(self, T: ArrayLike) -> None:
        raise TrocarError(f"{self.thing.name} breathes and cannot be moved")

    def after_step(self) -> None:
        self._model.body_pos[self.body, 2] = self._rest + self.thing.height(float(self._data.time))

    @property
    def memory(self) -> Values:
        return True  # a restored snapshot must set the height again

    @memory.setter
    def memory(self, memory: Values) -> None:
        self.after_step()
