"""Laws as generated functions: the forms on arrays and on numbers agree, and have the properties of the hardware."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trocar as tr
from trocar.laws.cables import cable_torque
from trocar.laws.coulomb import coulomb_friction
from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.encoder import RESTED, encoder, rested_encoder
from trocar.laws.graph import Node, absolute, atan2, hypot, maximum, rint, select, shortcuts, sign, unequal, whole
from trocar.laws.law import ScalarLaw
from trocar.laws.offset_wrist import NEAREST, POSE, nearest_joints, offset_wrist
from trocar.laws.servo import PARAMETERS, servo
from trocar.laws.slip import TWISTS, slip_rate
from trocar.laws.sources.function_source import (
    ARRAYS,
    JAVASCRIPT,
    NUMBERS,
    WARP,
    function_source,
    on_arrays,
    on_numbers,
)
from trocar.mechanics.drives import dahl_states
from trocar.spatial import inverse

PERIOD = 1.0 / 1500.0
LAWS = [ScalarLaw(law) for law in (servo, encoder, rested_encoder, coulomb_friction, dahl_state, dahl_effort)]
LAWS += [ScalarLaw(cable_torque, vectors={"coefficients": 8}), ScalarLaw(slip_rate, vectors=TWISTS)]


def inputs(law: ScalarLaw, count: int, seed: int = 0) -> np.ndarray:
    """Random inputs (inputs, count) of every size; some of those of a servo are zero."""
    rng = np.random.default_rng(seed)
    shape = len(law.inputs), count
    values = dict(
        zip((x.name for x in law.inputs), rng.normal(size=shape) * 10.0 ** rng.uniform(-3.0, 1.0, shape), strict=True)
    )
    for name in {"dt", "age", "deadband", "output", "limit", "cutoff"} & set(values):
        values[name] = np.abs(values[name])
    if law.name == "servo":
        for value in values.values():
            value[rng.random(count) < 0.1] = 0.0
    if law.name == "dahl_state":
        values |= {"z": np.tanh(values["z"]), "rate": -np.abs(values["rate"])}
    if "resolution" in values:  # positions that are not halfway between counts
        values["resolution"] = 2.0 ** rng.integers(-9, -5, count)
        values["s"] = values["resolution"] * (rng.integers(-20, 20, count) + rng.uniform(-0.4, 0.4, count))
    if law.name == "encoder":
        moves = rng.integers(-2, 3, count)
        values["count"] = np.rint(values["s"] / values["resolution"]) - moves
        values["position"] = values["resolution"] * (values["count"] + rng.uniform(-0.4, 0.4, count))
        values["edge"] = values["resolution"] * (values["count"] - 0.5)
    return np.array([np.broadcast_to(value, count) for value in values.values()])


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_on_arrays_is_that_on_numbers(law: ScalarLaw) -> None:
    values = inputs(law, 200)
    together = np.atleast_2d(on_arrays(law)(*values))
    single = on_numbers(law)
    expected = np.array([np.atleast_1d(single(*row)) for row in values.T.tolist()]).T
    # to the bit, but for NumPy's own exponential
    np.testing.assert_allclose(together, expected, rtol=0.0, atol=3e-16 if law.name == "dahl_state" else 0.0)


@pytest.mark.parametrize("form", [on_arrays, on_numbers])
@pytest.mark.parametrize("parts", list(product([True, False], repeat=3)))
def test_a_servo_with_its_parameters_prepared_is_the_same(form: Callable, parts: tuple[bool, ...]) -> None:
    options = dict(zip(("deadbands", "integrals", "observers"), parts, strict=True))
    law = ScalarLaw(servo, **options)
    plain, prepared = form(law), form(ScalarLaw(servo, PARAMETERS, **options))
    first = len(law.inputs) - len(PARAMETERS)
    for row in inputs(law, 50).T.tolist():
        assert prepared(*row[first:])(*row[:first]) == plain(*row)


def test_parts_that_no_actuator_has_change_nothing() -> None:
    law, bare = ScalarLaw(servo), ScalarLaw(servo, deadbands=False, integrals=False, observers=False)
    values = dict(zip((node.name for node in law.inputs), inputs(law, 100), strict=True))
    for name in ("ki", "deadband", "cutoff", "momentum", "observer"):
        values[name][:] = 0.0
    full, short = on_arrays(law)(**values), on_arrays(bare)(**values)
    np.testing.assert_array_equal(full[:2], short[:2])


def test_the_deadband_is_taken_off_the_error_and_stops_damping() -> None:
    law = on_numbers(ScalarLaw(servo))
    gains = {"kp": 10.0, "ki": 0.0, "kd": 2.0, "deadband": 0.1, "output": 5.0, "limit": 9.0}
    rest = {"dq_ref": 0.0, "q": 0.0, "dq": 1.0, "integral": 0.0, "explained": 0.0, "observer": 0.0, "active": 1.0}
    rest |= {"cutoff": 0.0, "momentum": 0.0, "dt": PERIOD}
    assert law(q_ref=0.05, **gains, **rest)[:2] == (0.0, 0.0)
    assert law(q_ref=0.4, **gains, **rest)[0] == pytest.approx(10.0 * 0.3 - 2.0 * 1.0)
    assert law(q_ref=4.0, **gains, **rest)[0] == 5.0


def test_an_inactive_servo_forgets_its_integral_and_keeps_its_observer() -> None:
    law = ScalarLaw(servo)
    values = dict(zip((node.name for node in law.inputs), inputs(law, 50), strict=True)) | {"active": np.zeros(50)}
    _, _, integral, _, observer = on_arrays(law)(**values)
    assert not integral.any()
    np.testing.assert_array_equal(observer, values["observer"])


def test_an_encoder_reports_the_speed_of_steady_motion_and_none_at_rest() -> None:
    read, resolution = on_numbers(ScalarLaw(encoder)), 1e-3
    edge, count = on_numbers(ScalarLaw(rested_encoder))(0.0, resolution)
    s, position, age, v = 0.0, 0.0, RESTED, 0.0
    for speed, cycles in ((0.7, 200), (0.0, 3000)):
        for _ in range(cycles):
            s += speed * PERIOD
            q, v, count, edge, age = read(s, count, position, edge, age, v, resolution, PERIOD)
            position = s
            assert abs(q - s) <= 0.5 * resolution * (1.0 + 1e-9)
        assert v == pytest.approx(speed, abs=resolution / 1.9)


def test_dahl_states_depend_on_the_path_alone() -> None:
    law = on_arrays(ScalarLaw(dahl_state))
    z, rate, rng = np.linspace(-1.0, 1.0, 21), -1.0 / 0.01, np.random.default_rng(0)
    for path in rng.normal(scale=0.01, size=20):
        whole_way = law(z, path, rate)
        np.testing.assert_allclose(law(law(z, 0.3 * path, rate), 0.7 * path, rate), whole_way, rtol=0.0, atol=1e-15)
        assert (np.abs(whole_way) <= 1.0).all()
    np.testing.assert_array_equal(law(z, 0.0, rate), z)


def test_dahl_states_along_a_motion_are_those_of_the_law() -> None:
    """`mechanics` computes whole motions, with the parts that do not depend on z ahead of the recurrence."""
    rng, delta = np.random.default_rng(1), np.array([2e-3, 1e-2, 5e-2])
    s = np.cumsum(rng.normal(scale=3e-3, size=(400, 3)), axis=0)
    law, z = on_arrays(ScalarLaw(dahl_state)), [np.array([0.5, -0.2, 0.0])]
    for path in np.diff(s, axis=0):
        z.append(law(z[-1], path, -1.0 / delta))
    np.testing.assert_allclose(dahl_states(s, delta, z[0]), z, rtol=0.0, atol=2e-15)


@pytest.mark.parametrize("quotients", [True, False])
def test_all_branches_of_an_offset_wrist_have_its_pose(quotients: bool) -> None:
    mechanism = tr.load_mechanism("PSM")
    arm, rng = mechanism.arm, np.random.default_rng(3)
    roll, a = arm.serial[3].placement[2, 3], arm.serial[5].placement[0, 3]
    insertion = arm.serial[2].placement[:3, 3] @ arm.serial[2].placement[:3, 2]
    q = rng.uniform(np.maximum(arm.lower, -3.0), np.minimum(arm.upper, 3.0), (100, 7))  # no whole turns
    T = mechanism.forward_kinematics(q)
    T_6 = T @ inverse(arm.T_last_tip)
    law = ScalarLaw(offset_wrist, vectors=POSE, quotients=quotients)
    single, solutions = on_numbers(law), []
    pose = T_6[:, :3].transpose(2, 1, 0).reshape(12, -1)
    for flips in product([1.0, -1.0], repeat=2):
        *joints, _, _ = on_arrays(law)(*pose, a, *flips, q[:, 0], q[:, 4], q[:, 5])
        each = [single(*entries, a, *flips, 0.0, 0.0, 0.0)[:6] for entries in pose.T.tolist()]
        np.testing.assert_allclose(np.transpose(joints), each, rtol=0.0, atol=1e-13)
        joints[2] = joints[2] - insertion - roll
        solutions.append(np.column_stack([*joints, q[:, 6]]))
        np.testing.assert_allclose(mechanism.forward_kinematics(solutions[-1]), T, rtol=0.0, atol=1e-13)
    apart = [np.abs(one - other).max(axis=1).min() for one, other in combinations(solutions, 2)]
    assert min(apart) > 1e-3
    np.testing.assert_allclose(solutions[0], q, rtol=0.0, atol=1e-11)  # the branch within the limits


def test_the_nearest_joints_on_numbers_are_those_on_arrays() -> None:
    law, rng = ScalarLaw(nearest_joints, vectors=NEAREST), np.random.default_rng(4)
    axes = Rotation.random(60, random_state=5).as_matrix().transpose(2, 1, 0).reshape(9, -1)
    values = np.concatenate([axes, rng.normal(scale=0.1, size=(3, 60))])
    lengths, seeds = np.full((4, 60), [[0.01], [0.1], [0.05], [1e-9]]), rng.normal(size=(6, 60))
    limits = np.full((12, 60), np.repeat([-1.5, 1.5], 6)[:, None])
    values = np.concatenate([values, lengths, seeds, limits])
    values[9:12, 0] = 0.0  # at the remote centre
    single = on_numbers(law)
    together = np.transpose(on_arrays(law)(*values))
    np.testing.assert_allclose(together, [single(*row) for row in values.T.tolist()], rtol=0.0, atol=1e-13)
    assert together[0].tolist() == [*np.clip(seeds[:, 0], -1.5, 1.5), 0.0]
    assert together[1:, 6].all()
    assert (np.abs(together[:, :6]) <= 1.5).all()


# -- the generator -----------------------------------------------------------------------------------------------------


def test_a_shortcut_on_arrays_is_computed_only_where_it_is_needed() -> None:
    def guarded(x, y):  # type: ignore[no-untyped-def]
        needed = unequal(x, 0.0)
        return tuple(shortcuts(needed, [select(needed, y / x, y), x * y], [y, x]))

    law = ScalarLaw(guarded)
    assert "if np.count_nonzero(" in function_source(law, ARRAYS)
    x, y = np.zeros(3), np.arange(3.0)
    with np.errstate(all="raise"):
        assert on_arrays(law)(x, y)[0] is y
    np.testing.assert_array_equal(on_numbers(law)(2.0, 3.0), (1.5, 6.0))


def test_values_of_a_choice_between_numbers_are_computed_when_chosen() -> None:
    def quotient(x, y):  # type: ignore[no-untyped-def]
        return select(absolute(y) > 0.0, x / y, 0.0)

    assert on_numbers(ScalarLaw(quotient))(1.0, 0.0) == 0.0
    assert on_numbers(ScalarLaw(quotient))(1.0, 4.0) == 0.25


def test_every_operation_has_a_form_on_arrays_and_on_numbers() -> None:
    def operations(x, y):  # type: ignore[no-untyped-def]
        chosen = select((x < y) > 0.0, rint(x), maximum(x, y))
        return atan2(x, y), hypot(x, y), sign(x) - chosen, -(x / (y * whole(x + y))), whole(x * y)

    law, (x, y) = ScalarLaw(operations), np.random.default_rng(2).normal(size=(2, 40)) * 3.0
    expected = [
        *(np.arctan2(x, y), np.hypot(x, y), np.sign(x) - np.where(x < y, np.rint(x), np.maximum(x, y))),
        *(-(x / (y * (x + y))), x * y),
    ]
    np.testing.assert_allclose(on_arrays(law)(x, y), expected, rtol=1e-15)
    single = on_numbers(law)
    np.testing.assert_allclose(
        [single(*row) for row in np.transpose([x, y]).tolist()], np.transpose(expected), rtol=1e-15
    )
    assert "x * x + y * y" in function_source(law, WARP)
    assert "np." not in function_source(law, NUMBERS)


def test_a_law_with_parameters_in_javascript() -> None:
    def law(x: Node, gain: Node) -> tuple[Node, ...]:
        y = rint(gain * 2.0 * x)
        return y + y * y, select(unequal(y, 0.0), sign(y), 0.5)

    assert function_source(ScalarLaw(law, ["gain"]), JAVASCRIPT).splitlines() == [
        "function law(gain) {",
        "    const p0 = gain * 2.0;",
        "    function step(x) {",
        "        const t0 = rint(p0 * x);",
        "        return [t0 + (t0 * t0), (t0 != 0.0 ? Math.sign(t0) : 0.5)];",
        "    }",
        "    return step",
        "}",
    ]
