"""The procedure of Zhou et al. 2025 on dVRK-Si PSMs that differ from the identified model: excite an arm, identify it
and compensate its gravity.

`trocar excite --arm PSM_Si --seconds 1200` found the motion (excitation.json). The simulated arm differs from
the identified model in friction and links (see `unlike`). `trocar identify` finds the parameters, by two recipes: the
arm's own, and one with the columns and constraints of Table I (`table_one`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files

import numpy as np

from trocar.arms import load_arm
from trocar.arms.parameters import Dahl, Drive, Inertia, Parameters, load_parameters
from trocar.arms.tables import read
from trocar.control import GravityCompensation, JointPID
from trocar.control.trajectories import Fourier
from trocar.identification.excitation.file import load_coefficients
from trocar.identification.pipeline import Identified, identify
from trocar.identification.recipes.recipe import WEIGHTS, Recipe, load_recipe, recipe_of, recipe_table
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.inertia import barycentric, from_pseudo_inertia, pseudo_inertia, standard
from trocar.recording import Recording
from trocar.simulation.run import simulate
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array
from trocar_reproductions.zhou2025 import runs

# Drives with half of their Coulomb friction as friction with memory, and its distances [rad, m], as
# identified on the Classic PSM. The friction of the cannula depends on depth and is unchanged.
HYSTERESIS = {"yaw": (2e-3, 2e-2), "pitch": (3e-3, 2e-2), "insertion": (1e-4, 1e-3)}
# Standard deviations of the random links: mass (relative), shear and stretch (relative), centre of mass [m].
MASS, SHAPE, CENTRE = 0.15, 0.10, 0.01
# ASSUMED: inertia of the instrument's shaft and wrist, which Table I lacks.
WRIST = {
    "roll": Inertia(mass=0.03, com=np.array([0.0, 0.0, -0.2]), I=np.diag([4e-4, 4e-4, 1e-6])),
    "wrist_pitch": Inertia(mass=0.003, com=np.array([0.004, 0.0, 0.0]), I=1e-7 * np.eye(3)),
}
ARMS = 2  # number of random arms
MOUNTINGS = tuple(np.radians([0.0, -15.0, -45.0, -70.0]))
COLUMNS = ("columns of Table I", "columns of Table I and more")  # the latter: those of the arm's recipe
# Columns that Table I lacks: load-dependent friction; with it, rotors of the first joints and depth-dependent friction.
LOAD = {"yaw": ("mu",), "pitch": ("mu",)}
LOAD_ROTORS_DEPTH = {"yaw": ("mu", "Im"), "pitch": ("mu", "Im"), "insertion": ("Im", "Fx")}
ADDED = (LOAD, LOAD_ROTORS_DEPTH)
FREE = 1e-6  # weight of the prior of Table I's recipe: the paper has none, but not all of its columns are excited
PERIODS = 4
EVERY = 6  # recorded at 250 Hz
# Noise of positions (encoder and cable) and efforts (current): one standard deviation.
NOISE_Q = np.array([2e-5, 2e-5, 5e-6, 2e-4, 2e-4, 2e-4, 2e-4])  # [rad, m]
NOISE_TAU = np.array([0.1, 0.1, 0.3, 2e-3, 2e-3, 2e-3, 2e-3])  # [N m, N]


def unlike(seed: int) -> Parameters:
    """An arm with the friction and gravity of Table II, but otherwise different from the identified model."""
    rng, arm, measured = np.random.default_rng(seed), load_arm(runs.ARM), load_parameters(runs.ARM, runs.TRUTH)
    inertias = {body: _drawn(inertia, rng) for body, inertia in measured.inertias.items()} | WRIST
    return replace(
        measured,
        name=f"unlike_{seed}",
        inertias={body.name: inertias[body.name] for body in arm.bodies if body.name in inertias},
        drives=tuple(_with_memory(drive) for drive in measured.drives),
    )


def _drawn(inertia: Inertia, rng: np.random.Generator) -> Inertia:
    """The inertia sheared, stretched, moved and scaled; it stays physically consistent."""
    A = np.eye(4)
    A[:3, :3] += SHAPE * rng.normal(size=(3, 3))
    A[:3, 3] = CENTRE * rng.normal(size=3)
    scale = np.exp(MASS * rng.normal())
    return standard(from_pseudo_inertia(scale * A @ pseudo_inertia(barycentric(inertia)) @ A.T))


def _with_memory(drive: Drive) -> Drive:
    deltas = HYSTERESIS.get(drive.name, ())
    if not deltas:
        return drive
    elements = tuple(Dahl(delta=delta, F=0.5 * drive.Fc / len(deltas)) for delta in deltas)
    return replace(drive, Fc=0.5 * drive.Fc, hysteresis=elements)


# -- identify, then compensate -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Compensated:
    """Errors of an identified model on the arm it was identified from.

    Attributes:
        worst: (4, 3) by mounting and joint, largest ratio of holding effort error to static half-band at any pose.
        drift: (3,) largest distance in 5 s under compensation alone, after position control [rad, rad, m].
    """

    identified: Identified
    worst: Array
    drift: Array


@dataclass(frozen=True)
class ClosedLoop:
    """An arm identified with each of `COLUMNS`; added: `worst` with the columns of Table I and those of `ADDED`."""

    models: tuple[Compensated, ...]
    added: tuple[Array, ...]


def excitation() -> Fourier:
    """The motion that `trocar excite` finds for the arm."""
    with as_file(files("trocar_reproductions").joinpath("zhou2025", "excitation.json")) as path:
        return load_coefficients(path, load_arm(runs.ARM))


def record(sim: Simulator) -> Recording:
    """Simulate the excitation under PID with the dVRK's gravity compensation, starting on the trajectory."""
    reference = excitation()
    first = reference(0.0)
    sim.reset(first.q, first.dq)
    controller = JointPID(sim.arm) + GravityCompensation(load_mechanism(runs.ARM, "saw"))
    return simulate(sim, controller, reference, PERIODS * reference.duration, every=EVERY)


