"""Runs of joint and Cartesian motion, efforts, wrenches and masters."""

from __future__ import annotations

import math

import numpy as np

from tools.scripted_runs.recorder import RunRecorder
from tools.scripted_runs.robots import dvrk, rotation, send
from trocar.robot.messages import HalfPlaneGains, ImpedanceGoal


def joint_moves(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["PSM1", "ECM"])
    psm, ecm = robot.psm("PSM1"), robot.ecm()
    for q in ([0.2, -0.3, 0.12, 0.4, -0.3, 0.2], [-0.1, 0.1, 0.16, 0.0, 0.3, -0.4]):
        rec.note("move_jp", psm.move_jp(q).wait())
    rec.note("move_jr", psm.move_jr([0.1, 0.05, -0.01, -0.2, 0.1, 0.1]).wait())
    handles = psm.move_jr([0.2, 0.1, 0.02, 0.3, 0.2, 0.1]), ecm.move_jp([0.3, -0.2, 0.1, 0.4])
    rec.note("both", [handle.wait() for handle in handles])
    psm.move_jr([0.3, 0, 0, 0, 0, 0])  # replaced while it moves
    robot.sleep(0.25)
    rec.note("replaced", psm.move_jp([0.0, 0.2, 0.12, 0.1, 0.1, 0.1]).wait())
    psm.move_jr([0.1, 0, 0, 0, 0, 0])
    robot.sleep(0.1)
    rec.note("added", psm.move_jr([0.1, 0, 0, 0, 0, 0]).wait())
    psm.move_jr([0.4, 0, 0, 0, 0, 0])
    robot.sleep(0.2)
    psm.hold()
    robot.sleep(0.3)
    rec.note("no motion", psm.move_jp(psm.setpoint_jp()[0]).wait())
    rec.note("beyond limits", psm.move_jp([9.0, 0.0, 0.12, 0.0, 0.0, -9.0]).wait())
    rec.note("insert", [psm.insert_jp(0.15).wait(), ecm.insert_jp(0.15).wait()])
    rec.note("jaw", [psm.jaw.open().wait(), psm.jaw.close().wait(), psm.jaw.move_jp(0.3).wait()])
    psm.trajectory_j_set_ratio(0.3)
    ecm.trajectory_j_set_ratio(2.0)  # refused
    send(robot, "ECM/trajectory_j/set_ratio_v", value=0.5)
    send(robot, "ECM/trajectory_j/set_ratio_a", value=0.7)
    robot.sleep(0.01)
    rec.note("slow", [psm.move_jr([-0.3, 0, 0, 0, 0, 0]).wait(), ecm.move_jr([-0.2, 0.1, 0.02, 0.1]).wait()])
    rec.note("ratio", [psm.trajectory_j_get_ratio(), ecm.trajectory_j_get_ratio()])
    start = psm.setpoint_jp()[0]
    for k in range(200):  # without velocity, then with it
        s = 0.1 * math.sin(0.03 * k)
        goal = start + [s, -s, 0.05 * s, s, s, -s]
        if k < 100:
            psm.servo_jp(goal)
        else:
            psm.servo_jp(goal, np.full(6, 0.1 * math.cos(0.03 * k)))
        ecm.servo_jr([1e-4, -1e-4, 2e-5, 1e-4])
        robot.sleep(0.005)
    robot.sleep(0.3)
    rec.note_arms(robot)


