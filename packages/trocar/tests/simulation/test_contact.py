"""Objects around the instrument: forces against joint efforts, friction, stiffness, soft bodies, force control."""

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.control import HybridForcePosition
from trocar.control.trajectories import line
from trocar.errors import TrocarError, UnknownName
from trocar.simulation import Box, Capsule, ForceSensor, SoftSlab, Solid, Sphere
from trocar.simulation.objects import SceneObject
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import pose, rotation

PROBE = "PERMANENT_CAUTERY_SPATULA_400184"
MECH = tr.load_mechanism("PSM", instrument=PROBE)
Q = np.array([-0.1, 0.05, 0.12, 0.0, 0.0, 0.0, 0.0])
T = MECH.forward_kinematics(Q)
END = T[:3, 3] - [0.0, 0.0, MECH.arm.jaw_length + 2e-4]
PLATE = Solid("plate", Box(END + [0.01, 0, -0.005], (0.06, 0.04, 0.01)), friction=0.3)


def probe(objects, **options):
    sim = tr.Simulator("PSM", instrument=PROBE, objects=objects, **options)
    sim.reset(Q)
    return sim


def lean_on(sim, force, steps=1500):
    """Push with a force (3,) [N], damped, until at rest."""
    for _ in range(steps):
        tau = MECH.gravity(sim.q) - [30, 30, 100, 0.02, 0.02, 0.02, 0.02] * sim.dq
        tau[:6] += MECH.jacobian(sim.q).T @ [*force, 0.0, 0.0, 0.0]
        sim.step(tau - [300, 300, 0, 1, 1, 1, 1] * (sim.q - Q))
    assert np.abs(sim.dq).max() < 1e-3


@pytest.mark.parametrize("accuracy", ["fast", "exact", "discrete"])
@pytest.mark.parametrize("friction", [False, True])
def test_at_rest_the_contact_wrench_balances_joint_efforts_and_gravity(accuracy, friction):
    sim = probe([PLATE], accuracy=accuracy, friction=friction)
    lean_on(sim, [0.0, 0.0, -3.0])
    external = MECH.gravity(sim.q) - sim.tau + sim.friction_effort()
    wrench = sim.contact_wrench()
    assert wrench[2] > 2.0
    assert sim.contact_force() == pytest.approx(np.linalg.norm(wrench[:3]), rel=1e-12)
    implied = np.linalg.solve(MECH.jacobian(sim.q).T, external[:6])
    scale = [np.linalg.norm(wrench[:3])] * 3 + [np.linalg.norm(wrench[3:])] * 3
    np.testing.assert_array_less(np.abs(implied - wrench) / scale, 1e-3)
    np.testing.assert_allclose(sim.contact_effort(), external, atol=1e-3)
    # the same wrench about the remote centre
    at_trocar = sim.contact_wrench("trocar")
    np.testing.assert_allclose(at_trocar[:3], wrench[:3])
    p = sim.tip_pose()[:3, 3]
    np.testing.assert_allclose(at_trocar[3:], wrench[3:] + np.cross(p, wrench[:3]), atol=1e-12)
    np.testing.assert_allclose(sim.contact_wrench(p), wrench)


def test_a_contact_deflects_by_its_stiffness():
    depths = []
    for force in (1.0, 3.0):
        sim = probe([Solid("plate", PLATE.shape, stiffness=2e4)], friction=False)
        lean_on(sim, [0.0, 0.0, -force])
        depths.append((sim.contact_wrench()[2], -sim.data.contact[0].dist))
    (f1, d1), (f2, d2) = depths
    assert (f2 - f1) / (d2 - d1) == pytest.approx(2e4, rel=0.02)


