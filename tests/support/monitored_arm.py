"""A simulated PSM with contact or faults, and a monitoring model with wrong parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.control import JointPID, Reference, Setpoint, State, sinusoid
from trocar.control.observers import ContactDetector, external_effort
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.simulation import CableBreak, EncoderBias, MotorLoss, Simulator, simulate
from trocar.simulation.forces.faults import Fault
from trocar.spatial import Array

INERTIA_OFF, FRICTION_OFF, BIAS_OFF = 0.01, 0.10, 0.10  # standard deviations of the monitoring model's relative errors
STEP = 1.0  # [N]
BREAKS, TOUCHES = 1.0, 2.0  # time of a fault, and of contact [s]
# smaller effort steps are not contact: the effect of 0.2 N at a depth of 0.1 m [N m, N m, N]
MIN_RESIDUAL = (0.02, 0.02, 0.2)
# Motion about a deep pose, each joint with a different frequency [Hz]; the jaw stays open.
CENTRE = (0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 0.5)
AMPLITUDE = (0.5, 0.4, 0.04, 0.8, 0.5, 0.4, 0.3)
FREQUENCY = (0.31, 0.37, 0.43, 0.40, 0.45, 0.50, 0.35)
BIAS = {"yaw": 0.02, "pitch": 0.02, "insertion": 0.002}  # encoder bias [rad, m]; discs 0.05 rad


def mismatched(seed: int = 0, inertia: float = INERTIA_OFF, bias: float = BIAS_OFF) -> Mechanism:
    """The PSM with parameter errors as in an identified model; inertia, bias: size of the errors."""
    right = load_mechanism("PSM")
    assert right.parameters is not None
    return Mechanism(right.arm, _off(right.parameters, np.random.default_rng(seed), inertia, bias))


def _off(parameters: Parameters, rng: np.random.Generator, inertia: float, bias: float) -> Parameters:
    def by(size: float) -> float:
        return float(1.0 + size * rng.normal())

    bodies = parameters.inertias.items()
    inertias = {name: replace(body, mass=body.mass * by(inertia), I=body.I * by(inertia)) for name, body in bodies}
    sizes = {"Fv": FRICTION_OFF, "Fc": FRICTION_OFF, "Fo": bias, "K0": inertia}
    drives = tuple(
        replace(d, **{term: getattr(d, term) * by(size) for term, size in sizes.items()}) for d in parameters.drives
    )
    return replace(parameters, name="mismatched", inertias=inertias, drives=drives)


def watched(
    duration: float, faults: tuple[Fault, ...] = (), force: Array | None = None, phase: float = 0.0
) -> Recording:
    """Simulate the dVRK's PID at 500 Hz, with faults, or with a force (3,) [N] at the tip from `TOUCHES` on."""
    motion = sinusoid(CENTRE, AMPLITUDE, FREQUENCY)
    reference: Reference = lambda t: motion(t + phase)  # noqa: E731
    sim = Simulator("PSM", timestep=1 / 1500)
    sim.inject(*faults)
    start, PID = reference(0.0), JointPID(sim.arm)
    sim.reset(start.q, start.dq)

    def controller(state: State, setpoint: Setpoint) -> Array:
        if force is not None and state.t >= TOUCHES:
            sim.apply_wrench([*force, 0.0, 0.0, 0.0])
        return PID(state, setpoint)

    return simulate(sim, controller, reference, duration, every=3)


def steps(phases: tuple[float, ...]) -> list[Recording]:
    """Runs with a step of 1 N each way along x, y and z at every phase of the motion [s]."""
    forces = [sign * STEP * axis for axis in np.eye(3) for sign in (-1.0, 1.0)]
    return [watched(TOUCHES + 0.3, force=force, phase=phase) for phase in phases for force in forces]


def contact_detector(model: Mechanism, known: Recording) -> ContactDetector:
    """A detector on the first three joints, with thresholds from the model's residuals in a run without contact."""
    dt = float(np.diff(known.t).mean())
    return ContactDetector(external_effort(model, known)[1:], dt, (0, 1, 2), least=MIN_RESIDUAL)


def faults(quick: bool = False) -> list[tuple[Fault, str, str]]:
    """Faults with their kind and part: every motor, every encoder, every cable; one of each if quick."""
    motors = load_mechanism("PSM").arm.motors.names
    Named = list[tuple[Fault, str, str]]
    lost: Named = [(MotorLoss(motor=m, at=BREAKS), "motor loss", m) for m in motors]
    off: Named = [(EncoderBias(motor=m, at=BREAKS, bias=BIAS.get(m, 0.05)), "encoder bias", m) for m in motors]
    broken: Named = [(CableBreak(cable=c, at=BREAKS), "cable break", c) for c in ("counterweight", *motors[3:])]
    return [lost[1], off[2], broken[0], broken[1]] if quick else [*lost, *off, *broken]