def joint_moves_of_every_arm(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready")
    arms = [robot.arm(name) for name in robot.arms]
    steps = [np.where(np.arange(len(a.setpoint_jp()[0])) == 2, 0.01, 0.1) for a in arms]
    rec.note("there", [h.wait() for h in [a.move_jr(step) for a, step in zip(arms, steps, strict=True)]])
    rec.note("back", [h.wait() for h in [a.move_jr(-step) for a, step in zip(arms, steps, strict=True)]])
    robot.sleep(0.2)
    rec.note_arms(robot)


def cartesian_motion(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["PSM1", "ECM"])
    psm, ecm = robot.psm("PSM1"), robot.ecm()
    rec.note("insert", psm.insert_jp(0.14).wait())
    T = psm.setpoint_cp()[0].copy()
    goal = T.copy()
    goal[:3, 3] += (0.02, -0.01, 0.01)
    goal[:3, :3] = goal[:3, :3] @ rotation("z", 0.4) @ rotation("x", 0.2)
    rec.note("move_cp", psm.move_cp(goal).wait())
    rec.note("back", psm.move_cp(T).wait())
    for k in range(300):  # a circle, with the jaw
        a = 2 * math.pi * k / 150
        goal = T.copy()
        goal[:3, 3] += (0.01 * math.sin(a), 0.01 * (1 - math.cos(a)), 0.003 * math.sin(2 * a))
        goal[:3, :3] = T[:3, :3] @ rotation("y", 0.2 * math.sin(a))
        psm.servo_cp(goal)
        if k % 3 == 0:
            psm.jaw.servo_jp(0.3 + 0.2 * math.sin(a))
        robot.sleep(0.005)
    for k in range(60):
        twist = np.array([0.01, 0.0, 0.0, 0.0, 0.05, 0.0])
        pose = goal.copy()
        pose[:3, 3] += twist[:3] * 0.005 * k
        send(robot, "PSM1/servo_cs", T=pose, twist=twist)
        robot.sleep(0.005)
    send(robot, "PSM1/servo_cs", wrench=np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]))
    robot.sleep(0.2)
    psm.hold()
    robot.sleep(0.2)
    E = ecm.forward_kinematics(ecm.setpoint_jp()[0] + [0.1, -0.1, 0.02, 0.2])
    rec.note("ECM", ecm.move_cp(E).wait())
    E[:3, 3] += (0.01, 0.01, 0.01)
    rec.note("ECM, unreachable", ecm.move_cp(E).wait(timeout=0.5))
    for _ in range(100):
        ecm.servo_cp(ecm.forward_kinematics(ecm.setpoint_jp()[0] + [-1e-3, 1e-3, -2e-4, 2e-3]))
        robot.sleep(0.005)
    ecm.servo_cp(ecm.setpoint_cp()[0])
    q = psm.measured_jp()[0]
    rec.note("fk", [psm.forward_kinematics(q), psm.local.forward_kinematics(q), psm.forward_kinematics(q[:3])])
    rec.note("fk of too many", psm.forward_kinematics(np.zeros(9), extra=True))
    rec.note("ik", psm.inverse_kinematics(q, psm.local.forward_kinematics(q + 0.01), extra=True))
    far = np.eye(4)
    far[:3, 3] = 5.0
    rec.note("ik of far", psm.inverse_kinematics(q, far, extra=True))
    actuators = np.linspace(-0.1, 0.1, 7)
    rec.attempt("actuator_to_joint_position", lambda: robot.bus.call("PSM1/actuator_to_joint_position", actuators))
    rec.attempt("crtk_version", lambda: robot.bus.call("PSM1/crtk_version"))
    base = np.eye(4)
    base[:3, :3], base[:3, 3] = rotation("z", 0.3), (0.1, 0.2, 0.3)
    send(robot, "PSM1/set_base_frame", T=base, frame_id="table")
    robot.sleep(0.1)
    far = psm.setpoint_cp()[0].copy()
    far[:3, 3] += (0.0, 0.005, 0.0)
    rec.note("in another base", psm.move_cp(far).wait())
    rec.note_arms(robot)


