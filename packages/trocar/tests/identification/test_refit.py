"""The refitted sets of PSM and MTM: reproducible, better on other recordings, and usable in the engine."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from tools.derive_refit import ARMS, NAME, refit, text
from trocar.arms.parameters import Drive, load_parameters
from trocar.arms.tables import DATA as SETS_FOLDER
from trocar.control import GravityCompensation, hold
from trocar.control.observers import PointMass
from trocar.identification.estimators import base_estimate
from trocar.identification.identified_file import covariance
from trocar.identification.pipeline import prepared
from trocar.identification.recipes.recipe import load_recipe
from trocar.identification.signals import efforts, prepare, regressor, relative_error
from trocar.mechanics.inertia import check_consistent
from trocar.recording import load_recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.toml_file import read_toml
from trocar_reproductions.wang2019.external_loads import BAR, BAR_POINT, COLUMN, COLUMN_AT_ZERO

DATA = Path(os.environ.get("TROCAR_DATA", "no data folder"))
RECORDINGS = DATA / "dvrk_dynamics_identification"
needs_recordings = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="TROCAR_DATA has no recordings of Wang et al.")
START = {
    "PSM": np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1, 0.3]),
    "MTMR": np.array([0.1, 0.2, -0.1, 0.3, 0.2, 0.1, 0.2]),
}


def committed(family):
    return SETS_FOLDER / "parameters" / f"{family.lower()}_{NAME}.toml"


def errors(arm, parameters, recording, place=None):
    """(7,) relative errors of a set along a recording, filtered by the arm's recipe; 105 g are fixed at the place."""
    mechanism = tr.load_mechanism(arm, parameters)
    signals = prepared(load_recipe(arm), recording)
    T = joint_from_columns(mechanism.arm, tuple(recording.joints))
    tau = efforts(mechanism, T, signals)
    if place is not None:
        motion = (x @ T.T for x in (signals.q, signals.dq, signals.ddq))
        tau = tau + 0.105 * place(mechanism).effort(*motion) @ T
    return relative_error(signals.tau[signals.used], tau[signals.used])


def on_the_bar(mechanism):
    return PointMass(mechanism, BAR, BAR_POINT)


def on_the_column(mechanism):
    return PointMass.at(mechanism, COLUMN, COLUMN_AT_ZERO)


@needs_recordings
@pytest.mark.parametrize("family", ARMS)
def test_the_committed_file_is_reproduced_from_the_recording(family, tmp_path):
    """The same effort; single numbers that the recording does not excite may differ within the solver tolerance."""
    path = tmp_path / "again.toml"
    found = refit(family, DATA, cross_validate=False)
    path.write_text(text(family, found), encoding="utf-8")
    ours, again = (tr.load_mechanism(ARMS[family], x) for x in (NAME, path))
    rng = np.random.default_rng(0)
    q = rng.uniform(ours.arm.lower, ours.arm.upper, (200, 7))
    dq, ddq = rng.normal(size=(2, *q.shape))
    tau, known = (m.inverse_dynamics(q, dq, ddq, friction=True) for m in (again, ours))
    np.testing.assert_allclose(tau, known, atol=1e-3 * np.abs(known).max(0).min())
    before, after = (read_toml(x, "set") for x in (committed(family), path))
    assert after["source"] == before["source"]
    assert {**after["provenance"], "trocar": ""} == {**before["provenance"], "trocar": ""}  # any version
    np.testing.assert_allclose(
        after["residuals"]["train_relative_error"], before["residuals"]["train_relative_error"], rtol=1e-4
    )
    (names, C), (known_names, known_C) = covariance(path), covariance(ours.parameters.path)
    assert names == known_names
    np.testing.assert_allclose(np.sqrt(np.diag(C)), np.sqrt(np.diag(known_C)), rtol=0.02, atol=1e-9)


