"""Wrists behind cables in batches: the law of `CableWrist` in generated code, the engine's cables in many scenes."""

from __future__ import annotations

import numpy as np
import pytest

import trocar as tr
from trocar import batch
from trocar.arms.wrist_cables import load_wrist
from trocar.errors import TrocarError
from trocar.mechanics import CableWrist
from trocar.spatial import Array

WRIST = slice(3, 6)
HOME = np.array([0.1, -0.1, 0.12, 0.2, 0.3, -0.2, 0.3])
KP, KD = np.array([200.0, 200.0, 3000.0, 2.0, 2.0, 2.0, 2.0]), np.array([8.0, 8.0, 100.0, 0.03, 0.03, 0.03, 0.03])


def there_and_back(steps: int) -> Array:
    """A motion (steps, 7) of the wrist that reverses every joint."""
    phase = np.linspace(0.0, 2.0 * np.pi, steps)[:, None]
    q = np.tile(HOME, (steps, 1))
    q[:, WRIST] += [0.4, 0.5, 0.6] * np.sin(phase * [1.0, 2.0, 3.0])
    return q


def test_joints_of_the_reduced_arm_follow_the_law_of_the_cables() -> None:
    mech = tr.load_mechanism("PSM")
    arms = batch.load(mech, wrist="cables")
    state = arms.state(HOME)
    law = CableWrist(load_wrist("hwang2020"))
    drives = mech.tree.drives

    def springs(q: Array) -> Array:  # of the drives, which act on the motors
        return drives.A.T @ (drives.K0 + drives.K * (drives.A @ q))

    motors, loads, joints = [state.motors], [np.zeros(3)], [state.q[WRIST]]
    for q in there_and_back(1500):
        tau = KP * (q - arms.measured_q(state)) - KD * state.dq
        loads.append(-(mech.coriolis(state.q, state.dq) + mech.gravity(state.q) - springs(state.q))[WRIST])
        state = arms.step(state, tau, 1e-3)
        motors.append(state.motors)
        joints.append(state.q[WRIST])
    expected = law.rest(np.array(motors), law.relaxed(motors[0]), np.array(loads)).q
    assert np.allclose(joints, expected, rtol=0.0, atol=1e-10)
    assert np.abs(np.array(joints) - motors @ law.cables.coupling.T).max() > 0.1


def test_the_reduced_arm_is_the_closed_chain_in_slow_motion() -> None:
    """The difference is that of the inertia and losses of the engine's joint side, and halves with the speed."""
    differences = []
    for steps in (5000, 10000):
        engine, reduced = (
            kind("PSM", wrist="cables", timestep=6e-4) for kind in (tr.Simulator, batch.ReducedSimulator)
        )
        gravity, apart = engine.mechanism.gravity, []
        for sim in (engine, reduced):
            sim.reset(HOME)
        for q in there_and_back(steps):
            for sim in (engine, reduced):
                sim.step(KP * (q - sim.measured_q) - KD * sim.measured_dq + gravity(sim.measured_q))
            apart.append(engine.q[WRIST] - reduced.q[WRIST])
        differences.append(np.sqrt(np.mean(np.square(apart), axis=0)))
        assert np.abs(reduced.q - reduced.measured_q).max() > 0.03
    assert (differences[1] < 0.6 * differences[0]).all()
    assert differences[1].max() < 6.5e-3  # rad


