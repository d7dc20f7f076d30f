"""Devices that drive the PSMs of a simulated robot: law, clutch, camera, delay, two hands, and faults."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation.test_endoscope_camera import endoscope

from trocar.errors import TrocarError
from trocar.recording.loading import load_recording
from trocar.robot import Robot, Sensors, messages
from trocar.robot.description import contact_forces
from trocar.simulation import Scene, load_scene
from trocar.simulation.objects.solid import GAP, PLATE
from trocar.spatial import Array, pose, rotation
from trocar.teleoperation.devices import DeviceConsole, DeviceSample, Keyboard, MotionLog, Scripted, training_scene
from trocar.teleoperation.devices.device import OPEN

PINCH = 0.1  # duration of a pinch [s]


@cache
def scene(*arms: str) -> Scene:
    return training_scene(arms, "none")


class Rig:
    """A robot in stepped time, with a device of each arm whose sample the test sets.

    early: time that passes before the devices are read [s].
    """

    def __init__(self, *arms: str, early: float = 0.0, **options: Any) -> None:
        self.arms = arms or ("PSM1",)
        built = scene(*self.arms)
        built.reset()
        self.robot = Robot(built, start="ready", speed="stepped", sensors=Sensors.ideal())
        self.samples = {arm: DeviceSample(np.zeros(6)) for arm in self.arms}
        self.devices = {arm: Scripted(lambda t, arm=arm: self.samples[arm]) for arm in self.arms}
        self.console = DeviceConsole(self.robot, self.devices, **options)
        if early:
            self.robot.run(early)
        self.robot.every(5e-3, lambda t: self.console.poll())
        self.console.start()

    def send(self, duration: float, arm: str | None = None, **sample: object) -> None:
        fields = {"twist": np.zeros(6)} | sample if "pose" not in sample else sample
        for name in self.arms if arm is None else (arm,):
            self.samples[name] = DeviceSample(**fields)  # type: ignore[arg-type]
        self.robot.run(duration)

    def pinch(self, arm: str | None = None, **sample: object) -> None:
        self.send(PINCH, arm, gripper=0.0, **sample)
        self.send(PINCH, arm, **sample)

    def setpoint(self, arm: str = "PSM1") -> Array:
        """Set-point (4, 4) of the PSM in the camera."""
        return self.robot.readings(arm).setpoint_pose().copy()

    def following(self, arm: str = "PSM1") -> bool:
        return self.console.pairs[arm].state.following

    def errors(self) -> list[str]:
        return [message.text for message in self.console.messages if message.kind == "error"]


def test_the_training_scene_has_the_arms_of_the_scene_dvrk_and_objects_below_their_tips() -> None:
    whole, training = load_scene("dvrk"), training_scene(("PSM2",))
    assert set(training.arms) == {"PSM2", "ECM"}
    assert training.timestep == whole.timestep
    tip = training.T_world_tip("PSM2")[:3, 3]
    np.testing.assert_allclose(tip, whole.T_world_tip("PSM2")[:3, 3], atol=1e-12)
    plate = training.objects["plate"].pose[:3, 3]
    np.testing.assert_allclose(plate[:2], tip[:2], atol=1e-9)
    jaw = training.arms["PSM2"].arm.jaw_length
    assert plate[2] + PLATE[2] / 2 == pytest.approx(tip[2] - jaw - GAP, abs=1e-9)
    with pytest.raises(TrocarError, match="arm of the scene dvrk 'PSM9'"):
        load_scene("dvrk", arms=["PSM9"])


def along(x: float = 0.0, y: float = 0.0, z: float = 0.0, turn: float = 0.0) -> Array:
    return np.array([x, y, z, 0.0, 0.0, turn])


def test_the_psm_waits_for_a_pinch_and_then_follows_the_hand_by_the_scale() -> None:
    rig = Rig(scale=0.5)
    start = rig.setpoint()
    rig.send(0.2, twist=along(0.1))
    assert not rig.following()
    assert np.allclose(rig.setpoint(), start, atol=1e-9)
    rig.pinch()
    assert rig.following()
    hand = rig.console.hands["PSM1"].grip.pose[:3, 3].copy()
    rig.send(0.2, twist=along(0.05, 0.02, -0.03, turn=0.5))
    rig.send(0.05)
    moved = rig.console.hands["PSM1"].grip.pose[:3, 3] - hand
    assert np.allclose(moved, [0.01, 0.004, -0.006], atol=4e-4)  # samples every 5 ms
    goal = rig.setpoint()
    assert np.allclose(goal[:3, 3] - start[:3, 3], 0.5 * moved, atol=1e-6)
    turned = rotation("z", 0.1)
    assert np.allclose(goal[:3, :3], turned @ start[:3, :3], atol=5e-3)
    assert rig.errors() == []


def test_the_clutch_and_a_new_scale_do_not_move_the_psm() -> None:
    rig = Rig(scale=0.2)
    rig.pinch()
    rig.send(0.1, twist=along(0.05))
    rig.send(0.02)
    before = rig.setpoint()
    rig.send(0.2, twist=along(0.1, 0.1), buttons=frozenset({"clutch"}))
    assert not rig.following()
    rig.send(0.1)
    assert rig.following()  # the operator is remembered
    assert np.allclose(rig.setpoint(), before, atol=1e-6)
    rig.send(0.02, buttons=frozenset({"faster"}))
    rig.send(0.05)
    assert rig.console.scales["PSM1"] == 0.3
    assert np.allclose(rig.setpoint(), before, atol=1e-6)
    rig.send(0.02, buttons=frozenset({"slower"}))
    assert rig.console.scales["PSM1"] == 0.2
    rig.console.set_scale(1.5, "PSM1")
    assert rig.console.scales["PSM1"] == 0.2


def test_every_hand_has_a_scale_of_its_own() -> None:
    rig = Rig("PSM1", "PSM2", scale={"PSM1": 0.2, "PSM2": 1.0})
    rig.pinch()
    before = {psm: rig.setpoint(psm)[:3, 3] for psm in rig.arms}
    rig.send(0.02, "PSM1", buttons=frozenset({"faster"}))
    assert rig.console.scales == {"PSM1": 0.3, "PSM2": 1.0}
    rig.send(0.1, twist=along(0.02))
    rig.send(0.02)
    moved = {psm: np.linalg.norm(rig.setpoint(psm)[:3, 3] - before[psm]) for psm in rig.arms}
    assert moved["PSM2"] == pytest.approx(0.002, abs=1e-4)
    assert moved["PSM1"] == pytest.approx(0.3 * moved["PSM2"], abs=1e-4)


def test_a_psm_holds_when_another_device_is_chosen_until_that_one_begins() -> None:
    rig = Rig(scale=1.0)
    rig.pinch()
    assert rig.following()
    before = rig.setpoint()
    T = np.eye(4)
    T[:3, 3] = 0.05, 0.02, 0.0  # elsewhere
    other = Scripted(lambda t: DeviceSample(pose=T, gripper=0.0 if 0.1 < t < 0.2 else OPEN))
    rig.console.use("PSM1", other)
    rig.send(0.05)
    assert not rig.following()
    assert rig.errors() == ["PSM1: script was chosen; the PSM holds until you wait"]
    rig.send(0.5)
    assert rig.following()
    np.testing.assert_allclose(rig.setpoint(), before, atol=1e-6)


def test_a_psm_holds_when_another_bilateral_control_is_chosen_until_the_device_begins() -> None:
    rig = Rig(scale=1.0, scheme="position-position", passivity="damping")
    rig.pinch()
    rig.send(0.2, twist=along(0.05))
    rig.send(0.1)
    before = rig.setpoint()
    rig.console.couple(None)
    assert not rig.console.couplings
    rig.send(0.1)
    assert not rig.following()
    assert rig.errors() == ["PSM1: script displays another force; the PSM holds until you wait"]
    rig.pinch()
    assert rig.following()
    np.testing.assert_allclose(rig.setpoint(), before, atol=1e-6)
    with pytest.raises(TrocarError, match="scheme"):
        rig.console.couple("magic")


def test_the_gripper_moves_the_jaw() -> None:
    rig = Rig()
    rig.pinch()
    rig.send(1.5)
    psm = rig.robot.readings("PSM1")
    assert psm.joint_setpoint()[-1] == pytest.approx(psm.arm.upper[-1], abs=1e-6)
    rig.send(0.3, gripper=OPEN / 2)
    assert psm.joint_setpoint()[-1] == pytest.approx(psm.arm.upper[-1] / 2, abs=1e-6)


def test_the_camera_button_moves_the_endoscope_and_the_psm_stays() -> None:
    rig = Rig()
    rig.pinch()
    ecm, tip = rig.robot.readings("ECM"), rig.robot.scene.arms["PSM1"].tip_pose()
    q = ecm.q_setpoint.copy()
    rig.send(0.3, twist=along(0.05, 0.0, 0.05), buttons=frozenset({"camera"}))
    assert not rig.following()
    assert abs(ecm.q_setpoint[0] - q[0]) > 0.02
    assert ecm.q_setpoint[2] - q[2] < -1e-3  # grips that go away pull the endoscope out
    assert np.allclose(rig.robot.scene.arms["PSM1"].tip_pose()[:3, 3], tip[:3, 3], atol=1e-4)
    rig.send(0.1)
    assert not rig.following()  # as on the dVRK, the operator must show again
    rig.pinch()
    assert rig.following()


def test_the_network_delays_the_hand() -> None:
    rig = Rig(delay=0.1)
    rig.pinch()
    rig.send(0.2)
    start = rig.setpoint()
    rig.send(0.09, twist=along(0.1))
    assert np.allclose(rig.setpoint(), start, atol=1e-9)
    rig.send(0.05, twist=along(0.1))
    assert 1e-4 < rig.setpoint()[0, 3] - start[0, 3] < 0.2 * 0.1 * 0.06


def test_a_delayed_console_starts_without_errors_about_a_device_that_was_not_read_yet() -> None:
    rig = Rig(delay=0.1, early=0.15)
    rig.send(0.2)
    assert rig.errors() == []


def test_two_devices_drive_two_psms() -> None:
    rig = Rig("PSM1", "PSM2")
    rig.pinch("PSM2")
    assert [rig.following(arm) for arm in rig.arms] == [False, True]
    rig.pinch("PSM1")
    starts = [rig.setpoint(arm) for arm in rig.arms]
    rig.samples = {"PSM1": DeviceSample(along(0.05)), "PSM2": DeviceSample(along(0.0, 0.05))}
    rig.robot.run(0.2)
    first, second = (rig.setpoint(arm)[:3, 3] - start[:3, 3] for arm, start in zip(rig.arms, starts, strict=True))
    assert first[0] > 1.5e-3 > 1e-6 > abs(first[1])
    assert second[1] > 1.5e-3 > 1e-6 > abs(second[0])


def _vanish(rig: Rig) -> None:
    rig.devices["PSM1"].connected = False


def _break(rig: Rig) -> None:
    def broken(t: float) -> DeviceSample:
        raise OSError("read error")

    rig.devices["PSM1"].read = broken  # type: ignore[method-assign]


def _sample(**sample: object) -> Callable[[Rig], None]:
    def send(rig: Rig) -> None:
        rig.samples["PSM1"] = DeviceSample(**sample)  # type: ignore[arg-type]

    return send


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        (_vanish, "has gone"),
        (_break, "has failed (OSError: read error)"),
        (_sample(twist=np.full(6, np.nan)), "not finite"),
        (_sample(pose=pose(p=(np.nan, 0.0, 0.0))), "not finite"),
        (_sample(pose=pose(p=(0.0, 0.0, 9.0))), "impossible pose"),
        (_sample(pose=np.ones((4, 4))), "not a rigid transform"),
        (_sample(twist=np.full(6, 100.0)), "impossible twist"),
        (_sample(twist=np.zeros(6), gripper=np.nan), "gripper"),
    ],
)
def test_a_device_that_fails_makes_the_psm_hold_until_a_new_pinch(fail: Callable[[Rig], None], message: str) -> None:
    rig = Rig()
    rig.pinch()
    rig.send(0.1, twist=along(0.05))
    device, read = rig.devices["PSM1"], rig.devices["PSM1"].read
    fail(rig)
    rig.robot.run(0.01)
    assert not rig.following()
    held = rig.setpoint()
    rig.robot.run(0.1)
    assert np.allclose(rig.setpoint(), held, atol=1e-9)
    (error,) = rig.errors()
    assert message in error
    assert "holds" in error
    device.connected, device.read = True, read  # type: ignore[method-assign]
    rig.send(0.1, twist=along(0.1))
    assert not rig.following()
    assert np.allclose(rig.setpoint(), held, atol=1e-9)
    rig.pinch()
    assert rig.following()
    assert np.allclose(rig.setpoint(), held, atol=1e-6)  # from where it is
    rig.send(0.1, twist=along(0.1))
    assert rig.setpoint()[0, 3] - held[0, 3] > 1e-3


def test_a_carried_device_that_jumps_is_not_followed() -> None:
    rig = Rig()
    rig.pinch(pose=np.eye(4))
    held = rig.setpoint()
    rig.send(0.1, pose=pose(p=(0.3, 0.0, 0.0)))
    assert "jumped" in rig.errors()[0]
    assert np.allclose(rig.setpoint(), held, atol=1e-9)
    rig.pinch(pose=pose(p=(0.3, 0.0, 0.0)))
    assert rig.following()
    assert np.allclose(rig.setpoint(), held, atol=1e-6)


def test_an_error_of_the_arm_ends_following() -> None:
    rig = Rig()
    rig.pinch()
    rig.robot.bus.publish("PSM1/state_command", messages.String(value="disable"))
    rig.robot.run(0.05)
    assert not rig.following()
    assert rig.errors()


class Feeling(Scripted):
    """A script that keeps the last wrench (6,) displayed to it."""

    felt: Array = np.zeros(6)

    def feel(self, wrench: Array) -> None:
        self.felt = wrench.copy()


def test_the_contact_force_is_felt_recorded_and_seen(tmp_path: Path) -> None:
    robot = Robot(training_scene(), start="ready", speed="stepped")
    device = Feeling(
        lambda t: DeviceSample(along(0.0, -0.1, 0.07) if 0.3 < t < 1.3 else np.zeros(6), gripper=OPEN * (t > 0.2))
    )
    console = DeviceConsole(robot, {"PSM1": device})
    log = MotionLog(robot, console)
    robot.every(5e-3, lambda t: console.poll())
    console.start()
    robot.run(1.5)
    assert device.felt[1] > 0.5 > -0.5 > device.felt[2], device.felt
    (path,) = log.save(tmp_path)
    recording = load_recording(path)
    assert recording.extra["contact_force"].shape == (len(recording.t), 3)
    assert recording.extra["following"][-1] == 1.0
    assert 145 <= len(recording.t) <= 151
    view = endoscope(robot.scene)
    plain = view.pair()[0].astype(int)
    pressed = view.pair(contact_forces(robot.scene.model, robot.scene.data))[0].astype(int)
    assert 200 < (np.abs(pressed - plain).max(-1) > 30).sum() < 5000  # an arrow, of 640 x 480 pixels
    console.close()
    assert not device.connected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda robot: DeviceConsole(robot, {}), "at least one device"),
        (lambda robot: DeviceConsole(robot, {"PSM7": Keyboard()}), "PSM of the robot"),
        (lambda robot: DeviceConsole(robot, {"PSM1": Keyboard()}, scale=2.0), "scale must be a number from 0 to 1"),
        (lambda robot: DeviceConsole(robot, {"PSM1": Keyboard()}, delay=-1.0), "delay"),
        (lambda robot: training_scene(("PSM9",)), "PSM"),
        (lambda robot: training_scene(task="surgery"), "task"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[Robot], object], message: str) -> None:
    with pytest.raises(TrocarError, match=message):
        make(Rig().robot)
