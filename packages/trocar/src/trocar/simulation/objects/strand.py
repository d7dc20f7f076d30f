"""A needle and its thread as one curve, by the arc length behind the needle's point."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import mujoco
import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.simulation.objects.scene_object import PlacedObject
from trocar.simulation.objects.solid import Needle
from trocar.simulation.objects.thread import PlacedThread
from trocar.spatial import Array


class Strand:
    """A needle with the thread that is swaged to it, if any.

    Attributes:
        length: of the needle [m]. total: of needle and thread [m]. rod: length of a thread's rod [m]; 0 without.
        knot: the thread's end does not enter tissue.
    """

    def __init__(self, needle: PlacedObject, thread: PlacedThread | None, data: mujoco.MjData) -> None:
        if not isinstance(needle.thing, Needle):
            raise TrocarError(f"{needle.thing.name} is not a needle and cannot pierce tissue")
        self._body, self._needle, self._thread = needle.body, needle.thing, thread
        # views, because every access to an attribute of MuJoCo's data builds an array
        self._xpos, self._xmat = data.xpos, data.xmat.reshape(-1, 3, 3)
        self._needle_R = self._xmat[needle.body]
        self._x = [] if thread is None else [self._xmat[rod, :, 0] for rod in thread.rods]
        self.length = needle.thing.length
        self.total = self.length + (0.0 if thread is None else thread.thing.length)
        self.rod = 0.0 if thread is None else thread.thing.rod
        self.knot = thread is not None and thread.thing.knot

    @classmethod
    def of(cls, needle: str, objects: Mapping[str, PlacedObject], data: mujoco.MjData) -> Strand:
        """The strand of a named needle among the objects of a scene."""
        check_known("needle of the scene", objects, needle)
        threads = [t for t in objects.values() if isinstance(t, PlacedThread) and t.thing.needle == needle]
        return cls(objects[needle], threads[0] if threads else None, data)

    def piece(self, s: float) -> int:
        """Number of places before s at which the thread has parted: that of the piece at s."""
        if self._thread is None or not self._thread.parted:
            return 0
        return sum(s > self.length + rod * self.rod for rod in self._thread.parted)

    def on_thread(self, s: float) -> bool:
        """True beyond the needle's tail."""
        return s > self.length

    def at(self, s: float) -> tuple[int, tuple[float, float, float]]:
        """The body at arc length s behind the needle's point, and the place in it [m]."""
        if s <= self.length or self._thread is None:
            return self._body, self._needle.at(s)[0]
        j = min(int((s - self.length) / self.rod), len(self._thread.rods) - 1)
        return self._thread.rods[j], (s - self.length - j * self.rod, 0.0, 0.0)

    def world(self, s: float) -> Array:
        """Position (3,) at s in the world [m]."""
        body, place = self.at(s)
        return np.asarray(self._xpos[body] + self._xmat[body].dot(place))

    def direction(self, s: float) -> Array:
        """Unit vector (3,) towards the needle's point at s, in the world.

        That of the thread is interpolated between the middles of its rods: at a kink it would jump, and with it the
        direction in which tissue holds the thread.
        """
        if s <= self.length or self._thread is None:
            return np.asarray(self._needle_R.dot(self._needle.at(s)[1]))
        rods = self._thread.rods
        u = (s - self.length) / self.rod - 0.5
        j = min(max(int(np.floor(u)), 0), len(rods) - 2)
        f = min(max(u - j, 0.0), 1.0)
        if j + 1 in self._thread.parted:
            f = float(f >= 0.5)
        along = (f - 1.0) * self._x[j] - f * self._x[j + 1]
        return np.asarray(along / sqrt(along.dot(along)))