def test_a_force_at_the_tip_bends_the_wrist_as_in_the_closed_form() -> None:
    """Motors held stiffly: the joints yield by the inverse of S + 1/d times the torques of the Jacobian."""
    cables = load_wrist("hwang2020")
    sim = batch.ReducedSimulator("PSM", wrist="cables")
    sim.reset(HOME)
    before, J = sim.q[WRIST], sim.mechanism.jacobian(HOME)
    force = np.array([0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    sim.apply_wrench(force)
    start = sim.measured_q
    for _ in range(1500):
        sim.step(5.0 * KP * (start - sim.measured_q) - KD * sim.measured_dq + sim.mechanism.gravity(sim.q))
    bent = np.linalg.solve(cables.stiffness + np.diag(1.0 / cables.presliding), (J.T @ force)[WRIST])
    assert np.abs(bent).max() > 5e-3
    assert sim.q[WRIST] - before == pytest.approx(bent, abs=5e-4)


def test_every_backend_and_gradient_has_the_same_wrist() -> None:
    tau = 0.02 * np.sin(np.arange(60)[:, None] * np.arange(1, 8) / 9.0)
    compiled, traced = batch.load("PSM", wrist="cables"), batch.load("PSM", wrist="cables", backend="jax")
    start = compiled.state(HOME)
    end, _ = compiled.rollout(start, tau, 1e-3)
    other, _ = traced.rollout(traced.state(HOME), tau, 1e-3)
    assert np.allclose(np.asarray(other.rows), end.rows, rtol=0.0, atol=1e-4)  # float32
    by_q, _, by_tau = compiled.gradients(start, tau, 1e-3, np.eye(7)[4])
    step = np.zeros_like(tau)
    step[10, 4] = 1e-5
    shifted = [compiled.rollout(start, tau + sign * step, 1e-3)[0].q[4] for sign in (1, -1)]
    assert by_tau[10, 4] == pytest.approx((shifted[0] - shifted[1]) / 2e-5, rel=1e-3)
    assert by_tau[10, 4] != 0.0
    assert np.isfinite(by_q).all()


def test_a_reset_relaxes_the_cables() -> None:
    arms = batch.load("PSM", wrist="cables")
    state = arms.state(np.tile(HOME[:, None], 3))
    moved, _ = arms.rollout(state, np.tile([0.0, 0, 0, 0.01, 0.02, -0.02, 0], (200, 1)), 1e-3)
    assert np.abs(moved.q - state.q)[WRIST].max() > 0.01
    again = arms.reset(moved, np.array([True, False, True]), HOME)
    assert np.array_equal(again.rows[:, [0, 2]], state.rows[:, [0, 2]])
    assert np.array_equal(again.rows[:, 1], moved.rows[:, 1])


def test_cables_that_the_reduced_arm_cannot_have_are_refused() -> None:
    with pytest.raises(TrocarError, match="no wrist of roll"):
        batch.load("ECM", wrist="cables")
    with pytest.raises(TrocarError, match="surfaces need a rigid wrist"):
        batch.load("PSM", wrist="cables", surfaces=[batch.Plane(normal=(0, 0, 1), offset=-0.2)])


# -- scenes ------------------------------------------------------------------------------------------------------------


def test_threads_step_cables_as_the_scene_itself() -> None:
    """With friction that remembers; the controller reads the motors, `q` the joints."""
    scene = tr.Scene(
        {"PSM": tr.SceneArm(arm="PSM", wrist="cables", q=HOME, parameters="wang2019_refit")}, timestep=5e-4
    )
    worlds = batch.SceneBatch(scene, 2, threads=1)
    goal = HOME + [0, 0, 0, 0.2, 0.3, -0.3, 0.0]
    worlds.pd("PSM", goal, 0.1 * KP, 0.1 * KD)
    worlds.step(300)
    arm = scene.arms["PSM"]
    for _ in range(300):
        scene.step({"PSM": 0.1 * KP * (goal - arm.measured_q) - 0.1 * KD * arm.measured_dq})
    assert np.allclose(worlds.q["PSM"], arm.q, rtol=0.0, atol=1e-11)
    assert np.allclose(worlds.measured_q["PSM"], arm.measured_q, rtol=0.0, atol=1e-11)
    assert np.abs(arm.q - arm.measured_q)[WRIST].max() > 0.01
    worlds.reset(q={"PSM": goal})
    scene.reset({"PSM": goal})
    assert np.allclose(worlds.commanded["PSM"], arm.measured_q, rtol=0.0, atol=1e-12)