def test_a_sliding_tip_is_held_back_by_coulomb_friction():
    sim = probe([PLATE], friction=False)
    for k in range(800):
        J = MECH.jacobian(sim.q)
        v = J[:3] @ sim.dq[:6]
        x, y = sim.tip_pose()[:2, 3] - T[:2, 3]
        push = [2000 * (1e-5 * k - x) + 100 * (0.01 - v[0]), -2000 * y - 100 * v[1], -1.0]
        tau = MECH.gravity(sim.q)
        tau[:3] += J[:3, :3].T @ push
        sim.step(tau - [0, 0, 0, 0.5, 0.5, 0.5, 0.5] * (sim.q - Q) - [0, 0, 0, 2e-3, 2e-3, 2e-3, 2e-3] * sim.dq)
    w = sim.contact_wrench()
    assert w[0] == pytest.approx(-0.3 * w[2], rel=0.02)
    assert w[2] > 0.5


def test_without_objects_nothing_changes():
    """A distant object does not change the motion of the arm, except for the solver's rounding."""
    runs = []
    for objects in ([], [Solid("far", Sphere((1.0, 1.0, -1.0), 0.01), mass=0.1)]):
        sim = probe(objects)
        for k in range(200):
            sim.step(MECH.gravity(sim.q) + [0.5 * np.sin(0.05 * k), 0.3, 1.0, 0, 0, 0, 0])
        runs.append((sim.q, sim.dq, sim.ddq))
    for first, second in zip(*runs, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9)
    assert probe([]).model.nv == len(MECH.arm.bodies)


def test_elastic_drives_and_objects_can_be_combined():
    sim = tr.Simulator(
        "PSM", compliance=tr.Compliance(), objects=[Solid("ball", Sphere((0.2, 0, -0.3), 0.01), mass=0.1)]
    )
    sim.reset(Q)
    psm = tr.load_mechanism("PSM")
    for _ in range(100):
        sim.step(psm.gravity(sim.q))
    assert sim.objects["ball"].twist[2] == pytest.approx(-0.981)
    alone = tr.Simulator("PSM", compliance=tr.Compliance())
    alone.reset(Q)
    for _ in range(100):
        alone.step(psm.gravity(alone.q))
    np.testing.assert_allclose(sim.measured_q, alone.measured_q, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sim.ddq, alone.ddq, rtol=1e-3, atol=1e-5)


def test_a_free_object_falls_and_reset_puts_it_back():
    T0 = pose(rotation("x", 0.3), [0.2, 0.1, -0.3])
    sim = probe([Solid("ball", Sphere((0, 0, 0), 0.01), T0, mass=0.1)])
    ball, tau = sim.objects["ball"], MECH.gravity(Q)
    np.testing.assert_allclose(ball.pose, T0, atol=1e-12)
    for _ in range(100):
        sim.step(tau)
    # velocity first: n (n + 1) / 2 steps of g dt^2
    assert ball.pose[2, 3] + 0.3 == pytest.approx(-9.81e-6 * 100 * 101 / 2)
    assert ball.twist[2] == pytest.approx(-0.981)
    state = sim.snapshot()
    there = ball.pose
    sim.step(tau)
    sim.restore(state)
    np.testing.assert_array_equal(ball.pose, there)
    ball.pose = T0
    np.testing.assert_allclose(ball.pose, T0, atol=1e-12)
    assert not ball.twist.any()
    sim.step(tau)
    sim.reset(Q)
    np.testing.assert_allclose(ball.pose, T0, atol=1e-12)
    assert sim.time == 0.0


def test_forces_of_different_objects_are_reported_separately():
    """Between two plates that meet in a V the probe touches both."""
    bottom = (T @ [0, 0, MECH.arm.jaw_length, 1])[:3]  # where the blade ends
    left, right = (
        Solid(name, Box((0, 0, -0.005), (0.06, 0.04, 0.01)), pose(rotation("y", angle), bottom), friction=0.1)
        for name, angle in (("left", 0.6), ("right", -0.6))
    )
    sim = probe([left, right], friction=False)
    lean_on(sim, [0.0, 0.0, -1.0])
    of = {name: sim.contact_wrench(of=name) for name in ("left", "right")}
    assert of["left"][0] > 0.1 > -0.1 > of["right"][0]
    np.testing.assert_allclose(of["left"] + of["right"], sim.contact_wrench(), atol=1e-12)


