"""Random commands to a running simulation: each is executed or rejected, and the simulation continues.

TROCAR_FUZZ=N tries N commands instead of a few hundred; TROCAR_FUZZ_SEED=N selects other commands.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections import Counter

import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, number, numbers, python_nonsense, rounds, text
from trocar.errors import TrocarError
from trocar.runtime import CONTROLLERS, TIMESTEP, Live, Mode, Session, Settings
from trocar.runtime.controllers import controllers_of
from trocar.runtime.driver import Driver

PATIENCE = 60.0  # [s]
ARMS = ("PSM", "ECM")


def sometimes(rng, usual, odd):
    """Usually a normal value, one time in four an odd one."""
    return odd() if rng.integers(4) == 0 else usual()


def command(rng, session):
    """A command as a name, arguments and named arguments."""
    n = next(iter(session.joints.values()))

    def odd():
        return python_nonsense(rng)

    def few(steps):  # a billion steps are valid but slow
        return steps if not isinstance(steps, int) else min(steps, 6)

    def vector(size):
        return sometimes(rng, lambda: numbers(rng, size), odd)

    def pose():
        T = np.eye(4)
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, 3] = rng.normal(size=3) * rng.choice([0.1, 10.0, 1e200])
        return T

    def tip():
        return sometimes(rng, lambda: session.frame.arms[session.arms[0]].T_tip, pose)

    def choice():
        return sometimes(rng, lambda: list(CONTROLLERS)[rng.integers(len(CONTROLLERS))], odd)

    def gains():
        return {sometimes(rng, lambda: "kp", lambda: text(rng)): number(rng) for _ in range(rng.integers(3))}

    def flag():
        return sometimes(rng, lambda: bool(rng.integers(2)), odd)

    kinds = {
        "drive": lambda: ((choice(), sometimes(rng, gains, odd)), {}),
        "retune": lambda: ((sometimes(rng, gains, odd),), {}),
        "move_joints": lambda: ((vector(n),), {}),
        "move_tip": lambda: ((sometimes(rng, tip, odd),), {}),
        "set_effort": lambda: ((vector(n),), {}),
        "place": lambda: ((vector(n),), {}),
        "push": lambda: ((vector(3),), {}),
        "reset": lambda: ((sometimes(rng, lambda: None, lambda: vector(n)),), {}),
        "record": lambda: ((), {}),
        "set_speed": lambda: ((sometimes(rng, lambda: number(rng), odd),), {}),
        "step": lambda: ((sometimes(rng, lambda: int(rng.integers(-1, 6)), lambda: few(odd())),), {}),
        "connect": lambda: ((text(rng), sometimes(rng, lambda: lambda live: live.push(odd()), odd)), {}),
        "disconnect": lambda: ((text(rng),), {}),
        "set_status": lambda: ((odd(), odd()), {}),
        "change": lambda: ((), {}),
        "play": lambda: ((), {}),
        "pause": lambda: ((), {}),
    }
    # rebuilding a scene is slow: only few
    weights = np.array([1.0 if name != "change" else 0.1 for name in kinds])
    name = list(kinds)[rng.choice(len(kinds), p=weights / weights.sum())]
    arguments, named = kinds[name]()
    if name == "change":
        options = {"friction": flag, "counterweight": flag, "instrument": odd, "gravity": lambda: vector(3)}
        options |= {"set_up": lambda: vector(6), "parameters": odd}
        key = list(options)[rng.integers(len(options))]
        named[key] = options[key]()
    if name not in ("set_speed", "step", "connect", "disconnect", "set_status", "play", "pause"):
        named |= sometimes(rng, dict, lambda: {"arm": odd()})
    return name, arguments, named


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.filterwarnings("ignore::trocar.errors.NearSingular", "ignore::trocar.errors.NearLimit")
@pytest.mark.filterwarnings("ignore::trocar.errors.Unsolved", "ignore::trocar.errors.Inaccurate")  # by any force
def test_random_commands_are_executed_or_rejected_and_the_simulation_continues(arm):
    rng = np.random.default_rng([SEED, ARMS.index(arm)])
    fates, failures = Counter(), []
    with Session(Settings(arm=arm)) as session:
        for _ in range(rounds(400)):
            name, arguments, named = command(rng, session)
            INPUTS[f"running simulation of {arm}: {name}"] += 1
            try:
                error = getattr(session, name)(*arguments, **named).exception(PATIENCE)
            except TrocarError as refused:
                error = refused
            fates["carried out" if error is None else "refused"] += 1
            if error is not None and not isinstance(error, TrocarError):
                failures.append((name, arguments, named, error))
            assert session.running, (name, arguments, named)
        assert failures == [], f"{len(failures)} of them"
        session.pause()  # it still executes commands
        for input_name in session.ask(lambda live: live.inputs):
            session.disconnect(input_name)
        session.change(gravity=(0.0, 0.0, -9.81)).result(PATIENCE)
        session.reset().result(PATIENCE)
        session.drive("PID (dVRK)")
        session.step(15).result(PATIENCE)
        assert session.settled().time == pytest.approx(15 * TIMESTEP)
    print(f"{arm}: {dict(fates)}")
    assert fates["refused"] > 0.1 * sum(fates.values())
    assert fates["carried out"] > 0.1 * sum(fates.values())


def test_sixteen_threads_give_bit_identical_results_to_serial_commands(monkeypatch):
    """Commands of all threads go through one queue: replaying them in its order gives the same result."""
    done, aim, step, change = [], Driver.aim, Live.step, Live.change_driver
    physics = "trocar-physics"

    def in_physics():
        return threading.current_thread().name == physics

    def logged_aim(driver, mode, target):
        if in_physics():
            done.append(("aim", mode, np.array(target)))
        aim(driver, mode, target)

    def logged_step(live):
        if in_physics():
            done.append(("step",))
        step(live)

    def logged_change(live, name, controller, gains=None):
        if in_physics():
            done.append(("drive", controller, gains))
        change(live, name, controller, gains)

    monkeypatch.setattr(Driver, "aim", logged_aim)
    monkeypatch.setattr(Live, "step", logged_step)
    monkeypatch.setattr(Live, "change_driver", logged_change)
    home = np.array(Session(Settings(arm="PSM")).frame.arms["PSM"].q)
    start, errors = threading.Barrier(16), []

    def client(k, session):
        rng = np.random.default_rng(k)
        start.wait(PATIENCE)
        for turn in range(6):
            q = home + 0.05 * rng.normal(size=7)
            futures = [session.move_joints(q), session.step(int(rng.integers(1, 4))), session.set_effort(q)]
            if turn % 3 == k % 3:
                futures.append(session.drive(controllers_of(Mode.joint if k % 2 else Mode.torque)[0]))
            errors.extend(filter(None, (future.exception(PATIENCE) for future in futures)))

    with Session(Settings(arm="PSM")) as session:
        threads = [threading.Thread(target=client, args=(k, session)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = session.settled().arms["PSM"]
    assert all(isinstance(error, TrocarError) for error in errors)  # targets of another mode
    assert sum(entry[0] == "step" for entry in done) > 16 * 6
    assert sum(entry[0] == "drive" for entry in done) == 16 * 2

    serial = Live(Settings(arm="PSM"))
    for kind, *what in done:
        match kind:
            case "step":
                serial.step()
            case "drive":
                serial.change_driver("PSM", *what)
            case _:
                with contextlib.suppress(TrocarError):
                    serial.drivers["PSM"].aim(*what)
    wanted = serial.frame().arms["PSM"]
    for channel in ("q", "dq", "ddq", "tau"):
        np.testing.assert_array_equal(getattr(found, channel), getattr(wanted, channel))


def test_numbers_that_overflow_are_refused_without_a_warning():
    with warnings.catch_warnings(), Session(Settings(arm="PSM")) as session:
        warnings.simplefilter("error")
        session.drive("feedback linearisation").result(PATIENCE)
        T = np.eye(4)
        T[:3, 3] = 1e300
        for refused in (
            lambda: session.move_tip(T),
            lambda: session.move_joints([1e308] * 7),
            lambda: session.set_effort([1e308] * 7),
            lambda: session.push([-1e308] * 3),
            lambda: session.change(gravity=[1e308] * 3),
        ):
            with pytest.raises(TrocarError, match="must be within"):
                refused()
