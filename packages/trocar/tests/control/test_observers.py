"""Observers: momentum, payload, tip force and collisions, against simulations with known answers and recordings."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recording.test_measured import DATA, IDENTIFICATION
from scipy.signal import lfilter

import trocar as tr
from tests.support.hysteresis_set import memory_set
from trocar.control import JointPID, sinusoid
from trocar.control.observers import (
    CollisionDetector,
    ContactDetector,
    MomentumObserver,
    PayloadObserver,
    PointMass,
    ResidualStatistics,
    estimate_payload,
    external_effort,
    tip_wrench,
    wrist_force,
)
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.simulation import Simulator, simulate
from trocar_reproductions.experiment import Context

pytestmark = pytest.mark.xdist_group("observers")  # one worker: fixtures are built once
INSERTION = DATA / "dvrk_dynamics_identification" / "psm_simplified" / "measured_trajectory"
needs_weights = pytest.mark.skipif(
    not (IDENTIFICATION.is_dir() and INSERTION.is_dir()), reason="TROCAR_DATA has no recordings of Wang et al."
)
MOTION = sinusoid([0.1, 0.0, 0.15, 0, 0, 0, 0.5], [0.4, 0.3, 0.04, 0.5, 0.3, 0.3, 0.2], 0.5)


@pytest.fixture(scope="module")
def psm():
    return tr.load_mechanism("PSM")


def run(force=None, duration=1.0):
    """A run under the PID without friction, exactly integrated, with a force at the tip all the time."""
    sim = Simulator("PSM", timestep=1 / 1500, friction=False, accuracy="exact")
    start = MOTION(0.0)
    sim.reset(start.q, start.dq)
    if force is not None:
        sim.apply_wrench(force)
    return simulate(sim, JointPID(sim.arm), MOTION, duration)


@pytest.fixture(scope="module")
def free():
    return run()


@pytest.fixture(scope="module")
def pushed():
    return run([0.5, -1.0, 2.0, 0.01, 0.02, -0.01])


# -- momentum ----------------------------------------------------------------------------------------------------------


def test_without_external_force_the_residual_is_zero(psm, free):
    r = MomentumObserver(psm, 20.0, friction=False).along(free)
    assert np.abs(r[10:]).max() < 2e-3


def test_the_observer_converges_to_the_effort_of_a_tip_force(psm, pushed):
    wrench = np.array([0.5, -1.0, 2.0, 0.01, 0.02, -0.01])
    efforts = np.swapaxes(psm.jacobian(pushed.q), 1, 2) @ wrench
    late = pushed.t > 0.6
    raw = external_effort(psm, pushed, friction=False)
    np.testing.assert_allclose(raw[late, :6], efforts[late], atol=4e-3)
    # the observer is that through its filter
    a = np.exp(-20.0 / 1500)
    r = MomentumObserver(psm, 20.0, friction=False).along(pushed)
    np.testing.assert_allclose(r[late, :6], lfilter([1 - a], [1, -a], efforts, axis=0)[late], atol=4e-3)


def test_stepping_the_observer_equals_running_it_along_a_recording_including_hysteresis():
    mechanism = Mechanism(tr.load_arm("PSM"), memory_set())
    t = np.arange(60) / 200
    rows = [MOTION(x) for x in t]
    q, dq = (np.array([getattr(s, name) for s in rows]) for name in ("q", "dq"))
    tau = np.random.default_rng(0).normal(size=q.shape)
    recording = Recording(
        t=t, q=q, dq=dq, tau=tau, joints=mechanism.arm.joint_names, joint_units=["rad"] * 2 + ["m"] + ["rad"] * 4
    )
    observer = MomentumObserver(mechanism, 15.0)
    observer.reset(q[0], dq[0])
    steps = [observer.update(q[k + 1], dq[k + 1], tau[k], 1 / 200) for k in range(len(t) - 1)]
    np.testing.assert_allclose(steps, observer.along(recording)[1:], atol=1e-12)
    # uneven times use another branch of the code
    uneven = replace(recording, t=t + 1e-4 * np.sin(40 * t))
    assert np.abs(observer.along(uneven) - observer.along(recording)).max() < 0.05 * np.abs(steps).max()


def test_coulomb_friction_of_a_joint_at_rest_is_left_out(psm):
    """Up to the speed `rest` its direction is not known; stepping and running along agree."""
    t, slow = np.arange(40) / 200, np.array([1e-3, 1e-3, 1e-4, 0, 0, 0, 0])
    q = psm.arm.home + t[:, None] * slow
    tau = psm.gravity(q) + psm.effort_bias
    about = {"joints": psm.arm.joint_names, "joint_units": psm.arm.joint_units}
    recording = Recording(t=t, q=q, dq=np.tile(slow, (40, 1)), tau=tau, **about)
    sliding, resting = (external_effort(psm, recording, rest=rest)[-1, :3] for rest in (0.0, 5e-3))
    np.testing.assert_allclose(sliding - resting, psm.friction(q[-1], slow)[:3], atol=1e-9)
    assert sliding[2] > 0.4
    observer = MomentumObserver(psm, 20.0, rest=5e-3)
    observer.reset(q[0], slow)
    steps = [observer.update(q[k + 1], slow, tau[k], 1 / 200) for k in range(39)]
    np.testing.assert_allclose(steps, observer.along(recording)[1:], atol=1e-12)


def test_the_filter_is_exact_for_a_constant_effort(psm):
    """At rest with a constant effort missing, r is that effort times 1 - exp(-K t), to rounding."""
    q, missing, K = np.array(psm.arm.home), np.array([0.1, 0.2, 1.0, 0, 0, 0, 0]), 7.0
    observer = MomentumObserver(psm, K, friction=False)
    observer.reset(q, np.zeros(7))
    for _ in range(50):
        r = observer.update(q, np.zeros(7), psm.gravity(q) + psm.effort_bias - missing, 0.01)
    np.testing.assert_allclose(r, missing * (1 - np.exp(-K * 0.5)), atol=1e-12)


def test_an_observer_without_initial_state_or_efforts_is_an_error(psm, free):
    with pytest.raises(TrocarError, match="reset"):
        MomentumObserver(psm).update(np.zeros(7), np.zeros(7), np.zeros(7), 0.01)
    with pytest.raises(TrocarError, match="no efforts"):
        external_effort(psm, replace(free, tau=None))
    with pytest.raises(TrocarError, match="bandwidth"):
        MomentumObserver(psm, -1.0)


# -- payload -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["end", "bottom", "insertion"])
def test_the_effort_of_a_point_mass_is_that_of_the_regressor(psm, random_states, body):
    q = random_states(psm, 20)
    dq, ddq = np.random.default_rng(1).normal(size=(2, *q.shape))
    x, y, z = point = (0.1, -0.2, 0.3)
    phi = [1, x, y, z, y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y]
    first = psm.parameter_names.index(f"{body}.m")
    expected = psm.regressor(q, dq, ddq)[..., first : first + 10] @ phi
    np.testing.assert_allclose(PointMass(psm, body, point).effort(q, dq, ddq), expected, atol=1e-12)


def test_a_point_given_in_the_base_is_there_at_zero_joints(psm):
    place = PointMass.at(psm, "end", (0.0, 0.0, 0.535))
    T = psm.pose(np.zeros(7), "end")
    np.testing.assert_allclose(T[:3, :3] @ place.point + T[:3, 3], [0, 0, 0.535], atol=1e-12)


def test_the_mass_and_its_deviation_are_right_under_correlated_noise(psm, free):
    """Noise that lasts 20 ms: the estimate's error is within two deviations in nine of ten cases."""
    unit = PointMass.at(psm, "end", (0.0, 0.0, 0.535)).effort(free.q, free.dq, free.ddq)[:, :3]
    rng, sd = np.random.default_rng(3), np.array([0.03, 0.05, 0.14])
    errors = []
    for _ in range(60):
        white = rng.normal(size=(len(unit) + 30, 3))
        noise = sd * np.stack([np.convolve(w, np.ones(30) / np.sqrt(30), "valid") for w in white.T], 1)[: len(unit)]
        fit = estimate_payload(0.2 * unit + noise, unit, np.diag(sd**2), window=300, memory=90)
        errors.append((fit.mass - 0.2) / fit.deviation)
    assert fit.windows.shape == (5,)
    assert abs(np.mean(errors)) < 0.5
    assert np.mean(np.abs(errors) < 2.0) > 0.8
    assert np.std(errors) < 2.0


