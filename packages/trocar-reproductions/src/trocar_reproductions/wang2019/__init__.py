"""Wang et al. 2019: identification of the PSM and the MTM from their recordings, with their methods and with ours.

Errors are |measured - predicted| / |measured| of each joint's effort. The published errors are in the notebooks
of their repository (dvrk_dynamics_identification), on the first 1111 rows (PSM) or 2000 rows (MTM) after the ends of
the filter are cut. Their filter is `butter(6, fc 2 pi / fs)`: its cut-offs are 16.965 and 5.655 Hz, not 5.4 and 1.8.
Their MTM has a platform offset of 0.151 m (the dVRK's is 0.1506 m), and the effort of its platform's cable, a fixed
polynomial, is subtracted from the recorded effort before anything is fitted; the errors on 'one' are relative to the
measured effort with the cable's, those on 'two' without.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trocar.arms.mtm import mtm
from trocar.arms.parameters import Parameters
from trocar.arms.tables import Geometry, read
from trocar.identification.estimators import base_estimate
from trocar.identification.figures import effort_figure, effort_labels, error_figure
from trocar.identification.pipeline import Identified, identify
from trocar.identification.signals import Signals, efforts, prepare, regressor, relative_error
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import load_recording
from trocar.recording.motor_columns import column_units, joint_from_columns
from trocar.report import Claim, Report
from trocar.spatial import Array
from trocar_reproductions.experiment import Context, Experiment, data_file
from trocar_reproductions.wang2019.engine import in_engine
from trocar_reproductions.wang2019.external_loads import payload_claims, tip_force_claims
from trocar_reproductions.wang2019.identification import excitation_claims, left_out_error
from trocar_reproductions.wang2019.recordings import DATA, NO_WEIGHT, ONE, TABLE, identified_arm, listed

PUBLISHED = read("identification_wang2019")
JOINTS = tuple(f"J{j + 1}" for j in range(7))


@dataclass(frozen=True)
class Prepared:
    """One arm's published model on one recording, prepared as published.

    Attributes:
        mechanism: the model without `known`. T: joints from the columns of the file.
        known: effort (N, 7) of the platform's cable at every row, not part of the errors; zero for the PSM [N m, N].
    """

    mechanism: Mechanism
    T: Array
    signals: Signals
    known: Array

    def errors(self, predicted: Array, rows: int, with_known: bool = False) -> Array:
        """Relative error (7,) over the first rows after the cut; predicted (N, 7) at the used rows.

        The error is relative to the measured effort less `known`, or to all of it if `with_known`.
        """
        used = self.signals.used
        known = np.zeros(7) if with_known else self.known[used][:rows]
        return relative_error(self.signals.tau[used][:rows] - known, predicted[:rows] - known)


def run(context: Context) -> Report:
    """Their least squares and parameters as published, and our identification, cross-validated and on 'two'."""
    report = Report("Wang et al. 2019: identification of PSM and MTM")
    parameters: Parameters | None = None
    for family, arm in (("PSM", "PSM"), ("MTM", "MTMR")):
        context.progress(f"{family}: base parameters")
        report.add_claims(_base_counts(family, arm))
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
        whole_arm = identified_arm(context.data, parameters)
        report.add_claims(payload_claims(context, whole_arm) + tip_force_claims(context, whole_arm))
        report.add_claims(excitation_claims(context))
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
        _add_another_day(context, report, identified)
    _describe(report, family, identified, train)
    return identified


def their_model(arm: str, fitted_only: bool = False) -> Mechanism:
    """The model of their notebooks with their parameters, `fitted_only`: without the cable of the MTM's platform."""
    mechanism = load_mechanism(arm, "wang2019_published")
    parameters, facts = mechanism.parameters, mechanism.arm
    assert parameters is not None
    if facts.has_rcm:  # the PSM
        return mechanism
    lengths = read("mtm")["geometry"]["wang2019"]
    shape = Geometry(name="wang2019", arm=arm, frames="wang2019", lengths=lengths | lengths["printed"], source="")
    rest = tuple(e for e in parameters.elastics if e.name != "platform_cable")
    return Mechanism(mtm(arm, shape), replace(parameters, elastics=rest) if fitted_only else parameters)


def prepared_as_published(family: str, arm: str, path: Path) -> Prepared:
    mechanism = their_model(arm, fitted_only=True)
    recording = load_recording(path, arm, as_recorded=True)
    T, cutoff = joint_from_columns(mechanism.arm, tuple(recording.joints)), PUBLISHED[family]["cutoff"]
    signals = prepare(recording, [cutoff] * 7, cutoff, 1.0, refill=False)
    return Prepared(mechanism, T, signals, efforts(their_model(arm), T, signals) - efforts(mechanism, T, signals))


def _fits(train: Prepared) -> dict[str, Array]:
    """Base parameters by method, from one recording. WLS divides each joint by the range of its effort."""
    mechanism, signals = train.mechanism, train.signals
    Y = regressor(mechanism, train.T, signals)[signals.used]
    tau = (signals.tau - train.known)[signals.used]
    base, names = mechanism.base_parameters, mechanism.parameter_names
    return {
        "OLS": base_estimate(Y, tau, base, names).values,
        "WLS": base_estimate(Y, tau, base, names, 1.0 / np.ptp(tau, axis=0)).values,
    }


