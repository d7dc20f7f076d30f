"""Wang et al. 2019: identification of the PSM and the MTM from their own recordings, as published and as done here.

Errors are |measured - predicted| / |measured| of each joint's effort. The published ones are printed in the notebooks
of their repository (dvrk_dynamics_identification), on the first 1111 rows (PSM) or 2000 rows (MTM) after the filter's
ends are cut. Their filters: `butter(6, fc 2 pi / fs)`, so the true cut-offs are 16.965 and 5.65 Hz, not 5.4 and 1.8.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.experiments.excitation import excitation_claims
from trocar.experiments.experiment import Context, Experiment
from trocar.experiments.load_and_force import payload_claims, tip_force_claims
from trocar.experiments.load_and_force_simulated import contact_claims, fault_claims
from trocar.experiments.wang2019_engine import in_engine
from trocar.experiments.wang2019_half_speed import half_speed
from trocar.identification.figures import effort_figure, effort_labels, error_figure
from trocar.identification.identify import Identified, identify
from trocar.identification.least_squares import base_estimate
from trocar.identification.prediction import efforts, regressor, relative_error
from trocar.identification.signals import Signals, prepare
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import load_recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.report import Claim, Report
from trocar.spatial import Array

FOLDER = "dvrk_dynamics_identification"
SOURCE = "Wang et al. 2019, notebook of dvrk_dynamics_identification"
DIGIT = 1e-4  # one unit of the last digit printed
FIRST = {"PSM": 1111, "MTM": 2000}
CUTOFF = {"PSM": 16.965, "MTM": 5.65}
BASE = {"PSM": 49, "MTM": 73}

# By recording and method: errors of J1 to J7.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "PSM/one": {
        "WLS": (0.0659, 0.1556, 0.1773, 0.1361, 0.2107, 0.2096, 0.2556),
        "SDP": (0.0680, 0.1630, 0.1795, 0.1361, 0.2104, 0.2098, 0.2565),
    },
    "PSM/two": {
        "OLS": (0.1027, 0.1839, 0.1983, 0.1344, 0.2402, 0.2119, 0.2638),
        "WLS": (0.1028, 0.1828, 0.1976, 0.1344, 0.2399, 0.2111, 0.2662),
        "SDP": (0.0929, 0.1783, 0.1907, 0.1345, 0.2394, 0.2125, 0.2642),
    },
    "MTM/two": {"SDP": (0.0769, 0.1485, 0.1695, 0.2232, 0.2800, 0.2342, 0.3395)},
}


@dataclass(frozen=True)
class Set:
    """One arm's published model on one recording, prepared as published."""

    mechanism: Mechanism
    T: Array
    signals: Signals

    def errors(self, predicted: Array, rows: int) -> Array:
        """(7,) over the first rows after the cut; predicted (N, 7) at the used rows."""
        tau = self.signals.tau[self.signals.used]
        return relative_error(tau[:rows], predicted[:rows])


def run(context: Context) -> Report:
    """Least squares and their parameters as published; ours beside, cross-validated on 'one', and on 'two'."""
    report = Report("Wang et al. 2019: identification of PSM and MTM", figures_first=True)
    twin: Parameters | None = None
    for family, arm in (("PSM", "PSM"), ("MTM", "MTMR")):
        context.progress(f"{family}: base parameters")
        report.add_claim(_base_count(family, arm))
        one, two = (_path(context, family, f"{name}_results.csv") for name in ("one", "two"))
        if one is None:
            for claim in _not_run(family, ("one", "two")):
                report.add_claim(claim)
            continue
        context.progress(f"{family}: least squares as published")
        train = _prepared(family, arm, one)
        fits = _fits(train)
        for claim in _as_published(family, "one", fits, train):
            report.add_claim(claim)
        context.progress(f"{family}: ours")
        found = identify(load_recording(one, arm, as_recorded=True), arm)
        for claim in (*_ours_on_one(family, found), *_consistent(family, found)):
            report.add_claim(claim)
        if two is None:
            for claim in _not_run(family, ("two",)):
                report.add_claim(claim)
        else:
            for claim in (*_as_published(family, "two", fits, _prepared(family, arm, two)), *_ours(family, found, two)):
                report.add_claim(claim)
        _describe(report, family, found, train)
        if family == "PSM" and not context.quick:
            context.progress("PSM: the twin in the engine")
            other = _path(context, family, "one_no_weight_results.csv")
            claims, lines = in_engine(
                found,
                load_recording(one, arm, as_recorded=True),
                None if other is None else load_recording(other, arm, as_recorded=True),
            )
            twin, report.paragraphs = found.parameters, report.paragraphs + lines
            for claim in claims:
                report.add_claim(claim)
    if not context.quick:
        context.progress("half speed: hysteresis or lag")
        decision, lines = half_speed(None if context.data is None else context.data / FOLDER)
        report.paragraphs += lines
        for claim in (
            decision,
            *payload_claims(context, twin),
            *tip_force_claims(context, twin),
            *contact_claims(context),
            *fault_claims(context),
            *excitation_claims(context),
        ):
            report.add_claim(claim)
    return report