@needs_recordings
@pytest.mark.parametrize(
    ("file", "rate", "place"),
    [
        ("psm/measured_trajectory/one_no_weight_results.csv", 200.0, None),
        ("psm/measured_trajectory/one_105_grams_parallel_results.csv", 200.0, on_the_bar),
        ("psm_simplified/measured_trajectory/one_results_1.0_scale_105_grams_insertion.csv", 200.0, on_the_column),
        ("psm_simplified/measured_trajectory/one_results_0.5_scale_105_grams_insertion.csv", 100.0, on_the_column),
        ("psm/measured_trajectory/two_results.csv", 200.0, None),
        ("mtm/measured_trajectory/two_results.csv", 200.0, None),
    ],
    ids=lambda case: Path(case).stem if isinstance(case, str) else "",
)
def test_unseen_recordings_are_predicted_better_than_by_the_published_set(file, rate, place):
    """Other sessions; half speed; 'two' is another motion as well."""
    path = RECORDINGS / file
    if not path.is_file():
        pytest.skip(f"{file} is not in the data folder")
    arm = "MTMR" if file.startswith("mtm") else "PSM"
    recording = load_recording(path, arm, as_recorded=True, rate=rate)
    published, ours = (errors(arm, x, recording, place) for x in ("wang2019_published", NAME))
    assert ours.mean() < published.mean()
    if arm == "PSM":
        assert (ours < published).all()


@needs_recordings
def test_held_out_rows_are_predicted_better_than_the_published_sets_fit_their_own_data():
    recording = load_recording(RECORDINGS / "psm" / "measured_trajectory" / "one_results.csv", "PSM", as_recorded=True)
    left_out = read_toml(committed("PSM"), "set")["residuals"]["cv_relative_error"]
    assert (np.array(left_out) < errors("PSM", "wang2019_published", recording)).all()


@pytest.mark.parametrize("arm", ["PSM", "MTML", "MTMR"])
def test_the_set_is_consistent_and_rests_in_the_engine(arm):
    parameters = load_parameters(arm, NAME)
    check_consistent(parameters.inertias)
    assert all(d.Im > 0 for d in parameters.drives if "Im" in d.terms)
    sim = tr.Simulator(arm, parameters=NAME)
    start = START.get(arm, START["MTMR"])
    sim.reset(np.clip(start, sim.arm.lower, sim.arm.upper))
    q = sim.q
    recording = tr.simulate(sim, GravityCompensation(sim.mechanism), hold(q), 0.5)
    assert np.abs(recording.q - q).max() < 1e-4


@pytest.mark.parametrize("arm", ["PSM", "MTMR"])
def test_engine_and_equations_give_the_same_acceleration(arm):
    sim = tr.Simulator(arm, parameters=NAME, friction=False, limits=False, accuracy="exact")
    sim.reset(START[arm])
    tau = sim.mechanism.gravity(START[arm]) + 0.01 * np.array([1.0, -1.0, 2.0, 0.1, -0.1, 0.1, 0.05])
    for k in range(60):
        q, dq = sim.q, sim.dq
        sim.step(tau)
        if k > 20:  # constraints are soft for the first few steps under a new load
            np.testing.assert_allclose(sim.mechanism.inverse_dynamics(q, dq, sim.ddq), tau, atol=1e-4)


# Bias and weight (docs/identification.md).


@pytest.mark.parametrize("arm", ["PSM", "MTMR"])
def test_a_bias_is_a_small_current(arm):
    mechanism = tr.load_mechanism(arm, NAME)
    motors = mechanism.arm.motors
    current = motors.coupling.T @ mechanism.effort_bias / (np.array(motors.gear) * motors.torque_constant)
    assert (np.abs(current) < 0.05).all()


def free_constants(family):
    """Constant effort by joint and its standard deviation: the published model on 'one', least squares, no bound."""
    arm, cutoff = ARMS[family], {"PSM": 16.965, "MTM": 5.65}[family]
    published = tr.load_mechanism(arm, "wang2019_published")
    drives = [replace(d, terms=tuple(t for t in d.terms if t != "Fo")) for d in published.parameters.drives]
    drives += [Drive(name=f"at {name}", joints={name: 1.0}, terms=("Fo",)) for name in published.arm.joint_names]
    model = tr.Mechanism(published.arm, replace(published.parameters, drives=tuple(drives)))
    path = RECORDINGS / family.lower() / "measured_trajectory" / "one_results.csv"
    recording = load_recording(path, arm, as_recorded=True)
    signals = prepare(recording, [cutoff] * 7, cutoff, 1.0)
    T = joint_from_columns(model.arm, tuple(recording.joints))
    Y, tau = regressor(model, T, signals)[signals.used], signals.tau[signals.used]
    found = base_estimate(Y, tau, model.base_parameters, model.parameter_names, 1.0 / np.ptp(tau, axis=0))
    rows = zip(found.names, found.values, found.standard_deviations, strict=True)
    return {name[3:-3]: (value, sd) for name, value, sd in rows if name.startswith("at ")}


