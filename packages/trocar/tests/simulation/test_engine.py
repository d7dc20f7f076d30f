"""The closed chain in MuJoCo against the equations in reduced coordinates, and properties of the engine itself."""

import itertools

import numpy as np
import pytest

import trocar as tr
from tests.support.engine_reference import RATES, START, add_springs, energy, equations, tree_effort
from trocar.appearance.sketch import COLLISION, VISUAL
from trocar.arms.parameters import load_parameters
from trocar.control import EffortFunction, JointPID
from trocar.control.trajectories import step_to
from trocar.simulation.modelling.scene_model import simulated

HOLD = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1, 0.3])


@pytest.fixture(scope="module")
def mech():
    return tr.load_mechanism("PSM")


@pytest.fixture(scope="module")
def reference():
    return equations(duration=5.0, every=0.01)


def free_motion(mech, accuracy):
    """Largest distance from the equations, RCM error and energy drift over 5 s, no friction, no limits."""
    sim = tr.Simulator("PSM", friction=False, limits=False, accuracy=accuracy)
    add_springs(sim)
    sim.reset(START, RATES)
    start, q, rcm = energy(mech, sim), [], 0.0
    for k in range(5000):
        sim.step(np.zeros(7))
        if k % 10 == 9:
            q.append(sim.q)
            rcm = max(rcm, sim.rcm_error())
    return np.array(q), rcm, energy(mech, sim) - start


def test_exact_free_motion_is_that_of_the_equations(mech, reference):
    q, rcm, drift = free_motion(mech, "exact")
    error = np.abs(q - reference).max(0)
    assert (error[:3] < [1e-6, 1e-6, 1e-7]).all()  # rad, rad, m
    assert rcm < 1e-7
    assert abs(drift) < 2e-5


@pytest.mark.parametrize(("accuracy", "bound"), [("fast", 2e-2), ("discrete", 0.15)])
def test_first_order_free_motion_stays_near_the_equations(mech, reference, accuracy, bound):
    q, rcm, _ = free_motion(mech, accuracy)
    assert np.abs(q - reference)[:, :3].max() < bound
    assert rcm < 1e-6


@pytest.mark.parametrize("accuracy", ["fast", "exact", "discrete"])
def test_the_loops_hold_under_10_newton_at_the_tip(mech, accuracy):
    sim = tr.Simulator("PSM", accuracy=accuracy)
    sim.reset(HOLD)
    sim.apply_wrench([6.0, -6.0, np.sqrt(28.0), 0, 0, 0])
    rcm = loop = 0.0
    for _ in range(500):
        stiff = [120, 120, 6000, 0.5, 0.5, 0.5, 0.5] * (HOLD - sim.q) - [6, 5, 200, 0.01, 0.01, 0.01, 0.01] * sim.dq
        sim.step(mech.gravity(sim.q) + stiff)
        rcm, loop = max(rcm, sim.rcm_error()), max(loop, sim.loop_error())
    assert rcm < 1e-6
    assert loop < 1e-6


def held_against_a_wrench(mech, steps):
    """A simulator after steps under a wrench (6,) at its tip and the efforts that balance it; that wrench [N, N m]."""
    sim = tr.Simulator("PSM", friction=False)
    sim.reset(HOLD)
    wrench = np.array([2.0, -1.0, 3.0, 0.01, 0.02, -0.03])
    tau = mech.gravity(HOLD)
    tau[:6] -= mech.jacobian(HOLD).T @ wrench
    sim.apply_wrench(wrench)
    for _ in range(steps):
        sim.step(tau)
    return sim, wrench


def test_a_tip_force_acts_on_the_joints_through_the_jacobian(mech):
    sim, _ = held_against_a_wrench(mech, 20)
    np.testing.assert_allclose(sim.q, HOLD, atol=1e-7)


@pytest.mark.parametrize("body", ["bottom", "end", "insertion"])
def test_a_wrench_acts_at_the_origin_of_its_body(mech, body):
    sim = tr.Simulator("PSM", friction=False)
    sim.reset(HOLD)
    wrench = np.array([2.0, -1.0, 3.0, 0.1, 0.2, -0.3])
    tau = mech.gravity(HOLD) - mech.jacobian(HOLD, body).T @ wrench
    sim.apply_wrench(wrench, body)
    for _ in range(20):
        sim.step(tau)
    np.testing.assert_allclose(sim.q, HOLD, atol=1e-7)
    sim.apply_wrench(np.zeros(6), body)
    for _ in range(20):
        sim.step(mech.gravity(HOLD))
    assert not sim.data.xfrc_applied.any()


