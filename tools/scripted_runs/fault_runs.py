"""Runs of refused commands, faults and sensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from tools.scripted_runs.recorder import RunRecorder
from tools.scripted_runs.robots import alone, dvrk, message, send
from trocar.robot import Sensors
from trocar.robot.messages import Empty
from trocar.simulation import CableBreak, EncoderBias, MotorLoss


def without_result(call: Callable[[], object]) -> None:
    """Call a function and drop its result."""
    call()


def faults_and_refusals(rec: RunRecorder) -> None:
    robot = alone(rec, "PSM", supported=False)
    psm = robot.psm("PSM")
    psm.servo_jp([0.0, 0.0, 0.19, 0.0, 0.0, 0.0])  # 70 mm at once: tracking error
    robot.run(0.05)
    rec.note("state", [psm.operating_state(), psm.is_homed()])
    rec.note("retry", [psm.enable(5.0), psm.home(5.0)])
    n = np.nan
    commands: dict[str, Callable[[], object]] = {
        "5 joints": lambda: psm.servo_jp([0.0] * 5),
        "7 joints": lambda: psm.move_jp([0.0] * 7),
        "nan": lambda: psm.servo_jp([n] * 6),
        "inf": lambda: psm.servo_jf([np.inf] * 6),
        "nan pose": lambda: psm.servo_cp(np.full((4, 4), n)),
        "no pose": lambda: psm.move_cp(2 * np.eye(4)),
        "2 forces": lambda: psm.body.servo_cf([1.0, 2.0]),
        "huge": lambda: psm.spatial.servo_cf([1e300] * 6),
        "2 jaws": lambda: psm.jaw.servo_jp([0.1, 0.2]),
        "nan jaw": lambda: psm.jaw.move_jp(n),
        "nan move_jr": lambda: psm.move_jr([n] * 6),
        "nan servo_jr": lambda: psm.servo_jr([n] * 6),
        "inf jaw effort": lambda: psm.jaw.servo_jf(np.inf),
        "empty state": lambda: send(robot, "PSM/servo_cs"),
        "ratio": lambda: psm.trajectory_j_set_ratio(-1.0),
        "tool": lambda: send(robot, "PSM/set_tool_type", value="SPOON"),
        "word": lambda: psm.state_command("jump"),
        "resume": lambda: psm.state_command("resume"),
        "wrong message": lambda: robot.bus.publish("PSM/servo_jp", message(robot, "PSM/state_command", value="x")),
        "no topic": lambda: robot.bus.publish("PSM9/servo_jp", Empty()),
        "no service": lambda: robot.bus.call("PSM/make_coffee"),
        "no arm": lambda: robot.psm("PSM9"),
    }
    for label, call in commands.items():
        rec.attempt(label, partial(without_result, call))
        robot.run(0.03)
    far = psm.setpoint_cp()[0].copy()
    far[:3, 3] *= 20.0
    psm.move_cp(far)
    robot.run(0.1)
    rec.note("insert", psm.insert_jp(0.03).wait())
    psm.servo_cp(psm.setpoint_cp()[0])  # not past the cannula
    robot.run(0.1)
    rec.note("insert", psm.insert_jp(0.12).wait())
    psm.disable(1.0)
    for _ in range(30):  # at most one warning in two seconds
        psm.servo_jp(np.zeros(6))
        robot.run(0.1)
    rec.note_arms(robot)


def injected_faults(rec: RunRecorder) -> None:
    robot = alone(rec, "PSM")
    for bias in (math.radians(4.5), math.radians(5.5)):  # encoder against potentiometer
        robot.scene.arms["PSM"].inject(EncoderBias(motor="yaw", bias=bias))
        robot.run(0.1)
        rec.note("state", robot.psm("PSM").operating_state())
    robot.scene.arms["PSM"].inject()
    rec.note("retry", [robot.psm("PSM").enable(2.0), robot.psm("PSM").home(2.0)])
    rec.note_arms(robot)
    robot = alone(rec, "PSM")
    robot.scene.arms["PSM"].inject(MotorLoss(motor="pitch", remaining=0.3))
    rec.note("weak", robot.psm("PSM").move_jr([0.2, 0.3, 0.02, 0, 0, 0]).wait(timeout=3.0))
    robot.run(0.3)
    robot.scene.arms["PSM"].inject(CableBreak(cable="counterweight"))
    rec.note("cable", robot.psm("PSM").move_jr([-0.2, -0.3, -0.02, 0, 0, 0]).wait(timeout=3.0))
    robot.run(0.3)
    rec.note_arms(robot)
    robot = alone(rec, "MTML", q=[0.1, 0, 0, 0, 0, 0, 0], start="off")
    mtm = robot.mtm("MTML")
    robot.scene.arms["MTML"].inject(MotorLoss(motor="motor_1"))
    rec.note("master", [mtm.enable(5.0), mtm.home(10.0), mtm.operating_state()])
    rec.note_arms(robot)
    robot = alone(rec, "ECM")
    robot.scene.arms["ECM"].inject(MotorLoss(motor=robot.scene.arms["ECM"].arm.motors.names[1]))
    robot.run(0.2)
    robot.ecm().move_jr([0.1, 0.1, 0.02, 0.1]).wait(timeout=3.0)
    rec.note("ECM", robot.ecm().operating_state())
    rec.note_arms(robot)


def sensors_of_several_kinds(rec: RunRecorder) -> None:
    for sensors in (
        Sensors.ideal(),
        Sensors(seed=7),
        Sensors(encoders=False, current=0.01),
        Sensors(potentiometers=0.02, bias=False, seed=3),
    ):
        robot = dvrk(rec, start="off", arms=["PSM2", "MTMR"], sensors=sensors)
        for name in ("PSM2", "MTMR"):
            rec.note(name, [robot.arm(name).enable(5.0), robot.arm(name).home(15.0)])
        psm_arrived = robot.psm("PSM2").move_jr([0.1, 0.1, 0.01, 0.1, 0.1, 0.1]).wait()
        rec.note("move", [psm_arrived, robot.mtm("MTMR").move_jr([0.1] * 7).wait()])
        rec.note_arms(robot)


RUNS = (
    faults_and_refusals,
    injected_faults,
    sensors_of_several_kinds,
)