def _path(context: Context, family: str, name: str) -> Path | None:
    if context.data is None:
        return None
    path = context.data / FOLDER / family.lower() / "measured_trajectory" / name
    return path if path.is_file() else None


def _prepared(family: str, arm: str, path: Path) -> Set:
    mechanism = load_mechanism(arm, "wang2019_published")
    recording = load_recording(path, arm, as_recorded=True)
    T = joint_from_columns(mechanism.arm, tuple(recording.joints))
    return Set(mechanism, T, prepare(recording, [CUTOFF[family]] * 7, CUTOFF[family], 1.0))


def _fits(train: Set) -> dict[str, Array]:
    """Base parameters by method, on one recording. WLS: each joint divided by the range of its effort."""
    mechanism, signals = train.mechanism, train.signals
    Y, tau = regressor(mechanism, train.T, signals)[signals.used], signals.tau[signals.used]
    base, names = mechanism.base_parameters, mechanism.parameter_names
    return {
        "OLS": base_estimate(Y, tau, base, names).values,
        "WLS": base_estimate(Y, tau, base, names, 1.0 / np.ptp(tau, axis=0)).values,
    }


def _as_published(family: str, recording: str, fits: dict[str, Array], data: Set) -> list[Claim]:
    """Their methods, evaluated here on one recording."""
    claims = []
    signals, mechanism = data.signals, data.mechanism
    Y = regressor(mechanism, data.T, signals)[signals.used][..., mechanism.base_parameters.independent]
    for method, published in PUBLISHED.get(f"{family}/{recording}", {}).items():
        sdp = method == "SDP"
        predicted = efforts(mechanism, data.T, signals)[signals.used] if sdp else Y @ fits[method]
        ours = data.errors(predicted, FIRST[family])
        # Their MTM is judged at the dVRK's platform offset of 0.1506 m, theirs is 0.151 m.
        note = "their identified parameters, evaluated here" if sdp else "fitted here to their recording 'one'"
        claims += [
            Claim(
                id=f"wang2019/{family.lower()}/{method} on {recording}/J{j + 1}",
                published=published[j],
                ours=float(ours[j]),
                unit="",
                relation="equal",
                tolerance=DIGIT,
                source=SOURCE,
                note=note,
            )
            for j in range(7)
        ]
    return claims


def _ours_on_one(family: str, found: Identified) -> list[Claim]:
    """Rows left out of 'one', predicted by our model, against their error on the rows they fitted."""
    published = PUBLISHED.get(f"{family}/one", {}).get("WLS")
    if published is None:
        return []
    return [
        Claim(
            id=f"wang2019/{family.lower()}/ours on one, cross-validated/J{j + 1}",
            published=published[j],
            ours=float(found.cv_relative_error[j]),
            unit="",
            relation="at_most",
            tolerance=0.0,
            source=SOURCE,
            note="published: WLS where it was fitted; ours: on rows left out, by intervals of the motion's phase",
        )
        for j in range(7)
    ]