@pytest.mark.parametrize("counterweight", [True, False])
def test_the_engines_tree_projected_on_the_joints_is_the_mechanism(counterweight):
    sim = tr.Simulator("PSM", friction=False, counterweight=counterweight)
    mech = tr.load_mechanism("PSM", counterweight=counterweight)
    rng = np.random.default_rng(0)
    for _ in range(100):
        q = rng.uniform(sim.arm.lower, sim.arm.upper)
        dq, ddq = rng.normal(size=(2, 7))
        np.testing.assert_allclose(tree_effort(sim, q, dq, ddq), mech.inverse_dynamics(q, dq, ddq), atol=1e-9)


@pytest.mark.parametrize("accuracy", ["fast", "exact"])
def test_effort_and_acceleration_of_a_step_belong_to_its_start(mech, accuracy):
    sim = tr.Simulator("PSM", friction=False, limits=False, accuracy=accuracy)
    sim.reset(START, RATES)
    tau = np.array([0.5, -0.3, 0.8, 1e-3, -1e-3, 5e-4, 1e-3])
    for k in range(200):
        q, dq = sim.q, sim.dq
        sim.step(tau)
        np.testing.assert_allclose(sim.tau, tau, atol=1e-13)
        if k > 20:  # constraints are soft for the first few steps under a new load
            np.testing.assert_allclose(mech.inverse_dynamics(q, dq, sim.ddq), tau, atol=2e-5)


def test_the_tip_of_the_engine_is_that_of_the_equations_at_the_same_time(mech):
    sim = tr.Simulator("PSM", accuracy="exact", friction=False, limits=False)
    sim.reset(START, RATES)
    for _ in range(100):
        sim.step(np.zeros(7))
    np.testing.assert_allclose(sim.tip_pose(), mech.forward_kinematics(sim.q), atol=1e-8)


def test_passive_joints_follow_the_parallelogram():
    sim = tr.Simulator("PSM", accuracy="exact", friction=False, limits=False)
    sim.reset(START, RATES)
    for _ in range(100):
        sim.step(np.zeros(7))
    tree = sim.tree_positions
    for body, sign in (("bottom", -1), ("top", -1), ("front", 1), ("end", 1)):
        assert tree[body] == pytest.approx(sign * sim.q[1], abs=1e-7)
    assert tree["counterweight"] == pytest.approx(sim.q[2], abs=1e-8)


@pytest.mark.parametrize("accuracy", ["fast", "exact", "discrete"])
def test_friction_holds_at_four_fifths_of_its_force(mech, accuracy):
    """Creep of each friction coordinate over the second second, below 1e-5 rad/s (insertion 1e-6 m/s)."""
    drives = mech.drives
    sim = tr.Simulator("PSM", accuracy=accuracy)
    for i in np.flatnonzero(drives.Fc):
        sim.reset(HOLD)
        push = 0.8 * drives.Fc[i] * drives.A[i]
        for k in range(2000):
            sim.step(mech.gravity(sim.q) + push)
            if k == 999:
                s = drives.A @ sim.q
        creep = np.abs(drives.A @ sim.q - s)
        assert creep[i] < (1e-6 if drives.drives[i].name == "insertion" else 1e-5), drives.drives[i].name


def test_a_push_beyond_friction_moves_the_joint(mech):
    sim = tr.Simulator("PSM")
    sim.reset(HOLD)
    for _ in range(200):
        sim.step(mech.gravity(sim.q) + [0.1, 0, 0, 0, 0, 0, 0])
    assert sim.q[0] > HOLD[0] + 1e-3


def test_viscous_and_coulomb_friction_are_those_of_the_equations(mech):
    """At constant speed the effort of the engine is g + c + f."""
    sim = tr.Simulator("PSM")
    q, dq = HOLD, np.array([0.3, -0.2, 0.05, 0.5, 0.4, -0.3, 0.2])
    tau = mech.inverse_dynamics(q, dq, np.zeros(7), friction=True)
    sim.reset(q, dq)
    sim.step(tau)
    np.testing.assert_allclose(sim.dq, dq, atol=2e-5)