def efforts_and_wrenches(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["PSM1", "ECM", "MTMR"])
    psm, ecm, mtm = robot.psm("PSM1"), robot.ecm(), robot.mtm("MTMR")
    for arm in (psm, ecm, mtm):
        arm.use_gravity_compensation(True)
    psm.servo_jf([0.3, 0.1, 0.2, 0.0, 0.0, 0.0])
    ecm.servo_jf([1.0, 0.5, 0.5, 0.0])
    mtm.servo_jf([0.05, 0.02, -0.05, 0.01, 0.0, 0.0, 0.0])
    robot.sleep(0.2)
    psm.jaw.servo_jf(0.05)
    robot.sleep(0.1)
    for arm in (psm, ecm, mtm):
        arm.hold()
    robot.sleep(0.3)
    rec.note("insert", psm.insert_jp(0.13).wait())
    wrench = np.array([0.5, -0.4, 0.6, 0.01, 0.02, -0.01])
    for frame in ("body", "spatial"):
        for arm, size in ((psm, 1.0), (ecm, 3.0), (mtm, 0.5)):
            getattr(arm, frame).servo_cf(size * wrench)
        robot.sleep(0.15)
        for arm in (psm, ecm, mtm):
            getattr(arm, frame).servo_cf(np.zeros(6))
        robot.sleep(0.05)
        parts = [getattr(arm, frame) for arm in (psm, ecm, mtm)]
        rec.note(frame, [[part.measured_cf(), part.jacobian()] for part in parts])
    for arm in (psm, ecm, mtm):
        arm.body_set_cf_orientation_absolute(True)
        arm.body.servo_cf(0.5 * wrench)
    robot.sleep(0.15)
    for arm in (psm, ecm, mtm):
        arm.body_set_cf_orientation_absolute(False)
        arm.free()
    robot.sleep(0.2)
    mtm.use_gravity_compensation(False)
    ecm.use_gravity_compensation(False)
    robot.sleep(0.2)
    for name in ("PSM1", "MTMR"):
        robot.scene.arms[name].apply_wrench([0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    robot.sleep(0.2)
    for name in ("PSM1", "MTMR"):
        robot.scene.arms[name].apply_wrench(np.zeros(6))
    for arm in (psm, ecm, mtm):
        arm.hold()
    robot.sleep(0.3)
    rec.note("contact", [robot.contact_wrench(name) for name in ("PSM1", "ECM", "MTMR")])
    rec.note_arms(robot)


def masters(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["MTML", "MTMR"])
    left, right = robot.mtm("MTML"), robot.mtm("MTMR")
    left_arrived = left.move_jp([0.0, 0.3, 0.1, 0.2, 0.5, 0.5, 0.3]).wait()
    rec.note("move_jp", [left_arrived, right.move_jp([0.1, 0.2, -0.1, -0.2, 1.0, 0.3, 0.5]).wait()])
    T = right.setpoint_cp()[0].copy()
    for k in range(150):
        T[0, 3] += 1e-4 * math.cos(0.05 * k)
        T[:3, :3] = T[:3, :3] @ rotation("x", 2e-3)
        right.servo_cp(T)
        robot.step(3)
    far = right.forward_kinematics([0.3, 0.8, -0.3, -1.0, 2.0, 0.4, 3.0])
    rec.note("move_cp", right.move_cp(far).wait())
    for mtm in (left, right):
        mtm.use_gravity_compensation(True)
        mtm.body.servo_cf(np.zeros(6))
    robot.sleep(0.05)
    left.lock_orientation_as_is()
    for name in ("MTML", "MTMR"):
        robot.scene.arms[name].apply_wrench([0.0, 1.0, 1.0, 0.01, 0.01, 0.01])
    robot.sleep(0.4)
    for name in ("MTML", "MTMR"):
        robot.scene.arms[name].apply_wrench(np.zeros(6))
    left.lock_orientation(left.measured_cp()[0][:3, :3] @ rotation("y", 0.5))
    robot.sleep(0.6)
    left.lock_orientation(np.full((3, 3), np.nan))  # refused
    left.lock_orientation(2 * np.eye(3))
    robot.sleep(0.05)
    left.unlock_orientation()
    robot.sleep(0.2)
    gains = HalfPlaneGains(p=np.full(3, -200.0), d=np.full(3, -5.0))
    M = right.measured_cp()[0]
    goal = ImpedanceGoal(
        force_R=np.eye(3),
        force_position=M[:3, 3] + [0.0, 0.04, 0.0],
        torque_R=M[:3, :3],
        position_positive=gains,
        position_negative=gains,
    )
    right.servo_ci(goal)
    robot.sleep(0.8)
    for opening, seconds in ((0.5, 0.3), (0.0, 0.1), (0.5, 0.3), (0.0, 0.3), (0.5, 0.3), (1.0, 0.3)):
        robot.scene.arms["MTML"].gripper = opening
        robot.sleep(seconds)
    left.hold()
    right.hold()
    robot.sleep(0.3)
    rec.note("gripper", left.gripper.measured_js())
    rec.note_arms(robot)


RUNS = (
    joint_moves,
    joint_moves_of_every_arm,
    cartesian_motion,
    efforts_and_wrenches,
    masters,
)
