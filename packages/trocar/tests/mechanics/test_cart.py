"""The patient carts: set-up joints, remote centres, gravity, the endoscope's view, and moving a port."""

import dataclasses

import numpy as np
import pytest

import trocar as tr
from trocar.arms.suj import CARTS, set_up_arms
from trocar.arms.tables import read
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics.cart import Cart, SetUpChain, load_cart

PI = np.pi
ARMS = ("PSM1", "PSM2", "PSM3", "ECM")
EVERY_ARM = [(cart, arm) for cart in CARTS for arm in ARMS]
every_arm = pytest.mark.parametrize(("name", "arm"), EVERY_ARM, ids=["-".join(pair) for pair in EVERY_ARM])
VERTICAL_ONLY = [pair for pair in EVERY_ARM if pair[0] == "Si" or pair[1] == "ECM"]


@pytest.fixture(scope="module")
def carts():
    return {name: load_cart(name) for name in CARTS}


def random_set_up(cart, arm, seed=0):
    facts = cart.set_up(arm)
    return np.random.default_rng(seed).uniform(facts.lower, facts.upper)


def home(cart, arm):
    return np.array(cart.arm(arm).home)


# The published tables, entered again and evaluated independently


def modified_dh(a, alpha, d, theta):
    """Tx(a) Rx(alpha) Tz(d) Rz(theta), written out."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st, 0, a], [ca * st, ca * ct, -sa, -sa * d], [sa * st, sa * ct, ca, ca * d], [0, 0, 0, 1]])


def moved(x, y, z, turn):
    T = modified_dh(0, 0, 0, turn)
    T[:3, 3] = x, y, z
    return T


def classic_psm(d2, a3, d4):
    """Gondokaryono et al. 2019, Tables 1 and 2: (a, alpha, d, theta) for joint values q."""
    return lambda q: [
        (0.0896, 0, q[0], 0),
        (0, 0, d2, q[1]),
        (a3, 0, 0.1429, q[2]),
        (0.4318, 0, d4, q[3] + PI / 2),
        (0, PI / 2, 0.4089, q[4]),
        (0, -PI / 2, -0.1029, q[5] - PI / 2),
    ]


def classic_ecm(q):
    """Table 3, rows 1 to 6."""
    return [
        (0.0896, 0, q[0], 0),
        (0, 0, 0.4166, q[1]),
        (0.4318, 0, 0.1429, q[2]),
        (0.4318, 0, -0.3459, q[3] + PI / 2),
        (0, -PI / 4, 0, PI / 2),
        (-0.0667, 0, 0, 0),
    ]


def si(d1, links, a_mount, mount):
    """sawIntuitiveResearchKit 2.4, suj-si-simulated.json: links are (a, d) of the vertical joints."""

    def rows(q):
        turns = [(a, 0, d, angle) for (a, d), angle in zip(links, q[1:], strict=True)]
        return [(0, 0, d1 + q[0], 0), *turns, (a_mount, PI / 2, 0, np.radians(mount)), (0, -PI / 2, 0, 0)]

    return rows


SI_PSM = si(0.1471, [(0, 0.6654), (0.4572, 0.1397), (0.4572, -0.1301)], 0.0490, -45)
TO_CLASSIC_PSM, TO_SI = moved(0.4864, 0, 0.1524, -PI / 2), moved(0.8343, 0, 0, -PI / 2)
# world to column, table, tip to remote centre, simulated position
PUBLISHED = {
    ("Classic", "PSM1"): (
        moved(-0.1016, -0.1016, 0.43, PI),
        classic_psm(0.4166, 0.4318, -0.1302),
        TO_CLASSIC_PSM,
        [0.0007, -0.5892, -0.8590, -0.6241, -0.2479, -0.4422],
    ),
    ("Classic", "PSM2"): (
        moved(0.1016, -0.1016, 0.43, 0),
        classic_psm(0.4166, 0.4318, -0.1302),
        TO_CLASSIC_PSM,
        [0.0628, 0.0913, 1.9073, -0.1297, 0.4351, 0.0353],
    ),
    ("Classic", "PSM3"): (
        moved(0, 0, 0.1264, PI / 2),
        classic_psm(0.3404, 0.5842, 0.2571),
        TO_CLASSIC_PSM,
        [-0.0261, -1.5892, 1.3076, 0.6994, 0.1361, 0.3359],
    ),
    ("Classic", "ECM"): (
        moved(0, 0, 0.43, PI / 2),
        classic_ecm,
        moved(0.6126, 0, 0.1016, -PI / 2),
        [0.6647, 0.5782, -1.2662, 3.7818],
    ),
    ("Si", "PSM1"): (moved(-0.2019, -0.0757, 0, PI), SI_PSM, TO_SI, [0.2171, -0.2899, -1.2963, -1.0814]),
    ("Si", "PSM2"): (moved(0.2019, -0.0757, 0, 0), SI_PSM, TO_SI, [0.1943, 0.2522, 1.4631, 0.8696]),
    ("Si", "PSM3"): (
        moved(0, -0.2776, 0, -PI / 2),
        si(0.0455, [(0, 0.5887), (0.3429, -0.2667), (0.4572, 0.1397), (0.4572, -0.1864)], 0.0483, -15),
        TO_SI,
        [0.2807, 1.6767, 0.0488, 1.4719, 0.4373],
    ),
    ("Si", "ECM"): (
        moved(0, 0.1262, 0, PI / 2),
        si(0.1471, [(0, 0.5861), (0.3302, 0.1397), (0.3302, 0.0549)], 0.1352, -70),
        TO_SI,
        [0.3079, 1.1432, -1.9844, 0.7906],
    ),
}


def published_base(name, arm, q):
    T, table, T_tip_rcm, _ = PUBLISHED[name, arm]
    for row in table(q):
        T = T @ modified_dh(*row)
    return T @ T_tip_rcm


@every_arm
@pytest.mark.parametrize("seed", range(5))
def test_remote_centres_match_the_published_tables(carts, name, arm, seed):
    q = random_set_up(carts[name], arm, seed)
    T = carts[name].moved({arm: q}).T_world_base(arm)
    np.testing.assert_allclose(T, published_base(name, arm, q), atol=1e-14)


@every_arm
def test_the_default_set_up_joints_are_those_of_the_dvrks_simulated_cart(carts, name, arm):
    np.testing.assert_allclose(carts[name].q_setup[arm], PUBLISHED[name, arm][3], atol=5.1e-5)  # four digits typed
    np.testing.assert_allclose(
        carts[name].T_world_base(arm), published_base(name, arm, carts[name].q_setup[arm]), atol=1e-14
    )


def test_remote_centres_of_the_simulated_classic_cart(carts):
    """Evaluated from suj-simulated.json by hand-written matrices, rounded to 0.1 mm."""
    golden = {
        "PSM1": [-0.0288, 1.2198, 0.9591],
        "PSM2": [0.1843, 1.1877, 0.9742],
        "PSM3": [0.2128, 1.2254, 0.9115],
        "ECM": [0.0601, 1.2421, 0.9941],
    }
    for arm, rcm in golden.items():
        np.testing.assert_allclose(carts["Classic"].T_world_base(arm)[:3, 3], rcm, atol=5e-5)


# A second source: the CAD of the Classic cart (dvrk_model 2.5, urdf/Classic/SUJ.urdf.xacro)


def urdf(x, y, z, roll, pitch, yaw):
    T = moved(0, 0, 0, yaw)
    c, s = np.cos(pitch), np.sin(pitch)
    T[:3, :3] = T[:3, :3] @ [[c, 0, s], [0, 1, 0], [-s, 0, c]] @ modified_dh(0, roll, 0, 0)[:3, :3]
    T[:3, 3] = x, y, z
    return T


def turn(axis, angle):
    """Rotation about a coordinate axis given as (x, y, z), such as (0, -1, 0)."""
    k = np.array(axis, dtype=float)
    K = np.cross(np.eye(3), k)
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return T


def cad_psm2(q):
    """The CAD has no joint 6; the origin is on the floor."""
    T = urdf(0.1912, -0.1016, 0.167458 + 0.7611, -PI, 0, PI) @ urdf(0, 0, -q[0], 0, 0, PI / 2) @ turn((0, 0, -1), q[1])
    T = T @ urdf(0, 0.4318, -0.17125, PI, 0, PI / 2) @ turn((0, 0, 1), q[2])
    T = T @ urdf(0.4318, 0, 0, -PI / 2, 0, -PI / 2) @ turn((0, -1, 0), q[3])
    T = T @ urdf(0, 0.07305, 0.061, PI / 2, 0, PI) @ turn((0, 1, 0), q[4])
    return T @ urdf(0, 0.8343, -0.04984, 0, PI, 0)


def cad_ecm(q):
    T = urdf(0, 0.0896, 0.167458 + 0.7611, PI, 0, -PI / 2) @ urdf(0, 0, -q[0], PI, 0, PI / 2) @ turn((0, 0, 1), q[1])
    T = T @ urdf(0, -0.4318, 0.17125, PI, 0, -PI / 2) @ turn((0, 0, -1), q[2])
    T = T @ urdf(0.4318, 0, 0.052, PI / 2, 0, 0) @ turn((0, -1, 0), q[3])
    return T @ urdf(-0.45788, 0.55053, 0, PI / 2, PI, -PI / 4)


FLOOR = moved(0, 0, 0.1677, 0)  # the world of the tables, above the floor of the CAD


@pytest.mark.parametrize("seed", range(5))
def test_the_cad_of_the_classic_cart_has_psm2_in_the_same_pose(carts, seed):
    q = random_set_up(carts["Classic"], "PSM2", seed)
    q[5] = 0.0
    T = carts["Classic"].moved({"PSM2": q}).T_world_base("PSM2")
    np.testing.assert_allclose(FLOOR @ T, cad_psm2(q), atol=5e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_cad_of_the_classic_cart_has_the_same_remote_centre_of_the_ecm(carts, seed):
    """The last frame is rotated about z by the convention of the CAD; only position and z axis are compared."""
    q = random_set_up(carts["Classic"], "ECM", seed)
    T = FLOOR @ carts["Classic"].moved({"ECM": q}).T_world_base("ECM")
    np.testing.assert_allclose(T[:3, 2:], cad_ecm(q)[:3, 2:], atol=5e-4)


def test_row_7_of_table_3_as_printed_misplaces_the_ecm(carts):
    """Corrected: theta -pi/2, d 0.1016. As printed, the remote centre is 1.2 m from that of the CAD."""
    printed = read("suj_classic")["ECM"]["printed"]
    q = carts["Classic"].q_setup["ECM"]
    T = moved(0, 0, 0.43, PI / 2)
    for row in classic_ecm(q):
        T = T @ modified_dh(*row)

    def distance(theta, d):
        T_world_base = T @ modified_dh(0, 0, d, theta) @ moved(0, 0.6126, 0, 0)
        return np.linalg.norm((FLOOR @ T_world_base - cad_ecm(q))[:3, 3])

    assert distance(-PI / 2, 0.1016) < 3e-4
    assert distance(printed["row_7_theta"], printed["row_7_d"]) == pytest.approx(2 * 0.6126, abs=1e-3)
    assert distance(-PI / 2, printed["row_7_d"]) == pytest.approx(1.3e-3, abs=3e-4)


# Gravity


@pytest.mark.parametrize(
    ("name", "arm", "degrees"),
    [
        ("Classic", "ECM", -45),
        ("Si", "ECM", -70),
        ("Si", "PSM1", -45),
        ("Si", "PSM2", -45),
        ("Si", "PSM3", -15),
    ],
)
def test_mounting_pitch_is_that_of_the_dvrk_for_all_set_up_joints(carts, name, arm, degrees):
    assert np.degrees(carts[name].mounting(arm)) == pytest.approx(degrees, abs=1e-12)
    cart = carts[name].moved({arm: random_set_up(carts[name], arm)})
    assert np.degrees(cart.mounting(arm)) == pytest.approx(degrees, abs=1e-12)
    np.testing.assert_allclose(np.degrees(cart.fixed_tilt(arm)), -degrees, atol=1e-12)


@pytest.mark.parametrize("arm", ["PSM1", "PSM2", "PSM3"])
def test_a_classic_psm_is_level_where_its_tilt_joint_is_zero(carts, arm):
    q = random_set_up(carts["Classic"], arm)
    q[4] = 0.0
    assert carts["Classic"].moved({arm: q}).mounting(arm) == pytest.approx(0.0, abs=1e-15)
    assert carts["Classic"].fixed_tilt(arm) is None
    q[4] = 0.3
    np.testing.assert_allclose(carts["Classic"].moved({arm: q}).up(arm)[2], np.cos(0.3), atol=1e-15)


def test_up_of_psm1_in_the_simulated_classic_cart(carts):
    np.testing.assert_allclose(carts["Classic"].up("PSM1"), [0.222, 0.105, 0.969], atol=5e-4)


def test_a_base_that_also_rolls_has_no_mounting_pitch(carts):
    with pytest.raises(TrocarError, match=r"base of PSM1 is not purely pitched: up is \(0.2218, 0.1050, 0.9694\)"):
        carts["Classic"].mounting("PSM1")


@pytest.mark.parametrize(("name", "arm"), VERTICAL_ONLY)
def test_gravity_on_the_cart_is_that_of_the_mounting_pitch(carts, name, arm):
    cart = carts[name]
    level = tr.load_mechanism(cart.set_up(arm).arm, mounting=cart.mounting(arm))
    np.testing.assert_allclose(cart.gravity(arm), level.gravity_vector, atol=1e-13)


def test_the_torque_that_holds_a_psm_follows_the_set_up_joints(carts):
    """Gravity in the base, rotated into the world, points down; a level base needs the torque of the bare arm."""
    cart = carts["Classic"]
    psm = tr.load_mechanism("PSM", "wang2019", counterweight=False, gravity=cart.gravity("PSM1"))
    R = cart.T_world_base("PSM1")[:3, :3]
    np.testing.assert_allclose(R @ psm.gravity_vector, [0, 0, -9.81], atol=1e-14)
    q = home(cart, "PSM1")
    level = tr.load_mechanism("PSM", "wang2019", counterweight=False)
    assert np.abs(psm.gravity(q) - level.gravity(q)).max() > 0.1
    flat = cart.q_setup["PSM1"].copy()
    flat[4] = 0.0
    gravity = cart.moved({"PSM1": flat}).gravity("PSM1")
    on_the_level = tr.load_mechanism("PSM", "wang2019", counterweight=False, gravity=gravity)
    np.testing.assert_allclose(on_the_level.gravity(q), level.gravity(q), atol=1e-12)


def test_a_cart_carries_the_arms_of_its_generation(carts):
    assert [carts[name].arm("PSM1").name for name in CARTS] == ["PSM", "PSM_Si"]
    assert [carts[name].arm("ECM").name for name in CARTS] == ["ECM", "ECM_Si"]


# Poses in the world and in the endoscope's view


@every_arm
def test_a_tip_in_the_world_is_the_base_times_forward_kinematics(carts, name, arm):
    cart = carts[name]
    mechanism = tr.load_mechanism(cart.set_up(arm).arm)
    q = np.random.default_rng(1).uniform(mechanism.arm.lower, mechanism.arm.upper, (2, 3, mechanism.n))
    T = cart.T_world_tip(arm, q)
    assert T.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(T, cart.T_world_base(arm) @ mechanism.forward_kinematics(q), atol=1e-15)


@every_arm
def test_the_view_is_the_frame_of_the_ecm_tip(carts, name, arm):
    cart = carts[name]
    q, q_ecm = home(cart, arm), np.array([0.1, -0.2, 0.1, 0.3])
    T_world_view = cart.T_world_tip("ECM", q_ecm)
    np.testing.assert_allclose(T_world_view @ cart.T_view_tip(arm, q, q_ecm), cart.T_world_tip(arm, q), atol=1e-14)
    np.testing.assert_allclose(
        cart.T_view_base(arm, q_ecm) @ tr.load_mechanism(cart.set_up(arm).arm).forward_kinematics(q),
        cart.T_view_tip(arm, q, q_ecm),
        atol=1e-14,
    )


@pytest.mark.parametrize("name", CARTS)
def test_the_view_has_x_left_y_up_and_z_away(carts, name):
    """Up in the room is up in the image; PSM1, on the right of the cart, is on the right: at negative x."""
    cart, q_ecm = carts[name], np.array([0.0, 0.0, 0.12, 0.0])
    up = cart.T_world_tip("ECM", q_ecm)[2, :3]
    np.testing.assert_allclose(up, [0.0, -np.sin(cart.mounting("ECM")), -np.cos(cart.mounting("ECM"))], atol=1e-14)
    assert cart.T_view_tip("PSM1", home(cart, "PSM1"), q_ecm)[0, 3] < -0.05
    assert cart.T_view_tip("PSM2", home(cart, "PSM2"), q_ecm)[0, 3] > 0.05
    deeper = q_ecm + [0, 0, 0.01, 0]
    step = cart.T_world_tip("ECM", deeper)[:3, 3] - cart.T_world_tip("ECM", q_ecm)[:3, 3]
    np.testing.assert_allclose(step, 0.01 * cart.T_world_tip("ECM", q_ecm)[:3, 2], atol=1e-15)


def test_a_whole_path_is_seen_by_a_moving_endoscope(carts):
    cart = carts["Classic"]
    q = np.tile(home(cart, "PSM1"), (5, 1))
    q_ecm = np.linspace([0, 0, 0.05, 0], [0.2, 0.1, 0.2, 0.5], 5)
    T = cart.T_view_tip("PSM1", q, q_ecm)
    assert T.shape == (5, 4, 4)
    np.testing.assert_allclose(T[3], cart.T_view_tip("PSM1", q[3], q_ecm[3]), atol=1e-15)


def test_instruments_are_mounted_by_arm():
    cart = load_cart("Classic", instruments={"ECM": "up"})
    assert cart.arm("ECM").instrument != load_cart("Classic").arm("ECM").instrument
    q_ecm = np.zeros(4)
    tipped = np.linalg.inv(load_cart("Classic").T_world_tip("ECM", q_ecm)) @ cart.T_world_tip("ECM", q_ecm)
    np.testing.assert_allclose(tipped, modified_dh(0, -PI / 6, 0, 0), atol=1e-14)


@every_arm
def test_set_up_poses_go_from_the_column_to_the_base(carts, name, arm):
    cart = carts[name]
    poses = cart.set_up_poses(arm)
    assert tuple(poses) == (*cart.set_up(arm).joint_names, "base")
    np.testing.assert_allclose(poses["base"], cart.T_world_base(arm), atol=1e-15)
    q = cart.q_setup[arm].copy()
    q[0] += 0.01 if q[0] < 0.1 else -0.01
    raised = cart.moved({arm: q}).set_up_poses(arm)
    for joint in poses:
        np.testing.assert_allclose(raised[joint][:3, 3] - poses[joint][:3, 3], [0, 0, q[0] - cart.q_setup[arm][0]])


# Placing a remote centre


@every_arm
@pytest.mark.parametrize("seed", range(6))
def test_a_reachable_port_is_reached(carts, name, arm, seed):
    cart = carts[name]
    there = cart.moved({arm: random_set_up(cart, arm, seed)})
    rcm, shaft = there.T_world_base(arm)[:3, 3], there.shaft(arm)
    found = cart.place(arm, rcm, 3.0 * shaft)
    facts = cart.set_up(arm)
    assert ((found.q_setup >= facts.lower) & (found.q_setup <= facts.upper)).all()
    moved_cart = cart.moved({arm: found.q_setup})
    np.testing.assert_allclose(moved_cart.T_world_base(arm)[:3, 3], rcm, atol=1e-6)
    np.testing.assert_allclose(moved_cart.shaft(arm), shaft, atol=1e-6)
    np.testing.assert_array_equal(found.T_world_base, moved_cart.T_world_base(arm))
    assert found.position_error == pytest.approx(np.linalg.norm(found.T_world_base[:3, 3] - rcm), abs=1e-15)
    np.testing.assert_array_equal(cart.q_setup[arm], load_cart(name).q_setup[arm])  # the cart has not moved


@every_arm
def test_a_port_at_the_limits_of_the_joints_is_reached(carts, name, arm):
    """Half of the joints at a limit, drawn at random: the descent must slide along the limits."""
    cart, rng = carts[name], np.random.default_rng(3)
    facts = cart.set_up(arm)
    for _ in range(10):
        limit = np.where(rng.random(facts.n) < 0.5, facts.lower, facts.upper)
        q = np.where(rng.random(facts.n) < 0.5, limit, rng.uniform(facts.lower, facts.upper))
        there = cart.moved({arm: q})
        found = cart.place(arm, there.T_world_base(arm)[:3, 3], there.shaft(arm))
        assert max(found.position_error, found.direction_error) < 1e-6


@every_arm
def test_placing_an_arm_at_its_current_position_moves_nothing(carts, name, arm):
    cart = carts[name]
    found = cart.place(arm, cart.T_world_base(arm)[:3, 3], cart.shaft(arm))
    np.testing.assert_allclose(found.q_setup, cart.q_setup[arm], atol=1e-12)


@every_arm
def test_a_small_move_of_the_port_is_a_small_move_of_the_joints(carts, name, arm):
    cart = carts[name]
    facts, q = cart.set_up(arm), cart.q_setup[arm]
    inner = np.clip(q, facts.lower + 0.1, facts.upper - 0.1)
    cart = cart.moved({arm: inner})
    found = cart.place(arm, cart.T_world_base(arm)[:3, 3] + [0.004, -0.006, 0.005], cart.shaft(arm))
    assert np.abs(found.q_setup - inner).max() < 0.1


def test_without_a_direction_only_the_position_is_matched(carts):
    cart = carts["Si"]
    rcm = cart.T_world_base("PSM1")[:3, 3] + [0.02, 0.0, 0.01]
    found = cart.place("PSM1", rcm)
    np.testing.assert_allclose(found.T_world_base[:3, 3], rcm, atol=1e-6)
    assert found.direction_error == 0.0


def test_the_direction_is_minus_z_of_the_base_the_direction_of_insertion(carts):
    cart = carts["Classic"]
    shaft = np.array([0.3, 0.2, -1.0])
    found = cart.place("PSM2", cart.T_world_base("PSM2")[:3, 3], shaft)
    cart = cart.moved({"PSM2": found.q_setup})
    q = np.array([[0, 0, 0.1, 0, 0, 0, 0], [0, 0, 0.2, 0, 0, 0, 0]])
    step = np.diff(cart.T_world_tip("PSM2", q)[:, :3, 3], axis=0)[0]
    np.testing.assert_allclose(step / 0.1, shaft / np.linalg.norm(shaft), atol=2e-6)


def test_the_jacobian_of_a_chain_is_the_derivative_of_its_base(carts):
    for name, arm in EVERY_ARM:
        chain = SetUpChain(carts[name].set_up(arm))
        q, step = random_set_up(carts[name], arm, 3), 1e-6
        _, J = chain.base_and_jacobian(q)
        for i in range(len(q)):
            dq = step * np.eye(len(q))[i]
            dT = (chain.T_world_base(q + dq) - chain.T_world_base(q - dq)) / (2 * step)
            W = dT[:3, :3] @ chain.T_world_base(q)[:3, :3].T
            np.testing.assert_allclose(J[:3, i], dT[:3, 3], atol=1e-8)
            np.testing.assert_allclose(J[3:, i], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)


def test_the_error_of_an_unreachable_port_reports_the_remaining_distance(carts):
    with pytest.raises(
        tr.Unreachable, match=r"no set-up joints of PSM1 were found with an error below .* mm and .* deg"
    ) as caught:
        carts["Classic"].place("PSM1", [3.0, 3.0, 0.5], [0, 0, -1])
    assert caught.value.index == ()
    # straight above the current place: only the travel of the column is too short
    cart = carts["Si"]
    rcm = cart.T_world_base("PSM1")[:3, 3]
    short = 0.4 - (0.512 - cart.q_setup["PSM1"][0])
    with pytest.raises(tr.Unreachable, match=rf"with an error below {1e3 * short:.3g} mm, with column at the limit"):
        cart.place("PSM1", rcm + [0, 0, 0.4])


def test_a_remaining_distance_can_be_tolerated(carts):
    cart = carts["Si"]
    rcm = cart.T_world_base("PSM1")[:3, 3]
    found = cart.place("PSM1", rcm + [0, 0, 0.4], position_tolerance=0.2)
    assert found.position_error == pytest.approx(0.4 - (0.512 - cart.q_setup["PSM1"][0]), abs=1e-6)
    assert found.q_setup[0] == 0.512


@pytest.mark.parametrize(("name", "arm"), VERTICAL_ONLY)
def test_tilting_an_arm_on_vertical_joints_is_an_error(carts, name, arm):
    cart = carts[name]
    rcm, tilt = cart.T_world_base(arm)[:3, 3], cart.fixed_tilt(arm)
    pattern = rf"{arm} turn about vertical axes only, .* {np.degrees(tilt):.4g} deg from straight down \(0 requested\)"
    with pytest.raises(tr.Unreachable, match=pattern):
        cart.place(arm, rcm, [0, 0, -1])
    asked = tilt - 0.1
    heading = cart.shaft(arm)[:2] / np.linalg.norm(cart.shaft(arm)[:2])
    found = cart.place(arm, rcm, [*np.sin(asked) * heading, -np.cos(asked)], direction_tolerance=0.11)
    assert found.direction_error == pytest.approx(0.1, abs=1e-6)
    assert found.position_error < 1e-6


def test_a_classic_psm_can_tilt(carts):
    found = carts["Classic"].place("PSM1", carts["Classic"].T_world_base("PSM1")[:3, 3], [0, 0, -1])
    np.testing.assert_allclose(found.T_world_base[:3, 2], [0, 0, 1], atol=1e-6)


# Limits and bad input


@every_arm
def test_simulated_positions_are_within_limits(carts, name, arm):
    facts = carts[name].set_up(arm)
    assert (facts.lower <= facts.q_simulated).all()
    assert (facts.q_simulated <= facts.upper).all()


def test_column_travel_is_the_published_one(carts):
    travel = {(name, arm): carts[name].set_up(arm).joints[0] for name, arm in EVERY_ARM}
    assert all(joint.name == "column" and joint.kind == "prismatic" for joint in travel.values())
    assert all((travel["Si", arm].lower, travel["Si", arm].upper) == (0.0, 0.512) for arm in ARMS)
    for arm in ("PSM1", "PSM2", "ECM"):
        assert (travel["Classic", arm].lower, travel["Classic", arm].upper) == (-0.3798, 0.8425)
    assert travel["Classic", "PSM3"].upper == 1.2223
    printed = read("suj_classic")["PSM3"]["printed"]
    assert printed["column_lower"] == 0.0 > travel["Classic", "PSM3"].lower == -0.0261


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([0.0, 0.0, -0.1], r"PSM1 has 6 set-up joints \(column, shoulder, .*\), got shape \(3,\)"),
        (np.zeros((2, 6)), r"PSM1 has 6 set-up joints .* got shape \(2, 6\)"),
        ([0.0, 0.0, np.nan, 0.0, 0.0, 0.0], r"set-up joint 3 \(elbow\) of PSM1 is nan"),
        (
            [0.9, 0.0, 0.0, 0.0, 0.0, 0.0],
            r"set-up of PSM1: joint 1 \(column\) violates -0.3798\d* <= 0.9 <= 0.8425\d* m",
        ),
        ([0.0, 0.0, 0.5, 0.0, 0.0, 0.0], r"set-up of PSM1: joint 3 \(elbow\) violates -2.356\d* <= 0.5 <= 0 rad"),
        ("up", r"set-up joints of PSM1 must be 6 numbers"),
    ],
)
def test_invalid_set_up_joints_are_rejected(q, message):
    with pytest.raises(TrocarError, match=message):
        load_cart("Classic", q_setup={"PSM1": q})


def test_the_fixed_joints_of_the_dvrks_ecm_are_omitted():
    with pytest.raises(TrocarError, match=r"ECM has 4 set-up joints .* omit the fixed joints that the dVRK lists as 0"):
        load_cart("Classic", q_setup={"ECM": [0.6647, 0.5782, -1.2662, 3.7818, 0.0, 0.0]})


def test_unknown_names_are_rejected_with_the_known_ones(carts):
    with pytest.raises(UnknownName, match=r"cart 'classic' is unknown. Did you mean 'Classic'\? Known: Classic, Si"):
        load_cart("classic")
    for wrong in ({"q_setup": {"PSM4": np.zeros(6)}}, {"instruments": {"PSM4": "400006"}}):
        with pytest.raises(UnknownName, match="arm of the Classic cart 'PSM4' is unknown"):
            load_cart("Classic", **wrong)
    with pytest.raises(UnknownName, match="arm of the Si cart 'MTML' is unknown"):
        carts["Si"].T_world_base("MTML")
    with pytest.raises(UnknownName, match="instrument of PSM"):
        load_cart("Classic", instruments={"PSM1": "no such tool"})
    with pytest.raises(TrocarError, match="q_setup must map arms to values"):
        load_cart("Classic", q_setup=np.zeros(6))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0],), "rcm must be three finite numbers"),
        (([0.0, 1.0, np.nan],), "rcm must be three finite numbers"),
        (([0.0, 1.0, 1.0], [0.0, 0.0, 0.0]), "shaft is the zero vector"),
        (([0.0, 1.0, 1.0], "down"), "shaft must be three finite numbers"),
    ],
)
def test_a_placement_needs_numbers(carts, arguments, message):
    with pytest.raises(TrocarError, match=message):
        carts["Classic"].place("PSM1", *arguments)
    with pytest.raises(TrocarError, match="position_tolerance must be positive"):
        carts["Classic"].place("PSM1", [0.0, 1.0, 1.0], position_tolerance=0.0)


def test_batches_that_do_not_fit_are_rejected(carts):
    with pytest.raises(TrocarError, match=r"batch axes do not fit together: q \(2, 7\), q_ecm \(3, 4\)"):
        carts["Classic"].T_view_tip("PSM1", np.zeros((2, 7)), np.zeros((3, 4)))


def test_a_cart_cannot_be_changed_in_place(carts):
    with pytest.raises(TypeError):
        carts["Classic"].q_setup["PSM1"] = np.zeros(6)
    with pytest.raises(ValueError, match="read-only"):
        carts["Classic"].q_setup["PSM1"][0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        carts["Classic"].set_up("PSM1").name = "PSM4"


@pytest.mark.parametrize("name", CARTS)
def test_facts_carry_their_source(name):
    for facts in set_up_arms(name).values():
        assert "sawIntuitiveResearchKit" in facts.source
        assert len(facts.q_simulated) == facts.n == len(facts.bodies)
    assert isinstance(Cart(name, set_up_arms(name)), Cart)
