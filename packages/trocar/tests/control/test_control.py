"""Controllers: their formulas, and references whose derivatives are those of their positions."""

from __future__ import annotations

import numpy as np
import pytest

import trocar as tr
from trocar.control import (
    ComputedTorque,
    ConstantEffort,
    EffortFunction,
    GravityCompensation,
    JointPD,
    JointPID,
    Setpoint,
    State,
    VelocityServo,
    hold,
    quintic,
    sinusoid,
    step_to,
)
from trocar.errors import TrocarError


@pytest.fixture(scope="module")
def mech() -> tr.Mechanism:
    return tr.load_mechanism("PSM", "wang2019")


@pytest.fixture(scope="module")
def state(mech: tr.Mechanism) -> State:
    rng = np.random.default_rng(0)
    return State(0.3, rng.uniform(mech.arm.lower, mech.arm.upper), rng.normal(size=mech.n))


@pytest.fixture(scope="module")
def setpoint(mech: tr.Mechanism) -> Setpoint:
    rng = np.random.default_rng(1)
    return Setpoint(rng.uniform(mech.arm.lower, mech.arm.upper), *rng.normal(size=(2, mech.n)))


@pytest.mark.parametrize("name", list(tr.ARMS))
def test_the_pid_acts_in_motor_coordinates(name: str) -> None:
    """tau.dq = tau_motor.dq_motor, tau_motor from the published gains on the motors' errors."""
    arm = tr.load_arm(name)
    rng = np.random.default_rng(0)
    q_motor, dq_motor, q_ref, dq_ref = rng.normal(size=(4, arm.n))
    C = arm.motors.coupling
    pid = JointPID(arm)
    tau = pid(State(0.0, C @ q_motor, C @ dq_motor), Setpoint(C @ q_ref, C @ dq_ref, np.zeros(arm.n)))
    tau_motor = np.array(arm.gains.kp) * (q_ref - q_motor) + np.array(arm.gains.kd) * (dq_ref - dq_motor)
    np.testing.assert_allclose(C.T @ tau, tau_motor, rtol=1e-10, atol=1e-10)
    assert pid.period == 1 / 1500
    any_motion = rng.normal(size=arm.n)
    assert tau @ (C @ any_motion) == pytest.approx(tau_motor @ any_motion, rel=1e-9)


def test_the_integral_grows_with_the_error_and_reset_clears_it(mech: tr.Mechanism) -> None:
    pid = JointPID(mech.arm, kp=0.0, kd=0.0, ki=2.0)
    C = mech.arm.motors.coupling
    e_motor = np.linspace(-1.0, 1.0, 7)
    rest, goal = State(0.0, np.zeros(7), np.zeros(7)), Setpoint(C @ e_motor, np.zeros(7), np.zeros(7))
    for count in (1, 2, 3):
        np.testing.assert_allclose(C.T @ pid(rest, goal), 2.0 * e_motor * count / 1500, atol=1e-15)
    pid.reset()
    np.testing.assert_allclose(C.T @ pid(rest, goal), 2.0 * e_motor / 1500, atol=1e-15)


def test_the_clamp_limits_motors_and_stops_their_integral(mech: tr.Mechanism) -> None:
    arm = mech.arm
    free, clamped = (JointPID(arm, ki=100.0, clamp=clamp) for clamp in (False, True))
    C, limit = arm.motors.coupling, arm.motors.effort
    far = C @ np.array([10.0, 1e-4, 0, 0, 0, 0, 0])
    rest, goal = State(0.0, np.zeros(7), np.zeros(7)), Setpoint(far, np.zeros(7), np.zeros(7))
    for _ in range(5):
        wanted, given = C.T @ free(rest, goal), C.T @ clamped(rest, goal)
    assert wanted[0] > 10 * limit[0]
    assert given[0] == pytest.approx(limit[0])
    assert given[1] == pytest.approx(wanted[1])  # within its limit: all five samples are in its integral
    near = Setpoint(C @ np.array([1e-6, 0, 0, 0, 0, 0, 0]), np.zeros(7), np.zeros(7))
    assert (C.T @ clamped(rest, near))[0] == pytest.approx(120e-6 + 100e-6 / 1500)  # nothing wound up


