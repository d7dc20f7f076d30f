"""One moment of a simulation or a recording, immutable so that threads can share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import mujoco
import numpy as np

from trocar.runtime.controllers import CONTROLLERS, Mode
from trocar.runtime.description import ReadOnlyArrays, SceneDescription
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import Array


@dataclass(frozen=True)
class ControlStatus(ReadOnlyArrays):
    """Controller of an arm by name, its gains, and its target: (n,), or (4, 4) for a tip pose."""

    controller: str
    gains: Mapping[str, float]
    target: Array

    @property
    def mode(self) -> Mode:
        return CONTROLLERS[self.controller].mode


@dataclass(frozen=True, kw_only=True)
class ArmFrame(ReadOnlyArrays):
    """State of one arm and the forces on it. Poses and forces are in its base frame.

    Attributes:
        q, dq: at the time of the frame. ddq, tau: of the last step; None before the first step and if a
            recording has none. T_tip: (4, 4).
        control: None in a recording. q_ref: (n,) joint reference, T_ref: (4, 4) tip reference; None in other modes.
        force: (3,) push on the tip [N]. contact_effort: (n,) joint effort of contacts with objects [N m, N]; None
            before the first step and in a recording.
        rcm_error: [m]; None without a remote centre. loop_error: [m]; None without loops.
    """

    q: Array
    dq: Array
    T_tip: Array
    ddq: Array | None = None
    tau: Array | None = None
    control: ControlStatus | None = None
    q_ref: Array | None = None
    T_ref: Array | None = None
    force: Array = field(default_factory=lambda: np.zeros(3))
    contact_effort: Array | None = None
    rcm_error: float | None = None
    loop_error: float | None = None


@dataclass(frozen=True, kw_only=True)
class Frame(ReadOnlyArrays):
    """All arms at one time.

    Attributes:
        number: increases with every frame. time: simulated time since the last reset, or time in the recording [s].
        arms: by name. qpos: every joint of the scene's model. scene: description of the simulated scene.
        contacts: (k, 2, 3) points [m] and forces [N] in world axes; if an arm touches an object, the force on the
            arm.
        live: False in a recording. status: short texts by name, set by connected programs.
        playing: time is running. speed, factor: requested and achieved ratio of simulated to real time.
    """

    number: int
    time: float
    arms: Mapping[str, ArmFrame]
    qpos: Array
    scene: SceneDescription
    contacts: Array = field(default_factory=lambda: np.zeros((0, 2, 3)))
    live: bool = True
    status: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    playing: bool = False
    speed: float = 1.0
    factor: float = 0.0


def contact_forces(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """(k, 2, 3): contact points [m] and forces [N] in world axes, of the last step.

    Between an arm and an object, the force is the one on the arm; otherwise the one on the second geom.
    """
    found = np.zeros((data.ncon, 2, 3))
    wrench = np.zeros(6)
    for i in range(data.ncon):
        contact = data.contact[i]
        mujoco.mj_contactForce(model, data, i, wrench)
        # the rows of the frame are its axes; the first geom exerts the force on the second
        sign = -1.0 if _of_object(model, contact.geom[1]) and not _of_object(model, contact.geom[0]) else 1.0
        found[i] = contact.pos, sign * wrench[:3] @ contact.frame.reshape(3, 3)
    return found[np.linalg.norm(found[:, 1], axis=1) > 1e-6]


def _of_object(model: mujoco.MjModel, geom: int) -> bool:
    return geom >= 0 and str(model.body(model.geom_bodyid[geom]).name).startswith(OBJECT)
