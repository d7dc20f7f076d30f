"""Wang et al. 2019: identification of the PSM and the MTM from their recordings, with their methods and with ours.

Errors are |measured - predicted| / |measured| of each joint's effort. The published errors are in the notebooks
of their repository (dvrk_dynamics_identification), on the first 1111 rows (PSM) or 2000 rows (MTM) after the ends of
the filter are cut. Their filter is `butter(6, fc 2 pi / fs)`: its cut-offs are 16.965 and 5.65 Hz, not 5.4 and 1.8.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.arms.tables import read
from trocar.experiments.experiment import Context, Experiment, data_file
from trocar.experiments.wang2019.contact import contact_claims, fault_claims
from trocar.experiments.wang2019.engine import in_engine
from trocar.experiments.wang2019.external_loads import payload_claims, tip_force_claims
from trocar.experiments.wang2019.identification import excitation_claims, half_speed_claim, left_out_error
from trocar.experiments.wang2019.recordings import DATA, NO_WEIGHT, ONE, TABLE, identified_arm, listed
from trocar.identification.estimators import base_estimate
from trocar.identification.figures import effort_figure, effort_labels, error_figure
from trocar.identification.pipeline import Identified, identify
from trocar.identification.signals import Signals, efforts, prepare, regressor, relative_error
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import load_recording
from trocar.recording.motor_columns import column_units, joint_from_columns
from trocar.report import Claim, Report
from trocar.spatial import Array

PUBLISHED = read("identification_wang2019")
JOINTS = tuple(f"J{j + 1}" for j in range(7))


@dataclass(frozen=True)
class Prepared:
    """One arm's published model on one recording, prepared as published."""

    mechanism: Mechanism
    T: Array
    signals: Signals

    def errors(self, predicted: Array, rows: int) -> Array:
        """Relative error (7,) over the first rows after the cut; predicted (N, 7) at the used rows."""
        tau = self.signals.tau[self.signals.used]
        return relative_error(tau[:rows], predicted[:rows])


def run(context: Context) -> Report:
    """Their least squares and parameters as published, and our identification, cross-validated and on 'two'."""
    report = Report("Wang et al. 2019: identification of PSM and MTM")
    parameters: Parameters | None = None
    for family, arm in (("PSM", "PSM"), ("MTM", "MTMR")):
        context.progress(f"{family}: base parameters")
        report.add_claim(_base_count(family, arm))
        identified = _identified(context, report, family, arm)
        if family == "PSM" and identified is not None and not context.quick:
            context.progress("PSM: the identified arm in the engine")
            files = [data_file(context.data, path) for path in (ONE, NO_WEIGHT)]
            one, other = (None if isinstance(f, str) else load_recording(f, arm, as_recorded=True) for f in files)
            assert one is not None  # the arm was identified from it
            claims, lines = in_engine(identified, one, other)
            parameters = identified.parameters
            report.paragraphs += lines
            report.add_claims(claims)
    if not context.quick:
        context.progress("half speed: hysteresis or lag")
        decision, lines = half_speed_claim(context.data)
        report.paragraphs += lines
        report.add_claim(decision)
        whole_arm = identified_arm(context.data, parameters)
        report.add_claims(payload_claims(context, whole_arm) + tip_force_claims(context, whole_arm))
        report.add_claims(contact_claims(context) + fault_claims(context) + excitation_claims(context))
    return report


def _identified(context: Context, report: Report, family: str, arm: str) -> Identified | None:
    """Claims on the recordings of an arm, and our model of 'one' if that recording is available."""
    folder = DATA / family.lower() / "measured_trajectory"
    one, two = (data_file(context.data, folder / f"{name}_results.csv") for name in ("one", "two"))
    if isinstance(one, str):
        report.add_claims(_not_run(family, "one", one) + _not_run(family, "two", two if isinstance(two, str) else one))
        return None
    context.progress(f"{family}: least squares as published")
    train = prepared_as_published(family, arm, one)
    fits = _fits(train)
    report.add_claims(_as_published(family, "one", fits, train))
    context.progress(f"{family}: ours")
    identified = identify(load_recording(one, arm, as_recorded=True), arm)
    report.add_claims(_ours_on_one(family, identified))
    smallest = (identified.min_pseudo_inertia_eigenvalue, min(identified.rotor_inertia.values()))
    report.add_claims(TABLE.claims("{arm}/{row}", smallest, arm=family.lower()))
    if isinstance(two, str):
        report.add_claims(_not_run(family, "two", two))
    else:
        test = prepared_as_published(family, arm, two)
        report.add_claims([*_as_published(family, "two", fits, test), *ours_on_two(family, identified, two, test)])
    if family == "PSM":
        report.add_claims(_ours_on_another_day(context, identified))
    _describe(report, family, identified, train)
    return identified


def prepared_as_published(family: str, arm: str, path: Path) -> Prepared:
    mechanism = load_mechanism(arm, "wang2019_published")
    recording = load_recording(path, arm, as_recorded=True)
    T, cutoff = joint_from_columns(mechanism.arm, tuple(recording.joints)), PUBLISHED[family]["cutoff"]
    return Prepared(mechanism, T, prepare(recording, [cutoff] * 7, cutoff, 1.0))


def _fits(train: Prepared) -> dict[str, Array]:
    """Base parameters by method, from one recording. WLS divides each joint by the range of its effort."""
    mechanism, signals = train.mechanism, train.signals
    Y, tau = regressor(mechanism, train.T, signals)[signals.used], signals.tau[signals.used]
    base, names = mechanism.base_parameters, mechanism.parameter_names
    return {
        "OLS": base_estimate(Y, tau, base, names).values,
        "WLS": base_estimate(Y, tau, base, names, 1.0 / np.ptp(tau, axis=0)).values,
    }


