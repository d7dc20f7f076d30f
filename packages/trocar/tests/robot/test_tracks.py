"""Recordings as the motion of an arm: from files, at any time, compared, and simulated again."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.control import ComputedTorque, sinusoid
from trocar.errors import TrocarError, UnknownName
from trocar.identification.signals import efforts, prepare
from trocar.robot.settings import ArmSettings
from trocar.robot.track import Track, difference, resimulated, settings_of

DATA = Path(os.environ.get("TROCAR_DATA", "no data folder")) / "dvrk_dynamics_identification"
ONE = DATA / "psm" / "measured_trajectory" / "one_results.csv"
CENTRE, WAY = np.array([0.1, 0.0, 0.12, 0.0, 0.1, 0.0, 0.4]), np.array([0.2, 0.1, 0.02, 0.1, 0.1, 0.1, 0.0])


@pytest.fixture(scope="module")
def recording():
    sim = tr.Simulator("PSM", friction=False)
    reference = sinusoid(CENTRE, WAY, 1.0)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    return tr.simulate(sim, ComputedTorque(tr.load_mechanism("PSM"), 900.0, 60.0), reference, 1.0)


def at(track, t):
    """Positions (n,) of the only arm of a frame."""
    (state,) = track.frame(t).arms.values()
    return state.q


# -- contents of a track -------------------------------------------------------------------------------------------


def test_a_track_shows_the_rows_of_its_recording_and_interpolates_between_them(recording):
    track = Track(recording, "run")
    k = 100
    np.testing.assert_allclose(at(track, track.t[k]), recording.q[k], atol=1e-12)
    between = track.frame((track.t[k] + track.t[k + 1]) / 2)
    np.testing.assert_allclose(between.arms["PSM"].q, (recording.q[k] + recording.q[k + 1]) / 2, atol=1e-12)
    np.testing.assert_allclose(at(track, 1e9), recording.q[-1])
    np.testing.assert_allclose(at(track, -1.0), recording.q[0])
    np.testing.assert_allclose(between.qpos[: len(track.arm.bodies)], track.arm.E @ between.arms["PSM"].q)


def test_a_recording_names_its_arm(recording):
    settings = settings_of(recording, ArmSettings(arm="MTMR"))
    assert (settings.arm, settings.friction, settings.parameters) == ("PSM", False, "wang2019")


def measured(**changes):
    fields = {"t": np.arange(4) / 10, "q": np.zeros((4, 2)), "dq": np.zeros((4, 2)), "joints": ["yaw", "pitch"]}
    return tr.Recording(**{**fields, "joint_units": ["rad", "rad"], **changes})


def test_joints_that_are_not_recorded_stay_at_home():
    track = Track(measured(), "log", ArmSettings(arm="PSM"))
    np.testing.assert_allclose(at(track, 0.1), track.arm.home)
    assert track.frame(0.1).arms["PSM"].tau is None


def test_joints_of_another_arm_are_named():
    with pytest.raises(UnknownName, match=r"log: joint of PSM 'elbow'.*insertion"):
        Track(measured(joints=["yaw", "elbow"]), "log", ArmSettings(arm="PSM"))


def test_differences_of_two_recordings_are_exact(recording):
    other = replace(recording, q=recording.q + 0.01)
    found = difference(Track(recording, "a"), Track(other, "b"))
    np.testing.assert_allclose(found["q"], 0.01)
    np.testing.assert_allclose(found["tau"], 0.0)


def test_recordings_of_different_arms_are_not_compared(recording):
    other = Track(measured(joints=["outer_yaw", "wrist_yaw"], provenance={"arm": "MTMR"}), "master")
    with pytest.raises(TrocarError, match="PSM, master of MTMR"):
        difference(Track(recording, "a"), other)


def test_a_recording_opens_no_other_file():
    """The arm that a file names is checked like a command: an instrument is a name, never a file."""
    for about in (
        {"instrument": "/etc/own.toml"},
        {"instrument": ["400006"]},
        {"friction": "yes"},
        {"gravity": [0.0, 0.0, float("inf")]},
        {"arm": "/etc/own.toml"},
    ):
        with pytest.raises(TrocarError):
            Track(measured(joints=["yaw", "pitch"], provenance={"arm": "PSM", **about}), "run")


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(monkeypatch):
    monkeypatch.setattr("trocar.robot.track.MAX_UNPACKED", 4 << 20)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("t.npy", bytes(5 << 20))
    assert len(content.getvalue()) < 1 << 16
    with pytest.raises(TrocarError, match=r"bomb\.npz: 5 MB when unpacked; at most 4 MB"):
        Track.from_bytes("bomb.npz", content.getvalue())


def test_an_uploaded_file_that_is_not_a_recording_is_named():
    with pytest.raises(TrocarError, match=r"^broken\.csv, line 1"):
        Track.from_bytes("broken.csv", b"a,b\n1,2\n")
    with pytest.raises(TrocarError, match=r"'picture\.png': a recording is a file ending in \.npz, \.csv, \.bag"):
        Track.from_bytes("picture.png", b"")
    with pytest.raises(TrocarError, match="does not exist"):
        Track.load("nowhere.csv")


def test_an_uploaded_recording_reads_back_unchanged(recording, tmp_path):
    content = recording.save(tmp_path / "run.npz").read_bytes()
    np.testing.assert_array_equal(Track.from_bytes("run.npz", content).recording.q, recording.q)


# -- simulated again -------------------------------------------------------------------------------------------------


def test_simulating_a_recording_again_reproduces_it(recording):
    a = Track(recording, "run")
    told = []
    b = resimulated(a, progress=told.append)
    assert b.name == "run, simulated"
    assert told[-1] == 1.0
    middle = (b.t > 0.35) & (b.t < 0.65)  # the filter has no history at the ends
    q, tau = (np.stack([np.interp(b.t, a.t, x) for x in getattr(a.completed, c).T], axis=1) for c in ("q", "tau"))
    np.testing.assert_allclose(b.completed.q[middle], q[middle], atol=1e-3)
    error = np.abs(b.completed.tau - tau)[middle].max(0)
    assert (error < 0.03 * np.abs(tau).max(0) + 2e-4).all(), error


def test_a_motion_beyond_the_limits_is_simulated_within_them(recording):
    q = recording.q.copy()
    q[:, 2] = 0.3  # the insertion ends at 0.24 m
    b = resimulated(Track(replace(recording, q=q), "far"))
    assert b.completed.q[:, 2].max() < b.arm.upper[2] + 1e-3


@pytest.mark.skipif(not ONE.is_file(), reason="recordings of a real PSM: see TROCAR_DATA")
def test_a_real_robots_efforts_are_close_to_the_simulated_ones():
    """Wang et al.'s recording: the unexplained effort is no larger than that of their model."""
    track = Track.load(ONE, ArmSettings(arm="PSM"))
    short = tr.Recording(
        **{k: getattr(track.recording, k)[:1000] for k in ("t", "q", "dq", "tau")},
        joints=track.recording.joints,
        joint_units=track.recording.joint_units,
    )
    a = Track(short, "real", ArmSettings(arm="PSM"))
    b = resimulated(a)
    assert (difference(a, b)["q"] < 2e-3).all()
    # the equations along the measured motion, without engine and controller
    signals = prepare(short, [10.0] * 7, np.inf, 0.5)
    used = signals.used & (signals.t < b.duration)
    equations = efforts(b.description.mechanism(), np.eye(7), signals)[used]
    engine = np.stack([np.interp(signals.t[used], b.t, column) for column in b.completed.tau.T], axis=1)
    scale = np.sqrt((signals.raw[used] ** 2).mean(0))
    left = [np.sqrt(((x - signals.raw[used]) ** 2).mean(0)) / scale for x in (engine, equations)]
    np.testing.assert_allclose(left[0], left[1], atol=0.08)
    assert (left[0] < 0.35).all(), left[0]
