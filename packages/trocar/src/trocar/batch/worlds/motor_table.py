"""Constants of all motors, joints and Dahl elements of a scene in one table, for every backend of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import mujoco.batch
import numpy as np

from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.status import OTHER_PART
from trocar.spatial import Array

# State of the controllers and of Dahl friction that every backend keeps for each world, and a snapshot holds.
MEMORY = (
    *("ref", "rate", "acceleration", "effort", "integral", "explained", "observer", "applied", "commanded"),
    *("measured", "measured_rate", "z", "s"),
)
PER_MOTOR = ("kp", "ki", "kd", "deadband", "output", "cutoff", "momentum")


@dataclass(frozen=True, eq=False)
class MotorTable:
    """Rows are motors or joints, in the order of the model's actuators, or Dahl elements.

    Attributes:
        first_q, first_v, first_u, joints: rows of the arm's positions, velocities and motors, its number of joints.
        A, D, D_measured: (N, width), positions of motors, joints and joints at the encoders = row times qpos from
            first_q on. coupling: (N, most joints).
        motor_from_joint: by arm. gains: kp, ki, kd, deadband, output, cutoff, momentum (N,). limit, raw_limit: (N,).
        B, element_q, element_v: rows of the K elements. F, slope, rate: (V, K) of V scenes. constant: (V, nv).
        stop_rows, stops: (S,), (S, 2): positions beyond which a world has diverged. columns: motors by arm.
        member, finger: (arms, ngeom), finger: bits of `status`. thing: (ngeom,), index of the object of a geom or -1.
    """

    first_q: Array
    first_v: Array
    first_u: Array
    joints: Array
    A: Array
    D: Array
    D_measured: Array
    coupling: Array
    motor_from_joint: dict[str, Array]
    gains: dict[str, Array]
    limit: Array
    B: Array
    element_q: Array
    element_v: Array
    F: Array
    slope: Array
    rate: Array
    constant: Array
    stop_rows: Array
    stops: Array
    columns: dict[str, slice]
    member: Array
    finger: Array
    thing: Array

    @classmethod
    def of(cls, layouts: Sequence[SceneLayout]) -> MotorTable:
        """The table of scenes that are alike."""
        first = layouts[0]
        arms, model = list(first.arms.values()), first.model
        N, width = model.nu, max(arm.q[1] - arm.q[0] for arm in arms)
        A, D, D_measured = np.zeros((3, N, width))
        coupling = np.zeros((N, max(arm.n for arm in arms)))
        rows = {key: np.zeros(N, dtype=np.int32) for key in ("q", "v", "u", "joints")}
        for arm in arms:
            part = slice(*arm.u)
            wide = slice(0, arm.q[1] - arm.q[0])
            A[part, wide] = np.linalg.solve(arm.coupling, arm.D_measured)
            D[part, wide], D_measured[part, wide] = arm.D, arm.D_measured
            coupling[part, : arm.n] = arm.coupling
            rows["q"][part], rows["v"][part], rows["u"][part] = arm.q[0], arm.v[0], arm.u[0]
            rows["joints"][part] = arm.n
        elements = [(arm, row) for arm in arms for row in arm.B]
        B = np.zeros((len(elements), width))
        for k, (_, row) in enumerate(elements):
            B[k, : len(row)] = row
        per_scene = {
            key: np.array([np.concatenate([getattr(a, key) for a in layout.arms.values()]) for layout in layouts])
            for key in ("F", "slope", "rate")
        }
        constant = np.zeros((len(layouts), model.nv))
        for k, layout in enumerate(layouts):
            for arm in layout.arms.values():
                constant[k, slice(*arm.v)] = arm.constant
        finger = np.zeros((len(arms), model.ngeom), dtype=np.int32)
        thing = np.full(model.ngeom, -1, dtype=np.int32)
        for a, arm in enumerate(arms):
            finger[a, arm.instrument > 0] = OTHER_PART
            for bit, body in zip((1, 2), arm.fingers, strict=True):
                finger[a, model.geom_bodyid == body] = bit
        for k, placed in enumerate(first.objects.values()):
            thing[model.geom_bodyid == placed.body] = k
        return cls(
            rows["q"],
            rows["v"],
            rows["u"],
            rows["joints"],
            A,
            D,
            D_measured,
            coupling,
            {arm.name: np.linalg.inv(arm.coupling) for arm in arms},
            {key: np.concatenate([getattr(arm, key) for arm in arms]) for key in PER_MOTOR},
            np.concatenate([arm.effort for arm in arms]),
            B,
            np.array([arm.q[0] for arm, _ in elements], dtype=np.int32),
            np.array([arm.v[0] for arm, _ in elements], dtype=np.int32),
            **per_scene,
            constant=constant,
            stop_rows=first.stop_rows,
            stops=first.stops,
            columns={arm.name: slice(*arm.u) for arm in arms},
            member=np.array([arm.instrument for arm in arms]),
            finger=finger,
            thing=thing,
        )


def varied_fields(
    layouts: Sequence[SceneLayout], changed: Callable[[mujoco.MjModel], mujoco.MjModel] = lambda model: model
) -> dict[str, Array]:
    """Fields of MuJoCo's models in which scenes differ, (V, ...) by name; those of options as opt.NAME."""
    fields, models = {}, [changed(layout.model) for layout in layouts] if len(layouts) > 1 else []
    for name in sorted(mujoco.batch.MODEL_FIELDS):
        values = [_field(model, name) for model in models]
        if any(not np.array_equal(value, values[0]) for value in values):
            fields[name] = np.array(values)
    return fields


def _field(model: mujoco.MjModel, name: str) -> Array:
    return np.array(getattr(model.opt, name[4:]) if name.startswith("opt.") else getattr(model, name))