def test_contacts_of_the_shaft_count_and_load_the_joints_there():
    """A fixed rod next to the shaft, 50 mm below the remote centre, is pushed by yaw: effort = force times 50 mm."""
    psm = tr.load_mechanism("PSM")
    q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
    rod = Solid("rod", Capsule((0.0091, -0.05, -0.05), (0.0091, 0.05, -0.05), 0.005), friction=0.0, torsional=0.0)
    sim = tr.Simulator("PSM", friction=False, objects=[rod])
    sim.reset(q)
    for _ in range(1500):
        sim.step(psm.gravity(sim.q) + [0.2, 0, 0, 0, 0, 0, 0] - [5, 5, 50, 0.01, 0.01, 0.01, 0.01] * sim.dq)
    w = sim.contact_wrench("trocar")
    assert w[0] == pytest.approx(-0.2 / 0.05, rel=0.02)
    assert sim.contact_effort()[0] == pytest.approx(-0.2, rel=1e-3)
    assert np.abs(sim.contact_effort()[2:]).max() < 1e-2


SLAB = SoftSlab("slab", (0.03, 0.012, 0.012), pose(p=END + [0.01, 0, -0.006]), young=2e5, spacing=6e-3)


def test_a_slab_of_more_nodes_than_a_float_can_count_is_refused():
    with pytest.raises(TrocarError, match="slab would have inf nodes"):
        SoftSlab("slab", (0.03, 0.012, 0.012), np.eye(4), spacing=1e-300)


def test_a_soft_slab_is_as_stiff_as_its_material():
    """Pressed all over by a rigid plate: between a bar that is free to bulge and one that is not."""
    young, poisson, load = 5e4, 0.3, 0.4
    slab = SoftSlab("slab", (0.02, 0.02, 0.01), pose(p=[0.2, 0, -0.3]), young=young, poisson=poisson, spacing=7e-3)
    lid = Solid("lid", Box((0.2, 0, -0.29), (0.03, 0.03, 0.0098)), mass=load / 9.81, friction=0.0, stiffness=None)
    sim = probe([slab, lid], accuracy="discrete")
    top = sim.objects["slab"].vertices[:, 2].max()
    for _ in range(300):
        sim.step(MECH.gravity(Q))
    sunk = top - np.sort(sim.objects["slab"].vertices[:, 2])[-16:].mean()
    k = load / sunk
    free = young * 0.02**2 / 0.01
    confined = free * (1 - poisson) / ((1 + poisson) * (1 - 2 * poisson))
    assert free < k < confined
    assert sim.objects["slab"].vertices[:, 2].min() == pytest.approx(-0.305, abs=1e-4)  # its lower face is fixed


@pytest.mark.parametrize("side", [0.04, 0.025], ids=["wide", "narrow"])
def test_a_block_sinks_into_a_slab_by_the_closed_form(side):
    """0.5 kg on 200 kPa: F h / (E A), with a block wider than the slab."""
    h, mass = 0.012, 0.5 * (side / 0.04) ** 2
    slab = SoftSlab("slab", (side, side, h), pose(p=[0.2, 0, -0.3]), young=2e5, poisson=0.3, spacing=8e-3, friction=0.0)
    block = Solid("block", Box(np.zeros(3), (0.05, 0.05, 0.02)), pose(p=[0.2, 0, -0.284 + 1e-4]), mass=mass)
    sim = probe([slab, block], accuracy="discrete")
    for _ in range(250):
        sim.step(MECH.gravity(Q))
    sunk = -0.284 - sim.objects["block"].pose[2, 3]
    assert sunk == pytest.approx(mass * 9.81 * h / (2e5 * side**2), rel=0.1)


