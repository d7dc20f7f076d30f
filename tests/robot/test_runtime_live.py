"""The stepped simulation, its references, frames, inputs, status and messages. No threads."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import mujoco
import numpy as np
import pytest

import trocar.runtime
from trocar.errors import TrocarError, UnknownName
from trocar.runtime import CONTROLLERS, TIMESTEP, Live, Messages, Settings
from trocar.runtime.driver import Driver
from trocar.runtime.frame import contact_forces
from trocar.runtime.recorder import Recorder


@pytest.fixture
def live():
    return Live(Settings(arm="PSM"))


def steps(live, count):
    for _ in range(count):
        live.step()


def test_the_runtime_does_not_import_the_page():
    """No module of the folder imports viser or the viewer."""
    for path in Path(trocar.runtime.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("viser", "trocar.view")) for name in names), path


# -- references and controllers --------------------------------------------------------------------------------------


def test_the_joint_reference_keeps_velocity_and_acceleration_limits(live):
    arm = live.scene.arms["PSM"]
    driver = Driver(arm, "PID (dVRK)")
    driver.reference.aim(np.array([1.0, 0.5, 0.2, 2.0, 1.0, 1.0, 1.0]))
    rows = [driver.reference.advance() for _ in range(3000)]
    most = np.array([[j.velocity, j.acceleration] for j in arm.arm.joints])
    assert (np.abs([row.dq for row in rows]) <= most[:, 0] + 1e-9).all()
    assert (np.abs([row.ddq for row in rows]) <= most[:, 1] + 1e-9).all()
    np.testing.assert_allclose(np.diff([row.q for row in rows], axis=0) / TIMESTEP, [r.dq for r in rows[1:]], atol=0.02)


def test_every_controller_can_be_made_with_its_gains_at_their_ends(live):
    for name, kind in CONTROLLERS.items():
        for end in ("least", "most"):
            gains = {gain: getattr(limits, end) for gain, limits in kind.gains.items()}
            live.drive(name, gains)
            assert live.frame().arms["PSM"].control.gains == gains


def test_an_unknown_controller_is_named():
    with pytest.raises(UnknownName, match="PID"):
        Live(Settings(arm="PSM"), "PIDD")


def test_a_target_of_another_mode_is_refused(live):
    for action in (lambda: live.move_tip(np.eye(4)), lambda: live.set_effort(np.zeros(7))):
        with pytest.raises(TrocarError, match="'PID \\(dVRK\\)' follows a joint target"):
            action()


# -- frames ----------------------------------------------------------------------------------------------------------


def test_frames_are_immutable(live):
    live.drive("impedance")
    live.push([0.1, 0.0, 0.0])
    steps(live, 2)
    frame = live.frame()

    def check(value, seen):
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0.0
            seen.append(value)
        elif dataclasses.is_dataclass(value):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(value, dataclasses.fields(value)[0].name, None)
            for field in dataclasses.fields(value):
                if field.name not in ("scene", "arm", "parameters", "set_up"):
                    check(getattr(value, field.name), seen)

    for value in (frame, frame.arms["PSM"], frame.arms["PSM"].control, frame.scene.arms["PSM"]):
        seen = []
        check(value, seen)
        assert seen
    for mapping in (frame.arms, frame.scene.arms, frame.scene.fixed, frame.status):
        with pytest.raises(TypeError):
            mapping["PSM"] = None
    with pytest.raises(ValueError, match="read-only"):
        frame.scene.arms["PSM"].T_world_base[0, 3] = 1.0
    with pytest.raises(TypeError):
        frame.arms["PSM"].control.gains["stiffness"] = 1.0


def test_a_frame_is_a_copy(live):
    before = live.frame()
    q = before.arms["PSM"].q.copy()
    live.move_joints([0.3, 0.1, 0.15, 0.0, 0.0, 0.0, 0.5])
    steps(live, 100)
    np.testing.assert_array_equal(before.arms["PSM"].q, q)
    assert live.frame().number > before.number


def test_efforts_are_unknown_before_the_first_step(live):
    assert live.frame().arms["PSM"].tau is None
    live.step()
    assert live.frame().arms["PSM"].tau.shape == (7,)
    live.reset()
    assert live.frame().arms["PSM"].tau is None


def test_the_contact_force_equals_the_weight_of_the_object():
    """A ball at rest on a plane: one upward force at the contact, equal to its weight."""
    xml = """<mujoco><worldbody><geom type='plane' size='1 1 1'/>
      <body pos='0 0 0.0999'><freejoint/><geom type='sphere' size='0.1' mass='2'/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 2000)
    ((point, force),) = contact_forces(model, data)
    np.testing.assert_allclose(point[:2], 0.0, atol=1e-6)
    np.testing.assert_allclose(force, [0.0, 0.0, 2 * 9.81], rtol=1e-3, atol=1e-3)


