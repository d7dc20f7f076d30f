"""Every published instrument: its numbers, its kinematics, its coupling, its simulation; and invalid files."""

import re
import tomllib
import warnings
from importlib.resources import files

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.appearance.arm_shapes import JAWS, add_shapes, instrument_bodies, jaw_of
from trocar.arms.instruments import load_instrument, names
from trocar.errors import UnknownName
from trocar.spatial import pose_error

PI = np.pi
ROOT = np.sqrt(0.5)
ALL = [(arm, name) for arm in ("PSM", "PSM_Si") for name in names(arm)]
SNAKES = ("NEEDLE_DRIVER_400117", "NEEDLE_DRIVER_420117", "MARYLAND_DISSECTOR_400143")
RIGID = [(arm, name) for arm, name in ALL if name not in SNAKES]
FAMILIES = (
    "400006",
    "400003",
    "400093",
    "400172",
    "400194",
    "400309",
    "400127",
    "400230",
    "400183",
    "400117",
    "400143",
)
D_INSERTION = {"PSM": -0.4318, "PSM_Si": -0.4826}
STANDARD_TIP = [[0, -1, 0], [0, 0, 1], [-1, 0, 0]]


def ident(case):
    return case[1]


def mechanism(arm, name):
    return tr.Mechanism(tr.load_arm(arm, instrument=name))


def data(name):
    """Content of the file, read without the package's reader."""
    folder = files("trocar.arms").joinpath("data", "instruments")
    table = tomllib.loads(folder.joinpath(f"{name}.toml").read_text())
    if "like" not in table:
        return table
    (other,) = (path for path in folder.iterdir() if path.name.endswith(f"_{table['like']}.toml"))
    shared = {key: value for key, value in tomllib.loads(other.read_text()).items() if key not in ("source", "assumed")}
    return {**shared, **table}


def modified_dh(a, alpha, d, theta):
    """Tx(a) Rx(alpha) Tz(d) Rz(theta), written out."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st, 0, a], [ca * st, ca * ct, -sa, -sa * d], [sa * st, sa * ct, ca, ca * d], [0, 0, 0, 1]])


def table_tip(q, d_insertion, d_roll, a, snake, R, p):
    """Tip of the dVRK's rows, one after the other."""
    rows = [(0, PI / 2, 0, q[0] + PI / 2), (0, -PI / 2, 0, q[1] - PI / 2), (0, PI / 2, q[2] + d_insertion, 0)]
    rows += [(0, 0, d_roll, q[3])]
    if snake:
        rows += [(0, -PI / 2, 0, q[4] / 2 - PI / 2), (a, -PI / 2, 0, q[5] / 2), (a, 0, 0, q[5] / 2)]
        rows += [(a, PI / 2, 0, q[4] / 2 + PI / 2)]
    else:
        rows += [(0, -PI / 2, 0, q[4] - PI / 2), (a, -PI / 2, 0, q[5] - PI / 2)]
    T = np.eye(4)
    for row in rows:
        T = T @ modified_dh(*row)
    tip = np.eye(4)
    tip[:3, :3], tip[:3, 3] = R, p
    return T @ tip


# The list


def test_there_are_54_instruments_and_3_endoscopes():
    assert len(ALL) == 54
    assert len(names("PSM")) == len(names("PSM_Si")) == 27
    assert names("ECM") == names("ECM_Si") == ("down", "straight", "up")
    assert set(names()) == {name for _, name in ALL} | set(names("ECM"))
    with pytest.raises(UnknownName, match="Did you mean 'PSM'"):
        names("PSMM")


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_an_instrument_is_found_by_number_and_by_name_and_fits_one_generation(case):
    arm, name = case
    number = name[re.search(r"\d{6}", name).start() :]
    assert load_instrument(number, arm).name == load_instrument(name, arm).name == name
    assert number[:2] == "40" if arm == "PSM" else number[:2] in ("41", "42")
    other = "PSM_Si" if arm == "PSM" else "PSM"
    kind = "Classic" if arm == "PSM" else "S and Si"
    with pytest.raises(tr.TrocarError, match=f"^{name} is one of the da Vinci {kind} instruments .* {other} takes"):
        load_instrument(number, other)