def test_the_online_estimate_finds_a_mass_and_forgets_it(psm):
    place = PointMass.at(psm, "end", (0.0, 0.0, 0.535))
    K, dt = 18.8, 1 / 200
    observer = MomentumObserver(psm, K, friction=False)
    payload = PayloadObserver(place, np.diag([0.03, 0.05, 0.14]) ** 2, K, forgetting=0.5)
    start = MOTION(0.0)
    observer.reset(start.q, start.dq)
    masses = []
    for k in range(1, 600):
        before, now, middle = MOTION((k - 1) * dt), MOTION(k * dt), MOTION((k - 0.5) * dt)
        load = 0.1 if k < 300 else 0.0
        tau = psm.inverse_dynamics(middle.q, middle.dq, middle.ddq) + psm.effort_bias
        tau = tau + load * place.effort(middle.q, middle.dq, middle.ddq)
        r = observer.update(now.q, now.dq, tau, dt)
        masses.append(payload.update(r, middle.q, middle.dq, (now.dq - before.dq) / dt, dt))
    assert masses[298] == pytest.approx(0.1, abs=2e-3)
    assert abs(masses[-1]) < 0.02
    assert 0 < payload.deviation < 0.1


def test_efforts_that_a_mass_cannot_cause_are_rejected():
    with pytest.raises(TrocarError, match="no effect"):
        estimate_payload(np.ones((10, 3)), np.zeros((10, 3)), np.eye(3), window=5)
    with pytest.raises(TrocarError, match="inconsistent shapes"):
        estimate_payload(np.ones((10, 3)), np.zeros((10, 2)), np.eye(3), window=5)
    with pytest.raises(TrocarError, match="window"):
        estimate_payload(np.ones((10, 3)), np.ones((10, 3)), np.eye(3), window=11)


