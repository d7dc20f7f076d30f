"""Error of `trocar force` on simulated arms with a known force, by axis and cause.

`python -m tools.force_table` prints the table of docs/observers.md; that takes a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from tests.support.pushed_arm import DURATION, FREE, STOP, Pushed, pushed_arm, wrong_friction
from tests.support.sensor_noise import noisy
from trocar.arms.parameters import Parameters
from trocar.control.observers import FreeResiduals, TipForces, tip_forces
from trocar.control.observers.sensor_score import CONTACT
from trocar.mechanics import Mechanism, load_mechanism
from trocar.simulation import Port
from trocar.spatial import Array

AT_REST = STOP + 2.0  # [s]


@dataclass(frozen=True)
class Cause:
    """A simulated arm, and the model that observes it.

    Attributes:
        options: of the simulator. noise: of velocity and effort. friction: factor of the model's friction.
        port: the model knows the friction of the port.
    """

    name: str
    options: dict[str, Any]
    noise: bool = False
    friction: float = 1.0
    port: bool = False


CAUSES = (
    Cause("none: ideal arm, exact sensors", {}),
    Cause("wrist with elastic cables", {"wrist": "cables"}),
    Cause("port, 1 N and 2 N s/m", {"port": Port()}),
    Cause("the same, its friction in the model", {"port": Port()}, port=True),
    Cause("model's friction 10 % too large", {}, friction=1.1),
    Cause("sensor noise", {}, noise=True),
    Cause("cables, port, friction and noise", {"wrist": "cables", "port": Port()}, noise=True, friction=1.1),
)


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of the estimate by axis (3,): RMSE [N] in motion and at rest, share of rows inside the 95 % interval."""

    contact: Array
    free: Array
    resting: Array
    coverage: Array
    resting_coverage: Array

    def __str__(self) -> str:
        return " | ".join(
            [*(" ".join(f"{x:.2f}" for x in part) for part in (self.contact, self.free, self.resting))]
            + [" ".join(f"{100 * x:.0f}" for x in part) for part in (self.coverage, self.resting_coverage)]
        )


def estimate(cause: Cause, duration: float = DURATION) -> tuple[TipForces, Array]:
    """Estimated forces, free motion from the start of the same run, and the force (N, 3) that acted [N]."""
    run = _simulated(duration, tuple(cause.options.items()))
    recording = noisy(run.recording, np.random.default_rng(0)) if cause.noise else run.recording
    right = load_mechanism("PSM")
    assert right.parameters is not None
    parameters = wrong_friction(right.parameters, cause.friction)
    model = Mechanism(right.arm, _with_port(parameters, Port()) if cause.port else parameters)
    forces = tip_forces(model, recording, FreeResiduals.along(model, recording.between(0.0, FREE)))
    return forces, run.force[np.searchsorted(run.recording.t, forces.recording.t)]


def errors(cause: Cause) -> Errors:
    """Errors after the free motion that the intervals are made from."""
    forces, truth = estimate(cause)
    t, error = forces.recording.t, forces.force - truth
    inside, contact = np.abs(error) <= forces.half_width, np.linalg.norm(truth, axis=1) > CONTACT
    moving, resting = (t > FREE) & (t < STOP), t > AT_REST
    return Errors(
        contact=_rms(error[moving & contact]),
        free=_rms(error[moving & ~contact]),
        resting=_rms(error[resting]),
        coverage=inside[moving].mean(0),
        resting_coverage=inside[resting].mean(0),
    )


@cache
def _simulated(duration: float, options: tuple[tuple[str, Any], ...]) -> Pushed:
    return pushed_arm(duration, noise=False, **dict(options))


def _with_port(parameters: Parameters, port: Port) -> Parameters:
    """A set whose insertion has the friction of a port too."""
    drives = tuple(
        replace(d, Fc=d.Fc + port.friction, Fv=d.Fv + port.viscous) if d.name == "insertion" else d
        for d in parameters.drives
    )
    return replace(parameters, drives=drives)


def _rms(error: Array) -> Array:
    return np.asarray(np.sqrt((error**2).mean(0)))


def table() -> Iterator[str]:
    """Rows of the table."""
    for cause in CAUSES:
        yield f"| {cause.name} | {errors(cause)} |"


if __name__ == "__main__":
    for row in table():
        print(row, flush=True)
