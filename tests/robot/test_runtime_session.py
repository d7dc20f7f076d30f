"""The simulation in its own thread: time, commands and failures. No browser."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.arms import instruments
from trocar.errors import TrocarError
from trocar.runtime import TIMESTEP, Mode, Session, Settings
from trocar.runtime.controllers import CONTROLLERS, controllers_of

J3 = 2
POSE = np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0])  # away from the singular pose at home
GOAL = np.array([0.2, -0.1, 0.14, 0.3, 0.2, -0.2, 0.3])
PATIENCE = 60.0  # [s]; a lost answer must fail a test, not block it


def stepped(session, seconds):
    """The frame after an amount of simulated time, regardless of real time."""
    session.step(round(seconds / TIMESTEP)).result(PATIENCE)
    return session.settled()


def only(frame):
    """The state of the only arm."""
    (state,) = frame.arms.values()
    return state


def about(session):
    (description,) = session.frame.scene.arms.values()
    return description


def changed(session, **changes):
    session.change(**changes).result(PATIENCE)
    return session.settled()


def texts(session):
    return [message.text for message in session.messages.since(0)]


@pytest.fixture
def session():
    with Session(Settings(arm="PSM")) as result:
        yield result


@pytest.fixture
def frictionless():
    with Session(Settings(arm="PSM", friction=False)) as result:
        yield result


# -- time ------------------------------------------------------------------------------------------------------------


def test_time_advances_only_while_playing(session):
    assert session.settled().time == 0.0
    session.play()
    deadline = time.monotonic() + PATIENCE
    while session.frame.time < 0.05 and time.monotonic() < deadline:
        time.sleep(0.01)
    session.pause()
    paused = session.settled()
    assert paused.time >= 0.05
    assert not paused.playing
    for _ in range(20):  # iterations of the thread in which it could continue
        assert session.settled().time == paused.time


def test_steps_are_exactly_as_many_as_requested(session):
    session.step(7)
    assert session.settled().time == pytest.approx(7 * TIMESTEP)


def test_a_slow_reader_does_not_delay_the_simulation(session):
    session.play()
    held = session.frame
    asleep = threading.Thread(target=lambda: (session.frame, time.sleep(0.3)))
    asleep.start()
    deadline = time.monotonic() + PATIENCE
    while session.frame.time < held.time + 0.1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert session.frame.time >= held.time + 0.1
    asleep.join()


# -- targets ---------------------------------------------------------------------------------------------------------


def test_a_joint_target_is_reached_through_the_controller(session):
    session.drive("computed torque")
    session.move_joints(GOAL)
    state = only(stepped(session, 2.0))
    # the remaining error is due to Coulomb friction, which the controller does not model
    np.testing.assert_allclose(state.q_ref, GOAL, atol=1e-9)
    np.testing.assert_allclose(state.q[:3], GOAL[:3], atol=0.02)
    np.testing.assert_array_equal(state.control.target, GOAL)


def test_place_moves_the_arm_instantly(session):
    session.place(GOAL)
    np.testing.assert_allclose(only(session.settled()).q, GOAL, atol=1e-12)


def test_targets_outside_the_limits_are_clipped_to_the_limits(session):
    upper = about(session).arm.upper
    session.move_joints(np.full(7, 9.0))
    np.testing.assert_array_equal(only(session.settled()).control.target, upper)
    session.place(np.full(7, 9.0))
    np.testing.assert_allclose(only(session.settled()).q, upper)


@pytest.mark.parametrize("controller", controllers_of(Mode.cartesian))
def test_the_tip_goes_to_its_target(frictionless, controller):
    session = frictionless
    session.place(POSE)
    session.drive(controller)
    T = only(session.settled()).T_tip.copy()
    T[:3, 3] += [0.01, -0.01, 0.005]
    session.move_tip(T)
    state = only(stepped(session, 2.0))
    np.testing.assert_allclose(state.T_tip[:3, 3], T[:3, 3], atol=1e-3)
    np.testing.assert_allclose(state.T_ref, T, atol=1e-5)


def test_a_tip_target_out_of_reach_is_refused_with_the_reason(session):
    session.drive("feedback linearisation")
    T = only(session.settled()).T_tip
    far = T.copy()
    far[:3, 3] = [0.0, 0.0, 2.0]
    with pytest.raises(TrocarError, match="unreachable"):
        session.move_tip(far).result(PATIENCE)
    assert any("unreachable" in text for text in texts(session))
    np.testing.assert_allclose(only(session.settled()).control.target, T, atol=1e-9)


def test_efforts_act_as_they_are_set(session):
    session.drive("effort alone")
    tau = np.array([0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    session.set_effort(tau)
    np.testing.assert_allclose(only(stepped(session, TIMESTEP)).tau, tau, atol=1e-12)


@pytest.mark.parametrize("controller", controllers_of(Mode.torque))
def test_an_arm_without_friction_floats_when_efforts_take_over(frictionless, controller):
    frictionless.drive(controller)
    start = only(frictionless.settled()).q
    np.testing.assert_allclose(only(stepped(frictionless, 0.2)).q, start, atol=1e-4)


@pytest.mark.parametrize("arm", tr.ARMS)
def test_the_torque_mode_starts_at_rest_and_holds_the_arm(arm):
    """Efforts of zero plus gravity compensation, from home and from elsewhere: within 1e-3 rad and 1e-4 m for 5 s."""
    with Session(Settings(arm=arm)) as session:
        limits = about(session).arm
        middle = limits.lower + 0.6 * (limits.upper - limits.lower)
        for q in (limits.home, middle):
            session.place(q)
            session.drive(controllers_of(Mode.torque)[0])
            start = only(session.settled()).q
            state = only(stepped(session, 5.0))
            moved = np.abs(state.q - start)
            most = np.array([1e-3 if unit == "rad" else 1e-4 for unit in limits.joint_units])
            assert (moved < most).all(), moved
            assert np.abs(state.dq).max() < 1e-3
        assert texts(session) == []


def test_a_push_at_the_tip_does_the_work_of_its_force(frictionless):
    """Held by an impedance of 200 N/m, the tip yields by F / K."""
    session = frictionless
    session.place(POSE)
    session.drive("impedance", {"stiffness": 200.0, "damping": 80.0})
    rest = only(stepped(session, 0.5)).T_tip[:3, 3]
    force = np.array([0.6, -0.4, 0.5])
    session.push(force)
    pushed = only(stepped(session, 2.0))
    np.testing.assert_allclose(pushed.T_tip[:3, 3] - rest, force / 200.0, atol=3e-4)
    np.testing.assert_array_equal(pushed.force, force)
    session.push(np.zeros(3))
    assert not only(session.settled()).force.any()


def test_every_arm_runs_in_every_mode():
    for arm in tr.ARMS:
        with Session(Settings(arm=arm)) as session:
            for mode in Mode:
                session.drive(controllers_of(mode)[0])
                frame = stepped(session, 0.01)
                assert frame.time > 0
                assert only(frame).control.mode is mode
            assert texts(session) == []


# -- changes while it runs -------------------------------------------------------------------------------------------


def test_without_the_counterweight_the_insertion_carries_the_instruments_weight(frictionless):
    session = frictionless
    session.drive("computed torque")
    with_weight = only(stepped(session, 1.0))
    changed(session, counterweight=False)
    without = only(stepped(session, 1.0))
    g = [tr.load_mechanism("PSM", counterweight=c).gravity(without.q)[J3] for c in (True, False)]
    assert abs(g[1] - g[0]) > 1.0
    assert with_weight.tau[J3] == pytest.approx(g[0], abs=0.05)
    assert without.tau[J3] == pytest.approx(g[1], abs=0.05)


def test_a_change_keeps_the_arm_in_place_and_time_continues(session):
    session.place(GOAL)
    before = stepped(session, 0.05)
    after = changed(session, friction=False)
    np.testing.assert_allclose(only(after).q, only(before).q, atol=1e-9)
    np.testing.assert_allclose(only(after).dq, only(before).dq, atol=1e-9)
    assert after.time == before.time
    assert only(after).tau is None  # no step was taken yet
    assert not about(session).friction


def test_gravity_can_be_turned(session):
    g = (0.0, -9.81, 0.0)
    changed(session, gravity=g)
    np.testing.assert_allclose(about(session).gravity_vector, g)
    np.testing.assert_allclose(about(session).mechanism().gravity_vector, g)
    np.testing.assert_allclose(session.ask(lambda live: live.scene.arms["PSM"].mechanism.gravity_vector), g)


def test_another_instrument_can_be_mounted(session):
    other = next(name for name in instruments.names("PSM") if name != about(session).arm.instrument)
    changed(session, instrument=other)
    assert about(session).arm.instrument == other


def test_an_instrument_file_is_opened_if_it_is_given_as_a_path(session):
    with pytest.raises(TrocarError, match=r"nowhere\.toml"):
        session.change(instrument=Path("nowhere.toml")).result(PATIENCE)


def test_a_refused_change_is_raised_reported_and_changes_nothing(session):
    scene = session.settled().scene
    with pytest.raises(TrocarError, match="SPOON"):
        session.change(instrument="SPOON").result(PATIENCE)
    assert session.settled().scene is scene
    assert any("SPOON" in text for text in texts(session))


# -- arguments are checked first ------------------------------------------------------------------------------------

NAN = float("nan")
BAD = {
    "speed NaN": (lambda s: s.set_speed(NAN), "speed must be a number from 0.05 to 10, got nan"),
    "speed too high": (lambda s: s.set_speed(11.0), "speed"),
    "speed no number": (lambda s: s.set_speed("fast"), "speed"),
    "no steps": (lambda s: s.step(0), "steps"),
    "half a step": (lambda s: s.step(1.5), "steps"),
    "q too short": (lambda s: s.move_joints(np.zeros(6)), r"q must have shape \(7,\), got \(6,\)"),
    "q NaN": (lambda s: s.move_joints([NAN] * 7), "q must be finite"),
    "q no numbers": (lambda s: s.move_joints("home"), "q must be 7 numbers"),
    "place too long": (lambda s: s.place(np.zeros(8)), "q must have shape"),
    "reset NaN": (lambda s: s.reset([NAN] * 7), "q must be finite"),
    "tau too short": (lambda s: s.set_effort(np.zeros(3)), "tau must have shape"),
    "tau infinite": (lambda s: s.set_effort([np.inf] * 7), "tau must be finite"),
    "T NaN": (lambda s: s.move_tip(np.full((4, 4), NAN)), "T: .*NaN"),
    "T no rotation": (lambda s: s.move_tip(np.diag([2.0, 1.0, 1.0, 1.0])), "T: .*not a rotation"),
    "T many": (lambda s: s.move_tip(np.stack([np.eye(4)] * 2)), "T must be one pose"),
    "force NaN": (lambda s: s.push([NAN, 0, 0]), "force must be finite"),
    "gain NaN": (lambda s: s.retune({"kp": NAN}), "kp must be a number"),
    "gain too high": (lambda s: s.drive("PID (dVRK)", {"kp": 3.0}), "kp must be a number from 0 to 2"),
    "gain of another": (lambda s: s.drive("PID (dVRK)", {"stiffness": 3.0}), "stiffness"),
    "gain of none": (lambda s: s.drive("effort alone", {"kp": 1.0}), "'effort alone' has no gains, got 'kp'"),
    "unknown controller": (lambda s: s.drive("PIDD"), "Did you mean 'PID"),
    "unknown setting": (lambda s: s.change(parameters="gondokaryono2019"), "setting 'parameters' is unknown"),
    "gravity NaN": (lambda s: s.change(gravity=(0, 0, NAN)), "gravity must be finite"),
    "friction no flag": (lambda s: s.change(friction="no"), "friction must be True or False"),
    "unknown arm": (lambda s: s.push(np.zeros(3), "PSM4"), "arm of the scene 'PSM4' is unknown"),
    "file of an instrument as a text": (lambda s: s.change(instrument="/etc/own.toml"), "Path of a file"),
    "T far away": (lambda s: s.move_tip([[1, 0, 0, 11], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), "within 10 m"),
    "force too large": (lambda s: s.push([1e13, 0, 0]), "force must be within 1e\\+12"),
    "gains no mapping": (lambda s: s.retune([1.0]), "gains must be numbers by name"),
    "controller no text": (lambda s: s.drive([]), "controller \\[\\] is unknown"),
    "arm no text": (lambda s: s.push(np.zeros(3), {}), "arm of the scene"),
    "source no function": (lambda s: s.connect("me", "print"), "source must be a function"),
    "status no text": (lambda s: s.set_status("me", 3), "text must be a text"),
    "period NaN": (lambda s: s.connect("me", print, NAN), "period"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_argument_is_refused_by_name_and_changes_nothing(shared, case):
    action, message = BAD[case]
    before = shared.settled()
    with pytest.raises(TrocarError, match=message):
        action(shared)
    after = shared.settled()
    assert (after.time, after.speed, after.scene, after.playing) == (before.time, 1.0, before.scene, False)
    np.testing.assert_array_equal(only(after).q, only(before).q)
    np.testing.assert_array_equal(only(after).control.target, only(before).control.target)
    assert only(after).control.gains == only(before).control.gains
    assert shared.running


@pytest.fixture(scope="module")
def shared():
    with Session(Settings(arm="PSM")) as result:
        yield result


def test_a_gain_that_the_controller_does_not_have_is_refused_by_the_thread(shared):
    with pytest.raises(TrocarError, match="gain of PID"):
        shared.retune({"stiffness": 3.0}).result(PATIENCE)


# -- failures --------------------------------------------------------------------------------------------------------


def test_a_diverging_run_pauses_reports_it_and_goes_back_to_the_start(session):
    session.drive("effort alone")
    session.set_effort(np.full(7, 1e9))
    session.play()
    (message,) = session.messages.since(0, timeout=PATIENCE)
    assert message.level == "error"
    assert "diverged" in message.text
    assert "back at the start" in message.text
    frame = session.settled()
    assert not frame.playing
    np.testing.assert_allclose(only(frame).q, about(session).arm.home, atol=1e-9)
    assert session.running


def test_diverging_steps_also_raise_in_the_caller(session):
    session.drive("effort alone")
    session.set_effort(np.full(7, 1e9))
    with pytest.raises(TrocarError, match="diverged"):
        session.step(100).result(PATIENCE)
    np.testing.assert_allclose(only(session.settled()).q, about(session).arm.home, atol=1e-9)


def test_an_unexpected_error_of_a_command_reaches_caller_and_user_and_the_thread_continues(session):
    def broken(live):
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        session.ask(broken)
    assert texts(session) == ["ZeroDivisionError('a bug')"]
    assert stepped(session, 0.01).time == pytest.approx(0.01)


def test_a_controller_that_fails_is_replaced_and_the_arm_is_held(session, monkeypatch):
    def broken(mechanism, gains):
        def law(state, setpoint):
            raise np.linalg.LinAlgError("singular")

        law.period = None
        return law

    kind = CONTROLLERS["computed torque"]
    monkeypatch.setitem(CONTROLLERS, "computed torque", type(kind)(kind.mode, "", kind.gains, broken))
    session.drive("computed torque")
    session.play()
    (message,) = session.messages.since(0, timeout=PATIENCE)
    assert "LinAlgError" in message.text
    frame = session.settled()
    assert not frame.playing
    assert only(frame).control.controller == "PID (dVRK)"
    session.drive("computed torque")
    with pytest.raises(np.linalg.LinAlgError):  # in single steps it is also the caller's error
        session.step().result(PATIENCE)
    assert len(texts(session)) == 2
    assert only(session.settled()).control.controller == "PID (dVRK)"
    np.testing.assert_allclose(only(stepped(session, 0.2)).q, about(session).arm.home, atol=5e-3)


def test_a_failed_recovery_pauses_and_the_thread_continues(session, monkeypatch):
    def broken(*_):
        raise RuntimeError("worse")

    session.ask(lambda live: monkeypatch.setattr(live, "hold", broken))
    session.ask(lambda live: monkeypatch.setattr(live, "step", broken))
    session.play()
    (message,) = session.messages.since(0, timeout=PATIENCE)
    assert "Paused; PSM left as they are: RuntimeError('worse')" in message.text
    assert session.running
    assert not session.settled().playing
    session.ask(lambda live: monkeypatch.undo())
    assert stepped(session, 0.01).time == pytest.approx(0.01)


def test_a_frame_that_cannot_be_built_pauses_and_the_thread_continues(session, monkeypatch):
    def broken(*_):
        raise RuntimeError("no frame")

    session.ask(lambda live: monkeypatch.setattr(live, "frame", broken))
    session.play()
    (message,) = session.messages.since(0, timeout=PATIENCE)
    assert "no frame" in message.text
    session.ask(lambda live: monkeypatch.undo())
    assert session.running
    assert not session.settled().playing


def test_the_end_of_the_thread_is_visible_and_refuses_commands(session):
    def fatal(live):
        raise SystemExit("enough")

    session.connect("policy", fatal)
    session.play()
    (message,) = session.messages.since(0, timeout=PATIENCE)
    assert "the simulation has ended: SystemExit('enough')" in message.text
    session.close()
    assert not session.running
    assert isinstance(session.error, SystemExit)
    assert not session.frame.playing
    for action in (session.play, session.settled):
        with pytest.raises(TrocarError, match="enough"):
            action()


def test_the_error_of_every_command_reaches_its_waiting_caller(session):
    """Any exception of a command becomes that of its future immediately, without a time-out."""
    for error in (TrocarError("refused"), TimeoutError("its own"), KeyError("k"), CancelledError(), StopIteration()):

        def broken(live, error=error):
            raise error

        with pytest.raises(type(error)) as raised:
            session.ask(broken, timeout=20.0)
        assert raised.value is error
    assert session.running
    assert session.settled().time == 0.0


def test_commands_beyond_the_queue_are_refused(monkeypatch):
    monkeypatch.setattr("trocar.runtime.session.MOST_WAITING", 3)
    session = Session(Settings(arm="PSM"))
    for _ in range(3):
        session.pause()
    with pytest.raises(TrocarError, match="busy: 3 commands wait"):
        session.pause()
    session.start()
    session.settled()
    session.pause().result(PATIENCE)
    session.close()


def test_a_command_that_ends_the_thread_releases_all_waiting_callers(session):
    def fatal(live):
        raise SystemExit("enough")

    with pytest.raises(SystemExit, match="enough"):
        session.ask(fatal)
    session.close()
    assert isinstance(session.error, SystemExit)


def test_an_input_may_query_the_session_that_calls_it(session):
    """In the simulation's thread a question is answered immediately, without waiting."""
    found = []
    session.connect("policy", lambda live: found.append(session.ask(lambda same: same is live)))
    stepped(session, 3 * TIMESTEP)
    assert found == [True] * 3