def test_joint_limits_are_constraints_that_never_raise():
    sim = tr.Simulator("PSM")
    sim.reset(HOLD)
    for _ in range(1000):
        sim.step(np.array([3.0, 3.0, 9.0, 0.1, 0.1, 0.1, 0.1]))
    assert (sim.q < sim.arm.upper + 0.02).all()
    assert (sim.q > sim.arm.upper - 0.02).sum() >= 4


def test_motor_limits_clamp_the_effort_that_acts_and_is_reported():
    sim = tr.Simulator("PSM", motor_limits=True)
    sim.step(np.array([100.0, -100.0, 100.0, 0, 0, 0, 0]))
    np.testing.assert_allclose(sim.tau[:3], [3.3161, -3.3161, 9.8779], atol=1e-3)


def test_restoring_a_snapshot_is_bit_exact(mech):
    sim = tr.Simulator("PSM")
    sim.reset(HOLD)
    sim.apply_wrench([1.0, 0, 0, 0, 0, 0])
    for _ in range(100):
        sim.step(mech.gravity(sim.q))
    snapshot = sim.snapshot()

    def ahead():
        for _ in range(200):
            sim.step(mech.gravity(sim.q))
        return np.concatenate([sim.data.qpos, sim.data.qvel, sim.tau, sim.ddq])

    first = ahead()
    sim.apply_wrench([0.0, 5.0, 0, 0, 0, 0])
    ahead()
    sim.restore(snapshot)
    np.testing.assert_array_equal(ahead(), first)


def test_two_simulators_run_the_same_way():
    results = []
    for _ in range(2):
        sim = tr.Simulator("PSM")
        sim.reset(HOLD)
        for k in range(300):
            sim.step(0.1 * np.sin(0.01 * k * np.arange(1, 8)))
        results.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("transmission", [tr.Cable(stiffness=5e5, damping=200.0), "mirrored"])
def test_other_transmissions_also_carry_the_counterweight(mech, transmission):
    sim = tr.Simulator("PSM", friction=False, transmission=transmission)
    sim.reset(HOLD)
    for _ in range(1000):
        sim.step(
            mech.gravity(HOLD)
            + [20, 20, 400, 0.05, 0.05, 0.05, 0.05] * (HOLD - sim.q)
            - [2, 2, 30, 1e-3, 1e-3, 1e-3, 1e-3] * sim.dq
        )
    assert sim.tree_positions["counterweight"] == pytest.approx(sim.q[2], abs=2e-4)
    np.testing.assert_allclose(sim.q, HOLD, atol=5e-3)


def test_the_guide_of_the_instrument_carries_weight_and_load(mech):
    """Static equilibrium of everything below the guide, about the remote centre."""
    sim, wrench = held_against_a_wrench(mech, 50)
    body, weight = (
        mech.parameters.inertias["insertion"],
        mech.parameters.inertias["insertion"].mass * mech.gravity_vector,
    )
    com = (mech.pose(HOLD, "insertion") @ [*body.com, 1.0])[:3]
    tip = mech.forward_kinematics(HOLD)[:3, 3]
    moment = wrench[3:] + np.cross(tip, wrench[:3]) + np.cross(com, weight)
    np.testing.assert_allclose(sim.cannula_wrench(), -np.concatenate([wrench[:3] + weight, moment]), atol=1e-5)


def test_loop_forces_keep_the_top_bar_in_balance(mech):
    """The top bar hangs between two pins: the moment of its weight about one is that of the force at the other."""
    sim = tr.Simulator("PSM", friction=False)
    sim.reset(HOLD)
    for _ in range(50):
        sim.step(mech.gravity(HOLD))
    T, body = mech.pose(HOLD, "top"), mech.parameters.inertias["top"]
    axis, pin = T[:3, 2], T[:3, :3] @ sim.arm.loops[0].point_a
    weight = body.mass * mech.gravity_vector
    moment = np.cross(pin, -sim.loop_forces()["LCC1"]) + np.cross(T[:3, :3] @ body.com, weight)
    assert axis @ moment == pytest.approx(0.0, abs=1e-5)
    assert abs(axis @ sim.loop_forces()["LCC1"]) < 1e-6