def test_the_counterpart_of_a_rejected_instrument_is_suggested():
    with pytest.raises(tr.TrocarError, match=r"Did you mean LARGE_NEEDLE_DRIVER_420006\?"):
        tr.load_mechanism("PSM_Si", instrument="400006")
    with pytest.raises(tr.TrocarError, match=r"\(40xxxx\)$"):  # there is no Classic stapler
        tr.load_mechanism("PSM", instrument="410298")


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'PROGRASP_FORCEPS_400093'"):
        tr.load_mechanism("PSM", instrument="PROGRASP_FORCEPS")
    with pytest.raises(UnknownName, match="Did you mean '420006_GEARED'"):
        tr.load_mechanism("PSM_Si", instrument="420006_GEAR")


# Numbers of sawIntuitiveResearchKit 2.4, share/tool

COUPLINGS = {
    "400006": [[-1.5632, 0, 0, 0], [0, 1.0186, 0, 0], [0, -0.8306, 0.6089, 0.6089], [0, 0, -1.2177, 1.2177]],
    "400003": [[-1.5632, 0, 0, 0], [0, 1.0186, 0, 0], [0, -0.8349, -0.5956, -0.5956], [0, 0, 1.1913, -1.1913]],
    "400093": [[-1.5631, 0, 0, 0], [0, 1, 0, 0], [0, -0.5068, -0.5135, -0.5135], [0, 0, -0.5279, 0.5279]],
    "420093_GEARED": [[1.5333, 0, 0, 0], [0, 1, 0, 0], [0, -0.5068, -0.5135, -0.5135], [0, 0, -0.5279, 0.5279]],
    "400172": [[-1.563233, 0, 0, 0], [0, 1, 0, 0], [0, -0.630273, 0.457982, 0.457982], [0, 0, -0.915964, 0.915964]],
    "420194_GEARED": [[1.5333, 0, 0, 0], [0, 1, 0, 0], [0, -0.456081, 0.368243, 0.368243], [0, 0, -0.736486, 0.736486]],
    "400309": [[-1.5575, 0, 0, 0], [0, 1, 0, 0], [0, -0.579399, 0.467811, 0.467811], [0, 0, -0.935622, 0.935622]],
    "400208": [[-1.5575, 0, 0, 0], [0, 1, 0, 0], [0, -0.5, 0.368243, 0.368243], [0, 0, -0.736486, 0.736486]],
    "420327": [[-1.563131, 0, 0, 0], [0, 1, 0, 0], [0, -0.506756, 0.513513, 0.513513], [0, 0, 0.527898, -0.52789]],
    "400183": [[-1.5632, 0, 0, 0], [0, 1.1353, 0, 0], [0, 0.7827, -1.0582, 0], [0, 0, 0, 1]],
    "400117": [[-1.5, 0, 0, 0], [0, 0, -0.1929, -0.1929], [0, 0, -0.1929, 0.1929], [0, -1.258, 0, 0]],
    "410298": [[-1.529411, 0, 0, 0], [0, 0, 0.3, 0], [0, 0, 0, 0.3], [0, 0.157832, -0.035139, -0.035139]],
}

# d_roll, a_wrist, then the upper limits of roll, wrist_pitch, wrist_yaw and the limits of the jaw
LENGTHS_AND_LIMITS = {
    "400006": (0.4162, 0.0091, 4.53786, 1.39626, 1.39626, -0.698132, 1.39626),
    "420006": (0.4670, 0.0091, 4.53786, 1.39626, 1.39626, -0.349066, 1.39626),
    "400001": (0.4162, 0.0091, 4.53786, 1.39626, 1.39626, -0.698132, 0.5236),
    "420007": (0.4670, 0.0091, 4.53786, 1.39626, 1.39626, -0.698132, 0.698132),
    "420296": (0.4670, 0.0091, 4.53786, 1.39626, 1.39626, -0.349066, PI / 4),
    "400093": (0.4162, 0.0107, 4.53786, 1.39626, 1.39626, -0.349066, 1.39626),
    "420205": (0.4670, 0.0107, 4.4506, 1.2217, PI / 2, -0.698132, 1.39626),
    "400194": (0.4162, 0.0112, 4.4506, 1.2217, 1.39626, -0.349066, 1.39626),
    "400309": (0.4162, 0.0100, 4.4506, 1.2217, 1.39626, -0.349066, 1.39626),
    "420230": (0.4670, 0.0107, 4.4506, 1.2217, 1.27409, -0.349066, 0.785398),
    "420184": (0.4670, 0.0093, 4.53786, 1.39626, 1.4835, 0.0, 0.5),
    "420117": (0.4532, 0.0034, 4.53786, 0.7853982, 0.7853982, -0.349066, 0.872665),
    "410298": (0.41557, 0.0, 4.4506, 0.5236, 0.5236, -0.2, 0.349),
}


