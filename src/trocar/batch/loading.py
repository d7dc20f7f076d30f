"""Loading a batch: an arm by name or a custom arm, with a backend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.batch.arms import BatchArms
from trocar.batch.backends.c_source import MAX_THREADS
from trocar.batch.contact import Surface
from trocar.batch.parameters import BatchParameters
from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.drives import check_dissipative
from trocar.mechanics.inertia import check_consistent

BACKENDS = ("c", "cuda", "jax")
PRECISIONS = ("float64", "float32")


def load(
    arm: str | Arm | Mechanism,
    parameters: str | Path | Parameters | None = None,
    *,
    backend: str = "c",
    friction: bool = True,
    limits: bool = True,
    motor_limits: bool = False,
    surfaces: Sequence[Surface] = (),
    precision: str | None = None,
    threads: int = 1,
    counterweight: bool = True,
    instrument: str | Path | None = None,
    gravity: ArrayLike | None = None,
    mounting: float | None = None,
    rotor_inertia: float | None = None,
    endoscope: str | float | None = None,
    added_mass: float = 0.0,
) -> BatchArms:
    """Load arms with generated steps, for one arm or for thousands at once.

    Args:
        arm: name, custom `Arm`, or a `Mechanism`, which then replaces the options below that build one.
        parameters: physically consistent parameter set, its name, or a file. Default: the arm's best set.
        backend: "c", compiled on first use; "cuda", a kernel on an NVIDIA GPU; or "jax".
        friction: False omits all friction. limits: stop the joints at their limits. motor_limits: clip efforts to
            those of the motors.
        surfaces: `Plane` and `Sphere` objects that the tip can touch.
        precision: float64 or float32. Default: float64 in C, float32 in CUDA, that of JAX's configuration in JAX.
        threads: number of threads of the C backend, used for large batches and long rollouts.
        counterweight, instrument, gravity, mounting, rotor_inertia, endoscope, added_mass: as for `load_mechanism`.
    """
    check_known("backend", BACKENDS, backend)
    if precision is not None:
        check_known("precision", PRECISIONS, precision)
    threads = checks.count("threads", threads, high=MAX_THREADS)
    if isinstance(arm, Mechanism):
        mechanism = arm
    else:
        mechanism = load_mechanism(
            arm,
            parameters,
            counterweight=counterweight,
            instrument=instrument,
            gravity=gravity,
            mounting=mounting,
            rotor_inertia=rotor_inertia,
            endoscope=endoscope,
            added_mass=added_mass,
        )
    tree = mechanism.tree  # raises if there are no dynamic parameters
    if mechanism.parameters is not None:
        check_consistent(mechanism.parameters.inertias)
    if friction:
        check_dissipative(mechanism.drives, mechanism.arm)
    made = _backend(backend, precision, threads)
    return BatchArms(mechanism, made, BatchParameters.of(tree, friction), limits, surfaces, motor_limits)


def _backend(name: str, precision: str | None, threads: int) -> Any:
    if name == "c":
        from trocar.batch.backends.c import CBackend

        return CBackend(precision, threads)
    if threads > 1:
        raise TrocarError(f"threads applies to the C backend only, not to {name}")
    if name == "jax":
        from trocar.batch.backends.jax import JaxBackend

        return JaxBackend(precision)
    from trocar.batch.backends.cuda import CudaBackend

    return CudaBackend(precision)