@pytest.mark.parametrize("force", [0.0, 0.3], ids=["free", "tip force"])
def test_exact_is_of_fourth_order_where_the_motion_is_smooth(mech, force):
    """Errors at 16, 8 and 4 ms; forces on the links are evaluated at every stage, and the loops hardly yield."""
    wrench = np.array([0.0, 0.0, force, 0.0, 0.0, 0.0])
    reference = equations(0.48, 0.48, wrench)[-1]
    errors = []
    for timestep in (16e-3, 8e-3, 4e-3):
        sim = tr.Simulator("PSM", accuracy="exact", timestep=timestep, friction=False, limits=False)
        add_springs(sim)
        sim.reset(START, RATES)
        sim.apply_wrench(wrench)
        for _ in range(round(0.48 / timestep)):
            sim.step(np.zeros(7))
        errors.append(np.abs(sim.q - reference)[:3].max())
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 3.6).all(), errors


@pytest.mark.parametrize("accuracy", ["fast", "exact"])
@pytest.mark.parametrize("arm", ["PSM", "PSM_Si", "ECM_Si", "MTMR"])
def test_the_first_acceleration_after_a_reset_is_that_of_the_equations(arm, accuracy):
    """The loops start without load; what they yield before they carry it is negligible."""
    sim = tr.Simulator(arm, accuracy=accuracy, friction=False)
    q, rest = np.array(sim.arm.home), np.zeros(sim.n)
    q[:2] += 0.2
    tau = sim.mechanism.gravity(q) + 0.5
    sim.reset(q)
    sim.step(tau)
    np.testing.assert_allclose(sim.ddq, sim.mechanism.forward_dynamics(q, rest, tau), rtol=1e-5, atol=1e-3)


# The dVRK's own controller, and elastic drives.


@pytest.mark.parametrize(
    "compliance", [None, tr.Compliance(), tr.Compliance(backlash=5e-3)], ids=["rigid", "elastic", "backlash"]
)
def test_the_published_pid_is_stable_with_one_sample_of_delay(compliance):
    sim = tr.Simulator("PSM", timestep=1 / 1500, compliance=compliance)
    start = np.array([0.0, 0.0, 0.12, 0, 0, 0, 0.2])
    goal = start + [0.1, -0.1, 0.01, 0.2, -0.2, 0.2, 0.2]
    sim.reset(start)
    recording = tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(start, goal, 0.05), 3.0)
    assert np.abs(recording.dq[-150:]).max() < 2e-3
    np.testing.assert_allclose(recording.q[-1], goal, atol=6e-3)  # no integral term: friction leaves an error


@pytest.mark.filterwarnings("ignore::trocar.errors.Inaccurate")
def test_smaller_rotors_would_make_it_unstable():
    """The reason for wrist rotors of 1e-4 kg m^2 at the discs: at half of that the delayed loop diverges."""
    sim = tr.Simulator("PSM", timestep=1 / 1500, rotor_inertia=5e-5)
    sim.reset(HOLD)
    with pytest.raises(tr.Diverged):
        tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(HOLD, HOLD + [0, 0, 0, 0.2, 0.2, 0.2, 0], 0.0), 1.0)


def test_encoders_of_elastic_drives_deviate_by_the_measured_compliance():
    sim = tr.Simulator("PSM", timestep=1 / 1500, compliance=tr.Compliance())
    start = np.array([0.4, 0.3, 0.15, 0, 0, 0, 0])
    sim.reset(start)
    recording = tr.simulate(sim, JointPID(sim.arm), None, 4.0)
    tau, q3 = recording.extra["applied_tau"][-1], sim.q[2]
    c = -38.3402 * q3**3 + 22.6 * q3**2 - 4.5406 * q3 + 0.3458 + 0.008478
    assert sim.measured_q[0] - sim.q[0] == pytest.approx(c * (tau[0] - 0.199), rel=1e-3)
    np.testing.assert_array_equal(sim.measured_q[2:], sim.q[2:])


def test_an_elastic_drive_transmits_the_full_motor_effort_to_the_link(mech):
    """At rest and without friction the motors carry the weight of the links, no more and no less."""
    sim = tr.Simulator("PSM", timestep=1 / 1500, compliance=tr.Compliance(damping=2.0), friction=False)
    sim.reset([0.4, 0.3, 0.15, 0, 0, 0, 0.3])
    tr.simulate(sim, JointPID(sim.arm), None, 8.0)
    assert np.abs(sim.dq).max() < 1e-6
    np.testing.assert_allclose(sim.tau[:2], mech.gravity(sim.q)[:2], atol=1e-4)