def arm_of(number):
    return "PSM" if number.startswith("40") else "PSM_Si"


@pytest.mark.parametrize("number", COUPLINGS)
def test_couplings_are_those_of_the_dvrk_including_signs(number):
    np.testing.assert_array_equal(load_instrument(number, arm_of(number)).coupling, COUPLINGS[number])


@pytest.mark.parametrize("number", LENGTHS_AND_LIMITS)
def test_lengths_and_limits_are_those_of_the_dvrk(number):
    tool = load_instrument(number, arm_of(number))
    roll, pitch, yaw, jaw = tool.joints
    ours = (tool.d_roll, tool.a_wrist, roll.upper, pitch.upper, yaw.upper, jaw.lower, jaw.upper)
    assert ours == LENGTHS_AND_LIMITS[number]
    assert [j.lower for j in tool.joints[:3]] == [-j.upper for j in tool.joints[:3]]


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_a_geared_roll_only_reverses_the_roll(case):
    arm, name = case
    tool = load_instrument(name, arm)
    assert np.sign(tool.coupling[0, 0]) == (1.0 if name.endswith("_GEARED") else -1.0)
    if name.endswith("_GEARED"):
        plain = load_instrument(name.removesuffix("_GEARED"), arm)
        assert tool.coupling[0, 0] == 1.5333
        np.testing.assert_array_equal(tool.coupling[1:], plain.coupling[1:])
        assert tool.joints == plain.joints


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_the_coupling_inverts_and_moves_efforts_by_its_transpose(case):
    motors = tr.load_arm(case[0], instrument=case[1]).motors
    C, rng = motors.coupling, np.random.default_rng(2)
    np.testing.assert_allclose(C @ np.linalg.inv(C), np.eye(7), atol=1e-12)
    np.testing.assert_array_equal(C[3:, 3:], data(case[1])["coupling"])
    dq_motor, tau = rng.uniform(-1, 1, (2, 7))
    assert (C.T @ tau) @ dq_motor == pytest.approx(tau @ (C @ dq_motor), rel=1e-12)  # the same power


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_every_file_names_its_source_and_assumptions(case):
    tool = load_instrument(case[1], case[0])
    assert tool.source == f"sawIntuitiveResearchKit 2.4, share/tool/{case[1]}.json"
    measured = {"006": 0.0102, "093": 0.0286, "172": 0.0210, "183": 0.0160768, "194": 0.0164, "327": 0.0222}
    digits = case[1].removesuffix("_GEARED")[-3:]
    if digits in measured:
        assert tool.jaw_length == measured[digits]
        assert "jaw_length" not in tool.assumed
    known = (*measured, "049", "179", "309", "184")
    assert ("jaw_length" in tool.assumed) == (digits not in known)
    assert all(low < high for low, high in zip(tool.engage_lower[:3], tool.engage_upper[:3], strict=True))


SHORT_JAW = """
source = "made up"
like = "400006"
jaw = { lower = 0.0, upper = 0.5, effort = 0.1 }
assumed = ["jaw"]
"""


def test_a_file_takes_omitted_fields_from_the_instrument_it_is_like(tmp_path):
    (tmp_path / "short_jaw.toml").write_text(SHORT_JAW)
    tool, like = load_instrument(tmp_path / "short_jaw.toml", "PSM"), load_instrument("400006", "PSM")
    assert (tool.name, tool.source, tool.assumed) == ("short_jaw", "made up", ("jaw",))
    assert (tool.joints[3].lower, tool.joints[3].upper, tool.joints[3].effort) == (0.0, 0.5, 0.1)
    assert tool.joints[:3] == like.joints[:3]
    assert (tool.d_roll, tool.a_wrist, tool.jaw_length) == (like.d_roll, like.a_wrist, like.jaw_length)
    np.testing.assert_array_equal(tool.coupling, like.coupling)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('like = "400066"', "'like': instrument '400066' is unknown. Did you mean"),
        ('like = "420006"', "'like' must name an instrument that gives all its fields"),
        ('like = "400006"\nspeed = 1.0', "'speed' is unknown"),
    ],
)
def test_errors_of_like_name_the_file(tmp_path, line, problem):
    (tmp_path / "tool.toml").write_text(f'source = "made up"\n{line}\n')
    with pytest.raises(tr.TrocarError, match=r"tool\.toml") as error:
        load_instrument(tmp_path / "tool.toml", "PSM")
    assert problem in str(error.value)


