"""Ferro et al. 2022: a dynamic simulator of the PSM, Section IV and Table I, compared with trocar.

Their simulator is CoppeliaSim with ODE, parameters of Wang et al. 2019, friction off. Torque errors are evaluated from
0.5 s on.
"""

from __future__ import annotations

from trocar.experiments.experiment import Context, Experiment
from trocar.experiments.ferro2022 import excitation, features, logs, replay, torque, tracking, transients, velocity
from trocar.mechanics import load_mechanism
from trocar.report import Report


def run(context: Context) -> Report:
    """Figures 2 to 8 and Table I."""
    report = Report("Ferro et al. 2022: dynamic simulation of the PSM")
    mechanism, without = load_mechanism("PSM"), load_mechanism("PSM", counterweight=False)
    context.progress("authors' logs")
    report.add_claims(logs.claims(context.data, mechanism, without))
    context.progress("authors' commands in this engine")
    report.add_claims(replay.claims(context.data, mechanism, without))
    context.progress("Fig. 2, 3: kinematic control, engine off")
    report.add_claims(tracking.claims(context, report, mechanism))
    report.add_claims(velocity.claims(context, report, mechanism))
    context.progress("Fig. 6: the real robot's excitation trajectory")
    report.add_claims(excitation.claims(context, report, mechanism))
    context.progress("Fig. 7, 8: torque control")
    report.add_claims(torque.claims(context, report, mechanism))
    report.add_claims(transients.claims(context, report, mechanism))
    context.progress("Table I")
    report.add_claims(features.claims(mechanism))
    report.paragraphs[:0] = [
        "RMS errors are those of joints 1 to 3 (yaw, pitch, insertion) for t >= 0.5 s; those of the tip (Fig. 2, 3) "
        "include the jump onto the path. The printed numbers follow from the authors' logs: relative to the real "
        "robot's torque in Fig. 6, relative to the model elsewhere. Paper text and published program differ in line, "
        "spiral and gains; the name of each run states which one it uses.",
    ]
    return report


EXPERIMENT = Experiment(name="ferro2022", title="Dynamic simulation of the PSM (Ferro et al. 2022)", run=run)
