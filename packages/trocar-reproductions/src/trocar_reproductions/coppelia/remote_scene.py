"""The members that a scene must have to be served by CoppeliaSim's remote APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import Protocol

from trocar.appearance.films import Picture
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar_reproductions.coppelia.packets import ScriptCall

WORLD = -1  # handle of the world frame
JOINT, DUMMY, VISION_SENSOR = 1, 4, 9  # CoppeliaSim's types of objects


class SceneRefusal(TrocarError):
    """A command that the scene cannot execute; the client gets an error, and the connection continues."""


class NotServed(SceneRefusal):
    """A command that this server does not offer."""


def parents(names: Mapping[int, str], chains: Sequence[Sequence[str]]) -> dict[int, int]:
    """Parent of every object, by handle: the one before it in a chain, otherwise the world."""
    handles = {name: handle for handle, name in names.items()}
    before = {second: first for chain in chains for first, second in pairwise(chain)}
    return {handle: handles.get(before.get(name, ""), WORLD) for handle, name in names.items()}


class SceneClock:
    """Time of a served scene, which advances in steps of a period [s].

    Attributes:
        running: the simulation was started. paused: it was paused since.
    """

    def __init__(self, period: float) -> None:
        self._period, self._steps = period, 0
        self.running = self.paused = False

    @property
    def period(self) -> float:
        """Simulation step [s]."""
        return self._period

    @property
    def time(self) -> float:
        """Time since the start of the simulation [s]."""
        return self._steps * self._period

    def start(self) -> None:
        """Let time pass, from the start or from where it was paused."""
        self.running, self.paused = True, False

    def pause(self) -> None:
        """Stop time until the next start."""
        self.paused = self.running


class RemoteScene(Protocol):
    """A scene with objects (joints, frames, cameras), signals and a simulation that advances in steps.

    Objects are called by handles, positive numbers. Positions and forces are [rad, m; N m, N]; poses are (4, 4) in the
    world. Each method raises `SceneRefusal` for an unknown handle or an object of another kind.

    Attributes:
        names, kinds, parents: of the objects by handle; a kind is one of CoppeliaSim's types, the parent a handle.
        floats, integers: signals by name. period: of a simulation step [s]. time: simulated [s].
        running: the simulation was started. paused: it was paused since.
    """

    floats: dict[str, float]
    integers: dict[str, int]
    names: Mapping[int, str]
    kinds: Mapping[int, int]
    parents: Mapping[int, int]

    @property
    def period(self) -> float: ...

    @property
    def time(self) -> float: ...

    @property
    def running(self) -> bool: ...

    @property
    def paused(self) -> bool: ...

    def handle(self, name: str) -> int:
        """Handle of an object."""

    def joint_position(self, handle: int) -> float:
        """Position of a joint."""

    def joint_range(self, handle: int) -> tuple[float, float]:
        """Limits of a joint, lower and upper."""

    def joint_velocity(self, handle: int) -> float:
        """Velocity of a joint."""

    def joint_force(self, handle: int) -> float:
        """Effort of a joint's motor in the last step; positive where the joint would move backwards, as in ODE."""

    def joint_force_limit(self, handle: int) -> float:
        """Largest effort of a joint's motor."""

    def set_joint_position(self, handle: int, position: float) -> None:
        """Place a joint."""

    def set_joint_target(self, handle: int, *, position: float | None = None, velocity: float | None = None) -> None:
        """Target of a joint's motor: a position or a velocity."""

    def set_joint_force_limit(self, handle: int, force: float) -> None:
        """Set the largest effort of a joint's motor."""

    def pose(self, handle: int) -> Array:
        """Pose (4, 4) of an object."""

    def velocity(self, handle: int) -> Array:
        """Velocity (6,) of an object, linear and angular, world axes [m/s, rad/s]."""

    def place(self, handle: int, T: Array) -> None:
        """Place a frame."""

    def image(self, handle: int) -> Future[Picture]:
        """Picture (rows, columns, 3) of a camera at this moment, the top row first; another thread renders it."""

    def call(self, script: str, function: str, arguments: ScriptCall) -> ScriptCall:
        """Call a function of a script."""

    def start(self) -> None:
        """Start the simulation, or continue a paused one."""

    def pause(self) -> None:
        """Pause the simulation."""

    def stop(self) -> None:
        """Stop the simulation: objects return to their start, signals are cleared."""

    def step(self) -> None:
        """Advance by a period."""
