"""The dVRK's teleoperation components on their own: law, states, settings, pedals, console."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.spatial import pose, rotation, rotation_vector
from trocar.teleoperation import (
    ArmState,
    CameraSample,
    ConsoleState,
    ECMSettings,
    EcmTeleoperation,
    PairSample,
    Pedal,
    PSMSettings,
    PsmTeleoperation,
)
from trocar.teleoperation import ecm_teleoperation as camera
from trocar.teleoperation.console import swapped

DEGREE = math.pi / 180.0
AT_ONCE = PSMSettings(start_gripper_threshold=0.0)


def turn(rng, size):
    """A random rotation by about `size` rad."""
    x, y, z = size * rng.standard_normal(3)
    return rotation("x", x) @ rotation("y", y) @ rotation("z", z)


def sample(master=None, slave=None, **more):
    master = np.eye(4) if master is None else master
    return PairSample(master, master, np.eye(4) if slave is None else slave, **{"gripper": 0.0, "jaw": 0.0} | more)


def enabled(settings=AT_ONCE, **more):
    """A pair that follows, and the time."""
    pair = PsmTeleoperation(settings=settings, **more)
    pair.state_command("enable")
    for k in range(6):
        pair.step(1e-3 * k, sample())
    assert pair.state.following
    return pair, 6e-3


def events(output, kind):
    return [event.value for event in output.events if event.topic == kind]


def sent(output, arm, name):
    return [command.value for command in output.commands if (command.arm, command.name) == (arm, name)]


# -- law ---------------------------------------------------------------------------------------------------------------


class PublishedLaw:
    """The published law, by the formulas: p_s = p_s0 + s (p_m - p_m0), R_s = R_m R_m0' R_s0, ghost of the gripper."""

    def __init__(self, scale, jaw_min, jaw_max):
        self.scale, self.jaw_min, self.jaw_max = scale, jaw_min, jaw_max

    def restart(self, master, slave, jaw=None):
        self.m0, self.s0 = master.copy(), slave.copy()
        if jaw is not None:
            self.ghost, self.caught = jaw * (60 * DEGREE) / self.jaw_max, False

    def goal(self, master):
        T = np.eye(4)
        T[:3, 3] = self.s0[:3, 3] + self.scale * (master[:3, 3] - self.m0[:3, 3])
        T[:3, :3] = master[:3, :3] @ np.linalg.inv(self.m0[:3, :3]) @ self.s0[:3, :3]
        return T

    def jaw(self, gripper):
        distance = gripper - self.ghost
        self.caught |= abs(distance) < 2 * DEGREE
        most = (4 * math.pi if self.caught else 0.2 * math.pi) * 1e-3
        self.ghost += np.clip(distance, -most, most)
        angle = max(self.ghost * self.jaw_max / (60 * DEGREE), self.jaw_min)
        self.ghost = angle * (60 * DEGREE) / self.jaw_max
        return angle


def test_goals_of_a_long_run_equal_the_published_law():
    rng, limits = np.random.default_rng(0), (-20 * DEGREE, 80 * DEGREE)
    pair, law = PsmTeleoperation(settings=AT_ONCE, jaw=limits), PublishedLaw(0.2, *limits)
    pair.state_command("enable")
    master, slave = pose(turn(rng, 0.5), rng.uniform(-0.1, 0.1, 3)), pose(turn(rng, 0.5), rng.uniform(-0.1, 0.1, 3))
    master[:3, :3] = slave[:3, :3] @ turn(rng, 0.01)
    jaw, gripper, worst, goals, read = 0.3, 0.5, 0.0, 0, slave
    for k in range(3000):
        if k in (900, 1800):
            pair.clutch(k == 900)
        if k == 2400:
            pair.set_scale(0.7)
            law.scale = 0.7
            law.restart(master, read)  # what it has read last
        gripper += 0.01 * rng.standard_normal()
        old, was = master, pair.state.following
        master = pose(master[:3, :3] @ turn(rng, 0.002), master[:3, 3] + 1e-4 * rng.standard_normal(3))
        if not was:  # hold the orientation as the locked MTM does
            master[:3, :3] = old[:3, :3]
        twist, read = rng.standard_normal(6), slave
        out = pair.step(1e-3 * k, sample(master, slave, gripper=gripper, jaw=jaw, twist=twist))
        for T, v in sent(out, "PSM", "servo_cp"):
            worst, goals = max(worst, np.abs(T - law.goal(master)).max()), goals + 1
            assert np.array_equal(v, np.concatenate([law.scale * twist[:3], np.zeros(3)]))
            slave = T
        for angle in sent(out, "PSM", "jaw/servo_jp"):
            worst = max(worst, abs(angle - law.jaw(gripper)))
            jaw = angle
        if pair.state.following and not was:
            law.restart(master, slave, jaw)
    assert goals > 1900
    assert worst < 1e-12


