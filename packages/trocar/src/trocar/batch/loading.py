"""Loading a batch: an arm by name or a custom arm, with a backend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.arms.wrist_cables import WristCables, chosen_wrist
from trocar.batch.arms import BatchArms
from trocar.batch.backend import backend as new_backend
from trocar.batch.contact import TipSurface
from trocar.batch.parameters import BatchParameters
from trocar.errors import TrocarError, shown
from trocar.laws.sources.c_source import MAX_THREADS
from trocar.mechanics import ArmOptions, Mechanism, load_mechanism
from trocar.mechanics.cable_drives import at_cables, check_rotors, check_wrist, motor_side
from trocar.mechanics.drives import check_dissipative
from trocar.mechanics.inertia import check_consistent
from trocar.mechanics.loading import takes


@takes(ArmOptions)
def load(
    arm: str | Arm | Mechanism,
    parameters: str | Path | Parameters | None = None,
    *,
    backend: str = "c",
    friction: bool = True,
    limits: bool = True,
    motor_limits: bool = False,
    surfaces: Sequence[TipSurface] = (),
    wrist: str | Path | WristCables = "rigid",
    precision: str | None = None,
    threads: int = 1,
    gravity: ArrayLike | None = None,
    mounting: float | None = None,
    **options: Any,
) -> BatchArms:
    """Load arms with generated steps, for one arm or for thousands at once.

    Args:
        arm: name, custom `Arm`, or a `Mechanism`, which then replaces the options below that build one.
        parameters: physically consistent parameter set, its name, or a file. Default: the arm's best set.
        backend: "c", compiled on first use; "cuda", a kernel on an NVIDIA GPU; or "jax".
        friction: False omits all friction. limits: stop the joints at their limits. motor_limits: clip efforts to
            those of the motors.
        surfaces: `Plane` and `Sphere` objects that the tip can touch.
        wrist: "rigid", "cables", a file or `WristCables`, as for `Simulator`, in quasi-static form: the joints rest
            where the cables leave them in every step, see `trocar.batch.equations.cables`. Without `surfaces`.
        precision: float64 or float32. Default: float64 in C, float32 in CUDA, that of JAX's configuration in JAX.
        threads: number of threads of the C backend, used for large batches and long rollouts.
        gravity, mounting: as for `load_mechanism`.
        options: counterweight, instrument, rotor_inertia, endoscope, added_mass; see `trocar.mechanics.ArmOptions`.
    """
    threads = checks.count("threads", threads, high=MAX_THREADS)
    chosen = new_backend(backend, precision, threads)
    friction, limits = checks.flag("friction", friction), checks.flag("limits", limits)
    motor_limits = checks.flag("motor_limits", motor_limits)
    if not isinstance(surfaces, Sequence) or not all(isinstance(surface, TipSurface) for surface in surfaces):
        raise TrocarError(f"surfaces must be a list of Plane and Sphere objects, got {shown(surfaces)}")
    if isinstance(arm, Mechanism):
        mechanism = arm
    else:
        mechanism = load_mechanism(arm, parameters, gravity=gravity, mounting=mounting, **options)
    tree = mechanism.tree  # raises if there are no dynamic parameters
    check_consistent(mechanism.dynamic_parameters.inertias)
    if friction:
        check_dissipative(mechanism.drives, mechanism.arm)
    values = BatchParameters.of(tree, friction)
    if wrist == "rigid":
        return BatchArms(mechanism, chosen, values, limits, surfaces, motor_limits)
    check_wrist(mechanism.arm, "wrist", wrist)
    cables = chosen_wrist("wrist", wrist)
    if surfaces:
        raise TrocarError("surfaces need a rigid wrist: the quasi-static cables resolve no contact; use a Simulator")
    check_rotors(mechanism.arm, mechanism.dynamic_parameters.drives)
    values = _at_motors(mechanism, values) if friction else values
    return BatchArms(mechanism, chosen, values, limits, surfaces, motor_limits, (cables, friction))


def _at_motors(mechanism: Mechanism, values: BatchParameters) -> BatchParameters:
    """Parameters without the friction of drives that wrist cables carry."""
    arm, drives = mechanism.arm, mechanism.tree.drives
    for drive in mechanism.drives.drives:
        motor_side(arm, drive)  # raises if the friction of a motor depends on load or position
    moved = np.array([at_cables(arm, drive) for drive in mechanism.drives.drives])
    changes = {name: np.where(moved, 0.0, getattr(drives, name)) for name in ("Fc", "Fx", "mu")}
    of_element = moved[drives.dahl_drive]
    changes |= {f"dahl_{name}": np.where(of_element, 0.0, getattr(drives, f"dahl_{name}")) for name in ("F", "slope")}
    return values.replaced(changes, lambda value: False)
