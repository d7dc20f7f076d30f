"""A needle, 1 mm thick, between the jaws: held by friction alone."""

import numpy as np
import pytest

import trocar as tr
from trocar.control import ComputedTorque, State
from trocar.control.trajectories import quintic
from trocar.simulation import Box, Solid, engine, needle
from trocar.spatial import inverse, pose

MECH = tr.load_mechanism("PSM")
LOW = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.6])
HIGH = LOW - [0, 0, 0.03, 0, 0, 0, 0]
Z = MECH.forward_kinematics(LOW)[2, 3] - 0.0075


def scene(friction=0.5, **options):
    rails = [Box((0.0, y, Z - 0.0045), (0.03, 0.008, 0.008)) for y in (-0.01, 0.01)]
    tray = Solid("tray", [*rails, Box((0.0, 0.0, Z - 0.0095), (0.03, 0.028, 0.002))])
    sim = tr.Simulator("PSM", objects=[tray, needle("needle", pose(p=[-0.0115, 0.0, Z]), friction=friction)], **options)
    sim.reset(HIGH)
    return sim


def go(sim, start, goal, duration, grip=None):
    law = ComputedTorque(MECH, kp=2500.0, kd=100.0, friction=True)
    reference = quintic(start, goal, duration, t0=sim.time)
    for _ in range(round(duration / sim.timestep)):
        tau = law(State(sim.time, sim.q, sim.dq), reference(sim.time))
        if grip is not None:
            tau[6] = grip - 2e-4 * sim.dq[6]
        sim.step(tau)


def in_jaws(sim):
    return inverse(sim.tip_pose()) @ sim.objects["needle"].pose


@pytest.mark.parametrize(
    ("accuracy", "friction", "grip"), [("fast", 0.5, -0.03), ("fast", 0.2, -0.1), ("discrete", 0.5, -0.03)]
)
def test_the_needle_is_picked_up_held_for_a_second_and_dropped(accuracy, friction, grip):
    sim = scene(friction, accuracy=accuracy)
    thing = sim.objects["needle"]
    go(sim, HIGH, LOW, 0.6)
    assert sim.contact_wrench(of="needle") == pytest.approx(np.zeros(6))
    assert thing.pose[2, 3] == pytest.approx(Z, abs=1e-4)  # it lies on its rails
    go(sim, LOW, LOW, 0.3, grip)
    go(sim, LOW, HIGH, 0.5, grip)
    assert thing.pose[2, 3] - Z == pytest.approx(0.03, abs=1e-3)
    before = in_jaws(sim)
    go(sim, HIGH, HIGH, 1.2, grip)
    after = in_jaws(sim)
    assert np.linalg.norm(after[:3, 3] - before[:3, 3]) < 3e-4  # about a tenth of a millimetre of creep
    assert np.linalg.norm(after[:3, :3] - before[:3, :3]) < 0.05
    weight = 9.81 * thing.thing.mass
    np.testing.assert_allclose(sim.contact_wrench(of="needle")[:3], [0, 0, -weight], atol=0.02 * weight)
    # the jaws are a needle's thickness apart and do not penetrate it
    assert 0.12 < sim.q[6] < 0.16
    go(sim, HIGH, HIGH, 0.3)
    assert thing.pose[2, 3] - Z < 0.02  # on its way down
    assert not sim.contact_wrench(of="needle").any()


def test_without_friction_the_needle_slips_out_of_the_closing_jaws():
    held = []
    for friction in (0.0, 0.5):
        sim = scene(friction)
        go(sim, HIGH, LOW, 0.6)
        go(sim, LOW, LOW, 0.3, -0.03)
        held.append(sim.q[6] > 0.1)  # something is between the jaws
    assert held == [False, True]


def test_a_needle_is_a_half_circle_of_steel():
    thing = needle("n", np.eye(4), diameter=1e-3, radius=0.0115)
    length = np.pi * 0.0115
    assert length == pytest.approx(0.036, rel=0.01)
    assert thing.mass == pytest.approx(7.9e3 * np.pi / 4 * 1e-6 * length)
    ends = np.array([shape.a for shape in thing.shapes] + [thing.shapes[-1].b])
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 0.0115)
    np.testing.assert_allclose(ends[[0, -1]], [[0, -0.0115, 0], [0, 0.0115, 0]], atol=1e-12)


def test_a_step_whose_solver_stops_early_is_repeated_without_its_warm_start(monkeypatch):
    """MuJoCo's line search can end Newton's method far from the solution; rare, so that it is imitated here."""
    sim, other = scene(), scene()
    for one in (sim, other):
        go(one, HIGH, LOW, 0.05)
    other.model.opt.disableflags |= engine.WARMSTART
    starts = []

    def stopping(model, data, step=engine.mj_step):
        starts.append((data.time, not model.opt.disableflags & engine.WARMSTART))
        step(model, data)
        if len(starts) == 1:
            data.qvel[:] += 100.0
            data.solver.gradient[data.solver_niter[0] - 1] = 25.0

    with monkeypatch.context() as changed:
        changed.setattr(engine, "mj_step", stopping)
        sim.step(np.zeros(7))
    other.step(np.zeros(7))
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(sim.dq, other.dq)
    assert starts[:2] == [(starts[0][0], True), (starts[0][0], False)]
    assert sim.time == other.time
    assert sim.scene.unconverged == 0
    assert not sim.model.opt.disableflags & engine.WARMSTART


def test_a_solver_that_stops_early_twice_is_reported(monkeypatch):
    sim = scene()

    def stopping(model, data, step=engine.mj_step):
        step(model, data)
        data.solver.gradient[data.solver_niter[0] - 1] = 25.0

    monkeypatch.setattr(engine, "mj_step", stopping)
    with pytest.warns(tr.Unsolved, match="did not converge"):
        sim.step(np.zeros(7))
    assert sim.scene.unconverged == 1