def test_every_coupling_is_written_once():
    folder = files("trocar.arms").joinpath("data", "instruments")
    tables = [tomllib.loads(path.read_text()) for path in folder.iterdir()]
    couplings = [str(table["coupling"]) for table in tables if "coupling" in table]
    assert len(couplings) == len(set(couplings)) == 16


# Kinematics


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_forward_kinematics_is_the_product_of_the_rows(case, random_states):
    """Rows and tip of the dVRK, exact angles; the closed chain ends at the same tip."""
    arm, name = case
    mech, entry = mechanism(arm, name), data(name)
    q = random_states(mech, 40)
    snake = name in SNAKES
    R = {True: [[ROOT, ROOT, 0], [0, 0, -1], [-ROOT, ROOT, 0]], False: STANDARD_TIP}[snake]
    R = [[1, 0, 0], [0, 0, 1], [0, -1, 0]] if "STAPLER" in name else R
    p = [0, {"400143": -0.0269}.get(name[-6:], -0.0171) if snake else 0, 0]
    lengths = D_INSERTION[arm], entry["d_roll"], entry["a_wrist"]
    expected = np.array([table_tip(row, *lengths, snake, R, p) for row in q])
    np.testing.assert_allclose(mech.forward_kinematics(q), expected, atol=1e-13)
    np.testing.assert_allclose(mech.pose(q, "tip"), expected, atol=1e-12)


@pytest.mark.parametrize("case", RIGID, ids=ident)
def test_inverse_kinematics_recovers_random_states(case, random_states):
    mech = mechanism(*case)
    q = random_states(mech, 300, seed=4)
    T = mech.forward_kinematics(q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.NearSingular)
        solution, unseeded = mech.inverse_kinematics(T, q), mech.inverse_kinematics(T)
    for found in (solution, unseeded):
        assert np.abs(pose_error(T, mech.forward_kinematics(found))).max() < 1e-12
        assert np.maximum(mech.arm.lower - found, found - mech.arm.upper)[:, :6].max() < 1e-9
    assert np.abs(solution - q).max() < 1e-9


@pytest.mark.parametrize("name", SNAKES)
def test_poses_of_a_snake_wrist_are_solved_numerically(name, random_states):
    mech = mechanism(arm_of(name[-6:]), name)
    q = random_states(mech, 300, seed=4)
    q[:, 2] = np.maximum(q[:, 2], 0.04)  # deeper than the singular port
    T = mech.forward_kinematics(q)
    solution = mech.inverse_kinematics(T)
    assert np.abs(pose_error(T, mech.forward_kinematics(solution))).max() < 1e-8
    assert np.maximum(mech.arm.lower - solution, solution - mech.arm.upper)[:, :6].max() < 1e-9
    turns = (solution - q)[:, 3] / (2 * PI)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-6)
    others = [0, 1, 2, 4, 5]
    np.testing.assert_allclose(solution[:, others], q[:, others], atol=1e-6)
    np.testing.assert_allclose(mech.inverse_kinematics(T, q), q, atol=1e-12)


def test_an_unreachable_pose_of_a_snake_wrist_names_the_joint():
    mech = mechanism("PSM", "400117")
    q = np.array([0.1, 0.2, 0.15, 0.3, 1.0, 0.1, 0.0])
    with pytest.raises(tr.Unreachable, match=r"joint 5 \(wrist_pitch\) violates -0.785398 <= 1 <= 0.785398"):
        mech.inverse_kinematics(mech.forward_kinematics(q))


@pytest.mark.parametrize("name", SNAKES)
def test_the_jacobian_of_a_snake_wrist_is_the_derivative_of_its_pose(name, random_states):
    mech = mechanism(arm_of(name[-6:]), name)
    for q in random_states(mech, 5):
        J = mech.jacobian(q)
        for j in range(6):
            h = 1e-6 * np.eye(7)[j]
            low, high = mech.forward_kinematics(q - h), mech.forward_kinematics(q + h)
            np.testing.assert_allclose(pose_error(high, low) / 2e-6, J[:, j], atol=1e-8)


