"""What a moment of the simulation looks like, handed from the thread that steps to the one that draws."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from trocar.simulation.objects.solid import OBJECT
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array
from trocar.viewer.driving import Driver
from trocar.viewer.plant import Plant, Settings


@dataclass(frozen=True, kw_only=True)
class Frame:
    """State and what acts, at one time; arrays are copies.

    Attributes:
        number: counts what was published. plant: the arm that is looked at. driver: what drove it, None in a recording.
        time: simulated since the last reset [s]. q, dq, ddq, tau: as the simulator's, the last two None before
            the first step and where a recording has none. qpos: every joint of the model it is in.
        q_ref: (n,) reference of the joints, T_ref: (4, 4) of the tip; None in other modes. T_tip: (4, 4) in the base.
        force: (3,) on the tip, base axes [N]. contacts: (k, 2, 3) points [m] and forces [N], on the arm where it
            touches an object; of all that is simulated, world axes. touch: (n,) effort of the joints that contacts
            with objects amount to, None in a recording.
        rcm_error: [m], None without a remote centre. loop_error: [m], None without loops.
        settings: of all that is simulated, None in a recording. fixed: poses (4, 4) in the world of what only
            set-up joints move, by name of the body; the same object while they are the same.
        playing: whether time runs. factor: simulated per real time, as asked for and as achieved.
    """

    number: int
    plant: Plant
    time: float
    q: Array
    dq: Array
    qpos: Array
    T_tip: Array
    settings: Settings | None = None
    fixed: Mapping[str, Array] = field(default_factory=dict)
    ddq: Array | None = None
    tau: Array | None = None
    driver: Driver | None = None
    q_ref: Array | None = None
    T_ref: Array | None = None
    force: Array = field(default_factory=lambda: np.zeros(3))
    contacts: Array = field(default_factory=lambda: np.zeros((0, 2, 3)))
    touch: Array | None = None
    rcm_error: float | None = None
    loop_error: float | None = None
    playing: bool = False
    speed: float = 1.0
    factor: float = 0.0


class History:
    """The last `seconds` of simulated time, one row every `interval` [s]: written by one thread, read by another."""

    NAMES = ("q", "dq", "ddq", "tau", "q_ref")

    def __init__(self, seconds: float, interval: float) -> None:
        self._rows: deque[tuple[float, tuple[Array, ...]]] = deque(maxlen=round(seconds / interval))
        self._interval, self._lock = interval, threading.Lock()

    def add(self, t: float, *values: Array) -> None:
        """Values in the order of NAMES, unless it is too soon after the row before."""
        if self._rows and t - self._rows[-1][0] < 0.999 * self._interval:
            return
        with self._lock:
            self._rows.append((t, values))

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()

    def arrays(self) -> dict[str, Array]:
        """Times (N,) under "t" and every channel (N, n) under its name; empty arrays before the first row."""
        with self._lock:
            rows = list(self._rows)
        if not rows:
            return {name: np.zeros((0,)) for name in ("t", *self.NAMES)}
        columns = zip(*(values for _, values in rows), strict=True)
        return {"t": np.array([t for t, _ in rows]), **dict(zip(self.NAMES, map(np.array, columns), strict=True))}


def contact_forces(sim: SimulatedArm) -> Array:
    """(k, 2, 3): where things touch [m] and the force there [N], world axes, of the last step.

    It is that on the arm where an arm touches an object, and on the second of the two among their like.
    """
    data = sim.data
    found = np.zeros((data.ncon, 2, 3))
    wrench = np.zeros(6)
    for i in range(data.ncon):
        contact = data.contact[i]
        mujoco.mj_contactForce(sim.model, data, i, wrench)
        # the frame's rows are its axes; the force is that of the first geom on the second
        sign = -1.0 if _thing(sim.model, contact.geom[1]) and not _thing(sim.model, contact.geom[0]) else 1.0
        found[i] = contact.pos, sign * wrench[:3] @ contact.frame.reshape(3, 3)
    return found[np.linalg.norm(found[:, 1], axis=1) > 1e-6]


def _thing(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom is of an object, not of an arm."""
    return geom >= 0 and str(model.body(model.geom_bodyid[geom]).name).startswith(OBJECT)


def length(metres: float) -> str:
    """A small length in the unit that fits it: nm, um or mm."""
    if abs(metres) < 1e-11:
        return "0 nm"
    for unit, size in (("nm", 1e-9), ("µm", 1e-6)):
        if abs(metres) < 1000 * size:
            return f"{metres / size:.2g} {unit}"
    return f"{1000 * metres:.3g} mm"
