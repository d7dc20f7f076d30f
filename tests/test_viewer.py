"""The live simulation, what drives it and what is shown of it, without a browser."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import trocar as tr
from trocar.arms import instruments
from trocar.cli import app
from trocar.control import ComputedTorque, sinusoid
from trocar.errors import TrocarError, UnknownName
from trocar.viewer.driving import CONTROLLERS, Driver, Mode, choices
from trocar.viewer.frame import History, contact_forces, length
from trocar.viewer.plant import TIMESTEP, Plant, Settings
from trocar.viewer.playback import Track, difference, settings_of
from trocar.viewer.session import Session
from trocar.viewer.torques import bars, composition

J3 = 2


def stepped(session, seconds):
    """The frame after so much simulated time, however long that takes."""
    session.step(round(seconds / TIMESTEP))
    return session.settled(timeout=60.0)


@pytest.fixture
def session():
    result = Session(Settings(arm="PSM")).start()
    yield result
    result.close()


@pytest.fixture(scope="module")
def recording():
    sim = tr.Simulator("PSM", friction=False)
    mechanism = tr.load_mechanism("PSM")
    centre = np.array([0.1, 0.0, 0.12, 0.0, 0.1, 0.0, 0.4])
    way = np.array([0.2, 0.1, 0.02, 0.1, 0.1, 0.1, 0.0])
    reference = sinusoid(centre, way, 1.0)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    return tr.simulate(sim, ComputedTorque(mechanism, 900.0, 60.0), reference, 0.3)


# -- the session -----------------------------------------------------------------------------------------------------


def test_time_stands_until_it_plays_and_stands_again_when_paused(session):
    assert session.settled().time == 0.0
    session.play()
    deadline = time.monotonic() + 120.0
    while session.frame.time < 0.05 and time.monotonic() < deadline:
        time.sleep(0.01)
    session.pause()
    paused = session.settled()
    assert paused.time >= 0.05
    time.sleep(0.05)
    assert session.settled().time == paused.time


def test_steps_are_exactly_as_many_as_asked_for(session):
    session.step(7)
    assert session.settled().time == pytest.approx(7 * TIMESTEP)


def test_a_joint_target_is_reached_through_the_controller(session):
    goal = np.array([0.2, -0.1, 0.14, 0.3, 0.2, -0.2, 0.3])
    session.drive("computed torque")
    session.play()
    session.aim(goal)
    session.pause()
    frame = stepped(session, 2.0)
    # what is left is the dry friction that the controller is not told of
    np.testing.assert_allclose(frame.q_ref, goal, atol=1e-9)
    np.testing.assert_allclose(frame.q[:3], goal[:3], atol=0.02)


def test_a_joint_target_puts_a_paused_arm_there_at_once(session):
    goal = np.array([0.2, -0.1, 0.14, 0.3, 0.2, -0.2, 0.3])
    session.aim(goal)
    np.testing.assert_allclose(session.settled().q, goal, atol=1e-12)


def test_targets_outside_the_limits_are_taken_to_the_limit(session):
    session.aim(np.full(7, 9.0))
    np.testing.assert_allclose(session.settled().q, session.frame.plant.arm.upper)


def test_the_reference_of_a_joint_keeps_velocity_and_acceleration_limits(session):
    plant = session.frame.plant
    driver = Driver(plant, "PID (dVRK)")
    driver.aim(np.array([1.0, 0.5, 0.2, 2.0, 1.0, 1.0, 1.0]))
    rows = [driver.reference.advance() for _ in range(3000)]
    most = np.array([[j.velocity, j.acceleration] for j in plant.arm.joints])
    assert (np.abs([row.dq for row in rows]) <= most[:, 0] + 1e-9).all()
    assert (np.abs([row.ddq for row in rows]) <= most[:, 1] + 1e-9).all()
    np.testing.assert_allclose(np.diff([row.q for row in rows], axis=0) / TIMESTEP, [r.dq for r in rows[1:]], atol=0.02)


@pytest.mark.parametrize("controller", choices(Mode.cartesian))
def test_the_tip_goes_where_its_target_is(controller):
    session = Session(Settings(arm="PSM", friction=False)).start()
    try:
        session.aim(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0]))  # away from the singular pose at home
        session.drive(controller)
        T = session.settled().T_tip
        T[:3, 3] += [0.01, -0.01, 0.005]
        session.aim(T)
        frame = stepped(session, 2.0)
        np.testing.assert_allclose(frame.T_tip[:3, 3], T[:3, 3], atol=1e-3)
        np.testing.assert_allclose(frame.T_ref, T, atol=1e-5)
    finally:
        session.close()


def test_a_tip_target_out_of_reach_is_refused_with_the_reason(session):
    session.drive("feedback linearisation")
    T = session.settled().T_tip
    far = T.copy()
    far[:3, 3] = [0.0, 0.0, 2.0]
    session.aim(far)
    session.settled()
    assert "unreachable" in session.notices.get(timeout=120.0)
    np.testing.assert_allclose(session.frame.driver.reference.target, T, atol=1e-9)


def test_efforts_act_as_they_are_set(session):
    session.drive("effort alone")
    tau = np.array([0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    session.aim(tau)
    np.testing.assert_allclose(stepped(session, TIMESTEP).tau, tau, atol=1e-12)


def test_gravity_compensation_makes_an_arm_without_friction_float():
    session = Session(Settings(arm="PSM", friction=False)).start()
    try:
        session.drive("effort + gravity")
        start = session.settled().q
        np.testing.assert_allclose(stepped(session, 0.2).q, start, atol=1e-4)
    finally:
        session.close()


def test_without_the_counterweight_the_insertion_carries_the_instruments_weight(session):
    session.drive("computed torque")
    session.change(friction=False)
    with_weight = stepped(session, 1.0)
    session.change(counterweight=False)
    without = stepped(session, 1.0)
    g = [tr.load_mechanism("PSM", counterweight=c).gravity(without.q)[J3] for c in (True, False)]
    assert abs(g[1] - g[0]) > 1.0
    assert with_weight.tau[J3] == pytest.approx(g[0], abs=0.05)
    assert without.tau[J3] == pytest.approx(g[1], abs=0.05)


def test_a_change_of_the_plant_leaves_the_arm_where_it_is(session):
    session.aim(np.array([0.2, -0.1, 0.14, 0.3, 0.2, -0.2, 0.3]))
    before = stepped(session, 0.05)
    session.change(friction=False)
    after = session.settled()
    np.testing.assert_allclose(after.q, before.q, atol=1e-9)
    np.testing.assert_allclose(after.dq, before.dq, atol=1e-9)
    assert after.time == pytest.approx(before.time)


def test_gravity_can_be_turned(session):
    session.change(gravity=(0.0, -9.81, 0.0))
    frame = session.settled()
    np.testing.assert_allclose(frame.plant.sim.gravity_vector, [0.0, -9.81, 0.0])
    np.testing.assert_allclose(frame.plant.mechanism.gravity_vector, [0.0, -9.81, 0.0])


def test_another_instrument_is_taken_up(session):
    other = next(name for name in instruments.names("PSM") if name != session.frame.plant.arm.instrument)
    session.change(instrument=other)
    assert session.settled().plant.arm.instrument == other


def test_an_unknown_instrument_is_a_notice_and_the_arm_stays(session):
    plant = session.settled().plant
    session.change(instrument="SPOON")
    assert session.settled().plant is plant
    assert "SPOON" in session.notices.get(timeout=120.0)


def test_a_push_at_the_tip_does_the_work_of_its_force(session):
    """Held by an impedance of 200 N/m, the tip yields by F / K."""
    session.aim(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0]))
    session.change(friction=False)
    session.drive("impedance", {"stiffness": 200.0, "damping": 80.0})
    rest = stepped(session, 0.5).T_tip[:3, 3]
    force = np.array([0.6, -0.4, 0.5])
    session.push(force)
    pushed = stepped(session, 2.0)
    np.testing.assert_allclose(pushed.T_tip[:3, 3] - rest, force / 200.0, atol=3e-4)
    np.testing.assert_array_equal(pushed.force, force)


def test_a_diverging_run_pauses_says_so_and_goes_home(session):
    session.drive("effort alone")
    session.settled()
    session._post(lambda: session._live.driver.reference.aim(np.full(7, 1e9)))
    session.play()
    assert "back at home" in session.notices.get(timeout=120.0)
    frame = session.settled()
    assert not frame.playing
    np.testing.assert_allclose(frame.q, frame.plant.arm.home, atol=1e-9)


def test_whoever_reads_slowly_does_not_hold_the_simulation_up(session):
    """A reader that holds on to a frame, and another that sleeps in its own thread, change nothing."""
    session.play()
    held = session.frame
    asleep = threading.Thread(target=lambda: (session.frame, time.sleep(0.3)))
    asleep.start()
    deadline = time.monotonic() + 120.0
    while session.frame.time < held.time + 0.1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert session.frame.time >= held.time + 0.1
    asleep.join()


def test_a_recording_of_the_session_is_what_the_session_did(session):
    session.drive("computed torque")
    session.aim(np.array([0.1, 0.0, 0.13, 0.0, 0.0, 0.0, 0.3]))
    session.record()
    frame = stepped(session, 0.3)
    rec = session.recorded()
    assert rec.provenance["arm"] == "PSM"
    assert rec.t[-1] == pytest.approx(0.3, abs=4 * TIMESTEP)
    np.testing.assert_allclose(np.diff(rec.t), 3 * TIMESTEP)
    np.testing.assert_allclose(rec.q[-1], frame.q, atol=1e-2)
    # q, dq, ddq and tau of a row belong to one step: the equations say so, where friction is at most what is left
    mechanism = frame.plant.equations()
    left = rec.tau - mechanism.inverse_dynamics(rec.q, rec.dq, rec.ddq)
    friction = np.abs(mechanism.friction(rec.q[0], np.ones(7))) + np.abs(mechanism.friction(rec.q[0], -np.ones(7)))
    assert (np.abs(left) <= friction + 0.02).all()


def test_a_recording_starts_anew_at_a_reset(session):
    session.record()
    stepped(session, 0.1)
    session.reset()
    stepped(session, 0.05)
    assert session.recorded().t[-1] < 0.06


def test_ending_a_recording_that_never_was_is_an_error(session):
    with pytest.raises(TrocarError, match="nothing is being recorded"):
        session.recorded()


def test_every_arm_runs_in_every_mode():
    for arm in tr.ARMS:
        session = Session(Settings(arm=arm)).start()
        try:
            for mode in Mode:
                session.drive(choices(mode)[0])
                assert stepped(session, 0.01).time > 0
            assert session.notices.empty()
        finally:
            session.close()


# -- what drives -----------------------------------------------------------------------------------------------------


def test_every_controller_can_be_made_with_its_gains_at_their_ends():
    plant = Plant(Settings(arm="PSM"))
    for name, kind in CONTROLLERS.items():
        for end in ("least", "most"):
            Driver(plant, name, {gain: getattr(limits, end) for gain, limits in kind.gains.items()})


def test_an_unknown_controller_is_named():
    with pytest.raises(UnknownName, match="PID"):
        Driver(Plant(Settings(arm="PSM")), "PIDD")


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_the_parts_of_an_effort_add_up_to_it(session):
    session.aim(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0]))
    session.push(np.array([0.5, 0.0, 0.2]))
    frame = stepped(session, 0.1)
    parts = composition(frame.plant.equations(), frame)
    np.testing.assert_allclose(sum(parts.values()), frame.tau, atol=1e-12)


def test_without_friction_nothing_is_left_for_it():
    """The engine's effort is that of the equations, so what is called friction is 0 where there is none."""
    session = Session(Settings(arm="PSM", friction=False)).start()
    try:
        session.drive("computed torque")
        session.aim(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.2]))
        stepped(session, 0.05)
        session.play()
        session.aim(np.array([0.5, -0.2, 0.16, 0.5, 0.0, 0.2, 0.4]))
        session.pause()
        stepped(session, 0.25)
        rows = session.history.arrays()
        mechanism = session.frame.plant.equations()
        left = rows["tau"] - mechanism.inverse_dynamics(rows["q"], rows["dq"], rows["ddq"])
        assert np.abs(rows["dq"][:, 0]).max() > 0.1
        # after the first step, in which the engine's constraints take up their load
        assert (np.abs(left[1:]).max(0) < 1e-4 * np.maximum(np.abs(rows["tau"]).max(0), 0.01)).all()
    finally:
        session.close()


