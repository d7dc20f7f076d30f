"""Random commands to a live robot: each is executed or refused, and the robot continues.

TROCAR_FUZZ=N tries N commands instead of a few hundred; TROCAR_FUZZ_SEED=N selects other commands.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter

import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, number, numbers, python_nonsense, rounds, text
from tests.support.waiting import TIMEOUT
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.laws import LAWS, SERVO
from trocar.robot.robot import MAX_CYCLES
from trocar.robot.settings import ArmSettings

PERIOD = 1.0 / 1500.0
ARMS = ("PSM", "ECM")


def sometimes(rng, usual, odd):
    """Usually a normal value, one time in four an odd one."""
    return odd() if rng.integers(4) == 0 else usual()


def service(rng, n):
    """A service of the simulation or of its arm as a name, arguments and named arguments."""

    def odd():
        return python_nonsense(rng)

    def few(steps):  # thousands of steps are valid but slow
        return min(steps, 6) if isinstance(steps, int | float) and steps <= MAX_CYCLES else steps

    def vector(size):
        return sometimes(rng, lambda: numbers(rng, size), odd)

    def law():
        return sometimes(rng, lambda: list(LAWS)[rng.integers(len(LAWS))], odd)

    def gains():
        return {sometimes(rng, lambda: "kp", lambda: text(rng)): number(rng) for _ in range(rng.integers(3))}

    def flag():
        return sometimes(rng, lambda: bool(rng.integers(2)), odd)

    def options():
        kinds = {"friction": flag, "counterweight": flag, "instrument": odd, "set_up": lambda: vector(6)}
        kinds |= {"parameters": odd}
        key = list(kinds)[rng.integers(len(kinds))]
        return {key: kinds[key]()}

    kinds = {
        "ARM/set_law": lambda: ((law(), sometimes(rng, gains, odd)), {}),
        "ARM/place": lambda: ((vector(n),), {}),
        "ARM/push": lambda: ((vector(3),), {}),
        "ARM/record": lambda: ((), {}),
        "ARM/recorded": lambda: ((), {}),
        "ARM/history": lambda: ((), {}),
        "ARM/change": lambda: ((), options()),
        "change": lambda: ((), {"gravity": vector(3)}),
        "reset": lambda: ((), {}),
        "snapshot": lambda: ((), {}),
        "restore": lambda: ((odd(),), {}),
        "set_speed": lambda: ((sometimes(rng, lambda: number(rng), odd),), {}),
        "step": lambda: ((sometimes(rng, lambda: int(rng.integers(-1, 6)), lambda: few(odd())),), {}),
        "play": lambda: ((), {}),
        "pause": lambda: ((), {}),
    }
    # rebuilding a scene is slow: only few
    weights = np.array([1.0 if "change" not in name else 0.05 for name in kinds])
    name = list(kinds)[rng.choice(len(kinds), p=weights / weights.sum())]
    return name, *kinds[name]()


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.filterwarnings("ignore::trocar.errors.NearSingular", "ignore::trocar.errors.NearLimit")
@pytest.mark.filterwarnings("ignore::trocar.errors.Unsolved", "ignore::trocar.errors.Inaccurate")  # by any force
def test_random_services_are_executed_or_refused_and_the_robot_continues(arm):
    rng = np.random.default_rng([SEED, ARMS.index(arm)])
    fates, failures = Counter(), []
    with Robot(ArmSettings(arm=arm).build(), start="ready", speed="real", playing=False) as robot:
        n = robot.readings(arm).arm.n
        for _ in range(rounds(400)):
            name, arguments, named = service(rng, n)
            INPUTS[f"live robot of {arm}: {name}"] += 1
            error = None
            try:
                robot.bus.call(f"simulation/{name.replace('ARM', arm)}", *arguments, **named)
            except TrocarError as refused:
                error = refused
            except Exception as other:
                error = other
                failures.append((name, arguments, named, other))
            fates["carried out" if error is None else "refused"] += 1
            if robot.error is not None:
                assert isinstance(robot.error, TrocarError), (name, arguments, named, robot.error)
        assert failures == [], f"{len(failures)} of them"
        sim = robot.simulation()
        sim.pause()  # it still serves
        sim.change(gravity=(0.0, 0.0, -9.81))
        sim.reset()
        sim.arm(arm).set_law(SERVO)
        sim.step(15)
        assert sim.frame().time == pytest.approx(15 * PERIOD)
    print(f"{arm}: {dict(fates)}")
    assert fates["refused"] > 0.1 * sum(fates.values())
    assert fates["carried out"] > 0.1 * sum(fates.values())


def test_sixteen_threads_give_bit_identical_results_to_serial_commands():
    """Commands and steps of all threads have one order: replaying them in that order gives the same result."""
    log, start, errors = [], threading.Barrier(16), []
    scene = ArmSettings().build()

    def client(k, robot):
        rng = np.random.default_rng(k)
        start.wait(TIMEOUT)
        try:
            for _ in range(6):
                q = home + 0.05 * rng.normal(size=6)
                robot.bus.publish("PSM/move_jp", m.JointState(position=q))
                robot.simulation().step(int(rng.integers(1, 4)))
                if k % 3 == 0:
                    robot.bus.publish("PSM/servo_jf", m.JointState(effort=q))
        except TrocarError as error:
            errors.append(error)

    with Robot(scene, start="ready", speed="real", playing=False) as robot:
        home = np.array(robot.psm("PSM").setpoint_jp()[0])
        for topic in ("PSM/move_jp", "PSM/servo_jf"):
            robot.bus.subscribe(topic, lambda message, topic=topic: log.append((topic, message)))
        robot.after_cycle.append(lambda: log.append(None))
        threads = [threading.Thread(target=client, args=(k, robot)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        parallel = robot.simulation().frame().arms["PSM"]
    assert errors == []
    assert sum(entry is None for entry in log) > 16 * 6
    scene.reset()
    serial = Robot(scene, start="ready", speed="stepped")
    for entry in log:
        if entry is None:
            serial.step()
        else:
            serial.bus.publish(*entry)
    state = serial.simulation().frame().arms["PSM"]
    for channel in ("q", "dq", "ddq", "tau"):
        np.testing.assert_array_equal(getattr(parallel, channel), getattr(state, channel))


def test_numbers_that_overflow_are_refused_without_a_warning():
    robot = Robot(ArmSettings().build(), start="ready", speed="stepped")
    sim, said, T = robot.simulation(), [], np.eye(4)
    T[:3, 3] = 1e300
    for topic in ("PSM/warning", "PSM/error"):
        robot.bus.subscribe(topic, lambda message: said.append(message.value))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.arm("PSM").set_law("feedback linearisation")
        for refused in (
            lambda: sim.arm("PSM").push([-1e308] * 3),
            lambda: sim.change(gravity=[1e308] * 3),
        ):
            with pytest.raises(TrocarError, match="must be at most"):
                refused()
        sim.arm("PSM").place([1e308] * 7)  # clipped
        for topic, message in (
            ("move_cp", m.Pose(T=T)),
            ("move_jp", m.JointState(position=np.full(6, 1e308))),
            ("servo_jf", m.JointState(effort=np.full(6, 1e308))),
        ):
            count = len(said)
            robot.bus.publish(f"PSM/{topic}", message)
            robot.run(0.01)
            assert len(said) == count + 1, topic