@pytest.mark.parametrize("case", RIGID, ids=ident)
def test_the_wrist_singularity_follows_from_its_lengths(case, random_states):
    """det J = -cos q2 . L . (L cos q5 + a), L the depth of the wrist pitch axis."""
    arm, name = case
    mech, entry = mechanism(arm, name), data(name)
    q = random_states(mech, 50)
    L = q[:, 2] + D_INSERTION[arm] + entry["d_roll"]
    expected = -np.cos(q[:, 1]) * L * (L * np.cos(q[:, 4]) + entry["a_wrist"])
    np.testing.assert_allclose(np.linalg.det(mech.jacobian(q)), expected, atol=1e-14)


# Mechanism


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_bodies_without_followers_are_the_seven_joints(case):
    arm = tr.load_arm(case[0], instrument=case[1])
    assert len(arm.bodies) - 2 * len(arm.loops) - len(arm.transmissions) == arm.n == 7
    np.testing.assert_allclose(arm.D @ arm.E, np.eye(7), atol=1e-15)
    for follower, leader in arm.transmissions.items():
        assert arm.body(follower).coupling.keys() == arm.body(leader).coupling.keys()
    assert (np.array(arm.home) >= arm.lower).all()
    assert (np.array(arm.home) <= arm.upper).all()


def test_a_snake_wrist_bends_half_at_each_end():
    mech = mechanism("PSM", "400117")
    q = np.array([0, 0, 0.12, 0, 0.6, 0.4, 0])
    turn = mech.tree_configuration(q)
    by_name = dict(zip([body.name for body in mech.arm.bodies], turn, strict=True))
    assert [by_name[f"wrist_pitch_{i}"] for i in (1, 2)] == [0.3, 0.3]
    assert [by_name[f"wrist_yaw_{i}"] for i in (1, 2)] == [0.2, 0.2]
    straight = mech.pose(np.array([0, 0, 0.12, 0, 0, 0, 0]), "wrist_pitch_2")[:3, 3]
    first = mech.pose(np.array([0, 0, 0.12, 0, 0, 0, 0]), "wrist_pitch_1")[:3, 3]
    np.testing.assert_allclose(straight - first, (0, 0, -3 * 0.0034), atol=1e-15)


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_jaws_turn_about_the_x_axis_of_the_tip_and_a_blade_has_none(case):
    mech = mechanism(*case)
    q = np.array([0.1, 0.2, 0.12, 0.3, 0.2, -0.1, 0.2])
    if case[1].removesuffix("_GEARED")[-3:] in ("183", "184"):
        assert "finger_left" not in mech.frames
        assert mech.arm.driven["jaw"] == "idle_disc"
        assert mech.arm.joints[6].effort == 0.0
        return
    tip = mech.pose(q, "tip")
    opening = mech.jacobian(q, "finger_right")[3:, 6] - mech.jacobian(q, "finger_left")[3:, 6]
    np.testing.assert_allclose(opening, -tip[:3, 0], atol=1e-12)


# Simulation


@pytest.mark.parametrize("number", FAMILIES)
def test_the_simulator_steps_with_an_instrument_of_each_family(number):
    sim, mech = tr.Simulator("PSM", instrument=number), tr.load_mechanism("PSM", instrument=number)
    q = np.array([0.2, 0.1, 0.12, 0.3, 0.2, -0.2, 0.1])
    sim.reset(q)
    tau = mech.gravity(q) + mech.friction(q, np.zeros(7)) + [0.5, 0.5, 1.0, 0.02, 0.05, 0.05, 0.03]
    for _ in range(50):
        sim.step(tau)
    assert (np.abs(sim.q - q)[:6] > 1e-4).all()  # every joint moves
    assert sim.loop_error() < 1e-6
    np.testing.assert_allclose(sim.tip_pose(), mech.forward_kinematics(sim.q), atol=1e-5)
    follows = sim.arm.E @ sim.q
    np.testing.assert_allclose(list(sim.tree_positions.values()), follows, atol=1e-4)