# -- inputs, status, messages ----------------------------------------------------------------------------------------


def test_an_input_commands_the_arm_at_its_period(live):
    times = []

    def source(given):
        times.append(given.time)
        given.move_joints([0.1, 0.0, 0.12, 0.0, 0.0, 0.0, 0.3])

    live.connect("policy", source, period=10 * TIMESTEP)
    assert live.inputs == ("policy",)
    steps(live, 25)
    np.testing.assert_allclose(times, np.array([0, 10, 20]) * TIMESTEP, atol=1e-12)
    assert live.frame().arms["PSM"].control.target[0] == 0.1
    live.disconnect("policy")
    live.disconnect("policy")  # a second time is not an error
    steps(live, 10)
    assert len(times) == 3


def test_an_input_that_fails_is_disconnected_and_reported(live):
    def source(given):
        raise KeyError("wrist")

    live.connect("policy", source)
    steps(live, 3)
    assert live.inputs == ()
    (message,) = live.messages.since(0)
    assert (message.level, "policy" in message.text, "KeyError('wrist')" in message.text) == ("error", True, True)


def test_wrong_commands_of_an_input_raise_in_the_input(live):
    live.connect("policy", lambda given: given.move_joints([np.nan] * 7))
    live.step()
    assert "q must be finite" in live.messages.since(0)[0].text


def test_status_is_in_every_frame_until_it_is_removed(live):
    live.set_status("teleoperation", "engaged")
    frame = live.frame()
    assert frame.status == {"teleoperation": "engaged"}
    live.set_status("teleoperation", None)
    assert live.frame().status == {}
    assert frame.status == {"teleoperation": "engaged"}


def test_every_reader_of_messages_reads_independently():
    messages = Messages()
    for text in ("one", "two"):
        messages.post(text)
    first = messages.since(0)
    assert [message.text for message in first] == ["one", "two"]
    assert messages.since(first[-1].number) == []
    messages.post("three", "error")
    assert [message.text for message in messages.since(first[-1].number)] == ["three"]
    assert len(messages.since(0)) == 3


def test_a_recorder_keeps_the_last_rows_at_its_interval_and_restarts_at_a_reset():
    recorder = Recorder(seconds=1.0, interval=0.1)
    for t in (0.0, 5.0, 5.01):  # of a run before
        recorder.add(t, *(np.zeros(1) for _ in Recorder.NAMES))
    assert len(recorder.arrays()["t"]) == 2
    recorder.add(0.0, *(np.ones(1) for _ in Recorder.NAMES))
    assert recorder.arrays()["q"].tolist() == [[1.0]]
    for k in range(1, 200):
        recorder.add(0.05 * k, *(np.array([float(k)]) for _ in Recorder.NAMES))
    arrays = recorder.arrays()
    np.testing.assert_allclose(np.diff(arrays["t"]), 0.1)
    assert len(arrays["t"]) == 10
    assert arrays["q"][-1, 0] == 198.0