def noisy(recording: Recording, seed: int = 0) -> Recording:
    """The recording as on a robot: positions and efforts with noise, velocities differentiated from the positions."""
    assert recording.tau is not None  # a simulation records it
    rng = np.random.default_rng(seed)
    q = recording.q + NOISE_Q * rng.normal(size=recording.q.shape)
    tau = recording.tau + NOISE_TAU * rng.normal(size=recording.q.shape)
    return replace(recording, q=q, dq=np.gradient(q, recording.t, axis=0), ddq=None, tau=tau)


def table_one(added: Mapping[str, Sequence[str]] | None = None) -> Recipe:
    """The recipe with the links, columns and constraints of Table I; `added`: more terms, by drive.

    Links 1, 2, 2'', 2'''' and 3 have inertia, with the centre of mass in a box about the link; 4, 5 and the finger
    motors M6, M7 have rotors; every joint has friction; the roll has a spring. Rows that turn with the same joint share
    one friction. Pseudo-inertias are physically consistent, which the paper does not require.
    """
    printed, hull = read("identification_zhou2025"), read("links_si")["hull"]
    drives = {
        name: {key: entry[key] for key in ("joints", "motors") if key in entry}
        | {"terms": [*entry["terms"], *(added or {}).get(name, ())]}
        for name, entry in printed["drives"].items()
    }
    changes = {"prior": "saw", "drives": drives, "weights": dict.fromkeys(WEIGHTS, FREE)}
    recipe = recipe_of(runs.ARM, {**recipe_table(runs.ARM), **changes}, "Table I")
    priors = {
        body: replace(recipe.priors[body], lower=np.array(hull[body]["lower"]), upper=np.array(hull[body]["upper"]))
        for body in printed["links"]
    }
    inertias = {body: recipe.template.inertias[body] for body in priors}
    return replace(recipe, priors=priors, template=replace(recipe.template, inertias=inertias))


def close_loop(seed: int, poses: Array) -> ClosedLoop:
    """Excite and identify an arm, compare its holding efforts with the compensation, and test drift at poses (N, 3).

    Position control approaches the poses from alternating sides.
    """
    parameters = unlike(seed)
    sim = Simulator(runs.ARM, parameters, timestep=1.0 / runs.RATE, contacts=False)
    recording, models = noisy(record(sim), seed), []
    for recipe in (table_one(), load_recipe(runs.ARM)):
        identified = identify(recording, runs.ARM, recipe=recipe, cross_validate=False)
        compensation = GravityCompensation(Mechanism(sim.arm, identified.parameters))
        drifts = [
            runs.drift_test(pose, np.full(3, (-1.0) ** k), compensation, feed_forward=False, sim=sim).drift
            for k, pose in enumerate(poses)
        ]
        models.append(Compensated(identified, holding_error(parameters, identified.parameters), np.max(drifts, axis=0)))
    more = (identify(recording, runs.ARM, recipe=table_one(columns), cross_validate=False) for columns in ADDED)
    return ClosedLoop(tuple(models), tuple(holding_error(parameters, fit.parameters) for fit in more))


def holding_error(true: Parameters, identified: Parameters, poses: int = 50) -> Array:
    """(4, 3) by mounting and joint: largest ratio of holding effort error to static half-band."""
    arm = load_arm(runs.ARM)
    q, worst = np.random.default_rng(1).uniform(arm.lower, arm.upper, (poses, arm.n)), []
    for mounting in MOUNTINGS:
        simulated, ours = (Mechanism(arm, parameters, mounting=mounting) for parameters in (true, identified))
        error = runs.holding(ours, q) - runs.holding(simulated, q)
        worst.append(np.abs(error / runs.static_band(simulated, q)).max(0))
    return np.array(worst)