def test_a_moving_base_frame_takes_the_goal_along():
    rng = np.random.default_rng(1)
    B0, B = (pose(turn(rng, 1.0), rng.uniform(-1, 1, 3)) for _ in range(2))
    pair = PsmTeleoperation(settings=AT_ONCE)
    pair.state_command("enable")
    for k in range(6):
        pair.step(1e-3 * k, sample(base=B0))
    ((goal, _),) = sent(pair.step(6e-3, sample(base=B)), "PSM", "servo_cp")
    assert np.allclose(goal, np.linalg.inv(B) @ B0, atol=1e-12)


def test_locks_keep_position_or_orientation():
    pair, t = enabled()
    moved = pose(rotation("z", 0.3), (0.1, 0.0, 0.0))
    pair.lock_translation(True)
    ((goal, _),) = sent(pair.step(t, sample(moved)), "PSM", "servo_cp")
    assert np.allclose(goal[:3, 3], 0.0)
    assert np.allclose(goal[:3, :3], moved[:3, :3])
    pair.lock_translation(False)
    pair.lock_rotation(True)
    out = pair.step(t, sample(moved))
    assert np.allclose(sent(out, "MTM", "lock_orientation")[0], moved[:3, :3])
    ((goal, _),) = sent(out, "PSM", "servo_cp")
    assert np.allclose(goal, np.eye(4))  # from where the locks were changed
    pair.lock_rotation(False)
    assert pair.state.current == "DISABLED"
    assert pair.state.desired == "ENABLED"  # so it aligns again at once
    states = [pair.step(t, sample(moved)).events for _ in range(2)]
    assert any(event.value == "ALIGNING_MTM" for events in states for event in events)


@pytest.mark.parametrize(
    ("gripper", "roll", "active"), [(0, 3.9, False), (0, 4.1, True), (35, 0, False), (36, 0, True), (33, 3, True)]
)
def test_an_operator_shows_by_gripper_or_roll(gripper, roll, active):
    pair = PsmTeleoperation()
    pair.state_command("enable")
    for k in range(200):
        share = 0.5 + 0.5 * math.cos(2 * math.pi * k / 100)
        pair.step(1e-3 * k, sample(pose(rotation("x", roll * share * DEGREE)), gripper=gripper * share * DEGREE))
    assert pair.state.following is active


def test_a_gripper_that_opens_steadily_shows_no_operator():
    pair = PsmTeleoperation()
    pair.state_command("enable")
    for k in range(600):
        pair.step(1e-3 * k, sample(gripper=k * 0.1 * DEGREE))
    assert not pair.state.following
    pair.step(0.6, sample(gripper=0.0))  # the way back does
    assert pair.state.current == "ENABLED"


# -- states ------------------------------------------------------------------------------------------------------------


def test_arms_are_enabled_and_then_homed_first():
    pair, off, on = PsmTeleoperation(settings=AT_ONCE), ArmState(False, False), ArmState(True, False)
    pair.state_command("enable")
    outs = [pair.step(1e-3 * k, sample(master_state=off, slave_state=off)) for k in range(5)]
    for arm in ("MTM", "PSM"):
        assert [c for out in outs for c in sent(out, arm, "state_command")] == ["enable"]
    outs = [pair.step(1.0 + 1e-3 * k, sample(master_state=on)) for k in range(5)]
    assert [c for out in outs for c in out.commands] == [("MTM", "state_command", "home")]
    assert pair.state.current == "SETTING_ARMS_STATE"
    assert not events(pair.step(59.9, sample(master_state=on)), "error")
    out = pair.step(60.1, sample(master_state=on))
    assert events(out, "error") == ["MTMR_PSM1: timed out while setting up MTM state"]
    assert pair.state.desired == "DISABLED"
    assert pair.step(60.2, sample()).events[0] == ("current_state", "DISABLED")
    pair.state_command("enable")
    pair.step(61.0, sample())
    pair.step(61.0, sample())
    assert pair.state.current == "ALIGNING_MTM"


