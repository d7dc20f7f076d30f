"""The scene of Ferro et al. 2022 over CoppeliaSim's remote API, with a client that makes the calls of their program."""

import os
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from tools.coppelia.client import RemoteApiClient
from tools.coppelia.program import Program
from trocar.demo.torque_control import START
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.robot.pictured_frame import PicturedFrame
from trocar_reproductions.coppelia.server import RemoteApiServer
from trocar_reproductions.ferro2022 import session_log
from trocar_reproductions.ferro2022.log_files import FILES, write_session
from trocar_reproductions.ferro2022.logs import LOGS, Log
from trocar_reproductions.ferro2022.remote_scene import ARMS, FRAMES, FRAMES_OF_PSM2, FerroScene
from trocar_reproductions.ferro2022.scene_arm import LOWER, UPPER
from trocar_reproductions.ferro2022.scene_file import load_scene_file
from trocar_reproductions.ferro2022.session_log import SessionLog

ROWS = 25
EXCITATION = 0.2 * np.sin(np.outer(np.arange(ROWS), [0.05, 0.1, 0.02]))


def session(task, *, rows=ROWS, arms=("PSM1",), **options):
    """Rows of the program, one client per arm, and the scene."""
    scene = FerroScene(arms, report=lambda line: None, **options)
    with RemoteApiServer(scene, 0, lambda line: None) as server:
        clients = {arm: RemoteApiClient(server.port) for arm in arms}
        for client in clients.values():
            client.synchronous()

        def run(arm):
            rates = np.resize(EXCITATION, (rows, 3)) if task == "excitation" else None
            log = Program(clients[arm], task, arm=arm, given=rates).run(rows)
            clients[arm].finish()
            return log

        with ThreadPoolExecutor(len(arms)) as pool:
            return list(pool.map(run, arms)), scene


@pytest.mark.parametrize("torque", [False, True])
@pytest.mark.parametrize("task", ["regulation", "line", "spiral"])
def test_the_program_reduces_its_error(task, torque):
    (log,), _ = session(task, rows=40, torque=torque)
    error = np.linalg.norm(log.pdes - log.pee, axis=1)
    assert error[-1] < 0.5 * error[1]
    assert log.tauCmd.any() == torque
    # in ODE's sign; a command acts in the next period and its effort is read in the one after it
    if torque:
        np.testing.assert_allclose(-log.tauMsr[2:], log.tauCmd[:-2], atol=1e-5)


def test_the_excitation_under_torque_control_plays_efforts_in_open_loop():
    (log,), _ = session("excitation", torque=True)
    np.testing.assert_array_equal(log.tauCmd, EXCITATION)
    np.testing.assert_allclose(-log.tauMsr[2:], log.tauCmd[:-2], atol=1e-5)


def test_the_first_row_of_the_insertion_is_the_weight_of_the_tool():
    """3.4 to 3.6 N in their logs, 0.03 to 0.4 N in the second row: the counterweight's force comes a period late."""
    (log,), _ = session("line", rows=2)
    assert log.tauMsr[0, 2] == pytest.approx(0.363 * 9.81, abs=0.01)
    assert abs(log.tauMsr[1, 2]) < 0.4


def test_the_excitation_integrates_the_commands_from_the_start_of_the_scene():
    (log,), _ = session("excitation", period=0.005)
    q = START[:3] + 0.005 * np.cumsum(EXCITATION, axis=0)[:-2]
    np.testing.assert_allclose(log.qmsr[2:, :3], q, atol=2e-6)