# -- force and collisions ----------------------------------------------------------------------------------------------


def test_force_and_wrench_are_recovered_from_their_efforts(psm, random_states):
    q = random_states(psm, 10)
    q[:, 2] = np.clip(q[:, 2], 0.1, None)
    F = np.array([1.0, -2.0, 0.5])
    J = psm.jacobian(q, "wrist_pitch")[:, :3]
    r = np.swapaxes(J, 1, 2) @ F
    np.testing.assert_allclose(wrist_force(psm, q, r, np.eye(3)).value, np.tile(F, (10, 1)), atol=1e-9)
    W = np.array([1.0, -2.0, 0.5, 0.01, 0.02, 0.03])
    r = np.pad(np.swapaxes(psm.jacobian(q), 1, 2) @ W, ((0, 0), (0, 1)))
    np.testing.assert_allclose(tip_wrench(psm, q, r, np.eye(6)).value, np.tile(W, (10, 1)), atol=1e-7)


def test_the_covariance_of_the_force_is_that_of_its_samples(psm):
    q = np.array([0.3, -0.2, 0.15, 0, 0, 0, 0])
    S = np.diag([0.03, 0.05, 0.14]) ** 2
    r = np.pad(np.random.default_rng(0).multivariate_normal(np.zeros(3), S, 20_000), ((0, 0), (0, 4)))
    found = wrist_force(psm, np.tile(q, (20_000, 1)), r, S)
    np.testing.assert_allclose(np.cov(found.value.T), found.covariance[0], rtol=0.05, atol=2e-3)


def test_forces_at_the_remote_centre_or_without_a_wrist_point_are_rejected(psm):
    at_rcm = np.array([0, 0, 0.0156, 0, 0, 0, 0.0])
    with pytest.raises(TrocarError, match="remote centre"):
        wrist_force(psm, at_rcm, np.ones(7), np.eye(3))
    with pytest.raises(TrocarError, match="tip_wrench"):
        wrist_force(tr.load_mechanism("MTMR"), np.zeros(7), np.ones(7), np.eye(3))
    with pytest.raises(TrocarError, match="six joints"):
        tip_wrench(tr.load_mechanism("ECM"), np.zeros(4), np.ones(4), np.eye(4))


def test_a_residual_beyond_all_contact_free_ones_is_an_alarm():
    rng = np.random.default_rng(0)
    quiet = rng.normal(size=(1000, 3)) * [0.1, 0.2, 0.3] + 1.0
    detector = CollisionDetector(ResidualStatistics.of(quiet, [0, 2]))
    assert not detector.alarms(quiet).any()
    t = np.arange(5) / 10
    r = np.tile(quiet.mean(0), (5, 1))
    r[:, 1] += 10.0  # a joint that is not monitored
    assert detector.first(t, r) is None
    r[3, 2] += 2.0
    assert detector.first(t, r) == pytest.approx(0.3)
    with pytest.raises(TrocarError, match="some residuals are constant"):
        ResidualStatistics.of(np.ones((5, 2)))


def wandering(rows, seed=0):
    """Efforts of two joints that wander slowly, and noise of known size: 0.1 and 0.2."""
    t = np.arange(rows) / 200
    slow = np.stack([np.sin(2.0 * t), 2.0 * np.cos(1.3 * t)], 1)
    return slow + np.random.default_rng(seed).normal(size=(rows, 2)) * [0.1, 0.2]