def test_alignment_turns_the_master_and_sends_the_psm_nothing():
    slave = pose(rotation("y", 0.4), (0.0, 0.0, 0.1))
    pair = PsmTeleoperation(settings=AT_ONCE)
    pair.state_command("enable")
    at = pose(p=(0.1, 0.2, 0.3))
    out = [pair.step(1e-3 * k, sample(at, slave)) for k in range(2500)]
    goals = [goal for o in out for goal in sent(o, "MTM", "move_cp")]
    assert len(goals) == 1
    assert np.allclose(goals[0], pose(slave[:3, :3], at[:3, 3]))
    assert not any(command.arm == "PSM" for o in out for command in o.commands)
    assert [text for o in out for text in events(o, "warning")] == [
        f"MTMR_PSM1: unable to align MTM, angle error is {0.4 / DEGREE:.1f} (deg)"
    ]
    # the PSM turns: once more when it is beyond the tolerance
    assert not sent(pair.step(2.5, sample(at, slave @ pose(rotation("x", 4 * DEGREE)))), "MTM", "move_cp")
    assert sent(pair.step(2.5, sample(at, slave @ pose(rotation("x", 6 * DEGREE)))), "MTM", "move_cp")
    # within 5 deg, but busy; then not
    near = pose(slave[:3, :3] @ rotation("z", 4.9 * DEGREE))
    pair.step(2.6, sample(near, slave, master_state=ArmState(busy=True)))
    assert not pair.state.following
    pair.step(2.6, sample(near, slave))
    assert pair.state.following


def test_without_alignment_the_master_stays():
    pair = PsmTeleoperation(settings=replace(AT_ONCE, align_MTM=False))
    pair.state_command("enable")
    at, slave = pose(p=(0.1, 0.2, 0.3)), pose(rotation("y", 1.0))
    out = [pair.step(1e-3 * k, sample(at, slave)) for k in range(5)]
    assert [goal.tolist() for o in out for goal in sent(o, "MTM", "move_cp")] == [at.tolist()]
    assert pair.state.following
    ((goal, _),) = sent(pair.step(1.0, sample(at, slave)), "PSM", "servo_cp")
    assert np.allclose(goal, slave)


def test_a_master_without_motors_is_sent_no_motion():
    pair = PsmTeleoperation(settings=replace(AT_ONCE, MTM_is_haptic=False))
    pair.state_command("enable")
    away, near = sample(pose(rotation("x", 0.3))), sample(pose(rotation("x", 0.03)))
    outs = [pair.step(1e-3 * k, away if k < 10 else near) for k in range(20)]
    assert pair.state.following  # aligned by hand
    assert not [command for out in outs for command in out.commands if command.arm == "MTM"]


def test_following_frees_the_master_and_the_clutch_locks_its_orientation():
    pair = PsmTeleoperation(settings=AT_ONCE)
    pair.state_command("enable")
    out = [pair.step(1e-3 * k, sample()) for k in range(6)]
    names = [command.name for o in out for command in o.commands if command.arm == "MTM"]
    assert names == ["move_cp", "use_gravity_compensation", "body/servo_cf", "unlock_orientation"]
    pair.clutch(True)
    out = pair.step(0.01, sample())
    assert events(out, "following") == [False]
    assert [c.name for c in out.commands] == ["use_gravity_compensation", "body/servo_cf", "lock_orientation", "hold"]
    assert not sent(pair.step(0.011, sample(pose(p=(1.0, 0.0, 0.0)))), "PSM", "servo_cp")
    pair.clutch(False)
    for k in range(5):
        pair.step(0.02 + 1e-3 * k, sample(pose(p=(1.0, 0.0, 0.0))))
    assert pair.state.following  # the operator is remembered
    ((goal, _),) = sent(pair.step(0.1, sample(pose(p=(1.0, 0.0, 0.0)))), "PSM", "servo_cp")
    assert np.allclose(goal, np.eye(4))


def test_a_new_desired_state_asks_for_the_operator_again():
    pair = PsmTeleoperation()
    pair.state_command("enable")
    for k in range(400):
        pair.step(1e-3 * k, sample(gripper=DEGREE * 45 * math.sin(0.1 * k)))
    assert pair.state.following
    pair.state_command("align_MTM")
    pair.step(0.5, sample())
    assert pair.state.current == "ALIGNING_MTM"
    pair.state_command("enable")
    for k in range(100):
        pair.step(0.5 + 1e-3 * k, sample())
    assert not pair.state.following


