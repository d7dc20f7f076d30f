"""Friction that depends on memory, position and load in the engine, against the equations and closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from tests.support.hysteresis_set import full_set, memory_set
from trocar.arms.parameters import Dahl, load_parameters, to_toml
from trocar.control import JointPID
from trocar.control.trajectories import step_to

pytestmark = pytest.mark.xdist_group("hysteresis_in_the_engine")  # one worker: fixtures are built once
HOLD = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1, 0.3])
ACCURACIES = ("fast", "exact", "discrete")


def without_viscosity(parameters):
    return replace(parameters, drives=tuple(replace(drive, Fv=0.0) for drive in parameters.drives))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """`file(parameters)`: the path of a file that holds the set."""

    def written(parameters):
        path = tmp_path_factory.mktemp("sets") / f"{parameters.name}.toml"
        path.write_text(to_toml(parameters))
        return path

    return written


@pytest.fixture(scope="module")
def memory(file):
    return file(memory_set())


@pytest.fixture(scope="module")
def full(file):
    return file(full_set())


def driven(sim, mech, steps):
    """q, dq, ddq, tau (steps, 7) of a motion with reversals, followed by a stiff controller."""
    amplitude = np.array([0.2, 0.2, 0.03, 0.3, 0.3, 0.3, 0.2])
    w = np.array([9.0, 8.0, 7.0, 12.0, 8.0, 10.0, 7.0])
    inertia = np.diag(mech.mass_matrix(HOLD))
    sim.reset(HOLD, amplitude * w)
    rows = []
    for _ in range(steps):
        q, dq, a = sim.q, sim.dq, w * sim.time
        qd, dqd, ddqd = HOLD + amplitude * np.sin(a), amplitude * w * np.cos(a), -amplitude * w**2 * np.sin(a)
        tau = mech.inverse_dynamics(qd, dqd, ddqd, friction=True) + inertia * (900 * (qd - q) + 60 * (dqd - dq))
        sim.step(tau)
        rows.append((q, dq, sim.ddq, sim.tau))
    return (np.array(column) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("accuracy", ["fast", "exact"])
def test_the_engine_obeys_the_equations_with_memory_along_its_own_motion(file, accuracy):
    """Without viscous friction, which "fast" takes at the end of a step and the recording at its start."""
    path = file(without_viscosity(memory_set()))
    mech, sim = tr.load_mechanism("PSM", path), tr.Simulator("PSM", path, accuracy=accuracy)
    q, dq, ddq, tau = driven(sim, mech, 600)
    f = mech.friction_along(q, 1e-3, dq)
    left = np.abs(tau - mech.inverse_dynamics(q, dq, ddq) - f)
    # the loops of the arm close themselves within the first steps; the wrist has none
    assert (left[100:, :3] < {"fast": [2e-5, 2e-5, 2e-4], "exact": [2e-6, 2e-6, 2e-5]}[accuracy]).all()
    assert left[:, 3:].max() < 1e-8
    assert np.abs(f - mech.friction(q, dq)).max(0)[:3] == pytest.approx([0.1, 0.134, 0.895], rel=0.05)  # memory matters
    np.testing.assert_allclose(sim.hysteresis, mech.drives.states(np.vstack([q, sim.q]))[-1], atol=1e-12)


def test_all_terms_together_obey_the_equations_while_everything_slides(full):
    mech, sim = tr.load_mechanism("PSM", full), tr.Simulator("PSM", full, accuracy="exact")
    q, dq, ddq, tau = driven(sim, mech, 600)
    left = np.abs(tau - mech.inverse_dynamics(q, dq, ddq) - mech.friction_along(q, 1e-3, dq))
    coulomb = (mech.drives.Fc + mech.drives.Fx + mech.drives.mu) > 0
    slides = (np.abs(dq @ mech.drives.A.T)[:, coulomb] > 0.01).all(1)
    slides[:100] = False
    assert slides.sum() > 300
    assert left[slides].max() < 2e-5, left[slides].max(0)


def test_springs_linear_and_quadratic_are_the_same_in_both_engines(full):
    mech, sim = tr.load_mechanism("PSM", full), tr.Simulator("PSM", full, friction=False)
    for q in (HOLD, -HOLD + [0, 0, 0.3, 0, 0, 0, 0.6]):
        sim.reset(q)
        assert np.abs(mech.drives.springs(q)[:2]).min() > 1e-3
        np.testing.assert_allclose(sim.data.qfrc_passive @ mech.arm.E, -mech.drives.springs(q), atol=1e-14)


def test_friction_false_removes_all_friction(file):
    """The result is bit-for-bit the arm without hysteresis."""
    base, added = load_parameters("PSM"), memory_set(pitch={"Fx": 0.01, "mu": 0.1, "terms": ("Fv", "Fo", "Fx", "mu")})
    bare, sim = tr.Simulator("PSM", file(base), friction=False), tr.Simulator("PSM", file(added), friction=False)
    for _ in range(20):
        bare.step(0.01 * np.ones(7))
        sim.step(0.01 * np.ones(7))
    np.testing.assert_array_equal(sim.q, bare.q)
    assert sim.hysteresis.shape == (0,)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_a_push_below_breakaway_causes_a_small_displacement_only(file, accuracy):
    # the arm is damped: with its own friction alone, the slow vibration on these springs would decay for a minute
    damped = {"yaw": {"Fv": 1.0}, "pitch": {"Fv": 1.0}, "insertion": {"Fv": 10.0}}
    path = file(memory_set(**damped))
    mech, sim = tr.load_mechanism("PSM", path), tr.Simulator("PSM", path, accuracy=accuracy)
    drives = mech.drives
    for i in (0, 2, 3):  # yaw, insertion, roll
        mine = drives.owner == i
        F, delta, push = drives.F[mine], drives.delta[mine], 0.6 * drives.F[mine].sum()
        sim.reset(HOLD)
        for _ in range(5000):
            sim.step(mech.gravity(sim.q) + push * drives.A[i])
        s, ds = drives.A[i] @ (sim.q - HOLD), drives.A[i] @ sim.dq
        assert F @ sim.hysteresis[mine] == pytest.approx(push, rel=1e-4), drives.drives[i].name
        assert abs(ds) < 1e-4 * s  # [1/s]: the remaining motion, which decays
        # it moved at least as far as under a slow push, but did not slide
        assert F @ (1.0 - np.exp(-s / delta)) > push * (1.0 - 1e-6)
        assert F @ (1.0 - np.exp(-s / delta)) < 0.95 * F.sum()


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_a_vibration_about_rest_only_loses_energy(file, accuracy):
    """The stiffest elements at 1 ms without other damping: a force held wrongly over a step would add energy."""
    path = file(without_viscosity(memory_set()))
    sim = tr.Simulator("PSM", path, accuracy=accuracy)
    mech = tr.load_mechanism("PSM", path)
    sim.reset(HOLD, [0, 0, 0, 0.02, 0.02, 0.02, 0.02])
    energy = []
    for _ in range(600):
        energy.append(float(mech.kinetic_energy(sim.q, sim.dq)))
        sim.step(mech.gravity(sim.q))
    peaks = np.array(energy).reshape(6, 100).max(1)
    assert (np.diff(peaks) < 0).all(), peaks
    assert peaks[-1] < 0.7 * peaks[0]


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_published_pid_is_stable_on_friction_with_memory(memory, accuracy):
    sim = tr.Simulator("PSM", memory, timestep=1 / 1500, accuracy=accuracy)
    start = np.array([0.0, 0.0, 0.12, 0, 0, 0, 0.2])
    goal = start + [0.1, -0.1, 0.01, 0.2, -0.2, 0.2, 0.2]
    sim.reset(start)
    recording = tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(start, goal, 0.05), 1.5)
    assert np.abs(recording.dq[-150:]).max() < 1e-4
    np.testing.assert_allclose(recording.q[-1], goal, atol=6e-3)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_a_run_from_a_snapshot_is_bit_exact(full, accuracy):
    sim = tr.Simulator("PSM", full, accuracy=accuracy)
    sim.reset(HOLD)
    efforts = np.random.default_rng(0).normal(size=(60, 7)) * [1, 1, 3, 0.05, 0.05, 0.05, 0.02]

    def run():
        seen = []
        for tau in efforts[30:]:
            sim.step(tau)
            seen.append(np.concatenate([sim.q, sim.dq, sim.ddq, sim.hysteresis]))
        return np.array(seen)

    for tau in efforts[:30]:
        sim.step(tau)
    snapshot = sim.snapshot()
    first = run()
    sim.restore(snapshot)
    np.testing.assert_array_equal(run(), first)
    assert np.ptp(first[:, -1]) > 0.01


def test_reading_the_memory_changes_nothing(memory):
    read, unread = tr.Simulator("PSM", memory), tr.Simulator("PSM", memory)
    for _ in range(30):
        for sim in (read, unread):
            sim.step(0.1 * np.ones(7))
        assert np.abs(read.hysteresis).max() <= 1.0
    np.testing.assert_array_equal(read.q, unread.q)


def test_reset_relaxes_the_memory_and_placing_keeps_it(memory):
    sim = tr.Simulator("PSM", memory)
    for _ in range(30):
        sim.step(0.1 * np.ones(7))
    z = sim.hysteresis
    assert np.abs(z).max() > 0.1
    sim.place(HOLD)
    np.testing.assert_array_equal(sim.hysteresis, z)
    sim.reset(HOLD)
    np.testing.assert_array_equal(sim.hysteresis, 0.0 * z)
    sim.hysteresis = 0.5
    np.testing.assert_array_equal(sim.hysteresis, 0.5 + 0.0 * z)


@pytest.mark.parametrize("joint", [1, 2])
@pytest.mark.parametrize("pose", [HOLD, np.array([-0.5, -0.5, 0.2, 0, 0, 0, 0.3])], ids=["near", "far"])
def test_friction_by_load_holds_up_to_its_closed_form_and_no_further(file, joint, pose):
    mu = 0.1
    by_load = {"Fc": 0.0, "mu": mu, "hysteresis": (), "terms": ("Fv", "Fo", "mu")}
    path = file(memory_set(pitch=by_load, insertion=by_load))
    mech, sim = tr.load_mechanism("PSM", path), tr.Simulator("PSM", path)
    breakaway = mu * abs(mech.gravity(pose)[joint])
    for fraction in (-1.02, -0.98, 0.98, 1.02):
        sim.reset(pose)
        tau = mech.gravity(pose) + mech.friction(pose, np.zeros(7))
        tau[joint] += fraction * breakaway
        for _ in range(300):
            sim.step(tau)
        moved = (sim.q - pose)[joint] * np.sign(fraction)
        if abs(fraction) < 1:
            assert abs(moved) < 1e-7
        else:
            free = 0.5 * 0.02 * breakaway / mech.mass_matrix(pose)[joint, joint] * 0.3**2
            assert 0.7 * free < moved < free  # the rest is viscous friction


def test_friction_by_position_holds_up_to_its_closed_form_and_no_further(file):
    by_position = {"Fc": 0.1, "Fx": 2.0, "hysteresis": (), "terms": ("Fv", "Fc", "Fo", "Fx")}
    path = file(memory_set(insertion=by_position))
    mech, sim = tr.load_mechanism("PSM", path), tr.Simulator("PSM", path)
    for depth in (0.05, 0.2):
        pose = np.array([0.3, 0.2, depth, 0, 0, 0, 0.3])
        for fraction in (0.98, 1.02):
            sim.reset(pose)
            tau = mech.gravity(pose) + mech.friction(pose, np.zeros(7))
            tau[2] += fraction * (0.1 + 2.0 * depth)
            for _ in range(300):
                sim.step(tau)
            moved = sim.q[2] - depth
            assert abs(moved) < 1e-6 if fraction < 1 else moved > 1e-5


# -- bad input ------------------------------------------------------------------------------------------------------


def test_an_element_too_stiff_for_the_timestep_is_rejected(file):
    path = file(memory_set(roll={"hysteresis": (Dahl(1e-6, 2e-3),)}))
    with pytest.raises(tr.TrocarError, match=r"too stiff for a timestep of 0\.001 s.*'roll'"):
        tr.Simulator("PSM", path)


@pytest.mark.parametrize(
    "change", [{"hysteresis": (Dahl(1e-3, 1e-3, -1e-3),)}, {"Fc": 1e-3, "Fx": 1e-3, "terms": ("Fc", "Fx")}]
)
def test_friction_that_is_not_passive_is_rejected(file, change):
    with pytest.raises(tr.TrocarError, match="friction of drive 'roll' is not passive"):
        tr.Simulator("PSM", file(memory_set(roll=change)))


def test_bad_memory_is_rejected(memory):
    sim = tr.Simulator("PSM", memory)
    for bad in (1.5, [0.0, 0.0], np.nan):
        with pytest.raises(tr.TrocarError, match="each in"):
            sim.hysteresis = bad
    with pytest.raises(tr.TrocarError, match="no hysteretic friction"):
        tr.Simulator("PSM").hysteresis = 0.0
