"""Ferro et al. 2022: a dynamic simulator of the PSM, Section IV and Table I, compared with trocar.

Their simulator is CoppeliaSim with ODE, parameters of Wang et al. 2019, friction off. Torque errors are evaluated from
0.5 s on.
"""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.demo.torque_control import ARM, START
from trocar.mechanics import Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.simulation import Simulator
from trocar_reproductions.experiment import Context, Experiment
from trocar_reproductions.ferro2022 import logs, program, replay, scene_masses, torque, tracking
from trocar_reproductions.ferro2022.logs import TABLE
from trocar_reproductions.ferro2022.query_time import query_claim

IDENTIFIED = "wang2019_published"  # the parameters as identified on the robot
SAME_TORQUE = 1e-6  # of the first three joints [N m, N]


def run(context: Context) -> Report:
    """Figures 2 to 8 and Table I."""
    report = Report("Ferro et al. 2022: dynamic simulation of the PSM")
    mechanism, without = load_mechanism("PSM"), load_mechanism("PSM", counterweight=False)
    context.progress("authors' logs")
    report.add_claims(logs.log_claims(context.data, mechanism, without))
    context.progress("authors' commands in this engine")
    report.add_claims(replay.replay_claims(context.data, mechanism, without))
    context.progress("their commands with the masses of their scene")
    report.add_claims(scene_masses.scene_claims(context, report))
    for text, claims in (
        ("Fig. 2, 3: kinematic control, engine off", tracking.kinematic_claims),
        ("Fig. 4, 5: velocity control", tracking.velocity_claims),
        ("Fig. 6: the real robot's excitation trajectory", replay.excitation_claims),
        ("Fig. 7, 8: torque control", torque.torque_claims),
        ("torque control as in the program", program.transient_claims),
    ):
        context.progress(text)
        report.add_claims(claims(context, report, mechanism))
    context.progress("Table I")
    report.add_claims(feature_claims(mechanism))
    report.paragraphs[:0] = [
        "RMS errors are those of joints 1 to 3 (yaw, pitch, insertion) for t >= 0.5 s; those of the tip (Fig. 2, 3) "
        "include the jump onto the path. The printed numbers follow from the authors' logs: relative to the real "
        "robot's torque in Fig. 6, relative to the model elsewhere. Paper text and published program differ in line, "
        "spiral and gains; the name of each run states which one it uses.",
    ]
    return report


def feature_claims(equations: Mechanism) -> list[Claim]:
    """The row of Table I for this engine, each entry tested, and the time of a model query."""
    sim, bare = (Simulator("PSM", friction=False, contacts=False, counterweight=has) for has in (True, False))
    mechanism = sim.mechanism
    tau = np.array([0.5, -0.4, 1.0, 0, 0, 0, 0])
    rates = []
    for one in (sim, bare):
        one.reset(START, np.array([0.3, 0.2, 0.05, 0, 0, 0, 0]))
        one.step(tau)
        rates.append(one.ddq[ARM])
    expected = mechanism.forward_dynamics(START, [0.3, 0.2, 0.05, 0, 0, 0, 0], tau)[ARM]
    loops = int((sim.model.eq_type == mujoco.mjtEq.mjEQ_CONNECT).sum())
    lift = mechanism.pose(START + [0, 0, 0.01, 0, 0, 0, 0], "counterweight") - mechanism.pose(START, "counterweight")
    identified = load_mechanism("PSM", IDENTIFIED)
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 100, 7))
    apart = np.abs((mechanism.inverse_dynamics(*states) - identified.inverse_dynamics(*states))[:, ARM]).max()
    has = (
        np.allclose(rates[0], expected, atol=1e-2),
        loops == 2 and sim.loop_error() < 1e-6,
        lift[2, 3] > 0.009 and abs(rates[1][2] - rates[0][2]) > 1.0,
        apart < SAME_TORQUE,
    )
    return [
        query_claim(equations),
        *TABLE.claims("table I/{row}", map(float, has), identified=IDENTIFIED, apart=apart),
        *TABLE.claims("table I/other simulators/{row}", None),
    ]


EXPERIMENT = Experiment(name="ferro2022", title="Dynamic simulation of the PSM (Ferro et al. 2022)", run=run)