@pytest.mark.parametrize("backlash", [0.0, 0.02])
def test_elastic_drives_do_no_work_on_a_closed_path(backlash):
    """Twist both drives, insert, twist back and retract: the stiffness changes on the way, the energy may not."""
    sim = tr.Simulator("PSM", compliance=tr.Compliance(damping=0.0, backlash=backlash))
    force = sim._stepped.forces.smooth[-1].force
    motors, insertion = [len(sim.data.qpos) - 2, len(sim.data.qpos) - 1], list(sim.tree_positions).index("insertion")
    corners = [(0.0, 0.05), (0.1, 0.05), (0.1, 0.22), (-0.05, 0.22), (0.0, 0.05)]  # twist [rad], insertion [m]
    work, size = 0.0, 0.0
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        path = np.zeros((2001, len(sim.data.qpos)))
        path[:, motors], path[:, insertion] = np.linspace(x0, x1, 2001)[:, None], np.linspace(y0, y1, 2001)
        forces = np.array([force(qpos, 0 * qpos).copy() for qpos in path])
        done = (0.5 * (forces[1:] + forces[:-1]) * np.diff(path, axis=0)).sum()
        work, size = work + done, size + abs(done)
    assert size > 0.05
    assert abs(work) < 1e-6


def test_without_compliance_encoders_are_exact():
    sim = tr.Simulator("PSM")
    sim.step(np.ones(7) * 0.01)
    np.testing.assert_array_equal(sim.measured_q, sim.q)
    np.testing.assert_array_equal(sim.measured_dq, sim.dq)


def test_divergence_is_an_error_with_the_last_state_saved():
    sim = tr.Simulator("PSM", friction=False)

    def run():
        for _ in range(10000):
            sim.step(-1e3 * sim.dq + 1.0)

    with pytest.raises(tr.Diverged, match=r"diverged at t = .* last state is in .*last_state\.npz") as caught:
        run()
    path = str(caught.value).split(" is in ")[1].split(". The usual causes")[0]
    assert {"t", "q_tree", "dq_tree", "tau"} <= set(np.load(path))


def test_the_engine_rejects_invalid_options():
    with pytest.raises(tr.TrocarError, match=r"link '.*' is not physical: smallest eigenvalue"):
        tr.Simulator("PSM", parameters="wang2019_published")
    with pytest.raises(tr.TrocarError, match=r"joint 3 \(insertion\) violates 0 <= 0\.3 <= 0\.24"):
        tr.Simulator("PSM").reset([0, 0, 0.3, 0, 0, 0, 0])
    with pytest.raises(tr.TrocarError, match="tau of PSM has 7 values"):
        tr.Simulator("PSM").step(np.zeros(6))
    with pytest.raises(tr.TrocarError, match="tau is not finite"):
        tr.Simulator("PSM").step([np.nan] + [0.0] * 6)
    with pytest.raises(tr.TrocarError, match="'tool' is unknown"):
        tr.Simulator("PSM").apply_wrench(np.zeros(6), "tool")
    with pytest.raises(tr.TrocarError, match=r"'exakt' is unknown\. Did you mean 'exact'"):
        tr.Simulator("PSM", accuracy="exakt")
    with pytest.raises(tr.TrocarError, match=r"timestep must be from 1e-09 to 0\.02 s"):
        tr.Simulator("PSM", timestep=0.1)


def test_dummy_masses_of_the_wrist_are_negligible():
    sim = tr.Simulator("PSM")
    bodies = load_parameters("PSM").inertias
    dummies = [b.name for b in sim.arm.bodies if b.name not in bodies]
    assert sum(float(sim.model.body(name).mass[0]) for name in dummies) < 1e-6


def test_without_limits_a_reset_may_be_beyond_them(mech):
    q = mech.arm.upper + [0.1, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1]
    sim = tr.Simulator("PSM", limits=False, contacts=False)
    sim.reset(q)
    np.testing.assert_allclose(sim.q, q, atol=1e-12)
    with pytest.raises(tr.TrocarError, match="violates"):
        tr.Simulator("PSM", contacts=False).reset(q)


def test_overlapping_fingers_do_not_collide(mech):
    sim = tr.Simulator("PSM", friction=False, limits=False)
    q = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1, -0.5])
    sim.reset(q)
    for _ in range(100):
        sim.step(mech.gravity(q))
    np.testing.assert_allclose(sim.q, q, atol=1e-6)