@pytest.mark.parametrize("number", FAMILIES)
def test_the_engine_and_the_equations_give_the_same_acceleration(number):
    options = {"friction": False, "accuracy": "exact", "contacts": False, "limits": False}
    sim, mech = tr.Simulator("PSM", instrument=number, **options), tr.load_mechanism("PSM", instrument=number)
    q, dq = np.array([0.2, 0.1, 0.12, 0.3, 0.2, -0.2, 0.1]), np.array([0.3, -0.2, 0.05, 0.5, -0.4, 0.3, 0.2])
    tau = mech.gravity(q) + [0.5, 0.5, 1.0, 0.002, 0.005, 0.005, 0.003]
    sim.reset(q, dq)
    sim.step(tau)
    expected = mech.forward_dynamics(q, dq, tau)
    np.testing.assert_allclose(sim.ddq, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_shapes_end_at_the_end_of_the_jaws(case):
    arm = tr.load_arm(case[0], instrument=case[1])
    spec = mujoco.MjSpec()
    for body in arm.bodies:
        parent = spec.worldbody if body.parent is None else spec.body(body.parent)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, np.array(body.placement[:3, :3]).ravel())
        parent.add_body(name=body.name, pos=body.placement[:3, 3], quat=quat)
    add_shapes(spec, arm)
    model = spec.compile()
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    instrument = [model.body(name).id for name in instrument_bodies(arm)]
    seen = (model.geom_group == 2) & (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
    seen &= np.isin(model.geom_bodyid, instrument)
    lowest = min(
        (state.geom_xmat[g].reshape(3, 3) @ v + state.geom_xpos[g])[2]
        for g in np.flatnonzero(seen)
        for m in [model.geom_dataid[g]]
        for v in model.mesh_vert[model.mesh_vertadr[m] : model.mesh_vertadr[m] + model.mesh_vertnum[m]]
    )
    mech = tr.Mechanism(arm)
    blade = "idle_disc" in arm.driven.values()
    hinge = mech.pose(np.zeros(7), "idle_disc" if blade else "finger_left")[2, 3]
    assert hinge - lowest == pytest.approx(arm.jaw_length / (2 if blade else 1), abs=1e-6)


def test_jaws_look_like_those_of_their_kind():
    assert jaw_of("LARGE_NEEDLE_DRIVER_400006") == "NEEDLE"
    assert jaw_of("CURVED_SCISSORS_400178") == "CURVED_SCISSORS"
    assert jaw_of("ROUND_TIP_SCISSORS_400007") == "SCISSORS"
    assert jaw_of("FENESTRATED_BIPOLAR_FORCEPS_400205") == "FENESTRATED"
    assert jaw_of("of my own") == "NEEDLE"
    assert {jaw_of(name) for _, name in ALL} == set(JAWS)


# Files


def text_of(name="LARGE_NEEDLE_DRIVER_400006"):
    return files("trocar.arms").joinpath("data", "instruments", f"{name}.toml").read_text()


@pytest.fixture
def mounted(tmp_path):
    """`mounted(old, new)`: load a copy of the large needle driver in which one piece of text is replaced."""

    def load(old="", new="", arm="PSM"):
        assert old in text_of()
        path = tmp_path / "my_gripper.toml"
        path.write_text(text_of().replace(old, new, 1) if old else text_of() + new)
        return tr.load_mechanism(arm, instrument=path)

    return load


def test_a_custom_instrument_file_is_loaded_by_its_path(mounted, tmp_path):
    mech = mounted("a_wrist = 0.0091", "a_wrist = 0.02")
    assert mech.arm.instrument == "my_gripper"
    q = np.array([0.1, 0.2, 0.12, 0.3, 0.0, 0.0, 0.0])
    longer = np.linalg.norm(mech.forward_kinematics(q)[:3, 3])
    assert longer - np.linalg.norm(tr.load_mechanism("PSM").forward_kinematics(q)[:3, 3]) == pytest.approx(0.0109)
    sim = tr.Simulator("PSM", instrument=str(tmp_path / "my_gripper.toml"))
    sim.step(np.zeros(7))


def test_home_is_within_the_limits_of_jaws_that_do_not_close(mounted):
    assert mounted("jaw = { lower = -0.698132", "jaw = { lower = 0.1").arm.home[6] == 0.1


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("a_wrist = 0.0091\n", "", "has no field 'a_wrist'"),
        ("a_wrist = 0.0091", 'a_wrist = "long"', "'a_wrist' must be a finite number, got 'long'"),
        ("a_wrist = 0.0091", "a_wrist = -0.01", "'a_wrist' must be at least 0, got -0.01"),
        ("a_wrist = 0.0091", "a_wrist = true", "'a_wrist' must be a finite number, got True"),
        ("d_roll = 0.4162", "d_roll = nan", "'d_roll' must be a finite number, got nan"),
        ("d_roll = 0.4162", "d_rol = 0.4162", "has no field 'd_roll'"),
        ("", "weight = 0.1\n", "field 'weight' is unknown"),
        ("[0.0, 1.0186, 0.0, 0.0],", "", "'coupling' must be 4 x 4 finite numbers"),
        ("[0.0, 1.0186, 0.0, 0.0],", "[0.0, 1.0186, 0.0],", "'coupling' must be 4 x 4 finite numbers"),
        ("[0.0, 1.0186, 0.0, 0.0],", "[0.0, 0.0, 0.0, 0.0],", "'coupling' is singular"),
        ("tip = [[0.0, -1.0, 0.0]", "tip = [[0.0, -0.9, 0.0]", "'tip' must be a rotation; this matrix differs"),
        ("tip = [[0.0, -1.0, 0.0]", "tip = [[0.0, 1.0, 0.0]", "'tip' must be a rotation; this matrix mirrors"),
        ("roll = { lower = -4.53786", "roll = { lower = 9", "'roll' has lower 9 > upper 4.53786"),
        ("jaw = { lower = -0.698132, ", "jaw = { ", "'jaw' has no field 'lower'"),
        ("jaw = { lower = -0.698132, ", "jaw = { low = 0, ", "field of 'jaw' 'low' is unknown. Did you mean 'lower'?"),
        ("effort = 0.16", "effort = -0.16", "'jaw': 'effort' must be at least 0, got -0.16"),
        ("engage = { lower = [-4.5378", "engage = { lower = [5", "'engage' has lower 5 > upper 4.5378 at entry 1"),
        ('arms = ["PSM"]', "arms = []", "'arms' must name at least one of PSM, PSM_Si, ECM, ECM_Si"),
        ('arms = ["PSM"]', 'arms = ["PSMM"]', "'arms': 'PSMM' is unknown. Did you mean 'PSM'?"),
        ("d_roll", 'wrist = "snakes"\nd_roll', "'wrist': 'snakes' is unknown. Did you mean 'snake'?"),
        ("d_roll", "jaws = 1\nd_roll", "'jaws' must be true or false, got 1"),
        ("d_roll = 0.4162", "d_roll = ", "is not valid TOML"),
    ],
)
def test_an_invalid_file_is_named_with_its_field(mounted, old, new, problem):
    with pytest.raises(tr.TrocarError) as caught:
        mounted(old, new)
    assert "my_gripper.toml" in str(caught.value)
    assert problem in str(caught.value)