def test_a_wrench_of_the_user_acts_while_following_only():
    pair, t = enabled()
    pair.following_mtm_body_servo_cf(np.arange(6.0))
    assert sent(pair.step(t, sample()), "MTM", "body/servo_cf")[0].tolist() == [0, 1, 2, 3, 4, 5]
    pair.clutch(True)
    pair.clutch(False)
    for k in range(6):
        pair.step(0.1 + 1e-3 * k, sample())
    assert pair.state.following
    assert not sent(pair.step(0.2, sample()), "MTM", "body/servo_cf")
    pair.following_mtm_body_servo_cf(np.array([np.nan] * 6))
    out = pair.step(0.3, sample())
    assert len(events(out, "warning")) == 1
    assert not sent(out, "MTM", "body/servo_cf")


@pytest.mark.parametrize("part", ["master", "slave", "twist", "gripper", "fault", "reflected"])
def test_a_sample_that_is_not_valid_stops_the_psm_until_realigned(part):
    pair, t = enabled()
    bad = {
        "master": {"master": pose(p=(np.nan, 0, 0))},
        "slave": {"slave": pose(p=(0, np.inf, 0))},
        "twist": {"twist": np.full(6, np.nan)},
        "gripper": {"gripper": np.nan},
        "fault": {"fault": "the device has vanished"},
        "reflected": {"master": 2.0 * np.eye(4)},
    }[part]
    outs = [pair.step(t + 1e-3 * k, replace(sample(), **bad)) for k in range(20)]
    errors = [text for out in outs for text in events(out, "error")]
    assert len(errors) == 1  # reported once
    assert "the PSM holds until the MTM is aligned again" in errors[0]
    assert [c.name for out in outs for c in out.commands if c.arm == "PSM"] == ["hold"]
    assert not pair.state.following
    # valid again, but turned: it must be aligned first
    away = sample(pose(rotation("z", 0.3)))
    for k in range(20):
        pair.step(t + 0.1 + 1e-3 * k, away)
    assert not pair.state.following
    for k in range(20):
        pair.step(t + 0.2 + 1e-3 * k, sample())
    assert pair.state.following


def test_errors_and_states_of_arms_disable():
    pair, t = enabled()
    pair.arm_error("PSM1: PID: tracking error")
    out = pair.step(t, sample())
    assert events(out, "error") == ["MTMR_PSM1: received from arm [PSM1: PID: tracking error]"]
    assert pair.state.current == "DISABLED"
    assert [c.name for c in out.commands] == ["hold", "hold"]  # PSM, MTM
    pair, t = enabled()
    pair.step(t, sample(slave_state=ArmState(False, False)))
    out = pair.step(t, sample(slave_state=ArmState(False, False)))
    assert pair.state.current == "DISABLED"
    assert not sent(out, "PSM", "servo_cp")


def test_wrong_commands_are_answered_with_a_warning():
    pair = PsmTeleoperation()
    pair.state_command("fly")
    pair.set_scale(0.0)
    pair.set_scale(1.1)
    pair.set_scale(math.nan)
    assert len(events(pair.step(0.0, sample()), "warning")) == 4
    assert pair.state.scale == 0.2


def test_defaults_are_the_published_ones():
    s = PSMSettings()
    assert (s.scale, s.align_MTM, s.use_MTM_linear_velocity, s.use_MTM_angular_velocity) == (0.2, True, True, False)
    angles = (s.start_orientation_tolerance, s.start_gripper_threshold, s.start_roll_threshold, s.gripper_max)
    assert np.allclose(np.degrees(angles), [5, 40, 4, 60])
    assert np.allclose(np.degrees([s.jaw_rate, s.jaw_rate_after_clutch]), [720, 36])
    configured = PSMSettings.configured({"scale": 0.3, "gripper_scaling": {"zero": 0.1, "max": 1.0}})
    assert (configured.scale, configured.gripper_zero, configured.gripper_max) == (0.3, 0.1, 1.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"scale": 0.0}, {"scale": 1.5}, {"scale": math.nan}, {"scale": "0.2"}, {"align_MTM": 1}, {"jaw_rate": -1.0},
        {"gripper_max": -1.0}, {"start_roll_threshold": -0.1}, {"gripper_scaling": {"max": 1.0}}, {"speed": 2.0},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(parameters):
    with pytest.raises(TrocarError):
        PSMSettings.configured(parameters)