@needs_recordings
def test_the_published_bound_holds_back_the_yaw_of_the_psm_but_not_the_shoulder_of_the_mtm():
    value, sd = free_constants("PSM")["yaw"]
    assert value + 3 * sd < -0.3
    value, sd = free_constants("MTM")["shoulder_pitch"]
    assert value == pytest.approx(-0.6, abs=0.05)
    assert sd > 0.1


@needs_recordings
def test_the_joint_test_of_the_platform_shows_its_cables_and_no_bias():
    """One sweep forwards and backwards: its mean is the published polynomial, half its difference is friction."""
    q, dq, tau = np.loadtxt(RECORDINGS / "mtm" / "joint_test" / "one_results.csv", delimiter=",").T
    platform = next(e for e in load_parameters("MTMR", "wang2019").elastics if e.name == "platform_cable")
    gap = []
    for place in np.linspace(-1.3, 3.2, 16):
        up, down = (tau[(np.abs(q - place) < 0.05) & (sign * dq > 0.02)].mean() for sign in (1, -1))
        gap.append(0.5 * (up + down) - np.polyval(platform.coefficients, place))
        assert 0.06 < 0.5 * (up - down) < 0.085
    assert np.abs(gap).max() < 0.008
    assert np.mean(gap) == pytest.approx(0.003, abs=0.002)


@needs_recordings
@pytest.mark.parametrize(("arm", "joints"), [("PSM", [0, 1, 2]), ("MTMR", [0, 1])])
def test_effort_along_filters_a_recording_as_its_identification_did(arm, joints):
    """The error of the prediction is the one in the file, on joints that have a motor of their own."""
    path = RECORDINGS / arm[:3].lower() / "measured_trajectory" / "one_results.csv"
    recording, raw = load_recording(path, arm=arm), load_recording(path, arm=arm, as_recorded=True)
    signals = prepared(load_recipe(arm), raw)
    mechanism = tr.load_mechanism(arm, NAME)
    T = joint_from_columns(mechanism.arm, tuple(raw.joints))
    predicted = mechanism.effort_along(recording)
    np.testing.assert_allclose((predicted @ T)[signals.used], efforts(mechanism, T, signals)[signals.used], atol=2e-3)
    stated = read_toml(committed(arm[:3]), "parameter file")["residuals"]["train_relative_error"]
    error = relative_error(signals.tau[signals.used], (predicted @ T)[signals.used])
    np.testing.assert_allclose(error[joints], np.array(stated)[joints], rtol=0.03)


@needs_recordings
def test_after_a_reversal_a_real_master_yields_as_its_dahl_elements_do():
    """Share of the change of effort over the first milliradians: the platform's own recording, not used in the fit."""
    q, _, tau = np.loadtxt(RECORDINGS / "mtm" / "joint_test" / "one_results.csv", delimiter=",").T
    turn, drives = int(np.argmax(q)), tr.load_mechanism("MTMR", NAME).drives
    back = np.argsort(q[turn:])

    def change(distance):
        there = np.interp(q[turn] - distance, q[:turn], tau[:turn])
        return there - np.interp(q[turn] - distance, q[turn:][back], tau[turn:][back])

    distances = np.array([2e-3, 5e-3, 1e-2, 2e-2])
    measured = change(distances) / np.median(change(np.linspace(0.3, 1.0, 50)))
    own = np.flatnonzero(np.abs(drives.A[drives.owner])[:, 3] > 0)
    weight = np.abs(drives.A[drives.owner[own], 3])
    F = drives.F[own] * weight
    model = (F * -np.expm1(-distances[:, None] * weight / drives.delta[own])).sum(1) / F.sum()
    np.testing.assert_allclose(model, measured, atol=0.08)
