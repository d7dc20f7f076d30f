"""Bilateral control of a live pair, masters over CRTK topics, keys that are held, and figures of a run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.teleoperation.coupling import PASSIVITIES, SCHEMES, PositionForce
from trocar.teleoperation.devices import CrtkMaster, DeviceConsole, DeviceLost, Keyboard, RunMetrics, training_scene
from trocar.teleoperation.devices.device import OPEN
from trocar.teleoperation.devices.page_devices import LOST, Keys
from trocar.teleoperation.live_coupling import MAX_FORCE, LiveCoupling
from trocar_reproductions.bilateral.laboratory import contact_runs

DELAY, DT = 0.01, 1e-3


@pytest.mark.parametrize("name", ["none", "time-domain", "wave"])
def test_a_live_coupling_gives_forces_and_targets_of_the_bench(name: str) -> None:
    """The bench simulates both arms; the live coupling gets their motion step by step."""
    log = contact_runs([DELAY], [1000.0], duration=0.9, passivity=PASSIVITIES[name]())
    coupling = LiveCoupling(PositionForce(), PASSIVITIES[name](), delay=DELAY, dt=DT)
    s, zero = float(log.scale[0]), np.zeros(3)
    assert np.abs(log.F_m).max() > 0.5  # it touches the wall
    for k, t in enumerate(log.t):
        hand, tip = ((getattr(log, f"x_{side}")[k, :, 0], getattr(log, f"v_{side}")[k, :, 0]) for side in "ms")
        force, target = coupling.step(t, hand, zero, tip, log.felt[k, :, 0], s, True)
        if np.linalg.norm(log.F_m[k]) < MAX_FORCE:
            np.testing.assert_allclose(force, log.F_m[k, :, 0], atol=1e-9)
        np.testing.assert_allclose(s * target, log.target[k, :, 0], atol=1e-12)
    assert coupling.margins == pytest.approx((log.W_m.min(), log.W_s.min()), abs=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_pair_that_does_not_follow_feels_nothing_and_keeps_the_hand(scheme: str) -> None:
    coupling = LiveCoupling(SCHEMES[scheme](), PASSIVITIES["none"](), delay=0.0, dt=DT)
    received = np.array([0.1, 0.2, 0.3])
    force, target = coupling.step(0.0, (received, received), received, (received, received), received, 0.2, False)
    assert not force.any()
    np.testing.assert_array_equal(target, received)


def test_the_force_on_the_hand_is_bounded() -> None:
    coupling = LiveCoupling(PositionForce(), PASSIVITIES["none"](), delay=0.0, dt=DT)
    at = (np.zeros(3), np.zeros(3))
    force, _ = coupling.step(0.0, at, at[0], at, np.array([0.0, 0.0, 100.0]), 1.0, True)
    np.testing.assert_allclose(force, [0.0, 0.0, MAX_FORCE])


# -- masters over CRTK -------------------------------------------------------------------------------------------------


class Topics:
    """A bus of a few topics."""

    def __init__(self, *names: str) -> None:
        self.topics = dict.fromkeys(names)
        self.callbacks: dict[str, object] = {}
        self.sent: list[tuple[str, object]] = []

    def subscribe(self, name, callback):
        self.callbacks[name] = callback
        return SimpleNamespace(close=lambda: self.callbacks.pop(name))

    def publish(self, name, message):
        self.sent.append((name, message))


def master(**options):
    bus = Topics("MTMR/measured_cp", "MTMR/gripper/measured_js", "MTMR/body/servo_cf", "footpedals/clutch")
    bus.topics["MTMR/use_gravity_compensation"] = None
    now = [0.0]
    device = CrtkMaster(bus, "/MTMR", clock=lambda: now[0], **options)
    return bus, now, device


def test_a_master_in_ros_is_a_hand_with_gripper_and_pedals() -> None:
    bus, now, device = master()
    with pytest.raises(DeviceLost, match="measured_cp"):
        device.read(0.0)
    T = np.eye(4)
    T[:3, 3] = 0.1, 0.2, 0.3
    bus.callbacks["MTMR/measured_cp"](m.Pose(T=T))
    bus.callbacks["MTMR/gripper/measured_js"](m.JointState(position=np.array([0.4])))
    bus.callbacks["footpedals/clutch"](m.Joy(buttons=(1,)))
    sample = device.read(0.0)
    np.testing.assert_array_equal(sample.pose, T)
    assert (sample.gripper, sample.buttons) == (0.4, {"clutch"})
    bus.callbacks["footpedals/clutch"](m.Joy(buttons=(0,)))
    assert device.read(0.0).buttons == frozenset()
    now[0] = 1.0
    with pytest.raises(DeviceLost):
        device.read(1.0)


def test_a_master_in_ros_gets_forces_only_if_they_are_allowed() -> None:
    bus, _, device = master()
    device.feel(np.ones(6))
    assert bus.sent == []
    bus, _, device = master(forces=True)
    assert [name for name, _ in bus.sent] == ["MTMR/use_gravity_compensation"]
    device.feel(np.zeros(6))  # nothing to end
    device.feel(np.arange(6.0))
    device.close()
    assert not bus.callbacks
    wrenches = [message.vector.tolist() for name, message in bus.sent[1:]]
    assert wrenches == [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [0.0] * 6]


def test_a_master_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(TrocarError, match="masters could be: MTMR"):
        CrtkMaster(Topics("MTMR/measured_cp"), "MTML")
    with pytest.raises(TrocarError, match="takes no wrench"):
        CrtkMaster(Topics("arm/measured_cp"), "arm", forces=True)


# -- keys, words, figures ----------------------------------------------------------------------------------------------


def test_held_keys_add_up_and_a_release_stops_at_once() -> None:
    keyboard = Keyboard()
    keyboard.hold({"A", "W"})
    both = keyboard.read(0.0).twist
    assert both[0] > 0.0
    assert both[1] > 0.0
    keyboard.hold({"W"})
    assert keyboard.read(0.005).twist[0] == 0.0
    assert keyboard.read(LOST).twist[1] > 0.0
    assert not keyboard.read(0.006 + LOST).twist.any()  # no report: the page has gone
    for closed in (True, True, False, False):  # held, released: one press switches, the next switches back
        keyboard.hold({"G"} if closed else set())
        keyboard.hold(set())
    assert keyboard.read(2.0).gripper == OPEN
    with pytest.raises(TrocarError, match="key"):
        keyboard.hold({"ß"})


def test_the_keys_of_a_page_drive_one_of_two_keyboards_and_the_other_keeps_its_grip() -> None:
    right, left = Keyboard(), Keyboard()
    used = [right, left]
    keys = Keys(lambda: used)
    keys.hold({"G"})
    keys.hold({"G", "A"})
    assert right.read(0.0).gripper == 0.0
    assert right.read(0.0).twist.any()
    keys.hold({"2"})
    keys.hold({"W"})
    assert left.read(0.0).twist.any()
    sample = right.read(0.01)
    assert sample.gripper == 0.0
    assert not sample.twist.any()
    used.remove(left)  # its hand has taken the mouse
    keys.hold({"2", "W"})
    assert right.read(0.02).twist.any()


def test_a_console_with_bilateral_control_follows_and_names_how_to_begin() -> None:
    keyboard = Keyboard()
    robot = Robot(training_scene(("PSM1",), "none"), start="ready", speed="stepped")
    console = DeviceConsole(robot, {"PSM1": keyboard}, delay=0.02, scheme="position-position", passivity="time-domain")
    console.start()

    def run(seconds: float) -> None:
        for _ in range(round(seconds / 0.005)):
            console.poll()
            robot.run(0.005)

    run(0.1)
    assert "press G twice to follow" in console.summary()["PSM1"]
    for _ in range(2):
        keyboard.press("G")
        run(0.1)
    assert console.pairs["PSM1"].state.following
    before = robot.bus.read("PSM1/setpoint_cp").T[:3, 3].copy()
    for _ in range(4):
        keyboard.hold({"A"})
        run(0.05)
    moved = robot.bus.read("PSM1/setpoint_cp").T[:3, 3] - before
    assert 1e3 * moved[0] == pytest.approx(1e3 * 0.2 * 0.05 * (0.2 - 0.02), abs=0.6)  # scale x speed x time
    assert np.linalg.norm(console.wrenches["PSM1"][:3]) > 0.0  # the slave's lag pulls at the hand
    with pytest.raises(TrocarError, match="passivity"):
        DeviceConsole(robot, {"PSM1": keyboard}, passivity="magic")


def test_figures_of_a_circle_are_those_of_its_formula() -> None:
    t = np.arange(0.0, 4.0 + 5e-3, 0.01)
    w, r = 2 * np.pi / 4.0, 0.02
    tip = r * np.stack([np.cos(w * t), np.sin(w * t), 0 * t], axis=1)
    force = np.zeros((len(t), 3))
    force[100] = 3.0, 0.0, 4.0
    clutched = (t > 1.0) & (t < 1.5) | (t > 3.0)
    figures = RunMetrics.of(t, tip, force, t < 2.0, clutched)
    assert figures.path == pytest.approx(2 * np.pi * r, rel=1e-4)
    assert figures.jerk == pytest.approx(r * w**3, rel=0.02)
    assert (figures.peak_force, figures.clutches) == (5.0, 2)
    assert (figures.duration, figures.following) == pytest.approx((4.0, 2.0))
    assert "2 clutches" in str(figures)