def test_wrong_camera_settings_are_refused():
    for name in ("scale", "haptic_feedback_ratio"):
        with pytest.raises(TrocarError, match=name):
            ECMSettings.configured({name: 1.5})
    assert {f.name for f in fields(ECMSettings)} >= {"scale", "camera_roll_offset", "MTM_is_haptic"}


# -- camera ------------------------------------------------------------------------------------------------------------


def at(left, right, **more):
    return CameraSample(pose(p=left), pose(p=right), more.pop("q", np.array([0.1, 0.2, 0.05, 0.3])), **more)


LEFT, RIGHT = np.array([0.12, -0.02, 0.4]), np.array([-0.11, 0.01, 0.42])


def following_camera(settings=None):
    teleop = EcmTeleoperation(settings=settings)
    teleop.state_command("enable")
    for k in range(3):
        teleop.step(1e-3 * k, at(LEFT, RIGHT))
    assert teleop.state.following
    return teleop


def test_forces_keep_the_masters_apart():
    teleop = following_camera()
    v = np.array([0.01, 0.02, 0.03, 0, 0, 0])
    out = teleop.step(0.01, at(LEFT, RIGHT, right_twist=v))
    assert np.allclose(sent(out, "MTML", "body/servo_cf")[0], 0.0, atol=1e-12)
    assert np.allclose(sent(out, "MTMR", "body/servo_cf")[0][:3], [-0.1, -0.2, -1.2], atol=1e-12)
    # pulled apart along the line between them by 10 mm each: 150 N/m back
    along = (RIGHT - LEFT) / np.linalg.norm(RIGHT - LEFT)
    out = teleop.step(0.011, at(LEFT - 0.01 * along, RIGHT + 0.01 * along))
    assert np.allclose(sent(out, "MTML", "body/servo_cf")[0][:3], 1.5 * along, atol=0.01)
    assert np.allclose(sent(out, "MTMR", "body/servo_cf")[0][:3], -1.5 * along, atol=0.01)


def test_the_camera_turns_with_the_masters():
    teleop = following_camera(ECMSettings(camera_roll_offset=-0.3))  # no roll between picture and joints at the start
    q0 = np.array([0.1, 0.2, 0.05, 0.3])
    for turning, expected in (
        (rotation("y", 0.2), [-0.2, 0.0, 0.0, 0.0]),
        (rotation("x", 0.2), [0.0, 0.2, 0.0, 0.0]),
    ):
        out = teleop.step(0.01, at(turning @ LEFT, turning @ RIGHT))
        change = sent(out, "ECM", "servo_jp")[0] - q0
        assert np.allclose(change[:3], expected[:3], atol=0.03)
    nearer = 0.9
    change = sent(teleop.step(0.01, at(nearer * LEFT, nearer * RIGHT)), "ECM", "servo_jp")[0] - q0
    distance = np.linalg.norm(0.5 * (LEFT + RIGHT))
    assert np.allclose(change, [0, 0, 0.2 * 0.1 * distance, 0], atol=1e-12)


def published_change(left, right, start, q4, scale, offset):
    """The dVRK's formula: angles by arc cosine, signs by cross products."""
    middle = 0.5 * (left + right)
    up = np.cross(right - left, middle)

    def signed(a, b, keep, normal):
        a, b = a * np.array(keep), b * np.array(keep)
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        angle = math.acos(min(1.0, a @ b))
        return -angle if np.cross(a, b)[normal] < 0.0 else angle

    a0 = -signed(start.middle, middle, (1.0, 0.0, 1.0), 1)
    a1 = signed(start.middle, middle, (0.0, 1.0, 1.0), 0)
    a3 = -signed(start.up, up, (1.0, 1.0, 0.0), 2)
    r = a3 + q4 + offset
    insertion = scale * (np.linalg.norm(start.middle) - np.linalg.norm(middle))
    return np.array([a0 * math.cos(r) - a1 * math.sin(r), a1 * math.cos(r) + a0 * math.sin(r), insertion, a3])


