"""Ferro et al. 2022: their logs reproduce their numbers, and our simulations agree with their paper."""

import os
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.demo import torque_control
from trocar.report import Report
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022 import figures, logs, program, replay, runs

FOLDER = os.environ.get("TROCAR_DATA")
DATA = Path(FOLDER) if FOLDER else None
needs_logs = pytest.mark.skipif(
    not isinstance(logs.log_of(DATA, 1), logs.Log), reason="TROCAR_DATA has no logs of Ferro et al."
)
needs_recording = pytest.mark.skipif(
    isinstance(logs.measured_motion(DATA), str), reason="TROCAR_DATA has no recordings of Wang et al."
)


@pytest.fixture(scope="module")
def mechanism():
    return tr.load_mechanism("PSM")


def write_log(folder, **files):
    folder.mkdir(parents=True)
    for name, rows in files.items():
        (folder / f"{name}.txt").write_text("\n".join(", ".join(map(str, row)) + ";" for row in rows) + "\n")


def test_a_log_separates_the_time_and_flips_the_sign_of_the_engine_torque(tmp_path):
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


def test_without_data_every_claim_on_data_is_null_with_a_reason(mechanism):
    claims = logs.log_claims(None, mechanism, mechanism)
    assert len(claims) > 20
    assert all(claim.holds is None and claim.note.startswith("not run: no data folder") for claim in claims)


def test_rows_of_the_claims_are_in_the_order_of_the_sessions():
    entries = logs.TABLE.entries
    assert entries["model on their motion/{row} largest difference"]["rows"] == [*logs.SESSIONS, *logs.TORQUE_CONTROL]
    other = entries["their logs/{row} from the log with counterweight"]
    assert other["rows"] == list(logs.FROM_THE_OTHER_LOG)
    assert other["published"] == [logs.printed(session)[j] for session, j in logs.FROM_THE_OTHER_LOG.values()]


def test_a_missing_session_is_named(tmp_path):
    assert "LogSession_3" in logs.log_of(tmp_path, 3)


@needs_logs
def test_the_printed_errors_are_those_of_the_logs_cut_to_the_printed_digits():
    for session in (1, 2, 3, 4, 6):  # J2 of session 5 is rounded: 0.7985 is printed as 0.8
        log, (entry, column) = logs.log_of(DATA, session), logs.SESSIONS[session]
        digit = np.array(logs.TABLE.entries[entry]["tolerance"])
        errors = torque_control.rms((log.simulated() - log[column][:, torque_control.ARM])[log.settled])
        np.testing.assert_array_equal(np.floor(errors / digit + 1e-9), np.round(logs.printed(session) / digit))


@needs_logs
def test_the_printed_tip_errors_are_those_of_the_logs_with_counterweight():
    """Agreement to less than one printed digit; the other log of the line differs more."""
    for session, name in logs.TRACKING.items():
        entry = logs.TABLE.entries[name]
        errors, other = (torque_control.rms(logs.log_of(DATA, k).tip_errors()) for k in (session, session - 1))
        off, off_other = ((x - entry["published"]) / entry["tolerance"] for x in (errors, other))
        assert (np.abs(off) < 1.0).all()
        assert np.abs(off).sum() < np.abs(off_other).sum()


@needs_logs
def test_the_excitation_row_compares_with_the_robot_not_the_model():
    log = logs.log_of(DATA, 6)
    against_model = torque_control.rms((log.simulated() - log["tauModel"][:, torque_control.ARM])[log.settled])
    assert (np.abs(against_model - logs.printed(6)) > 0.05).all()


@needs_recording
def test_the_replayed_motion_is_the_measured_one():
    measured = logs.measured_motion(DATA)
    rows = np.loadtxt(DATA / logs.RECORDING, delimiter=",")
    assert np.abs(measured.q[:, :3] - rows[:, :3]).max() < 4e-3
    assert np.abs(measured.dq[:, :3] - rows[:, 7:10]).max() < 0.05
    setpoint = measured.reference(1e-3)(1.0)
    np.testing.assert_allclose(setpoint.q, measured.q[200], atol=1e-9)