def test_a_step_smaller_than_the_drift_is_found_within_a_tenth_of_a_second():
    detector = ContactDetector(wandering(4000), 1 / 200)
    assert detector.margin >= 1.3
    assert not detector.alarms(wandering(4000, seed=1)).any()
    assert (detector.smallest < [0.5, 1.0]).all()
    t = np.arange(600) / 200
    for j in (0, 1):
        tau = wandering(600, seed=2)
        tau[400:, j] += 2.0 * detector.smallest[j]
        assert 2.0 <= detector.first(t, tau) <= 2.1


def test_the_smallest_step_exceeds_the_threshold_without_disturbances():
    """Predictable efforts and a step: the statistic is the step over the smallest one, for any threshold."""
    detector = ContactDetector(wandering(4000), 1 / 200, joints=(1,))
    tau = np.zeros((200, 2))
    # the constant effort that the autoregression predicts
    tau[:, 1] = detector._constant[0] / (1.0 - detector._weights[:, 0].sum())
    tau[100:, 1] += 3.0 * detector.smallest[0]
    seen = detector.statistics(tau)[:, 0] / detector.threshold[0]
    np.testing.assert_allclose(seen[99], 0.0, atol=1e-9)
    assert seen[119] == pytest.approx(3.0, rel=1e-9)


def test_contact_alarms_are_causal_and_the_same_step_by_step():
    detector = ContactDetector(wandering(4000), 1 / 200)
    tau = wandering(600, seed=3)
    tau[300:, 0] += 1.0
    together = detector.alarms(tau)
    assert [detector.update(row) for row in tau] == together.tolist()
    np.testing.assert_array_equal(detector.alarms(tau[:350]), together[:350])


def test_small_steps_are_ignored_and_short_recordings_are_rejected():
    detector = ContactDetector(wandering(4000), 1 / 200, least=(3.0, 0.0))
    assert detector.smallest[0] == pytest.approx(3.0)
    with pytest.raises(TrocarError, match="too short"):
        ContactDetector(wandering(400), 1 / 200)
    with pytest.raises(TrocarError, match="folds"):
        ContactDetector(wandering(4000), 1 / 200, folds=np.zeros(3))
    with pytest.raises(TrocarError, match="dt"):
        ContactDetector(wandering(4000), 0.05)


def test_with_noisy_sensors_fewer_steps_are_found_but_more_than_by_thresholds():
    from tools.contact_table import detections

    found = detections(0.05, seeds=(0,), phases=(1.4,), noise=True, seconds=10.0)
    assert found["contact"].within >= found["collision"].within
    assert found["contact"].within > 0.5
    assert (found["contact"].delays >= 0).all()
    assert found["contact"].false_alarms == 0


# -- recordings --------------------------------------------------------------------------------------------------------


@needs_weights
def test_weights_and_forces_on_the_real_robot_with_the_model_of_another_recording():
    """105 g within 5 g, no weight below 8 g; forces where there are none 1.4 N, 0.7 N recalibrated; no false alarm.

    One of 18 windows of 1 s is 6.1 g off, as the claim reports.
    """
    from trocar_reproductions.wang2019.external_loads import payload_claims, tip_force_claims
    from trocar_reproductions.wang2019.recordings import IdentifiedArm

    context = Context(data=Path(DATA), video=None, progress=lambda text: None)
    arm = IdentifiedArm(Path(DATA))
    claims = {c.id: c for c in payload_claims(context, arm) + tip_force_claims(context, arm)}
    assert len(claims) == 15
    farthest = claims.pop(
        "wang2019/payload/105 g on the insertion column, friction fitted along, farthest window of 1 s"
    )
    assert not farthest.holds
    assert farthest.ours < 6.5
    assert "1 of 18 more than 5 g off" in farthest.note
    for claim in claims.values():
        assert claim.holds, claim
    assert claims["wang2019/payload/105 g on the insertion column"].tolerance == 5.0


def test_without_recordings_the_claims_are_skipped_with_a_reason():
    from trocar_reproductions.wang2019.external_loads import payload_claims, tip_force_claims
    from trocar_reproductions.wang2019.recordings import identified_arm

    context = Context(data=None, video=None, progress=lambda text: None)
    arm = identified_arm(context.data)
    for claim in payload_claims(context, arm) + tip_force_claims(context, arm):
        assert claim.holds is None
        assert claim.note.startswith("not run: no data folder")
