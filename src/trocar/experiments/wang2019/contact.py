"""Contact steps and injected faults in simulation, monitored by a model with wrong parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.control import JointPID, Reference, Setpoint, State, sinusoid
from trocar.control.observers import ContactDetector, Diagnosis, FaultIsolation, MomentumObserver, external_effort
from trocar.control.observers.detection import MARGIN
from trocar.control.observers.isolation import BANDWIDTH
from trocar.experiments.experiment import Context
from trocar.experiments.wang2019.recordings import TABLE, listed
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.report import Claim
from trocar.simulation import CableBreak, EncoderBias, MotorLoss, Simulator, simulate
from trocar.simulation.forces.faults import Fault
from trocar.spatial import Array

INERTIA_OFF, FRICTION_OFF, BIAS_OFF = 0.01, 0.10, 0.10  # standard deviations of the monitoring model's relative errors
FARTHER_OFF = (0.01, 0.02, 0.05)  # errors of inertia for which contact detection is tested
STEP, WITHIN = 1.0, 0.1  # [N], [s]
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


def contact_claims(context: Context, seed: int = 0) -> list[Claim]:
    """Claims on steps of 1 N at the tip in every direction at several poses, and on a run without contact or alarm."""
    context.progress("contact steps in simulation")
    known, free = watched(10.0), watched(6.0, phase=7.35)
    phases = (0.0,) if context.quick else (0.0, 0.7, 1.4, 2.1)
    runs = steps(phases)
    claims = []
    for inertia in FARTHER_OFF:
        model = mismatched(seed, inertia)
        detector = contact_detector(model, known)
        alarmed = [detector.first(run.t[1:], external_effort(model, run)[1:]) for run in runs]
        delays = [np.inf if time is None else time - TOUCHES for time in alarmed]  # [s]; negative: a false alarm
        alarms = sum(delay < 0.0 for delay in delays) + int(detector.alarms(external_effort(model, free)).any())
        name = "contact" if inertia == INERTIA_OFF else f"contact, inertia off by {inertia:.0%}"
        errors = {"inertia": inertia, "friction": FRICTION_OFF, "limits": listed(detector.smallest, ".2f")}
        slowest, count = np.max(delays), len(delays)
        claims += [
            TABLE.claim("{run}/slowest detection of 1 N", slowest, run=name, count=count, step=STEP, **errors),
            TABLE.claim("{run}/false alarms", alarms, run=name),
        ]
    return claims


def steps(phases: tuple[float, ...]) -> list[Recording]:
    """Runs with a step of 1 N each way along x, y and z at every phase of the motion [s]."""
    forces = [sign * STEP * axis for axis in np.eye(3) for sign in (-1.0, 1.0)]
    return [watched(TOUCHES + 0.3, force=force, phase=phase) for phase in phases for force in forces]


def contact_detector(model: Mechanism, known: Recording) -> ContactDetector:
    """A detector on the first three joints, with thresholds from the model's residuals in a run without contact."""
    dt = float(np.diff(known.t).mean())
    return ContactDetector(external_effort(model, known)[1:], dt, (0, 1, 2), least=MIN_RESIDUAL)


def fault_claims(context: Context, seed: int = 0) -> list[Claim]:
    """Claims on the isolation of injected faults: kind and part must be right."""
    context.progress("injected faults")
    known = watched(6.0)
    isolation, unbiased = (FaultIsolation(mismatched(seed, bias=bias), known) for bias in (BIAS_OFF, 0.0))
    cases = faults(quick=context.quick)
    wrong = []
    for fault, kind, part in cases:
        run = watched(BREAKS + 2.0, (fault,))
        diagnosis, again = (each.diagnosis(run) for each in (isolation, unbiased))
        if diagnosis is None or (diagnosis.kind, diagnosis.part) != (kind, part):
            right = again is not None and (again.kind, again.part) == (kind, part)
            exact = "named" if right else f"also missed, its residual is at most {mark(unbiased, run, part):.2f}"
            wrong.append(f"{kind} of {part} was reported as {_name(diagnosis)} (with an exactly known bias: {exact})")
    healthy = isolation.diagnosis(watched(3.0, phase=0.35))
    if healthy is not None:
        wrong.append(f"a run without fault was reported as {_name(healthy)}")
    wrong_text = "; ".join(wrong) or "none"
    return [TABLE.claim("faults/not isolated", len(wrong), count=len(cases), bias=BIAS_OFF, wrong=wrong_text)]


def mark(isolation: FaultIsolation, run: Recording, part: str) -> float:
    """Largest residual of a motor (or of all) in the 0.4 s after the fault, relative to the alarm threshold."""
    arm, statistics = isolation.mechanism.arm, isolation.statistics
    r = MomentumObserver(isolation.mechanism, BANDWIDTH).along(run) @ arm.motors.coupling
    after = (run.t > BREAKS) & (run.t < BREAKS + 0.4)
    share = np.abs(r - statistics.mean)[after].max(0) / (MARGIN * statistics.largest)
    return float(share[arm.motors.names.index(part)] if part in arm.motors.names else share.max())


def faults(quick: bool = False) -> list[tuple[Fault, str, str]]:
    """Faults with their kind and part: every motor, every encoder, every cable; one of each if quick."""
    motors = load_mechanism("PSM").arm.motors.names
    Named = list[tuple[Fault, str, str]]
    lost: Named = [(MotorLoss(motor=m, at=BREAKS), "motor loss", m) for m in motors]
    off: Named = [(EncoderBias(motor=m, at=BREAKS, bias=BIAS.get(m, 0.05)), "encoder bias", m) for m in motors]
    broken: Named = [(CableBreak(cable=c, at=BREAKS), "cable break", c) for c in ("counterweight", *motors[3:])]
    return [lost[1], off[2], broken[0], broken[1]] if quick else [*lost, *off, *broken]


def _name(diagnosis: Diagnosis | None) -> str:
    if diagnosis is None:
        return "nothing"
    return f"{diagnosis.kind} of {diagnosis.part}" if diagnosis.part else f"an {diagnosis.kind}"