def _as_published(family: str, recording: str, fits: dict[str, Array], data: Prepared) -> list[Claim]:
    """Their methods, evaluated here on one recording."""
    claims, published = [], PUBLISHED[family]
    signals, mechanism, with_known = data.signals, data.mechanism, recording in published.get("with_cable", ())
    Y = regressor(mechanism, data.T, signals)[signals.used][..., mechanism.base_parameters.independent]
    predicted = {method: Y @ fit for method, fit in fits.items()}
    predicted["SDP"] = efforts(mechanism, data.T, signals)[signals.used]
    for method in published[recording]:
        note = {"note": "their identified parameters, evaluated here"} if method == "SDP" else {}
        ours = data.errors(predicted[method] + data.known[signals.used], published["rows"], with_known)
        claims += _method_claims(family, method, recording, ours, **note)
    return claims


def _method_claims(family: str, method: str, recording: str, ours: Array | str, **fields: str) -> list[Claim]:
    published = PUBLISHED[family][recording][method]
    fields |= {"arm": family.lower(), "method": method, "recording": recording}
    return TABLE.claims("{arm}/{method} on {recording}/{row}", ours, published=published, **fields)


def _ours_on_one(family: str, identified: Identified) -> list[Claim]:
    """Our cross-validated error on the rows of their figure, against their error on the fitted rows."""
    published, rows = PUBLISHED[family]["one"]["WLS"], PUBLISHED[family]["rows"]
    fields = {"published": published, "arm": family.lower(), "first": rows}
    return TABLE.claims("{arm}/ours on one, cross-validated/{row}", left_out_error(identified, rows), **fields)


def ours_on_two(family: str, identified: Identified, two: Path, data: Prepared) -> list[Claim]:
    """Our error on the same rows and filtered efforts as their figure."""
    recording = load_recording(two, data.mechanism.arm.name, as_recorded=True)
    return _on_two(
        family, data.errors(identified.recorded_efforts(recording)[data.signals.used], PUBLISHED[family]["rows"])
    )


def _on_two(family: str, ours: Array | str) -> list[Claim]:
    """Our errors on 'two' against those of their model and, for the PSM, of the model of Fontanelli et al."""
    published, fields = PUBLISHED[family], {"arm": family.lower(), "first": PUBLISHED[family]["rows"]}
    mean = ours if isinstance(ours, str) else ours.mean()
    theirs, other = published["two"]["SDP"], published.get("fontanelli")
    claims = TABLE.claims("{arm}/ours on two/{row}", ours, published=theirs, **fields)
    claims.append(TABLE.claim("{arm}/ours on two/mean", mean, published=float(np.mean(theirs)), **fields))
    if other is not None:
        claims += TABLE.claims("{arm}/ours on two, against Fontanelli's model/{row}", ours, published=other, **fields)
    return claims


def _add_another_day(context: Context, report: Report, identified: Identified) -> None:
    """A table of the errors of both models, identified from 'one', on every row of a recording of another day."""
    path = data_file(context.data, NO_WEIGHT)
    if isinstance(path, str):
        return
    data = prepared_as_published("PSM", "PSM", path)
    used = data.signals.used
    recording = load_recording(path, "PSM", as_recorded=True)
    predictions = {
        "their parameters": efforts(data.mechanism, data.T, data.signals),
        "ours": identified.recorded_efforts(recording),
    }
    rows = [(name, *(f"{e:.3f}" for e in data.errors(p[used], len(used)))) for name, p in predictions.items()]
    report.add_table(TABLE.text("another day"), ("identified from 'one'", *JOINTS), rows)


def _not_run(family: str, recording: str, reason: str) -> list[Claim]:
    claims = [c for method in PUBLISHED[family][recording] for c in _method_claims(family, method, recording, reason)]
    if recording == "two":
        claims += _on_two(family, reason)
    return claims


def _base_counts(family: str, arm: str) -> list[Claim]:
    """Number of base parameters of their model and, for the PSM, of Fontanelli's as the authors implement it."""
    model, published = their_model(arm, fitted_only=True), PUBLISHED[family]["base_parameters"]
    claims = TABLE.claims(
        "{arm}/base parameters", [len(model.base_parameters)], published=published, arm=family.lower()
    )
    if family == "PSM":
        ours = len(_fontanelli(model).base_parameters)
        claims.append(TABLE.claim("psm/base parameters of Fontanelli's model", ours))
    return claims


def _fontanelli(model: Mechanism) -> Mechanism:
    """Without the bodies, rotors and biases that Fontanelli et al. leave out, with springs at yaw, pitch and roll."""
    parameters = model.parameters
    assert parameters is not None
    inertias = {name: body for name, body in parameters.inertias.items() if name not in ("bottom", "front")}
    sprung = dict.fromkeys(("yaw", "pitch", "roll"), ("Fv", "Fc", "K"))
    drives = [replace(d, terms=sprung.get(d.name, ("Fv", "Fc")), Im=0.0, Fo=0.0) for d in parameters.drives]
    kept = tuple(drive for drive in drives if drive.name != "finger_difference")
    return Mechanism(model.arm, replace(parameters, inertias=inertias, drives=kept))


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