def test_bars_name_every_joint_with_its_effort(session):
    session.drive("effort alone")
    session.aim(np.array([0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    html = bars(session.frame.plant.equations(), stepped(session, TIMESTEP))
    assert 'data-joint="yaw">0.500 N m<' in html
    assert 'data-joint="insertion">1.000 N<' in html


def test_history_keeps_the_last_rows_at_its_interval():
    history = History(seconds=1.0, interval=0.1)
    for k in range(200):
        history.add(0.05 * k, *(np.array([float(k)]) for _ in History.NAMES))
    arrays = history.arrays()
    np.testing.assert_allclose(np.diff(arrays["t"]), 0.1)
    assert len(arrays["t"]) == 10
    assert arrays["q"][-1, 0] == 198.0


def test_contact_force_is_the_weight_of_what_lies_there():
    """A ball at rest on a plane: one arrow, from the contact, upwards, of its weight."""
    xml = """<mujoco><worldbody><geom type='plane' size='1 1 1'/>
      <body pos='0 0 0.0999'><freejoint/><geom type='sphere' size='0.1' mass='2'/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)

    class Sim:
        pass

    sim = Sim()
    sim.model, sim.data = model, mujoco.MjData(model)
    mujoco.mj_step(model, sim.data, 2000)
    ((point, force),) = contact_forces(sim)
    np.testing.assert_allclose(point[:2], 0.0, atol=1e-6)
    np.testing.assert_allclose(force, [0.0, 0.0, 2 * 9.81], rtol=1e-3, atol=1e-3)


def test_lengths_have_the_unit_that_fits():
    assert length(1e-16) == "0 nm"
    assert [length(x) for x in (1.2e-10, 3.4e-8, 2.5e-6, 0.0042)] == ["0.12 nm", "34 nm", "2.5 µm", "4.2 mm"]


# -- recordings ------------------------------------------------------------------------------------------------------


def test_a_track_shows_the_rows_of_its_recording_and_what_is_between(recording):
    track = Track(recording, "run")
    k = 100
    np.testing.assert_allclose(track.frame(track.t[k]).q, recording.q[k], atol=1e-12)
    between = track.frame((track.t[k] + track.t[k + 1]) / 2)
    np.testing.assert_allclose(between.q, (recording.q[k] + recording.q[k + 1]) / 2, atol=1e-12)
    np.testing.assert_allclose(track.frame(1e9).q, recording.q[-1])
    np.testing.assert_allclose(track.frame(-1.0).q, recording.q[0])
    np.testing.assert_allclose(between.qpos[: len(track.plant.arm.bodies)], track.plant.arm.E @ between.q)


def test_a_recording_says_what_its_arm_is(recording):
    settings = settings_of(recording, Settings(arm="MTMR"))
    assert (settings.arm, settings.friction, settings.parameters) == ("PSM", False, "wang2019")


def measured(**changes):
    fields = {"t": np.arange(4) / 10, "q": np.zeros((4, 2)), "dq": np.zeros((4, 2)), "joints": ["yaw", "pitch"]}
    return tr.Recording(**{**fields, "joint_units": ["rad", "rad"], **changes})


def test_joints_that_are_not_recorded_stay_at_home():
    track = Track(measured(), "log", Settings(arm="PSM"))
    np.testing.assert_allclose(track.frame(0.1).q, track.plant.arm.home)
    assert track.frame(0.1).tau is None


def test_joints_of_another_arm_are_named():
    with pytest.raises(UnknownName, match=r"log: joint of PSM 'elbow'.*insertion"):
        Track(measured(joints=["yaw", "elbow"]), "log", Settings(arm="PSM"))


def test_two_recordings_differ_by_what_they_differ_by(recording):
    other = replace(recording, q=recording.q + 0.01)
    found = difference(Track(recording, "a"), Track(other, "b"))
    np.testing.assert_allclose(found["q"], 0.01)
    np.testing.assert_allclose(found["tau"], 0.0)


def test_recordings_of_different_arms_are_not_compared(recording):
    other = Track(measured(joints=["outer_yaw", "wrist_yaw"], provenance={"arm": "MTMR"}), "master")
    with pytest.raises(TrocarError, match="PSM, master of MTMR"):
        difference(Track(recording, "a"), other)


def test_an_uploaded_file_that_is_no_recording_is_an_error_that_names_it():
    with pytest.raises(TrocarError, match=r"^broken\.csv, line 1"):
        Track.from_bytes("broken.csv", b"a,b\n1,2\n")
    with pytest.raises(TrocarError, match=r"ending in \.npz or \.csv"):
        Track.from_bytes("picture.png", b"")
    with pytest.raises(TrocarError, match="does not exist"):
        Track.load("nowhere.csv")


def test_an_uploaded_recording_reads_as_it_was(recording, tmp_path):
    content = recording.save(tmp_path / "run.npz").read_bytes()
    np.testing.assert_array_equal(Track.from_bytes("run.npz", content).recording.q, recording.q)


# -- with viser ------------------------------------------------------------------------------------------------------


def test_the_triangles_of_a_model_are_its_shapes():
    """Volume and extent of every primitive, and of the meshes MuJoCo made."""
    pytest.importorskip("trimesh")
    from trocar.viewer.meshes import geom_mesh

    spec = mujoco.MjSpec()
    kinds = {
        "box": (mujoco.mjtGeom.mjGEOM_BOX, [0.1, 0.2, 0.3], 0.048),
        "ball": (mujoco.mjtGeom.mjGEOM_SPHERE, [0.1, 0, 0], 4 / 3 * np.pi * 0.1**3),
        "egg": (mujoco.mjtGeom.mjGEOM_ELLIPSOID, [0.1, 0.2, 0.3], 4 / 3 * np.pi * 0.1 * 0.2 * 0.3),
        "rod": (mujoco.mjtGeom.mjGEOM_CYLINDER, [0.1, 0.2, 0], np.pi * 0.01 * 0.4),
        "pill": (mujoco.mjtGeom.mjGEOM_CAPSULE, [0.1, 0.2, 0], np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 0.1**3),
    }
    for name, (kind, size, _) in kinds.items():
        spec.worldbody.add_geom(name=name, type=kind, size=size)
    model = spec.compile()
    for name, (_, _, volume) in kinds.items():
        mesh = geom_mesh(model, model.geom(name).id)
        assert mesh.volume == pytest.approx(volume, rel=0.05), name
        half = model.geom_aabb[model.geom(name).id][3:]
        np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0) / 2, half, rtol=0.02)


def test_every_visible_shape_of_the_arm_is_drawn_once():
    trimesh = pytest.importorskip("trimesh")
    from trocar.viewer.meshes import VISIBLE, body_meshes, geom_mesh

    model = tr.Simulator("PSM").spec.copy().compile()
    seen = [i for i in range(model.ngeom) if model.geom_group[i] in VISIBLE]
    area = sum(geom_mesh(model, i).area for i in seen)
    drawn = body_meshes(model, VISIBLE)
    assert sum(trimesh.Trimesh(m.vertices, m.faces, process=False).area for m in drawn) == pytest.approx(area, rel=1e-6)
    assert {m.body for m in drawn} == {int(model.geom_bodyid[i]) for i in seen}


def test_a_taken_port_is_told_and_not_moved():
    pytest.importorskip("viser")
    from trocar.viewer.server import serve

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(TrocarError, match=f"port {port} of 127.0.0.1 is taken"):
            serve(port=port)


def test_the_server_is_on_the_loopback_and_another_host_is_warned_of():
    pytest.importorskip("viser")
    from trocar.viewer.server import address, exposure, serve

    server = serve(port=0)
    try:
        port = server.get_port()
        assert address(server) == f"http://127.0.0.1:{port}"
        with socket.socket() as probe:
            probe.settimeout(1.0)
            assert probe.connect_ex(("127.0.0.1", port)) == 0
        with socket.socket() as probe:  # another address of the loopback network is not listened at
            probe.settimeout(1.0)
            assert probe.connect_ex(("127.0.0.2", port)) != 0
    finally:
        server.stop()
    assert exposure("127.0.0.1") is None
    assert "no password" in exposure("0.0.0.0")


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70000), ("192.0.2.1", 0)])
def test_a_host_or_port_that_cannot_be_is_an_error(host, port):
    pytest.importorskip("viser")
    from trocar.viewer.server import serve

    with pytest.raises(TrocarError):
        serve(host, port)


# -- the commands ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("what", ["PSM", "broken"])
def test_ctrl_c_ends_the_viewer_cleanly(what, tmp_path):
    """The address on stdout, status 0, nothing on stderr; also where the recording cannot be read."""
    pytest.importorskip("viser")
    if what == "broken":
        what = tmp_path / "broken.csv"
        what.write_text("nonsense")
    command = [sys.executable, "-c", "from trocar.cli import app; app()", "view", str(what)]
    command += ["--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        assert re.match(r"trocar view: http://127\.0\.0\.1:\d+ ", line), line + process.stderr.read()
        page = urllib.request.urlopen(line.split()[2], timeout=120).read()
        assert b"<html" in page
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=180)
    assert (process.returncode, errors) == (0, "")


def test_a_taken_port_is_status_2_with_one_line():
    pytest.importorskip("viser")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        result = CliRunner().invoke(app, ["view", "--port", str(other.getsockname()[1]), "--no-browser"])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "is taken" in line
    assert "--port 0" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["view", "PSMM"], "Did you mean 'PSM'"),
        (["view", "PSM", "--compare", "b.csv"], "--compare is a second recording"),
        (["view", "nowhere.npz"], "nowhere.npz does not exist"),
        (["view", "nowhere.csv", "--compare", "b.csv"], "nowhere.csv does not exist"),
        (["view", "--reports", "nowhere", "--port", "0"], "there is no such folder"),
        (["view", "PSM", "--native"], "needs a display"),
        (["render", "nowhere.csv"], "does not exist"),
        (["render", "nowhere.csv", "-o", "film.avi"], ".png, .gif, .mp4"),
        (["render", "nowhere.csv", "--size", "big"], "WIDTHxHEIGHT"),
        (["render", "nowhere.csv", "--speed", "0"], "--speed must be positive"),
        (["render", "nowhere.csv", "--at", "1"], "--at is the time of a picture"),
    ],
)
def test_bad_arguments_are_status_2_with_one_line(arguments, message, monkeypatch):
    pytest.importorskip("viser")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert message in line
    assert result.stdout == ""


def test_render_makes_pictures_and_films_of_a_recording(recording, tmp_path):
    path = recording.save(tmp_path / "run.npz")

    def run(*arguments):
        result = CliRunner().invoke(app, ["render", str(path), "--size", "160x120", *map(str, arguments)])
        if "no OpenGL context" in result.stderr:
            pytest.skip(f"nothing can be rendered here: {result.stderr}")
        return result

    for name in ("end.png", "film.gif"):
        result = run("-o", tmp_path / name, "--fps", "10")
        assert result.exit_code == 0, result.stderr
    assert run("-o", tmp_path / "start.png", "--at", "0").exit_code == 0
    assert run("-o", tmp_path / "late.png", "--at", "9").exit_code == 2
    with Image.open(tmp_path / "film.gif") as film:
        assert (film.size, film.n_frames) == ((160, 120), 3)
    start, end = (np.asarray(Image.open(tmp_path / f"{name}.png")).astype(int) for name in ("start", "end"))
    assert (np.abs(start - end).max(-1) > 20).mean() > 0.005


def test_render_makes_an_mp4(recording, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    path = recording.save(tmp_path / "run.npz")
    result = CliRunner().invoke(app, ["render", str(path), "--size", "161x121", "-o", str(tmp_path / "film.mp4")])
    if "no OpenGL context" in result.stderr:
        pytest.skip(f"nothing can be rendered here: {result.stderr}")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"