def test_velocity_and_acceleration_of_paths_match_their_positions(mechanism):
    for path in (runs.rectilinear(mechanism), torque_control.spiral(mechanism, runs.SPIRAL_OF_TEXT)):
        h, t = 1e-5, 1.234
        before, here, after = (path(t + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose(here.twist[:3], (after.T - before.T)[:3, 3] / (2 * h), atol=1e-7)
        np.testing.assert_allclose(here.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-5)


@needs_logs
@pytest.mark.parametrize(
    ("session", "step", "length"), [(2, runs.STEP, runs.LOGGED_LENGTH), (8, torque_control.CENTRE, runs.TORQUE_LENGTH)]
)
def test_the_lines_are_the_logged_ones(mechanism, session, step, length):
    """The second line begins at the centre of the spiral in the published program."""
    log = logs.log_of(DATA, session)
    path = runs.rectilinear(mechanism, length, step=step)
    ours = np.array([path(t).T[:3, 3] for t in log.t]) @ torque_control.R_WORLD_BASE.T
    np.testing.assert_allclose(ours - ours[0], log["pdes"] - log["pdes"][0], atol=1e-5)
    tip = mechanism.forward_kinematics(torque_control.START)[:3, 3] @ torque_control.R_WORLD_BASE.T
    np.testing.assert_allclose(ours[0] - tip, log["pdes"][0] - log["pee"][0], atol=2e-4)


@needs_logs
def test_the_filter_gives_the_logged_accelerations():
    log = logs.log_of(DATA, 2)
    differences = np.diff(log["qdcmd"], axis=0, prepend=0.0 * log["qdcmd"][:1]) / program.PERIOD
    logged = log["qddmsr"]
    assert np.abs(logged).max() > 400
    np.testing.assert_allclose(program.low_pass(differences), logged, rtol=1e-5, atol=5e-3)
    np.testing.assert_allclose(program.low_pass(np.ones(50))[-1], 1.0, atol=1e-4)


@pytest.mark.parametrize(
    ("kp", "kd"), [(torque_control.KP_TORQUE, torque_control.KD_TORQUE), (runs.KP_CODE, runs.KD_CODE), (100.0, 20.0)]
)
def test_the_ideal_error_solves_its_equation(kp, kd):
    t, e0, de0 = np.linspace(0.0, 0.3, 3001), np.array([0.01, -0.02, 0.03]), np.array([0.1, 0.0, -0.2])
    e = torque_control.ideal_error(t, e0, de0, kp, kd)
    de, dde = (np.gradient(x, t, axis=0, edge_order=2) for x in (e, np.gradient(e, t, axis=0, edge_order=2)))
    np.testing.assert_allclose(e[0], e0)
    np.testing.assert_allclose(de[0], de0, atol=1e-4)
    residual = dde + kd * de + kp * e
    assert np.abs(residual[5:-5]).max() < 1e-2


@pytest.fixture(scope="module")
def code_spiral(mechanism):
    return torque_control.spiral(mechanism, torque_control.SPIRAL_OF_CODE, 1.9)


def test_engine_and_model_agree_on_the_spiral_and_the_tip_follows_it(mechanism, code_spiral):
    recording = runs.velocity_run(mechanism, code_spiral)
    assert (runs.torque_errors(mechanism, recording) < 1e-4).all()
    errors = torque_control.rms(
        runs.pose_errors(mechanism, recording, code_spiral)[recording.t >= torque_control.SETTLED]
    )
    assert (errors[:3] < 1e-4).all()
    assert (errors[3:] < 1e-3).all()


def test_without_counterweight_the_insertion_error_is_the_printed_one_for_moving_arms(mechanism, code_spiral):
    recording = runs.velocity_run(mechanism, code_spiral, counterweight=False, timestep=5e-3, hold=1e-2)
    assert 2.9 < runs.torque_errors(mechanism, recording)[2] < 3.3


def test_the_kinematic_error_of_the_settled_tip_is_that_of_the_integration(mechanism, code_spiral):
    """First-order integration: ten times the period gives ten times the error."""
    coarse, fine = (
        torque_control.rms(errors[t >= torque_control.SETTLED])
        for t, _, errors in (runs.kinematic_run(mechanism, code_spiral, period) for period in (1e-2, 1e-3))
    )
    assert (fine[:3] < 1e-4).all()
    np.testing.assert_allclose(coarse[:3] / fine[:3], 10.0, rtol=0.1)


def test_the_whole_pose_follows_the_spiral_by_torque(mechanism, code_spiral):
    recording = runs.pose_run(mechanism, code_spiral, 1.2)
    errors = runs.pose_errors(mechanism, recording, code_spiral)
    assert np.abs(errors[0, :3]).max() > 0.03
    assert np.abs(errors[0, 3:]).max() > 0.3
    late = np.square(errors[recording.t >= torque_control.SETTLED])
    assert np.sqrt(late[:, :3].sum(1).mean()) < 1e-4
    assert np.sqrt(late[:, 3:].sum(1).mean()) < 1e-3


def test_torque_control_is_linear(mechanism):
    rigid = torque_control.torque_run(mechanism, runs.rectilinear(mechanism), 0.6)
    assert np.linalg.norm(rigid.error[0]) > 0.04
    assert rigid.deviation < 5e-4
    assert np.abs(rigid.mismatch[:, 2]).max() < 0.02


def test_the_program_turns_the_tip_at_half_its_gain_and_the_wrist_stops(mechanism):
    """Angles decay at 7.5 /s, positions at 15 /s: e[k + 1] = e[k] - gain T e[k - 1]."""
    t, q, errors = runs.kinematic_run(mechanism, runs.rectilinear(mechanism), program=True)
    angle, distance = (np.linalg.norm(errors[:, columns], axis=1) for columns in (slice(3, 6), slice(0, 3)))
    early = (t > 0.1) & (t < 0.25)
    for values, rate in ((angle, 7.5), (distance, 15.0)):
        factor = np.roots([1.0, -1.0, rate * program.PERIOD]).max()
        assert np.exp(np.polyfit(t[early], np.log(values[early]), 1)[0] * program.PERIOD) == pytest.approx(
            factor, rel=0.01
        )
    np.testing.assert_array_equal(q[1], q[0])
    assert q[:, 5].min() == runs.WRIST_STOP
    assert angle[t < 8.0][-1] < 1e-3 < 0.1 < angle[-1]


@needs_logs
def test_the_spiral_is_the_logged_one(mechanism):
    log = logs.log_of(DATA, 4)
    path = torque_control.spiral(mechanism, torque_control.SPIRAL_OF_CODE)
    ours = np.array([path(t).T[:3, 3] for t in log.t]) @ torque_control.R_WORLD_BASE.T
    np.testing.assert_allclose(ours - ours[0], log["pdes"] - log["pdes"][0], atol=1e-5)
    tip = mechanism.forward_kinematics(torque_control.START)[:3, 3] @ torque_control.R_WORLD_BASE.T
    np.testing.assert_allclose(ours[0] - tip, log["pdes"][0] - log["pee"][0], atol=2e-4)


@needs_logs
def test_our_kinematics_give_the_logged_tip_of_a_wrist_that_turns_with_the_arm():
    log, mechanism = logs.log_of(DATA, 8), tr.load_mechanism("PSM")
    ours = runs.errors_of_joints(mechanism, log["qmsr"], log["pdes"] - log["pee"][0])
    np.testing.assert_allclose(ours[:, :3], log.tip_errors()[:, :3], atol=5e-5)
    np.testing.assert_allclose(ours[:, 3:], log.tip_errors()[:, 3:], atol=5e-4)


def velocity_log(folder, mechanism, session):
    """A log generated by the equations: commands of a spiral, joints that follow one row later."""
    t = np.arange(0.0, 1.0, program.PERIOD)
    commanded = np.zeros((len(t), 7))
    commanded[:, :3] = [0.3, 0.2, 0.05] * np.cos(np.outer(5.0 * t, [1.0, 1.3, 0.7]))
    q = np.tile([0.1, -0.2, 0.12, 0, 0, 0, 0], (len(t), 1))
    q[2:] += np.cumsum(commanded[:-2], axis=0) * program.PERIOD
    tau = np.zeros((len(t), 7))
    rates = np.diff(commanded, axis=0) / program.PERIOD
    tau[3:] = mechanism.inverse_dynamics(q[2:-1], commanded[1:-2], rates[:-2])
    files = {"qmsr": q, "qdcmd": commanded, "tauMsr": -tau}
    write_log(folder, **{name: np.column_stack([t, rows]) for name, rows in files.items()})
    return logs.Log(folder)


def test_a_replayed_command_gives_the_torque_of_an_engine_that_obeys_the_equations(mechanism, tmp_path):
    without = tr.load_mechanism("PSM", counterweight=False)
    for session, true in ((3, without), (4, mechanism)):
        log = velocity_log(tmp_path / str(session), true, session)
        replayed = replay.Replay(log, session, mechanism, without)
        np.testing.assert_allclose(replayed.equations, replayed.theirs, atol=1e-12)
        assert (replay.agreement(replayed.engine, replayed.theirs).correlation > 0.998).all()
        assert (torque_control.rms(replayed.engine - replayed.theirs) < 1e-3).all()
        wrong = replay.Replay(log, 7 - session, mechanism, without)
        assert torque_control.rms(wrong.engine - wrong.theirs)[2] > 2.0


@needs_logs
def test_the_logged_spiral_replayed_has_the_torque_of_their_engine(mechanism):
    log = logs.log_of(DATA, 4)
    replayed = replay.Replay(log, 4, mechanism, tr.load_mechanism("PSM", counterweight=False))
    assert (replay.agreement(replayed.engine, replayed.theirs).correlation > 0.94).all()
    assert abs(replayed.constant(log["qmsr"][log.settled, 0])) < 0.15  # the bias Fo of J1 would be -0.3 N m


@needs_logs
def test_the_program_under_torque_control_is_the_logged_one_and_mirroring_shows_on_joint_3(mechanism):
    log = logs.log_of(DATA, 8)
    theirs = (log["tauCmd"] - log["tauModel"])[:21, 2]
    correlations = {}
    for way in ("mirrored", "rigid"):
        ours = program.torque_run(mechanism, log, runs.KP_CODE, runs.KD_CODE, transmission=way, duration=0.3)
        # before the first command acts both have the same state
        np.testing.assert_allclose(ours.command[:2], log["tauCmd"][:2, :3], rtol=0.05, atol=0.1)
        np.testing.assert_array_equal(ours.engine[3:], ours.command[1:-2])
        correlations[way] = np.corrcoef((ours.command - ours.model)[1:21, 2], theirs[1:])[0, 1]
    assert correlations["rigid"] < 0.4 < 0.8 < correlations["mirrored"]


@needs_logs
def test_every_available_log_of_torque_control_is_evaluated(mechanism, tmp_path):
    """Log 8 under the number of the spiral, which has the same gains, gives the same numbers."""
    (tmp_path / logs.LOGS).mkdir()
    for session in (8, 9):
        (tmp_path / logs.LOGS / f"LogSession_{session}").symlink_to(DATA / logs.LOGS / "LogSession_8")
    report = Report("torque control")
    context = Context(data=tmp_path, video=None, progress=lambda text: None)
    claims = {claim.id: claim for claim in program.transient_claims(context, report, mechanism)}
    assert len(report.figures) == len(report.tables) == 2
    for name, claim in claims.items():
        if "log 7" in name:
            assert claim.holds is None
        else:
            assert claim.ours == claims[name.replace("log 9 (spiral)", "log 8 (rectilinear)")].ours is not None


def test_a_plant_without_counterweight_has_an_error_of_its_weight(mechanism):
    path = runs.regulation(mechanism, 1.0)
    recording = runs.velocity_run(mechanism, path, counterweight=False, timestep=5e-3, hold=1e-2)
    without = tr.load_mechanism("PSM", counterweight=False)
    expected = (mechanism.gravity(recording.q[-1]) - without.gravity(recording.q[-1]))[2]
    assert abs(expected) > 2.0
    assert runs.torque_errors(mechanism, recording)[2] == pytest.approx(abs(expected), rel=1e-2)


def test_without_the_recording_the_excitation_is_null_with_a_reason(mechanism, tmp_path):
    context = Context(data=tmp_path, video=None, progress=lambda text: None)
    report = Report("empty data folder")
    claims = replay.excitation_claims(context, report, mechanism)
    assert len(claims) == 15
    assert all(claim.holds is None and "one_no_weight_results.csv is not in the data" in claim.note for claim in claims)
    assert not report.figures


def test_half_the_step_halves_the_distance_from_the_linear_error(mechanism):
    """The distance from the linear error is due only to efforts held over a step."""
    path = torque_control.spiral(mechanism, runs.SPIRAL_OF_TEXT)
    whole, half = (torque_control.torque_run(mechanism, path, 0.2, timestep=step).deviation for step in (1e-3, 5e-4))
    assert whole < 5e-4
    assert half == pytest.approx(whole / 2, rel=0.05)


def test_a_clip_is_written_if_requested(mechanism, code_spiral, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "render", lambda *_, **__: np.zeros((8, 8, 3), dtype=np.uint8))
    t, q = np.arange(0.0, 0.5, 0.01), np.tile(torque_control.START, (50, 1))
    for video, files in ((None, []), (tmp_path, ["ferro2022-fig-5-spiral.gif"])):
        report = Report("clips")
        context = Context(data=None, video=video, progress=lambda text: None)
        figures.film(context, report, "fig 5 spiral", t, q, code_spiral)
        assert report.paragraphs == [f"Clip: {name}" for name in files]
        assert [path.name for path in tmp_path.iterdir()] == files
