"""Ferro et al. 2022: their logs give their numbers, and our simulations do what their paper says."""

import os
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.experiments import Context, ferro2022
from trocar.experiments import ferro2022_logs as logs
from trocar.experiments import ferro2022_runs as runs
from trocar.report import Report

FOLDER = os.environ.get("TROCAR_DATA")
DATA = Path(FOLDER) if FOLDER else None
needs_logs = pytest.mark.skipif(
    not isinstance(logs.log_of(DATA, 1), logs.Log), reason="TROCAR_DATA has no logs of Ferro et al."
)
needs_recording = pytest.mark.skipif(
    not isinstance(logs.excitation_of(DATA), logs.Excitation), reason="TROCAR_DATA has no recordings of Wang et al."
)


@pytest.fixture(scope="module")
def mechanism():
    return tr.load_mechanism("PSM")


def write_log(folder, **files):
    folder.mkdir(parents=True)
    for name, rows in files.items():
        (folder / f"{name}.txt").write_text("\n".join(", ".join(map(str, row)) + ";" for row in rows) + "\n")


def test_a_log_is_read_with_its_time_apart_and_the_engines_sign_turned(tmp_path):
    rows = [[0.5 * k, *range(7)] for k in range(3)]
    write_log(tmp_path / logs.LOGS / "LogSession_1", qmsr=rows, tauMsr=rows)
    log = logs.log_of(tmp_path, 1)
    np.testing.assert_array_equal(log.t, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(log.settled, [False, True, True])
    np.testing.assert_array_equal(log.arm_joints("qmsr")[0], [0, 1, 2, 0, 0, 0, 0])
    np.testing.assert_array_equal(log.simulated()[0], [0, -1, -2])


@pytest.mark.parametrize("text", ["0, 1, x;", "0, 1;\n0, 1, 2;"])
def test_a_broken_log_is_refused_by_name(tmp_path, text):
    folder = tmp_path / logs.LOGS / "LogSession_1"
    folder.mkdir(parents=True)
    (folder / "qmsr.txt").write_text(text)
    with pytest.raises(tr.TrocarError, match=r"qmsr\.txt"):
        logs.log_of(tmp_path, 1)


def test_without_data_every_claim_on_data_is_null_and_says_so(mechanism):
    found = logs.claims(None, mechanism, mechanism)
    assert len(found) > 20
    assert all(claim.holds is None and claim.note.startswith("not run: no data folder") for claim in found)


def test_a_missing_session_is_named(tmp_path):
    assert "LogSession_3" in logs.log_of(tmp_path, 3)


@pytest.mark.parametrize(("text", "unit"), [("2.17", 0.01), ("0.048", 0.001), ("0.8", 0.1), ("3", 1.0)])
def test_the_last_printed_digit(text, unit):
    assert logs.last_digit(text) == pytest.approx(unit)


@needs_logs
def test_the_printed_errors_are_those_of_the_logs_cut_to_the_printed_digits():
    for session in (1, 2, 6):
        log, (_, column, texts) = logs.log_of(DATA, session), logs.PRINTED[session]
        errors = logs.rms((log.simulated() - log[column][:, logs.ARM])[log.settled])
        cut = [np.floor(error / logs.last_digit(text) + 1e-9) for error, text in zip(errors, texts, strict=True)]
        assert cut == [round(float(text) / logs.last_digit(text)) for text in texts]


@needs_logs
def test_the_excitation_row_is_not_against_the_model():
    log = logs.log_of(DATA, 6)
    against_model = logs.rms((log.simulated() - log["tauModel"][:, logs.ARM])[log.settled])
    assert (np.abs(against_model - logs.printed(6)) > 0.05).all()


@needs_recording
def test_the_replayed_motion_is_the_measured_one():
    excitation = logs.excitation_of(DATA)
    rows = np.loadtxt(DATA / logs.RECORDING, delimiter=",")
    assert np.abs(excitation.q[:, :3] - rows[:, :3]).max() < 4e-3
    assert np.abs(excitation.dq[:, :3] - rows[:, 7:10]).max() < 0.05
    setpoint = excitation.reference(1e-3)(1.0)
    np.testing.assert_allclose(setpoint.q, excitation.q[200], atol=1e-9)


def test_paths_have_the_velocity_and_acceleration_they_say(mechanism):
    for path in (runs.rectilinear(mechanism), runs.spiral(mechanism, runs.SPIRAL_OF_TEXT)):
        h, t = 1e-5, 1.234
        before, here, after = (path(t + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose(here.twist[:3], (after.T - before.T)[:3, 3] / (2 * h), atol=1e-7)
        np.testing.assert_allclose(here.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-5)


@needs_logs
def test_the_line_is_the_logged_one(mechanism):
    wanted = logs.log_of(DATA, 2)["pdes"]
    path = runs.rectilinear(mechanism)
    ours = np.array([path(t).T[:3, 3] for t in logs.log_of(DATA, 2).t]) @ runs.R_WORLD_BASE.T
    np.testing.assert_allclose(ours - ours[0], wanted - wanted[0], atol=1e-5)


def test_the_ideal_error_solves_its_equation():
    t, e0, de0 = np.linspace(0.0, 0.3, 3001), np.array([0.01, -0.02, 0.03]), np.array([0.1, 0.0, -0.2])
    e = runs.ideal_error(t, e0, de0)
    de, dde = (np.gradient(x, t, axis=0, edge_order=2) for x in (e, np.gradient(e, t, axis=0, edge_order=2)))
    np.testing.assert_allclose(e[0], e0)
    np.testing.assert_allclose(de[0], de0, atol=1e-4)
    residual = dde + runs.KD_TORQUE * de + runs.KP_TORQUE * e
    assert np.abs(residual[5:-5]).max() < 1e-2


def test_torque_control_is_linear_and_only_a_mirrored_counterweight_shows_on_the_insertion(mechanism):
    path = runs.rectilinear(mechanism)
    rigid, mirrored = (runs.torque_run(mechanism, path, 0.6, transmission=way) for way in ("rigid", "mirrored"))
    assert np.linalg.norm(rigid.error[0]) > 0.04
    assert rigid.deviation < 6e-4
    assert np.abs(rigid.mismatch[:, 2]).max() < 0.02 < 1.0 < np.abs(mirrored.mismatch[:, 2]).max()


def test_a_plant_without_counterweight_is_off_by_its_weight(mechanism):
    path = runs.regulation(mechanism, 1.0)
    recording = runs.velocity_run(mechanism, path, counterweight=False, timestep=5e-3, hold=1e-2)
    without = tr.load_mechanism("PSM", counterweight=False)
    expected = (mechanism.gravity(recording.q[-1]) - without.gravity(recording.q[-1]))[2]
    assert abs(expected) > 2.0
    assert runs.torque_errors(mechanism, recording)[2] == pytest.approx(abs(expected), rel=1e-2)


def test_without_the_recording_the_excitation_is_null_and_says_so(mechanism, tmp_path):
    context = Context(data=tmp_path, video=None, progress=lambda text: None)
    report = Report("empty data folder")
    found = ferro2022.excitation(context, report, mechanism)
    assert len(found) == 9
    assert all(claim.holds is None and "one_no_weight_results.csv is not in the data" in claim.note for claim in found)
    assert not report.figures