def test_two_runs_are_identical_bit_by_bit():
    one, two = (session("spiral", counterweight=False)[0][0] for _ in range(2))
    for name in ("qmsr", "tauMsr", "qdcmd"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_a_program_that_runs_again_after_another_or_an_interrupted_one_has_the_same_bits():
    with RemoteApiServer(FerroScene(report=lambda line: None), 0, lambda line: None) as server:
        logs = []
        for rows in (8, 8):
            with RemoteApiClient(server.port) as client:
                logs.append(Program(client, "spiral").run(rows))
                client.finish()
        with RemoteApiClient(server.port) as client:  # it leaves without a stop, and the simulation goes on
            program = Program(client, "line")
            for _ in range(3):
                client.set_float_signal("qLdot_1", 0.3)
                client.trigger()
            assert program.period == 0.01
        while server.stepping.steps < 30:
            time.sleep(0.01)
        with RemoteApiClient(server.port) as client:
            logs.append(Program(client, "spiral").run(8))
    for log in logs[1:]:
        assert np.array_equal(log.qmsr, logs[0].qmsr)
        assert np.array_equal(log.tauMsr, logs[0].tauMsr)


@pytest.mark.parametrize("torque", [False, True])
def test_two_arms_with_a_client_each_are_like_one_arm_alone(torque):
    (one, two), _ = session("line", arms=("PSM1", "PSM2"), rows=10, torque=torque)
    (alone,), _ = session("line", rows=10, torque=torque)
    for log in (one, two):
        assert np.array_equal(log.qmsr[:9], alone.qmsr[:9])


@pytest.fixture
def client_of_scene():
    scene = FerroScene(report=lambda line: None)
    with RemoteApiServer(scene, 0, lambda line: None) as server, RemoteApiClient(server.port) as client:
        client.synchronous()
        client.start()
        yield client, scene


def test_joints_stop_where_the_scene_has_its_stops(client_of_scene):
    client, scene = client_of_scene
    psm = scene.psms["PSM1"]
    for sign, stop, joints in ((1.0, UPPER, [0, 1, 2, 4, 5]), (-1.0, LOWER, [0, 1, 2])):
        for k, rate in enumerate((4.0, 4.0, 2.0, 0.0, 6.0, 6.0)):
            client.set_float_signal(f"qLdot_{k + 1}", sign * rate)
        for _ in range(90):
            client.trigger()
        client.ping()
        np.testing.assert_allclose(psm.q[joints], stop[joints], atol=1e-3)
    # the script integrates the wrist's commands beyond its stops, so that equal commands bring it back
    for _ in range(2):
        client.trigger()
    client.ping()
    assert psm.q[4] == pytest.approx(-2 * 0.06, abs=0.07)
    for k in range(6):
        client.set_float_signal(f"qLdot_{k + 1}", 0.0)
    client.trigger()
    client.trigger()
    client.ping()
    rest = psm.q
    client.trigger()
    client.ping()
    np.testing.assert_allclose(psm.q, rest, atol=1e-6)


def test_an_effort_beyond_the_weight_ends_at_the_stop():
    scene = FerroScene(torque=True, report=lambda line: None)
    scene.start()
    for _ in range(60):
        scene.floats |= {"tauL_1": 20.0, "tauL_2": 0.0, "tauL_3": 0.0}
        scene.step()
    q = scene.psms["PSM1"].q
    assert q[0] == pytest.approx(UPPER[0], abs=0.01)


def test_motors_take_velocities_positions_and_force_limits_without_signals(client_of_scene):
    client, _ = client_of_scene
    handles = [client.handle(f"J{k}_PSM1") for k in (1, 2, 3)]
    keys = [struct.pack("<i", handle) for handle in handles]
    client.call(0x1008, keys[0], struct.pack("<f", 0.1))
    client.call(0x100C, keys[2], struct.pack("<f", 0.12))
    for _ in range(100):
        client.trigger()
    q = [client.joint_position(handle) for handle in handles]
    np.testing.assert_allclose(q, [0.1, 0.0, 0.12], atol=2e-5)
    client.call(0x100E, keys[0], struct.pack("<f", 0.0))  # a motor without force
    client.call(0x1008, keys[0], struct.pack("<f", 5.0))
    client.trigger()
    assert struct.unpack("<f", client.call(0x100D, keys[0])) == (0.0,)


def test_commands_that_are_no_numbers_are_ignored_and_the_simulation_goes_on(client_of_scene):
    client, scene = client_of_scene
    for k in range(6):
        client.set_float_signal(f"qLdot_{k + 1}", np.nan)
    for _ in range(3):
        client.trigger()
    client.ping()
    np.testing.assert_allclose(scene.psms["PSM1"].q, START, atol=1e-5)


def test_the_tip_frame_moves_with_the_arm(client_of_scene):
    client, scene = client_of_scene
    tip, base = client.handle("TipOrient"), client.handle("RCM_PSM1")
    at = np.array(client.position(tip))
    np.testing.assert_allclose(at, [-1.5302414, -0.1406061, 0.7153477], atol=1e-6)
    client.set_float_signal("qLdot_3", 0.05)
    for k in (1, 2, 4, 5, 6):
        client.set_float_signal(f"qLdot_{k}", 0.0)
    for _ in range(11):
        client.trigger()
    depth = np.array(client.position(tip, base))
    assert depth[2] == pytest.approx(at[2] - 0.8187921 - 0.005, abs=1e-4)
    velocity = struct.unpack("<6f", client.call(0x1036, struct.pack("<i", tip)))
    np.testing.assert_allclose(velocity, [0, 0, -0.05, 0, 0, 0], atol=1e-4)
    for handle in (tip, base):
        with pytest.raises(TrocarError, match="part of an arm"):
            scene.place(handle, np.eye(4))


def test_stopping_puts_the_scene_back(client_of_scene):
    client, scene = client_of_scene
    for k in range(6):
        client.set_float_signal(f"qLdot_{k + 1}", 0.5)
    for _ in range(5):
        client.trigger()
    client.ping()
    assert scene.time == pytest.approx(0.05)
    client.stop()
    assert (scene.floats, scene.time) == ({}, 0.0)
    np.testing.assert_array_equal(scene.psms["PSM1"].q, START)


@pytest.mark.parametrize("period", [0.004, 0.0125, 1.0, np.nan])
def test_the_period_is_a_multiple_of_the_physics_step(period):
    with pytest.raises(TrocarError, match="multiple of the physics step"):
        FerroScene(period=period)


def test_the_server_writes_the_logs_of_a_session(tmp_path):
    lines = []
    sessions = SessionLog(tmp_path, lines.append)
    (log,), _ = session("line", rows=12, observe=sessions)
    session("line", rows=3, observe=sessions)
    sessions.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LogSession_0", "LogSession_1"]
    assert {path.stem for path in (tmp_path / "LogSession_0").iterdir()} == {*FILES, "PSM1"}
    written = Log(tmp_path / "LogSession_0")
    np.testing.assert_allclose(written.t, 0.01 * np.arange(12), atol=1e-9)
    for name in ("qmsr", "qdcmd", "pee", "pdes"):
        np.testing.assert_allclose(written[name], getattr(log, name), rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(written["tauMsr"][:, :3], log.tauMsr, rtol=1e-5, atol=2e-6)
    assert lines[0].startswith("wrote 12 rows")
    truth = Recording.load(tmp_path / "LogSession_0" / "PSM1.npz")  # from the first step, which the first row follows
    np.testing.assert_allclose(truth.q[[1, *range(3, 14)], :6], log.qmsr[:, :6], atol=1e-6)
    np.testing.assert_allclose(-truth.tau[[0, *range(2, 13)], :3], log.tauMsr, rtol=1e-5, atol=1e-5)


def test_the_rows_of_a_session_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(session_log, "ROWS", 3)
    with closing(SessionLog(tmp_path, lambda _: None)) as sessions:
        session("line", rows=5, observe=sessions)
    assert len(Log(tmp_path / "LogSession_0").t) == 3
    assert len(Recording.load(tmp_path / "LogSession_0" / "PSM1.npz")) == 3


def test_the_next_program_does_not_wait_for_the_logs_of_the_last_one(tmp_path, monkeypatch):
    written, lines = Event(), []

    def write_slowly(*arguments):
        assert written.wait(60.0)  # until the second program has ended
        return write_session(*arguments)

    monkeypatch.setattr(session_log, "write_session", write_slowly)
    with closing(SessionLog(tmp_path, lines.append)) as sessions:
        for _ in range(2):
            session("line", rows=3, observe=sessions)
        assert lines == []
        written.set()
    assert [line[:12] for line in lines] == ["wrote 3 rows"] * 2
    assert {path.name for path in tmp_path.iterdir()} == {"LogSession_0", "LogSession_1"}


def test_logs_that_cannot_be_written_are_reported_and_end_in_an_error(tmp_path):
    lines = []
    sessions = SessionLog(tmp_path / "logs", lines.append)
    (tmp_path / "logs").write_text("")  # a file instead of the folder
    session("line", rows=3, observe=sessions)
    with pytest.raises(OSError, match="logs"):
        sessions.close()
    assert lines[0].startswith("the logs of a session were not written")


def test_joints_of_the_scene_have_its_names_and_ranges():
    path = Path(os.environ.get("TROCAR_DATA", "")) / LOGS / "scenes" / "dyn_dVRK_2arms.ttt"
    if not path.is_file():
        pytest.skip("TROCAR_DATA has no scenes of Ferro et al.")
    scene = load_scene_file(path)
    for arm, facts in ARMS.items():
        for k in range(6):
            joint = scene.joint(f"J{k + 1}_{arm}")
            assert joint.position == pytest.approx(START[k])
            if np.isfinite(LOWER[k]) and k != 1:  # the scene's J2 stops where its parallelogram is flat
                assert (joint.lower, joint.upper) == pytest.approx((LOWER[k], UPPER[k]), abs=1e-6)
        for name in (*facts.passive, f"J31_{arm}", f"J3mirror_{arm}"):
            scene.joint(name)
    for name, (p, _) in {**FRAMES, **FRAMES_OF_PSM2}.items():
        np.testing.assert_allclose(scene.pose(name)[:3, 3], p, atol=2e-5)


# -- windows beside the remote API ---------------------------------------------------------------------------------


def test_a_frame_shows_the_arms_where_the_scene_has_them():
    scene = FerroScene(("PSM1", "PSM2"))
    scene.set_joint_target(scene.handle("J1_PSM2"), velocity=0.5)
    scene.set_joint_position(scene.handle("J3_ECM"), 0.1)
    scene.start()
    for _ in range(5):
        scene.step()
    frame = scene.frame()
    assert (frame.time, frame.playing, set(frame.arms)) == (pytest.approx(0.05), True, {"PSM1", "PSM2", "ECM"})
    shown = PicturedFrame(frame.scene)
    shown.show(frame)
    for name, state in frame.arms.items():
        T = frame.scene.arms[name].T_world_base @ state.T_tip
        np.testing.assert_allclose(shown.T_world_tip(name), T, atol=2e-5)
    assert frame.arms["PSM2"].q[0] > 0.02
    assert frame.arms["PSM2"].tau is not None
    assert set(scene.frame(["PSM1"]).arms) == {"PSM1"}


def test_the_vision_sensors_follow_the_endoscope_of_the_scene():
    path = Path(os.environ.get("TROCAR_DATA", "")) / LOGS / "scenes" / "dyn_dVRK_1arm.ttt"
    if not path.exists():
        pytest.skip("needs the published scenes")
    published, scene = load_scene_file(path), FerroScene()
    before = {eye: scene.pose(scene.handle(f"Vision_sensor_{eye}")) for eye in ("left", "right")}
    np.testing.assert_allclose(before["left"][:3, 3], [-1.578708, 0.005816, 0.796509], atol=2e-6)
    np.testing.assert_allclose(before["right"][:3, 3], [-1.578907, 0.010042, 0.797174], atol=2e-6)
    q = {"J1_ECM": -0.4, "J2_ECM": 0.6, "J3_ECM": 0.12, "J4_ECM": 0.3}
    for name, position in q.items():
        scene.set_joint_target(scene.handle(name), position=position)
        assert scene.joint_position(scene.handle(name)) == position
    motion = published.pose("L4_visual_ECM", q) @ np.linalg.inv(published.pose("L4_visual_ECM"))
    for eye, T in before.items():
        np.testing.assert_allclose(scene.pose(scene.handle(f"Vision_sensor_{eye}")), motion @ T, atol=2e-4)
    scene.set_joint_position(scene.handle("J3_ECM"), 1.0)
    assert scene.joint_position(scene.handle("J3_ECM")) == 0.235


def test_a_picture_shows_an_instrument_when_the_endoscope_looks_at_it(client_of_scene):
    client, scene = client_of_scene
    sensor, yaw = client.handle("Vision_sensor_left"), client.handle("J1_ECM")

    def picture():
        data = client.call(0x1004, struct.pack("<i", sensor))
        assert struct.unpack("<2i", data[:8]) == (360, 288)
        return np.frombuffer(data[8:], np.uint8).reshape(288, 360, 3)[::-1]

    assert np.ptp(picture()) == 0  # nothing is in view at the start of the scene
    client.call(0x1002, struct.pack("<i", yaw), struct.pack("<f", -0.9))
    seen = picture()
    assert 0.02 < (seen > 60).any(axis=2).mean() < 0.5
    assert np.array_equal(picture(), seen)
    scene.close()


def test_the_wrist_also_has_the_names_of_the_dvrks_other_scenes():
    scene = FerroScene(("PSM1", "PSM2"))
    for arm, tool in (("PSM1", "TOOL1"), ("PSM2", "TOOL2")):
        for name, number in {"J1": 4, "J2": 5, "J3_dx": 6, "J3_sx": 7}.items():
            assert scene.handle(f"{name}_{tool}") == scene.handle(f"J{number}_{arm}")
    assert scene.parents[scene.handle("J2_PSM1")] == scene.handle("J1_PSM1")
    assert scene.joint_range(scene.handle("J1_PSM1")) == pytest.approx((-1.2217305, 0.8726646))
    scene.close()
