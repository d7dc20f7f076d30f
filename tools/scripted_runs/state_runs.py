"""Runs of power, homing, clutches, set-up joints and tools."""

from __future__ import annotations

import numpy as np

from tools.scripted_runs.recorder import RunRecorder
from tools.scripted_runs.robots import alone, dvrk, read, send


def power_on_and_homing(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="off")
    for name in ("MTML", "MTMR"):
        robot.scene.arms[name].place([0.1, 0.2, 0.0, 0.3, 0.5, 0.0, 1.0])
    arms = [robot.arm(name) for name in robot.arms]
    robot.system().power_on()
    rec.note("enabled", robot.wait_for(lambda: all(arm.is_enabled() for arm in arms), 10.0))
    robot.system().home()
    rec.note("homed", robot.wait_for(lambda: all(arm.is_homed() and not arm.is_busy() for arm in arms), 30.0))
    rec.note("time", robot.now)
    psm, mtm = robot.psm("PSM1"), robot.mtm("MTMR")
    psm.state_command("pause")
    mtm.state_command("dance")
    robot.sleep(0.1)
    psm.move_jp(np.zeros(6))  # refused
    robot.sleep(0.1)
    psm.state_command("resume")
    rec.note("unhome", [psm.unhome(1.0), psm.home(5.0)])
    rec.note("again", [mtm.disable(1.0), mtm.enable(5.0), mtm.home(15.0)])
    rec.note("service", {n: robot.bus.call(f"{n}/operating_state") for n in robot.arms})
    robot.system().set_volume(0.3)
    robot.system().set_volume(3.0)
    robot.system().beep(0.1, 440.0)
    robot.system().string_to_speech("hello")
    robot.system().power_off()
    rec.note("off", robot.wait_for(lambda: all(arm.is_disabled() for arm in arms), 1.0))
    robot.sleep(0.2)
    rec.note_arms(robot)


def power_on_and_homing_si(rec: RunRecorder) -> None:
    robot = dvrk(rec, "dvrk_si", start="off")
    arms = [robot.arm(name) for name in robot.arms]
    robot.system().home()
    rec.note("homed", robot.wait_for(lambda: all(arm.is_homed() and not arm.is_busy() for arm in arms), 30.0))
    psm_arrived = robot.psm("PSM1").move_jr([0.1, 0.1, 0.01, 0.1, 0.1, 0.1]).wait()
    rec.note("moved", [psm_arrived, robot.ecm().move_jr([0.1, 0.1, 0.01, 0.1]).wait()])
    robot.psm("PSM2").free()
    robot.sleep(0.3)
    rec.note_arms(robot)


def unsupported_arms_fall(rec: RunRecorder) -> None:
    for name in ("PSM", "ECM", "MTML"):
        robot = alone(rec, name, start="off", supported=False)
        robot.run(0.3)
        robot.arm(name).enable(5.0)
        robot.arm(name).home(15.0)
        robot.arm(name).disable(1.0)
        robot.run(0.2)
        rec.note_arms(robot)


def clutch_and_set_up_joints(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["PSM1", "PSM2", "ECM"])
    psm, ecm, suj = robot.psm("PSM1"), robot.ecm(), robot.suj()
    for name, arm in (("PSM1", psm), ("ECM", ecm)):
        arm.use_gravity_compensation(True)
        robot.press_clutch(name)
        robot.sleep(0.01)
        robot.scene.arms[name].apply_wrench([2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        robot.sleep(0.3)
        robot.scene.arms[name].apply_wrench(np.zeros(6))
        arm.servo_jp(arm.measured_jp()[0])  # a command while the arm is clutched
        robot.sleep(0.05)
        robot.press_clutch(name, False)
        robot.sleep(0.5)
    rec.attempt("MTML has no clutch", lambda: robot.press_clutch("MTML"))
    q = suj.PSM1.measured_jp()[0]
    there = q + np.array([0.02, *[0.05] * (len(q) - 1)])
    rec.attempt("brakes", lambda: robot.move_set_up_joints("PSM1", there))
    robot.press_set_up_clutch("PSM1")
    robot.move_set_up_joints("PSM1", there)
    robot.sleep(0.2)
    robot.press_set_up_clutch("PSM1", False)
    robot.sleep(0.1)
    suj.PSM2.move_jp(suj.PSM2.measured_jp()[0] + 0.03)
    suj.ECM.move_jp(suj.ECM.measured_jp()[0] - 0.02)
    suj.PSM2.move_jp([1.0])  # refused
    robot.sleep(0.2)
    for word in ("enable", "dance", "home", "disable"):
        suj.PSM1.state_command(word)
        robot.step(3)
    rec.note("service", robot.bus.call("SUJ/PSM1/operating_state"))
    send(robot, "SUJ/set_reference_arm", value="PSM2")
    robot.sleep(0.1)
    send(robot, "SUJ/set_reference_arm", value="MTML")  # refused
    robot.sleep(0.1)
    rec.note("pose", [suj.PSM1.measured_cp(), suj.PSM1.local.measured_cp(), suj.PSM3.measured_js()])
    psm.disable(1.0)
    robot.press_clutch("PSM1")
    robot.sleep(0.1)
    rec.note("ECM moves", ecm.move_jr([0.1, 0.1, 0.02, 0.1]).wait())
    rec.note_arms(robot)


def tool_change(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["PSM1"])
    psm = robot.psm("PSM1")
    rec.note("insert", psm.insert_jp(0.12).wait())
    psm.set_tool_present(False)
    robot.sleep(0.1)
    rec.attempt("no tip", lambda: psm.measured_cp(wait_timeout=0.05))
    psm.jaw.open()  # refused
    psm.servo_cp(np.eye(4))
    robot.sleep(0.1)
    rec.note("joints move", psm.move_jr([0.05, 0, 0, 0, 0, 0]).wait())
    psm.set_tool_present(True)  # tip outside of the cannula
    robot.sleep(0.2)
    rec.note("insert", psm.insert_jp(0.03).wait())
    psm.set_tool_present(False)
    robot.sleep(0.1)
    psm.set_tool_present(True)  # sweep
    robot.sleep(0.05)
    rec.note("busy", [psm.is_busy(), psm.is_homed()])
    rec.note("engaged", robot.wait_for(lambda: psm.is_homed() and not psm.is_busy(), 20.0))
    psm.set_tool_present(False)
    robot.sleep(0.02)
    psm.set_tool_present(True)
    robot.sleep(0.5)
    psm.state_command("pause")  # in the middle of the sweep
    robot.sleep(0.1)
    psm.state_command("resume")
    rec.note("engaged", robot.wait_for(lambda: psm.is_homed() and not psm.is_busy(), 20.0))
    for value in (False, True):
        send(robot, "PSM1/emulate_adapter_present", value=value)
        robot.sleep(0.1)
    for name in (read(robot, "PSM1/tool_type").value, "SPOON"):
        send(robot, "PSM1/set_tool_type", value=name)
        robot.sleep(0.02)
    rec.note("insert", psm.insert_jp(0.12).wait())
    rec.note("jaw", [psm.jaw.open().wait(), psm.jaw.close().wait()])
    psm.jaw.servo_jf(0.1)
    robot.sleep(0.3)
    rec.note_arms(robot)


RUNS = (
    power_on_and_homing,
    power_on_and_homing_si,
    unsupported_arms_fall,
    clutch_and_set_up_joints,
    tool_change,
)