@pytest.mark.parametrize("contacts", [True, False])
def test_closing_fingers_meet_unless_contact_is_off(mech, contacts):
    sim = tr.Simulator("PSM", friction=False, contacts=contacts)
    q = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1, 0.1])
    sim.reset(q)
    for _ in range(500):
        sim.step(mech.gravity(q) - [0, 0, 0, 0, 0, 0, 0.02 + 1e-3 * sim.dq[6]])
    assert (sim.q[6] > -0.05) == contacts


def test_an_unconverged_solver_warns_once():
    sim = tr.Simulator("PSM")
    sim.reset(np.array([0.2, -0.1, 0.12, 0.5, 0.3, -0.2, 0.4]), dq=np.full(7, 0.3))
    sim._engine._max_iterations = 1  # friction that reverses takes more iterations
    with pytest.warns(tr.Unsolved, match="within 1 iterations at t = 0.001 s") as told:
        sim.step(np.zeros(7))
    assert told[0].filename == __file__
    sim.step(np.zeros(7))  # a second warning would be an error


@pytest.mark.parametrize("arm", ["PSM", "ECM_Si", "MTMR"])
def test_removing_visual_shapes_changes_nothing_else(arm):
    """Every array of the compiled model, except looks, equals that of a model with its shapes deleted one by one."""
    spec = tr.Simulator(arm).spec
    deleted = spec.copy()
    for geom in [g for g in deleted.geoms if g.group in (VISUAL["group"], COLLISION["group"])]:
        deleted.delete(geom)
    for mesh in list(deleted.meshes):
        deleted.delete(mesh)
    wanted, found = deleted.compile(), simulated(spec).compile()
    assert found.ngeom == wanted.ngeom < spec.copy().compile().ngeom
    for name in dir(wanted):
        value = getattr(wanted, name)
        if isinstance(value, np.ndarray) and not name.startswith(("mat_", "name", "_")):
            np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


def test_a_timestep_too_long_for_the_stops_warns_once_with_the_violation():
    sim = tr.Simulator("MTMR", timestep=0.01, friction=False)
    sim.reset(sim.arm.home)
    size = np.array([2.0, 2.0, 6.0, 0.04, 0.04, 0.04, 0.04])
    shaken = EffortFunction(lambda t: size * np.sin(3.0 * t + np.arange(7)))
    with pytest.warns(tr.Inaccurate, match=r"rad beyond its stop at t = .* with a timestep of 0\.01 s") as told:
        tr.simulate(sim, shaken, None, 2.0)
    assert len(told) == 1


def test_exact_steps_of_a_master_do_not_hold_its_cables_over_a_step():
    """Held over a step, their torque would leave 7e-5 rad after 0.2 s at 1 ms."""

    def moved(timestep):
        sim = tr.Simulator("MTMR", timestep=timestep, accuracy="exact", friction=False)
        sim.reset([0.1, 0.2, 0.1, 0.5, 0.6, 0.2, 0.1], 0.3 * np.ones(7))
        for _ in range(round(0.2 / timestep)):
            sim.step(np.zeros(7))
        return sim.q

    fine = moved(2.5e-4)
    coarse, middle = (np.abs(moved(dt) - fine).max() for dt in (2e-3, 1e-3))
    assert middle < 1e-7
    assert coarse / middle > 3.0  # of second order, because the stiffness of the loops depends on the step


@pytest.mark.parametrize("accuracy", ["fast", "exact"])
@pytest.mark.parametrize("timestep", [1e-3, 1 / 1500])
def test_the_clock_is_a_whole_number_of_timesteps_even_after_a_day(timestep, accuracy):
    sim = tr.Simulator("ECM", timestep=timestep, accuracy=accuracy)
    sim.reset(sim.arm.home)
    sim.data.time = 86400.0  # rounded sums would be off by 7e-12 s after each step from here
    for k in range(1, 200):
        sim.step(np.zeros(4))
        assert sim.time == (round(86400.0 / timestep) + k) * timestep


def test_a_clock_between_two_steps_stays_between_them():
    sim = tr.Simulator("ECM", timestep=1e-3)
    sim.reset(sim.arm.home)
    sim.data.time = 0.0004
    for _ in range(10):
        sim.step(np.zeros(4))
    assert sim.time == pytest.approx(0.0104, abs=1e-15)
