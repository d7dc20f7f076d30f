"""Compensation of wrist cables as an option of an arm: every command of a client gets it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError

GOALS = np.array(
    [[0.1, 0.1, 0.12, 0.2, 0.5, -0.3], [0.1, 0.1, 0.12, 0.3, -0.2, 0.4], [0.0, 0.1, 0.13, -0.2, 0.1, -0.1]]
)


def robot(compensation: str | None, **options: Any) -> tr.Robot:
    arm = tr.SceneArm(arm="PSM", wrist="cables", compensation=compensation, **options)
    return tr.Robot(tr.Scene({"PSM1": arm}, timestep=1 / 1500), start="ready")


def sent(live: tr.Robot, command: str, goal: np.ndarray) -> None:
    """Send a goal (6,) by one of the dVRK's commands, and wait until the arm rests."""
    psm, mechanism = live.arm("PSM1"), live.scene.arms["PSM1"].mechanism
    T = mechanism.forward_kinematics(np.append(goal, 0.0))
    if command.startswith("move"):
        getattr(psm, command)(T if command == "move_cp" else goal).wait()
    else:
        start = psm.setpoint_jp()[0]
        for share in np.linspace(0.0, 1.0, 100):
            q = start + share * (goal - start)
            along = mechanism.forward_kinematics(np.append(q, 0.0))
            getattr(psm, command)(along if command == "servo_cp" else q)
            live.sleep(0.01)
    live.sleep(0.5)


@pytest.mark.parametrize("command", ["move_jp", "servo_jp", "move_cp", "servo_cp"])
def test_the_tip_reaches_the_goal_of_every_command(command: str) -> None:
    errors: dict[str | None, list[float]] = {}
    for compensation in (None, "cables"):
        with robot(compensation) as live:
            arm, psm = live.scene.arms["PSM1"], live.arm("PSM1")
            for goal in GOALS:
                sent(live, command, goal)
                wanted = arm.mechanism.forward_kinematics(np.append(goal, 0.0))
                off = np.linalg.norm(arm.tip_pose()[:3, 3] - wanted[:3, 3])
                errors.setdefault(compensation, []).append(float(off))
            assert psm.setpoint_jp()[0] == pytest.approx(goal, abs=1e-6)  # the client's, not the motors'
            assert psm.measured_jp()[0] == pytest.approx(arm.measured_q[:6], abs=1e-3)  # the motors
    assert max(errors["cables"]) < 0.7e-3  # the PID's own error, of gravity and friction
    assert np.mean(errors[None]) > 1e-3 + np.mean(errors["cables"])


def test_jumps_of_the_setpoint_trip_no_tracking_error() -> None:
    """Setpoints of the wrist that jump to and fro by 0.3 rad, ten times per second."""
    with robot("cables") as live:
        psm = live.arm("PSM1")
        psm.move_jp(GOALS[0]).wait()
        for k in range(30):
            psm.servo_jp(GOALS[0] + (-1) ** k * np.array([0, 0, 0, 0.15, 0.15, 0.15]))
            live.sleep(0.1)
        assert psm.operating_state() == "ENABLED"


def test_restoring_a_snapshot_of_a_compensated_arm_is_bit_exact() -> None:
    with robot("cables") as live:
        psm, simulation = live.arm("PSM1"), live.simulation()
        psm.move_jp(GOALS[0]).wait()
        snapshot, runs = simulation.snapshot(), []
        for _ in range(2):
            simulation.restore(snapshot)
            psm.move_jp(GOALS[1])
            live.run(0.3)
            runs.append(live.scene.data.qpos.copy())
        assert np.array_equal(*runs)


def test_the_history_continues_after_effort_control() -> None:
    """An arm that was pushed elsewhere without its PID is compensated from there."""
    with robot("cables") as live:
        psm, arm = live.arm("PSM1"), live.scene.arms["PSM1"]
        psm.move_jp(GOALS[0]).wait()
        psm.servo_jf([0.0, 0.0, 0.0, 0.005, -0.02, 0.03])
        live.sleep(0.2)
        assert np.abs(arm.measured_q[3:6] - GOALS[0][3:]).max() > 0.2
        sent(live, "move_jp", GOALS[1])
        assert arm.q[3:6] == pytest.approx(GOALS[1][3:], abs=0.02)


def test_an_arm_without_a_wrist_refuses_compensation() -> None:
    with pytest.raises(TrocarError, match=r"ECM has no wrist of .*omit compensation"):
        tr.Scene({"ECM": tr.SceneArm(arm="ECM", compensation="cables")})
    with pytest.raises(TrocarError, match="option of a simulated arm"):
        tr.Simulator("PSM", compensation="cables")


def test_a_scene_file_may_name_the_compensation(tmp_path) -> None:
    path = tmp_path / "scene.toml"
    path.write_text('[arms.PSM1]\narm = "PSM"\nwrist = "cables"\ncompensation = "cables"\n')
    assert tr.load_scene(path).arms["PSM1"].options.compensated_cables is not None
