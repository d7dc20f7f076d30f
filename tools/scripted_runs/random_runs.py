"""Runs of random commands, some of them malformed, with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from tools.scripted_runs.recorder import RunRecorder, recorded_topics
from tools.scripted_runs.robots import dvrk, press, read, send
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.interface import Direction
from trocar.spatial import Array
from trocar.teleoperation import PSMSettings, Teleoperation

STATE_COMMANDS = {  # probability by command
    "enable": 0.3,
    "disable": 0.04,
    "home": 0.35,
    "unhome": 0.01,
    "pause": 0.07,
    "resume": 0.21,
    "jump": 0.02,
}


def random_vector(rng: Generator, size: int, centre: Array | float = 0.0, width: float = 1.0) -> Array:
    """Normal values; rarely one of them is not finite or huge, or there is one too many."""
    values = centre + width * rng.standard_normal(size)
    odd_value, odd_length = rng.random(2) < 0.02
    if odd_value:
        values[rng.integers(size)] = rng.choice([np.nan, np.inf, -np.inf, 1e10, -1e308])
    return np.append(values, 0.0) if odd_length else values


def random_joints(rng: Generator, robot: Robot, name: str, command: str) -> dict[str, Any]:
    """Fields of a joint command: positions near the setpoint, or small efforts."""
    jaw = command.startswith("jaw")
    setpoint = read(robot, f"{name}/jaw/setpoint_js" if jaw else f"{name}/setpoint_js").position
    n = 1 if jaw else len(setpoint) or 6
    if command.endswith("f"):
        return {"effort": random_vector(rng, n, 0.0, 0.05)}
    centre = 0.0 if command.endswith("r") or len(setpoint) != n else setpoint
    return {"position": random_vector(rng, n, centre, 0.02 if "servo" in command else 0.3)}


def random_fields(rng: Generator, robot: Robot, name: str, command: str) -> dict[str, Any]:
    """Fields of a command to an arm."""
    kind = robot.bus.topics[f"{name}/{command}"].message
    if kind is m.JointState:
        return random_joints(rng, robot, name, command)
    if kind is m.Pose:
        T = np.array(read(robot, f"{name}/setpoint_cp").T)
        T[:3, 3] += 0.01 * rng.standard_normal(3)
        if rng.random() < 0.05:
            T[rng.integers(3), rng.integers(4)] = np.nan
        return {"T": T, "frame_id": "table"}
    if kind is m.Wrench:
        return {"vector": random_vector(rng, 6, 0.0, 0.5)}
    if kind is m.CartesianState:
        return {"wrench": random_vector(rng, 6, 0.0, 0.1)}
    if kind is m.ImpedanceGoal:
        T = read(robot, f"{name}/measured_cp").T
        gains = m.HalfPlaneGains(p=np.full(3, -100.0), d=np.full(3, -3.0))
        frame = {"force_R": T[:3, :3], "force_position": T[:3, 3], "torque_R": T[:3, :3]}
        return {**frame, "position_positive": gains, "position_negative": gains}
    if kind is m.Rotation:
        return {"R": read(robot, f"{name}/measured_cp").T[:3, :3]}
    if kind is m.Bool:
        return {"value": bool(rng.random() < 0.7)}
    if kind is m.Float:
        return {"value": float(rng.choice([0.3, 1.0, 1.0, -1.0, np.nan]))}
    if command == "state_command":
        return {"value": str(rng.choice(list(STATE_COMMANDS), p=list(STATE_COMMANDS.values())))}
    return {"value": "nothing"} if kind is m.String else {}


def send_random_commands(rec: RunRecorder, robot: Robot, count: int, seed: int) -> None:
    """Commands to all arms of a robot; after every 100 of them the arms are enabled and homed again."""
    rng = np.random.default_rng(seed)
    names = list(robot.arms)
    for name in names:
        robot.arm(name)  # clients subscribe to the operating states before the first command
    for index in range(count):
        name = str(rng.choice(names))
        command = str(rng.choice(recorded_topics(robot.devices[name], Direction.command)))
        if rng.random() < 0.15:
            command = "state_command"
        send(robot, f"{name}/{command}", **random_fields(rng, robot, name, command))
        robot.step(int(rng.integers(1, 25)))
        if index % 100 == 99:
            for each in names:
                rec.note(f"{index} {each}", [robot.arm(each).enable(5.0), robot.arm(each).home(15.0)])
    rec.note_arms(robot)


def random_commands_to_classic_arms(rec: RunRecorder) -> None:
    send_random_commands(rec, dvrk(rec, start="ready", arms=["PSM1", "ECM", "MTMR"]), 900, 1)


def random_commands_to_si_arms(rec: RunRecorder) -> None:
    send_random_commands(rec, dvrk(rec, "dvrk_si", start="ready", arms=["PSM1", "ECM"]), 500, 2)


def random_commands_to_a_pair(rec: RunRecorder) -> None:
    robot = dvrk(rec, start="ready", arms=["PSM1", "MTMR"], speed="stepped")
    Teleoperation(robot, PSMSettings(start_gripper_threshold=0.0))
    rec.watch_new_devices()
    pair, rng = "MTMR_PSM1", np.random.default_rng(0)
    robot.console().teleop_start()
    press(robot, "operator_present")
    robot.run(2.0)
    for _ in range(400):
        match int(rng.integers(8)):
            case 0:
                command = rng.choice(["enable", "enable", "disable", "align_MTM", "x"])
                send(robot, f"{pair}/state_command", value=str(command))
            case 1:
                send(robot, f"{pair}/set_scale", value=float(rng.choice([0.1, 1.0, -1.0, np.nan, np.inf])))
            case 2:
                send(robot, f"{pair}/lock_rotation", value=bool(rng.integers(2)))
            case 3:
                send(robot, f"{pair}/lock_translation", value=bool(rng.integers(2)))
            case 4:
                wrench = rng.choice([0.0, 1.0, np.nan], 6) if rng.integers(2) else np.zeros(3)
                send(robot, f"{pair}/following/mtm/body/servo_cf", vector=wrench)
            case 5:
                press(robot, "clutch", int(rng.integers(2)))
            case 6:
                send(robot, "console/emulate_clutch", buttons=tuple(rng.integers(0, 5, int(rng.integers(3))).tolist()))
            case 7:
                press(robot, str(rng.choice(["operator_present", "camera"])), int(rng.integers(2)))
        robot.scene.arms["MTMR"].apply_wrench(np.append(rng.normal(0, 1, 3), np.zeros(3)))
        robot.step(int(rng.integers(1, 40)))
    rec.note_arms(robot)


RUNS = (random_commands_to_classic_arms, random_commands_to_si_arms, random_commands_to_a_pair)