@pytest.mark.parametrize("accuracy", ["fast", "discrete", "exact"])
@pytest.mark.parametrize("speed", [0.001, 0.005, 0.02, 0.2, 1.0])
def test_a_pushed_block_resists_with_coulomb_friction_at_any_speed(speed, accuracy):
    """Mean force of a spring that drives a block at 1 mm/s to 1 m/s; it must not hop."""
    mass, friction, h = 0.05, 0.4, 1e-3
    plate = Solid("plate", Box(np.zeros(3), (2.5, 0.3, 0.02)), pose(p=[0.9, 0.4, -0.41]))
    block = Solid("block", Box(np.zeros(3), (0.02,) * 3), pose(p=[0, 0.4, -0.39]), mass=mass, friction=friction)
    sim = probe([plate, block], accuracy=accuracy)
    body = sim.model.body(OBJECT + "block")
    v, q = int(body.dofadr[0]), int(sim.model.jnt_qposadr[body.jntadr[0]])
    force, height = [], []
    for k in range(700):
        sim.data.qfrc_applied[v] = 2000 * (speed * k * h - sim.data.qpos[q]) + 10 * (speed - sim.data.qvel[v])
        force.append(sim.data.qfrc_applied[v])
        sim.step(MECH.gravity(Q))
        height.append(sim.data.qpos[q + 2])
    assert np.mean(force[400:]) == pytest.approx(friction * mass * 9.81, rel=0.03)
    assert np.max(height[400:]) + 0.39 < 1e-4


@pytest.mark.parametrize(("edge", "friction"), [(0.004, 0.4), (0.02, 0.5)])
def test_a_block_slides_down_a_slope_without_hopping(edge, friction):
    """Acceleration g (sin - friction cos), near the edge of the cone; a block with more friction stays."""
    slope, R = np.deg2rad(30.0), rotation("x", np.deg2rad(30.0))
    plate = Solid("plate", Box(np.zeros(3), (0.3, 0.8, 0.02)), pose(R, [0.4, 0, -0.4]))
    blocks = [
        Solid(
            name,
            Box(np.zeros(3), np.full(3, edge)),
            pose(R, [0.4 + x, 0, -0.4] + R[:, 2] * (0.01 + edge / 2)),
            mass=2000 * edge**3,
            friction=mu,
        )
        for name, x, mu in (("sliding", 0.05, friction), ("resting", -0.05, 0.62))
    ]
    sim = probe([plate, *blocks])
    down, speed = -R[:, 1], []
    for _ in range(400):
        sim.step(MECH.gravity(Q))
        speed.append(sim.objects["sliding"].twist[:3] @ down)
    expected = 9.81 * (np.sin(slope) - friction * np.cos(slope))
    acceleration = np.polyfit(np.arange(100, 400) * 1e-3, speed[100:], 1)[0]
    assert acceleration == pytest.approx(expected, rel=5e-3)
    assert sim.objects["sliding"].pose[:3, 2] @ R[:, 2] > 0.9999  # upright
    assert np.abs(sim.objects["resting"].twist[:3]).max() < 1e-5


RIGID_GAINS = {"kf": 1.0, "ki": 20.0, "kd": [60.0, 60.0, 60.0]}
SOFT_GAINS = {"kf": 5.0, "ki": 200.0, "kd": [60.0, 60.0, 200.0]}


@pytest.mark.parametrize(
    ("instrument", "surface", "gains", "cutoff", "duration"),
    [
        (None, "rigid", {}, 50.0, 2.5),
        (None, "soft", {}, 50.0, 2.5),
        (PROBE, "rigid", RIGID_GAINS, 10.0, 1.6),
        (PROBE, "soft", SOFT_GAINS, 50.0, 1.6),
    ],
    ids=["jaws-rigid", "jaws-soft", "probe-rigid", "probe-soft"],
)
def test_one_newton_is_held_while_sliding_20_mm(instrument, surface, gains, cutoff, duration):
    """The default instrument with default gains, and a slim probe with others; RMS over the whole slide."""
    mech = tr.load_mechanism("PSM", instrument=instrument)
    start = mech.forward_kinematics(Q)
    end = start[:3, 3] - [0.0, 0.0, mech.arm.jaw_length + 2e-4]
    if surface == "rigid":
        damping = 100.0 if gains else 50.0  # the gains of the probe rely on the damping of the contact
        thing = Solid("thing", Box(end + [0.01, 0, -0.005], (0.06, 0.04, 0.01)), friction=0.3, damping=damping)
    else:
        thing = SoftSlab("thing", (0.036, 0.012, 0.012), pose(p=end + [0.01, 0, -0.006]), young=2e5, spacing=6e-3)
    accuracy = "fast" if surface == "rigid" else "discrete"
    sim = tr.Simulator("PSM", instrument=instrument, objects=[thing], accuracy=accuracy)
    sim.reset(Q)
    sensor, force = ForceSensor(sim, cutoff), []

    def measure():
        force.append(sim.contact_wrench()[2])
        return sensor()

    law = HybridForcePosition(mech, [False, False, True], [0, 0, -1.0], measure, friction=True, **gains)
    rec = tr.simulate(sim, law, line(start, start[:3, 3] + [0.02, 0, 0], duration, t0=0.4), 0.4 + duration)
    sliding = rec.t >= 0.4
    error = np.array(force)[sliding] - 1.0
    assert np.sqrt(np.mean(error**2)) < 0.1
    assert np.abs(error).max() < 0.5  # and contact is never lost
    travelled = rec.extra["tip"][-1] - rec.extra["tip"][sliding][0]
    assert travelled[0] == pytest.approx(0.02, abs=3e-4)
    np.testing.assert_allclose(sim.contact_wrench(of="thing"), sim.contact_wrench())
    assert not any(warning.number for warning in sim.data.warning)  # the solver converged at every step