def test_the_delay_shifts_the_effort_by_samples(mech: tr.Mechanism) -> None:
    rng = np.random.default_rng(0)
    goal = Setpoint(np.zeros(7), np.zeros(7), np.zeros(7))
    states = [State(k / 1500, *rng.normal(size=(2, 7))) for k in range(6)]
    now, later = JointPID(mech.arm), JointPID(mech.arm, delay=2)
    for _ in range(2):  # and again after a reset
        later.reset()
        prompt, delayed = ([c(s, goal) for s in states] for c in (now, later))
        np.testing.assert_array_equal(delayed[:2], np.zeros((2, 7)))
        np.testing.assert_array_equal(delayed[2:], prompt[:-2])


@pytest.mark.parametrize("delay", [-1, 0.5])
def test_the_delay_must_be_a_number_of_samples(mech: tr.Mechanism, delay: float) -> None:
    with pytest.raises(TrocarError, match="number of samples"):
        JointPID(mech.arm, delay=delay)  # type: ignore[arg-type]


def test_pd_and_velocity_servo(state: State, setpoint: Setpoint) -> None:
    k = np.arange(1.0, 8.0)
    e, de = setpoint.q - state.q, setpoint.dq - state.dq
    np.testing.assert_allclose(JointPD(k, 2.0)(state, setpoint), k * e + 2.0 * de)
    np.testing.assert_allclose(VelocityServo(k)(state, setpoint), k * de)
    np.testing.assert_allclose(VelocityServo(k, kp=3.0)(state, setpoint), k * de + 3.0 * e)


def test_gravity_compensation_leaves_no_acceleration_at_rest(
    mech: tr.Mechanism, state: State, setpoint: Setpoint
) -> None:
    rest = State(0.0, state.q, np.zeros(7))
    tau = GravityCompensation(mech)(rest, setpoint)
    np.testing.assert_allclose(mech.forward_dynamics(rest.q, rest.dq, tau), 0.0, atol=1e-9)
    assert np.abs(tau).max() > 0.01
    ddq = mech.forward_dynamics(rest.q, rest.dq, tau, friction=True)
    np.testing.assert_allclose(ddq, 0.0, atol=1e-9)


@pytest.mark.parametrize("friction", [False, True])
def test_computed_torque_makes_the_error_linear(
    mech: tr.Mechanism, state: State, setpoint: Setpoint, friction: bool
) -> None:
    moving = Setpoint(setpoint.q, state.dq, setpoint.ddq) if friction else setpoint
    tau = ComputedTorque(mech, kp=25.0, kd=10.0, friction=friction)(state, moving)
    ddq = mech.forward_dynamics(state.q, state.dq, tau, friction=friction)
    e, de = moving.q - state.q, moving.dq - state.dq
    np.testing.assert_allclose(moving.ddq - ddq + 10.0 * de + 25.0 * e, 0.0, atol=1e-8)


def test_open_loop_efforts(state: State, setpoint: Setpoint) -> None:
    np.testing.assert_array_equal(ConstantEffort([1.0, 2.0])(state, setpoint), [1.0, 2.0])
    np.testing.assert_array_equal(EffortFunction(lambda t: [t, 2 * t])(state, setpoint), [0.3, 0.6])


def test_controllers_add_and_keep_the_period(mech: tr.Mechanism, state: State, setpoint: Setpoint) -> None:
    parts = JointPID(mech.arm), GravityCompensation(mech), ConstantEffort(np.ones(7))
    total = parts[0] + parts[1] + parts[2]
    np.testing.assert_allclose(total(state, setpoint), sum(part(state, setpoint) for part in parts))
    np.testing.assert_array_equal(parts[2].tau, np.ones(7))
    assert total.period == 1 / 1500
    assert (parts[1] + parts[2]).period is None
    for name in ("JointPID(kp=[120.0", "GravityCompensation(feed_forward=False", "ConstantEffort(tau=[1.0"):
        assert name in repr(total)