def test_commands_before_the_end_are_executed_and_later_ones_rejected():
    session = Session(Settings(arm="PSM")).start()
    moved = session.move_joints(GOAL)
    session.close()
    assert moved.result(0) is None
    with pytest.raises(TrocarError, match="has ended"):
        session.play()


def test_closing_aborts_long_stepping():
    session = Session(Settings(arm="PSM")).start()
    steps = session.step(10**9)
    session.close()
    assert not session.running
    with pytest.raises(TrocarError, match="closed"):
        steps.result(0)


def test_a_session_that_was_not_started_raises_instead_of_waiting():
    session = Session(Settings(arm="PSM"))
    with pytest.raises(TrocarError, match=r"start\(\)"):
        session.settled()
    waiting = session.play()
    session.close()
    with pytest.raises(TrocarError, match="has ended"):
        waiting.result(0)


def test_concurrent_commands_of_tip_and_mode_cannot_stop_the_thread(session):
    """Targets for an inactive mode are rejected one by one, without other effects."""
    session.place(POSE)
    T = only(session.settled()).T_tip
    futures, modes = [], [controllers_of(mode)[0] for mode in Mode]

    def tip():
        for k in range(60):
            goal = T.copy()
            goal[0, 3] += 1e-4 * k
            futures.append(session.move_tip(goal))

    def mode():
        for k in range(60):
            futures.append(session.drive(modes[k % 3]))

    session.play()
    clients = [threading.Thread(target=action) for action in (tip, mode)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    errors = [future.exception(PATIENCE) for future in futures]
    assert all(error is None or "cartesian" in str(error) for error in errors)
    assert session.running
    session.pause()
    assert only(session.settled()).control.controller == modes[59 % 3]


# -- recordings ------------------------------------------------------------------------------------------------------


def test_a_recording_of_the_session_equals_its_motion(session):
    session.drive("computed torque")
    session.move_joints(np.array([0.1, 0.0, 0.13, 0.0, 0.0, 0.0, 0.3]))
    session.record()
    frame = stepped(session, 0.3)
    assert session.recording == ("PSM",)
    rec = session.recorded()
    assert session.recording == ()
    assert rec.provenance["arm"] == "PSM"
    assert rec.t[-1] == pytest.approx(0.3, abs=4 * TIMESTEP)
    np.testing.assert_allclose(np.diff(rec.t), 3 * TIMESTEP)
    np.testing.assert_allclose(rec.q[-1], only(frame).q, atol=1e-2)
    # q, dq, ddq and tau of a row belong to one step: the equations hold, up to friction
    mechanism = about(session).mechanism()
    left = rec.tau - mechanism.effort_bias - mechanism.inverse_dynamics(rec.q, rec.dq, rec.ddq)
    friction = np.abs(mechanism.friction(rec.q[0], np.ones(7))) + np.abs(mechanism.friction(rec.q[0], -np.ones(7)))
    assert (np.abs(left) <= friction + 0.02).all()


def test_a_recording_restarts_at_a_reset(session):
    session.record()
    stepped(session, 0.1)
    session.reset()
    stepped(session, 0.05)
    assert session.recorded().t[-1] < 0.06


def test_ending_a_recording_that_was_not_started_is_an_error(session):
    with pytest.raises(TrocarError, match="PSM is not being recorded"):
        session.recorded()


def test_the_engines_effort_is_that_of_the_equations(frictionless):
    """Without friction nothing is left of the history's efforts."""
    session = frictionless
    session.drive("computed torque")
    session.place(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.2]))
    session.move_joints(np.array([0.5, -0.2, 0.16, 0.5, 0.0, 0.2, 0.4]))
    stepped(session, 0.3)
    rows = session.history().arrays()
    left = rows["applied_tau"] - about(session).mechanism().inverse_dynamics(rows["q"], rows["dq"], rows["ddq"])
    assert np.abs(rows["dq"][:, 0]).max() > 0.1
    # after the first step, in which the load on the constraints builds up
    assert (np.abs(left[1:]).max(0) < 1e-4 * np.maximum(np.abs(rows["applied_tau"]).max(0), 0.01)).all()