def test_a_force_sensor_lags_and_forgets_at_reset():
    sim = probe([PLATE], friction=False)
    sensor = ForceSensor(sim, cutoff=10.0)
    assert not sensor().any()
    lean_on(sim, [0.0, 0.0, -2.0])
    share = sensor()[2] / sim.contact_wrench()[2]
    assert share == pytest.approx(1.0, abs=1e-6)  # 1.5 s later it has settled
    sim.reset(Q)
    assert not sensor().any()


def test_divergence_is_detected_with_contacts():
    sim = probe([PLATE])
    steps = (sim.step([1e8 * (-1) ** k] * 7) for k in range(1000))
    with pytest.raises(tr.Diverged):
        list(steps)


@pytest.mark.parametrize(
    ("accuracy", "timestep"), [("fast", 1e-3), ("fast", 4e-3), ("discrete", 1e-3), ("discrete", 4e-3)]
)
def test_free_bodies_of_any_mass_rest_on_a_plate(accuracy, timestep):
    """Bodies set down, dropped askew, and one on another of ten times its mass: all come to rest, none bounces."""
    cube, rest = Box((0, 0, 0), (0.01, 0.01, 0.01)), -0.295
    things = [Solid("table", Box((0.2, 0, -0.305), (0.6, 0.4, 0.01)))]
    for k, mass in enumerate((1e-5, 1e-3, 1e-2, 0.1)):
        x = 0.1 + 0.05 * k
        things.append(Solid(f"set down {k}", cube, pose(p=[x, 0, rest]), mass=mass))
        things.append(Solid(f"on it {k}", cube, pose(p=[x, 0, rest + 0.01]), mass=0.1 * mass))
        things.append(Solid(f"dropped {k}", cube, pose(rotation("x", 0.3), [x, 0.1, rest + 0.01]), mass=mass))
    sim = probe(things, accuracy=accuracy, timestep=timestep)
    for _ in range(round(0.5 / timestep)):
        sim.step(MECH.gravity(Q))
    for name, thing in sim.objects.items():
        height = rest + 0.01 * name.startswith("on")
        if name != "table":
            assert thing.pose[2, 3] == pytest.approx(height, abs=1e-5), name
            assert np.abs(thing.twist).max() < 1e-3, name