def _consistent(family: str, found: Identified) -> list[Claim]:
    facts = (
        ("smallest pseudo-inertia eigenvalue", found.min_pseudo_inertia_eigenvalue, ""),
        ("smallest rotor", min(found.rotor_inertia.values()), "kg m^2"),
    )
    return [
        Claim(
            id=f"wang2019/{family.lower()}/{name}",
            published=0.0,
            ours=value,
            unit=unit,
            relation="at_least",
            tolerance=0.0,
            source="Wang et al. 2019: parameters that real bodies can have",
            note="the published parameters themselves have negative rotors and pseudo-inertias",
        )
        for name, value, unit in facts
    ]


def _ours(family: str, found: Identified, two: Path) -> list[Claim]:
    ours = found.relative_error(load_recording(two, found.recipe.arm.name, as_recorded=True))
    published = PUBLISHED[f"{family}/two"]["SDP"]
    return [
        Claim(
            id=f"wang2019/{family.lower()}/ours on two/{name}",
            published=value,
            ours=error,
            unit="",
            relation="at_most",
            tolerance=0.0,
            source=SOURCE,
            note=f"published: SDP, first {FIRST[family]} rows; ours: all rows",
        )
        for name, value, error in (
            *((f"J{j + 1}", published[j], float(ours[j])) for j in range(7)),
            ("mean", float(np.mean(published)), float(ours.mean())),
        )
    ]


def _not_run(family: str, recordings: tuple[str, ...]) -> list[Claim]:
    claims = []
    for recording in recordings:
        for method, published in PUBLISHED.get(f"{family}/{recording}", {}).items():
            claims += [
                Claim(
                    id=f"wang2019/{family.lower()}/{method} on {recording}/J{j + 1}",
                    published=published[j],
                    ours=None,
                    unit="",
                    relation="equal",
                    tolerance=DIGIT,
                    source=SOURCE,
                    note=f"not run: {FOLDER}/{family.lower()}/measured_trajectory/{recording}_results.csv is not in "
                    "the data folder",
                )
                for j in range(7)
            ]
        if recording == "two":
            claims += [
                replace(claim, id=claim.id.replace("SDP", "ours"), relation="at_most", tolerance=0.0)
                for claim in claims[-7:]
            ]
    return claims


def _base_count(family: str, arm: str) -> Claim:
    mechanism = load_mechanism(arm, "wang2019_published")
    parameters = mechanism.parameters
    assert parameters is not None
    # Their MTM has the platform's cable as a fixed polynomial, not as a parameter.
    fixed = replace(parameters, elastics=tuple(e for e in parameters.elastics if e.name != "platform_cable"))
    return Claim(
        id=f"wang2019/{family.lower()}/base parameters",
        published=BASE[family],
        ours=float(len(Mechanism(mechanism.arm, fixed).base_parameters)),
        unit="",
        relation="equal",
        tolerance=0.0,
        source=SOURCE,
    )


def _describe(report: Report, family: str, found: Identified, train: Set) -> None:
    start = time.perf_counter()
    train.mechanism.regressor(*(x @ train.T.T for x in (train.signals.q, train.signals.dq, train.signals.ddq)))
    seconds = time.perf_counter() - start
    name = ("J1", "J2", "J3", "J4", "J5", "J6", "J7")
    errors = {"train": found.train_relative_error, "cross-validation": found.cv_relative_error}
    text = "; ".join(f"{key} " + " ".join(f"{x:.4f}" for x in value) for key, value in errors.items())
    repeated = int(found.signals.repeated.sum())
    report.paragraphs.append(
        f"{family}, ours on 'one': {text}. {found.seconds:.1f} s for the whole identification, {seconds:.2f} s for the "
        f"regressor of {len(train.signals.t)} rows (published for the PSM: 12 min 25 s, and 27 min in all). Largest "
        f"inertia of a link {found.largest_link_inertia:.2g} kg m^2; rows that repeat the one before: {repeated}."
    )
    T = joint_from_columns(found.mechanism().arm, found.columns)
    predicted = efforts(found.mechanism(), T, found.signals)
    report.add_figure(error_figure(errors, name), f"{family}: relative error of effort on 'one'.")
    report.add_figure(
        effort_figure(found.signals, predicted, effort_labels(name, found.mechanism().arm, T), f"{family}, 'one'"),
        f"{family}: effort measured and ours, both filtered, first 15 s.",
    )


EXPERIMENT = Experiment(name="wang2019", title="Identification of PSM and MTM", run=run)