def test_joint_changes_equal_the_published_formula():
    start, rng = camera.grips(LEFT, RIGHT), np.random.default_rng(0)
    for _ in range(200):
        left, right = rng.uniform((0.05, -0.1, 0.3), (0.2, 0.1, 0.5)), rng.uniform((-0.2, -0.1, 0.3), (-0.05, 0.1, 0.5))
        ours = camera.joint_change(camera.grips(left, right), start, 0.3, 0.2, 0.1)
        assert np.abs(ours - published_change(left, right, start, 0.3, 0.2, 0.1)).max() < 1e-9


def test_wrists_are_locked_against_the_turn_of_the_camera():
    teleop = following_camera()
    out = teleop.step(0.01, at(rotation("y", 0.1) @ LEFT, rotation("y", 0.1) @ RIGHT))
    q, q0 = sent(out, "ECM", "servo_jp")[0], np.array([0.1, 0.2, 0.05, 0.3])

    def view(q):
        return rotation("z", q[3]) @ rotation("y", q[0]) @ rotation("x", q[1])

    expected = (view(q) @ view(q0).T).T
    assert np.abs(rotation_vector(expected)).max() > 0.05
    assert np.allclose(sent(out, "MTML", "lock_orientation")[0], expected)


def test_camera_control_refuses_grips_outside_the_box():
    teleop = EcmTeleoperation()
    teleop.state_command("enable")
    outs = [teleop.step(1e-3 * k, at(LEFT, np.array([-0.5, 0.0, 0.4]))) for k in range(5)]
    assert [text for out in outs for text in events(out, "error")] == [
        "MTML_MTMR_ECM: MTMR position doesn't seem to be in the work area"
    ]
    assert teleop.state.current == "DISABLED"


def test_the_clutch_stops_the_camera_and_a_bad_sample_disables_it():
    teleop = following_camera()
    teleop.clutch(True)
    out = teleop.step(0.01, at(2 * LEFT, 2 * RIGHT))
    assert not sent(out, "ECM", "servo_jp")
    teleop.clutch(False)
    outs = [teleop.step(0.02 + 1e-3 * k, at(1.1 * LEFT, 1.1 * RIGHT)) for k in range(4)]
    goals = [q for out in outs for q in sent(out, "ECM", "servo_jp")]
    assert np.allclose(goals[0], [0.1, 0.2, 0.05, 0.3])
    outs = [teleop.step(0.03, at(LEFT * np.nan, RIGHT)), teleop.step(0.031, at(LEFT, RIGHT))]
    assert sum(len(events(out, "error")) for out in outs) == 1
    assert teleop.state.current == "DISABLED"


# -- console and pedals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("camera_down", "present", "psm", "ecm"),
    [(False, True, "enable", "disable"), (False, False, "align_MTM", "disable"),
     (True, True, "disable", "enable"), (True, False, "disable", "enable")],
)  # fmt: skip
def test_the_console_chooses_the_active_components(camera_down, present, psm, ecm):
    console = ConsoleState(("MTMR_PSM1", "MTMR_PSM2"), ("ECM",), True, present, camera_down, {"MTMR_PSM1"})
    assert console.commands() == {"MTMR_PSM1": psm, "MTMR_PSM2": "disable", "ECM": ecm}
    console.enabled = False
    assert set(console.commands().values()) == {"disable"}


def test_a_tap_of_the_clutch_swaps_two_pairs_of_a_master():
    assert swapped(["MTMR_PSM1"], ["MTMR_PSM1", "MTMR_PSM2", "MTML_PSM2"]) == ["MTMR_PSM2"]
    assert swapped(["MTML_PSM2"], ["MTMR_PSM1", "MTMR_PSM2", "MTML_PSM2"]) == []
    assert swapped(["MTMR_PSM1"], ["MTMR_PSM1", "MTMR_PSM2", "MTMR_PSM3"]) == []


def test_pedals_are_reported_late_and_taps_as_clicks():
    pedal = Pedal()

    def reports(begin, end, until):
        return [
            (round(0.001 * k, 3), what)
            for k in range(until)
            if (what := pedal.step(0.001 * k, begin <= k < end)) is not None
        ]

    assert reports(100, 500, 1000) == [(0.3, 1), (0.7, 0)]
    pedal = Pedal()
    assert reports(100, 250, 1000) == [(0.25, 2)]
    pedal = Pedal(debounce=0.0)
    assert reports(100, 150, 200) == [(0.1, 1), (0.15, 0)]
