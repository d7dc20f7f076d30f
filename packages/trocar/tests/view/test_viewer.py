"""The page and the commands that open it, without a browser."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import mujoco
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.control import ComputedTorque, sinusoid
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.messages import JointState
from trocar.robot.settings import ArmSettings
from trocar.simulation import Scene
from trocar.simulation.objects.solid import practice_objects
from trocar.view.panel import length
from trocar.view.panels.plots import CurvePanel, bars, composition

pytestmark = pytest.mark.xdist_group("viewer")  # one worker: fixtures are built once


@pytest.fixture(scope="module")
def recording():
    sim = tr.Simulator("PSM", friction=False)
    mechanism = tr.load_mechanism("PSM")
    centre = np.array([0.1, 0.0, 0.12, 0.0, 0.1, 0.0, 0.4])
    way = np.array([0.2, 0.1, 0.02, 0.1, 0.1, 0.1, 0.0])
    reference = sinusoid(centre, way, 1.0)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    return tr.simulate(sim, ComputedTorque(mechanism, 900.0, 60.0), reference, 0.3)


@pytest.fixture
def robot():
    with Robot(ArmSettings(arm="PSM").build(), start="ready", speed="stepped") as robot:
        yield robot


def stepped(robot, steps):
    """Mechanism and state of the only arm after some cycles."""
    robot.step(steps)
    frame = robot.simulation().frame()
    return frame.scene.arms["PSM"].mechanism(), frame.arms["PSM"]


# -- shown values ---------------------------------------------------------------------------------------------------


def test_the_parts_of_an_effort_add_up_to_it(robot):
    arm = robot.simulation().arm("PSM")
    arm.place(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0]))
    arm.push(np.array([0.5, 0.0, 0.2]))
    mechanism, state = stepped(robot, 150)
    np.testing.assert_allclose(sum(composition(mechanism, state).values()), state.tau, atol=1e-12)


def test_the_effort_of_a_contact_is_distinguished_from_friction():
    scene = ArmSettings(arm="PSM").build()
    scene = Scene(**{**scene.arguments, "objects": practice_objects(scene)})
    with Robot(scene, start="ready", speed="stepped") as robot:
        q, _ = robot.arm("PSM").setpoint_jp()
        robot.bus.publish("PSM/move_jp", JointState(position=q + [0, 0, 0.03, 0, 0, 0]))  # the plate is 20 mm away
        mechanism, state = stepped(robot, 1500)
        parts = composition(mechanism, state)
        assert parts["contact"][2] == pytest.approx(robot.scene.arms["PSM"].contact_wrench(of="plate")[2], abs=1e-3)
        assert parts["contact"][2] > 0.5
        np.testing.assert_allclose(sum(parts.values()), state.tau, atol=1e-12)


def test_bars_name_every_joint_with_its_effort(robot):
    robot.bus.publish("PSM/servo_jf", JointState(effort=np.array([0.5, 0.0, 1.0, 0.0, 0.0, 0.0])))
    html = bars(*stepped(robot, 1))
    shown = dict(re.findall(r'data-joint="(\w+)"><tspan [^>]*>(.*?)</text>', html))
    assert re.fullmatch(r"0\.500</tspan> of &#177;[\d.]+ N m", shown["yaw"])
    assert re.fullmatch(r"1\.000</tspan> of &#177;[\d.]+ N", shown["insertion"])
    assert set(shown) == set(robot.scene.arms["PSM"].arm.joint_names)


def test_curves_keep_the_equations_of_before_a_change():
    """Rows of before a change are compared with the equations of then, and another joint can be chosen while paused."""
    pytest.importorskip("viser")
    from tests.support.viewed_robot import ViewedRobot

    viewed = ViewedRobot(drawn=False)
    try:
        curves = viewed.page.panel(CurvePanel)

        def residuals():
            viewed.draw()
            return np.array(curves._plots["engine - equations"].data[1])

        viewed.simulation.arm("PSM").set_law("computed torque")
        viewed.draw()
        viewed.simulation.step(600)
        before = residuals()
        assert len(before) > 5
        viewed.simulation.arm("PSM").change(counterweight=False)
        viewed.draw()
        viewed.simulation.step(600)
        after = residuals()
        np.testing.assert_allclose(after[: len(before) - 1], before[:-1], atol=1e-9)
        position = np.array(curves._plots["position"].data[1])
        curves.joint.value = "insertion"
        residuals()
        assert np.array(curves._plots["position"].data[1]).mean() > position.mean() + 0.05
    finally:
        viewed.close()


def test_a_served_page_is_visible_at_once():
    pytest.importorskip("viser")
    from trocar.view.client_page import STYLE
    from trocar.view.server import address, serve

    server = serve(port=0)
    try:
        for encoding in ("identity", "gzip"):
            sent = urllib.request.Request(address(server), headers={"Accept-Encoding": encoding})
            with urllib.request.urlopen(sent) as answer:
                page = answer.read().decode()
            assert f"<title>trocar</title><style>{STYLE}</style>" in page
            assert page.endswith("</html>\n")
    finally:
        server.stop()


def test_lengths_have_a_suitable_unit():
    assert length(1e-16) == "0 nm"
    assert [length(x) for x in (1.2e-10, 3.4e-8, 2.5e-6, 0.0042)] == ["0.12 nm", "34 nm", "2.5 µm", "4.2 mm"]


# -- with viser ------------------------------------------------------------------------------------------------------


def test_the_triangles_of_a_model_are_its_shapes():
    """Volume and extent of every primitive and of MuJoCo's meshes."""
    pytest.importorskip("trimesh")
    from trocar.view.model_drawing import geom_mesh

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
    from trocar.view.model_drawing import VISIBLE, body_meshes, geom_mesh

    model = tr.Simulator("PSM").spec.copy().compile()
    seen = [i for i in range(model.ngeom) if model.geom_group[i] in VISIBLE]
    area = sum(geom_mesh(model, i).area for i in seen)
    drawn = body_meshes(model, VISIBLE)
    assert sum(trimesh.Trimesh(m.vertices, m.faces, process=False).area for m in drawn) == pytest.approx(area, rel=1e-6)
    assert {m.body for m in drawn} == {model.body(model.geom_bodyid[i]).name for i in seen}