def test_a_light_body_deflects_by_the_stated_stiffness():
    """Pressed onto a plate by the blade, the contact between blade and block is as stiff as one with a fixed block."""
    depths = []
    for force in (0.5, 1.5):
        block = Solid("block", Box((0, 0, -0.005), (0.02, 0.02, 0.01)), pose(p=END), mass=0.01)
        plate = Solid("plate", Box(END - [0, 0, 0.015], (0.1, 0.1, 0.01)))
        sim = probe([plate, block], friction=False)
        lean_on(sim, [0.0, 0.0, -force])
        geoms = sim.model.geom_bodyid[sim.data.contact.geom]
        own = sim.objects["block"].body
        table = sim.objects["plate"].body
        of_block = (geoms == own).any(1) & (geoms != table).all(1)
        depths.append((sim.contact_wrench()[2], -sim.data.contact.dist[of_block].mean()))
    (f1, d1), (f2, d2) = depths
    assert (f2 - f1) / (d2 - d1) == pytest.approx(5e4, rel=0.05)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Solid("", Sphere((0, 0, 0), 0.1)), "needs a name"),
        (lambda: Solid("a", []), "has no shape"),
        (lambda: Solid("a", Sphere((0, 0, 0), 0.1), mass=0.0), "mass of a must be positive"),
        (lambda: Solid("a", Sphere((0, 0, 0), 0.1), friction=-1.0), "friction of a must be"),
        (lambda: Solid("a", Sphere((0, 0, 0), 0.1), stiffness=0.0), "stiffness of a must be positive"),
        (lambda: Solid("a", Sphere((0, 0, 0), 0.1), 2 * np.eye(4)), "0 0 0 1"),
        (lambda: SoftSlab("a", (0.1, 0.1)), "three positive lengths"),
        (lambda: SoftSlab("a", (0.1, 0.1, 0.1), poisson=0.5), "below 0.5"),
        (lambda: SoftSlab("a", (0.1, 0.1, 0.1), young=-1.0), "young of a must be positive"),
        (lambda: probe([SLAB]), 'needs accuracy="discrete"'),
        (lambda: probe([PLATE, PLATE]), "two objects are called 'plate'"),
        (lambda: probe([PLATE]).contact_wrench("nose"), 'about must be "tip"'),
        (lambda: setattr(probe([PLATE]).objects["plate"], "pose", np.eye(4)), "cannot be moved"),
        (lambda: ForceSensor(probe([]), 0.0), "cutoff of a force sensor"),
        (lambda: HybridForcePosition(MECH, [True] * 3, [0, 0, 0], lambda: np.zeros(3), ki=1.0), "ki requires kf"),
    ],
)
def test_bad_input_is_rejected(make, message):
    with pytest.raises(TrocarError, match=message):
        make()


def test_an_unknown_object_is_named():
    with pytest.raises(UnknownName, match="plate"):
        probe([PLATE]).contact_wrench(of="plane")


def test_objects_are_in_the_specification_that_pictures_are_made_of():
    sim = probe([PLATE, SLAB], accuracy="discrete")
    model = sim.spec.copy().compile()
    assert model.nq == sim.model.nq
    assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_FLEX, "object/slab") == 0


class Membrane(SceneObject):
    """A kind of object that trocar does not have: a cloth held at its rim. A class is all that it needs."""

    name, pose, soft = "membrane", pose(p=END - [0.0, 0.0, 0.002]), True

    def add_to(self, spec):
        body = spec.worldbody.add_body(name=OBJECT + self.name, pos=self.pose[:3, 3])
        cloth = body.make_flex(
            name=OBJECT + self.name,
            type="grid",
            dim=2,
            count=(5, 5, 1),
            spacing=(0.01, 0.01, 0.01),
            radius=1e-3,
            mass=0.01,
        )
        cloth.young, cloth.thickness, cloth.poisson, cloth.elastic2d = 1e6, 1e-3, 0.3, 3  # bending and stretching
        for node in list(body.bodies):
            if np.abs(node.pos[:2]).max() > 0.019:
                for joint in list(node.joints):
                    spec.delete(joint)


def test_a_new_kind_of_object_is_one_class():
    sim = probe([Membrane(), PLATE], accuracy="discrete")
    assert sim.objects["membrane"].vertices.shape == (25, 3)
    np.testing.assert_array_equal(sim.objects["membrane"].pose, Membrane.pose)
    assert sim.objects["plate"].vertices.shape == (0, 3)
    forces = []
    for _ in range(60):
        sim.step(MECH.gravity(sim.q) + [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0])  # deeper
        forces.append(sim.contact_wrench(of="membrane")[2])
    assert max(forces) > 0.0
    with pytest.raises(TrocarError, match="cannot be moved"):
        sim.objects["membrane"].pose = np.eye(4)