def test_a_missing_or_unsuitable_file_is_rejected(mounted):
    with pytest.raises(tr.TrocarError, match=r"instrument file nowhere\.toml cannot be read: No such file"):
        tr.load_mechanism("PSM", instrument="nowhere.toml")
    with pytest.raises(tr.TrocarError, match="my_gripper is one of the da Vinci Classic instruments"):
        mounted(arm="PSM_Si")


@pytest.mark.parametrize("case", ALL, ids=ident)
def test_a_wrench_at_the_tip_acts_at_the_tip(case):
    """The efforts of the Jacobian balance it: it acts where `tip_pose` is, not at the link that carries the tip."""
    arm, name = case
    sim = tr.Simulator(arm, instrument=name, friction=False, contacts=False)
    q = np.array(sim.arm.home)
    q[3:6] = 0.4, 0.3, -0.2
    sim.reset(q)
    wrench = np.array([2.0, -1.0, 3.0, 0.01, 0.02, -0.03])
    tau = sim.mechanism.gravity(q)
    tau[: sim.arm.tip_joints] -= sim.mechanism.jacobian(q).T @ wrench
    sim.apply_wrench(wrench)
    for _ in range(10):
        sim.step(tau)
    np.testing.assert_allclose(sim.q, q, atol=1e-6)
    np.testing.assert_allclose(sim.tip_pose(), sim.mechanism.forward_kinematics(q), atol=5e-5)  # rad, m
    sim.apply_wrench(np.zeros(6))
    sim.step(tau)
    assert not sim.data.xfrc_applied.any()