def test_a_taken_port_is_reported_and_no_other_port_is_used():
    pytest.importorskip("viser")
    from trocar.view.server import serve

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(TrocarError, match=f"port {port} of 127.0.0.1 is taken"):
            serve(port=port)


def test_the_server_listens_on_the_loopback_and_warns_about_other_hosts():
    pytest.importorskip("viser")
    from trocar.view.server import address, exposure, serve

    server = serve(port=0)
    try:
        port = server.get_port()
        assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/\?token=[\w-]{{22}}", address(server))
        with socket.socket() as probe:
            probe.settimeout(1.0)
            assert probe.connect_ex(("127.0.0.1", port)) == 0
        with socket.socket() as probe:  # the server does not listen on another loopback address
            probe.settimeout(1.0)
            assert probe.connect_ex(("127.0.0.2", port)) != 0
    finally:
        server.stop()
    assert exposure("127.0.0.1") is None
    assert "anyone on the network who has the printed address" in exposure("0.0.0.0")


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70000), ("192.0.2.1", 0)])
def test_an_impossible_host_or_port_is_an_error(host, port):
    pytest.importorskip("viser")
    from trocar.view.server import serve

    with pytest.raises(TrocarError):
        serve(host, port)


# -- the commands ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_viewer_cleanly():
    """The address on stdout, status 0, nothing on stderr."""
    pytest.importorskip("viser")
    command = [sys.executable, "-c", "from trocar.cli import app; app()", "view", "PSM"]
    command += ["--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "opening PSM ...\n"
            line = process.stdout.readline()
            assert re.match(r"trocar view: http://127\.0\.0\.1:\d+/\?token=[\w-]+ ", line), line
            page = urllib.request.urlopen(line.split()[2], timeout=120).read()
            assert b"<html" in page
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=180)
        finally:
            process.kill()  # a failure must not wait for a running viewer
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
    assert "0 for any free one" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["view", "PSMM"], "Did you mean 'PSM'"),
        (["view", "PSM", "--compare", "b.csv"], "--compare takes the second recording"),
        (["view", "nowhere.npz"], "nowhere.npz does not exist"),
        (["view", "nowhere.csv", "--compare", "b.csv"], "nowhere.csv does not exist"),
        (["view", "--reports", "nowhere", "--port", "0"], "there is no folder nowhere"),
        (["view", "PSM", "--native"], "needs a display"),
        (["render", "nowhere.csv"], "does not exist"),
        (["render", "nowhere.csv", "-o", "film.avi"], ".png, .gif, .mp4"),
        (["render", "nowhere.csv", "--size", "big"], "WIDTHxHEIGHT"),
        (["render", "nowhere.csv", "--speed", "0"], "--speed must be positive"),
        (["render", "nowhere.csv", "--at", "1"], "--at applies to pictures only"),
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
    assert re.fullmatch(r"(opening [\w.]+ \.\.\.\n)?", result.stdout)


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