def test_a_sum_resets_its_parts(mech: tr.Mechanism, state: State, setpoint: Setpoint) -> None:
    total = JointPID(mech.arm, ki=10.0) + ConstantEffort(np.zeros(7))
    first, second = total(state, setpoint), total(state, setpoint)
    assert not np.allclose(first, second)
    total.reset()
    np.testing.assert_array_equal(total(state, setpoint), first)


def test_controllers_of_different_periods_do_not_add(mech: tr.Mechanism) -> None:
    with pytest.raises(TrocarError, match=r"different periods.*JointPID 0\.000666667 s, JointPD 0\.001 s"):
        JointPID(mech.arm) + JointPD(1.0, 1.0, period=1e-3)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, np.ones((2, 2)), 1e308])
def test_bad_gains_are_rejected(bad: object) -> None:
    with pytest.raises(TrocarError, match="kd"):
        JointPD(1.0, bad)  # type: ignore[arg-type]


def test_gains_of_another_length_are_rejected(mech: tr.Mechanism) -> None:
    with pytest.raises(TrocarError, match=r"kp must be one number or an array \(7,\)"):
        JointPID(mech.arm, kp=np.ones(6))


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan])
def test_bad_periods_are_rejected(period: float) -> None:
    with pytest.raises(TrocarError, match="period must be positive"):
        JointPD(1.0, 1.0, period=period)


REFERENCES = {
    "hold": hold([0.1, 0.2]),
    "sinusoid": sinusoid([0.1, 0.2], [1.0, 2.0], [0.5, 0.7]),
    "sinusoid, one frequency": sinusoid([0.1, 0.2], [1.0, 2.0], 0.5),
    "quintic": quintic([0.1, 0.2], [1.0, -2.0], 1.5, t0=0.2),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_derivatives_are_those_of_the_position(name: str) -> None:
    reference, h = REFERENCES[name], 1e-5
    for t in np.linspace(0.01, 2.0, 37):
        before, at, after = reference(t - h), reference(t), reference(t + h)
        np.testing.assert_allclose(at.dq, (after.q - before.q) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(at.ddq, (after.dq - before.dq) / (2 * h), atol=1e-3)


def test_a_quintic_goes_from_rest_to_rest_without_overshoot() -> None:
    reference = REFERENCES["quintic"]
    for t, q in ((-1.0, [0.1, 0.2]), (0.2, [0.1, 0.2]), (1.7, [1.0, -2.0]), (9.0, [1.0, -2.0])):
        np.testing.assert_allclose(reference(t).q, q, atol=1e-15)
        np.testing.assert_array_equal(reference(t).dq, 0.0)
    path = np.array([reference(t).q for t in np.linspace(0.2, 1.7, 100)])
    assert (np.diff(path[:, 0]) >= 0).all()
    assert (np.diff(path[:, 1]) <= 0).all()
    np.testing.assert_allclose(reference(0.95).q, [0.55, -0.9])


def test_a_step_jumps_at_its_time() -> None:
    reference = step_to([0.0], [1.0], t0=0.5)
    assert reference(0.499).q == 0.0
    assert reference(0.5).q == 1.0
    assert reference(0.5).dq == 0.0


def test_bad_references_are_rejected() -> None:
    with pytest.raises(TrocarError, match="lengths differ: q0 2, q1 3"):
        step_to(np.zeros(2), np.zeros(3))
    with pytest.raises(TrocarError, match="q must be an array"):
        hold([np.nan])
    with pytest.raises(TrocarError, match="duration"):
        quintic([0.0], [1.0], 0.0)
    with pytest.raises(TrocarError, match="lengths differ"):
        sinusoid([0.0, 0.0], [1.0, 1.0], [1.0, 1.0, 1.0])