def _as_published(family: str, recording: str, fits: dict[str, Array], data: Prepared) -> list[Claim]:
    """Their methods, evaluated here on one recording."""
    claims = []
    signals, mechanism = data.signals, data.mechanism
    Y = regressor(mechanism, data.T, signals)[signals.used][..., mechanism.base_parameters.independent]
    # Their MTM is evaluated with the dVRK's platform offset of 0.1506 m; theirs is 0.151 m.
    predicted = {method: Y @ fit for method, fit in fits.items()}
    predicted["SDP"] = efforts(mechanism, data.T, signals)[signals.used]
    for method in PUBLISHED[family][recording]:
        note = {"note": "their identified parameters, evaluated here"} if method == "SDP" else {}
        ours = data.errors(predicted[method], PUBLISHED[family]["rows"])
        claims += _method_claims(family, method, recording, ours, **note)
    return claims


def _method_claims(family: str, method: str, recording: str, ours: Array | str, **fields: str) -> list[Claim]:
    published = PUBLISHED[family][recording][method]
    fields |= {"arm": family.lower(), "method": method, "recording": recording}
    return TABLE.claims("{arm}/{method} on {recording}/{row}", ours, published=published, **fields)


def _ours_on_one(family: str, identified: Identified) -> list[Claim]:
    """Our cross-validated error on the rows of their figure, against their error on the fitted rows."""
    published, rows = PUBLISHED[family]["one"].get("WLS"), PUBLISHED[family]["rows"]
    if published is None:
        return []
    fields = {"published": published, "arm": family.lower(), "first": rows}
    return TABLE.claims("{arm}/ours on one, cross-validated/{row}", left_out_error(identified, rows), **fields)


def ours_on_two(family: str, identified: Identified, two: Path, data: Prepared) -> list[Claim]:
    """Our error on the same rows and filtered efforts as their figure."""
    recording = load_recording(two, data.mechanism.arm.name, as_recorded=True)
    rows, published = PUBLISHED[family]["rows"], PUBLISHED[family]["two"]["SDP"]
    ours = data.errors(identified.recorded_efforts(recording)[data.signals.used], rows)
    fields = {"arm": family.lower(), "first": rows}
    return [
        *TABLE.claims("{arm}/ours on two/{row}", ours, published=published, **fields),
        TABLE.claim("{arm}/ours on two/mean", ours.mean(), published=float(np.mean(published)), **fields),
    ]


def _ours_on_another_day(context: Context, identified: Identified) -> list[Claim]:
    """Errors of both models, identified from 'one', on every row of a recording of another day."""
    entry, path = "psm/ours on another day/{row}", data_file(context.data, NO_WEIGHT)
    if isinstance(path, str):
        return TABLE.claims(entry, path)
    data = prepared_as_published("PSM", "PSM", path)
    used = data.signals.used
    recording = load_recording(path, "PSM", as_recorded=True)
    predictions = efforts(data.mechanism, data.T, data.signals), identified.recorded_efforts(recording)
    theirs, ours = (data.errors(predicted[used], len(used)) for predicted in predictions)
    return TABLE.claims(entry, ours, published=theirs.tolist())


def _not_run(family: str, recording: str, reason: str) -> list[Claim]:
    claims = [c for method in PUBLISHED[family][recording] for c in _method_claims(family, method, recording, reason)]
    if recording == "two":
        published = PUBLISHED[family]["two"]["SDP"]
        claims += TABLE.claims("{arm}/ours on two/{row}", reason, published=published, arm=family.lower())
    return claims


def _base_count(family: str, arm: str) -> Claim:
    mechanism = load_mechanism(arm, "wang2019_published")
    parameters = mechanism.parameters
    assert parameters is not None
    # Their MTM models the platform's cable as a fixed polynomial, not as a parameter.
    fixed = replace(parameters, elastics=tuple(e for e in parameters.elastics if e.name != "platform_cable"))
    ours = len(Mechanism(mechanism.arm, fixed).base_parameters)
    published = PUBLISHED[family]["base_parameters"]
    return TABLE.claim("{arm}/base parameters", ours, published=published, arm=family.lower())


def _describe(report: Report, family: str, identified: Identified, train: Prepared) -> None:
    start = time.perf_counter()
    train.mechanism.regressor(*(x @ train.T.T for x in (train.signals.q, train.signals.dq, train.signals.ddq)))
    seconds = time.perf_counter() - start
    errors = {"train": identified.train_relative_error, "cross-validation": identified.cv_relative_error}
    fields = {
        "errors": "; ".join(f"{key} {listed(value, '.4f')}" for key, value in errors.items()),
        "rows": len(train.signals.t),
        "inertia": identified.largest_link_inertia,
        "repeated": int(identified.signals.repeated.sum()),
    }
    text = TABLE.text("identified", family=family, seconds=identified.seconds, regressor=seconds, **fields)
    report.paragraphs.append(text)
    T = joint_from_columns(identified.mechanism().arm, identified.columns)
    predicted = efforts(identified.mechanism(), T, identified.signals)
    labels = effort_labels(JOINTS, column_units(identified.mechanism().arm, identified.columns))
    report.add_figure(error_figure(errors, JOINTS), TABLE.text("relative error", family=family))
    figure = effort_figure(identified.signals, predicted, labels, f"{family}, 'one'")
    report.add_figure(figure, TABLE.text("effort", family=family))


EXPERIMENT = Experiment(name="wang2019", title="Identification of PSM and MTM", run=run)
