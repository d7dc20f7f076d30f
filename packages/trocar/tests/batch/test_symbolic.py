"""Symbolic terms: equal to Pinocchio's numbers, and their derivatives to its derivatives."""

import numpy as np
import pytest

import trocar as tr
from trocar.batch.symbolic import symbolic_terms
from trocar.errors import TrocarError

sympy = pytest.importorskip("sympy")


def values(mech, q, dq):
    """Inputs and expected value of every term."""
    bias = mech.coriolis(q, dq) + mech.gravity(q)
    return {
        "mass_matrix": (q, mech.mass_matrix(q)),
        "bias": ([*q, *dq], bias[:, None]),
        "gravity": (q, mech.gravity(q)[:, None]),
        "jacobian": (q, mech.jacobian(q)),
        "tip_pose": (q, mech.forward_kinematics(q)[:3]),
    }


@pytest.mark.parametrize("name", ["PSM", "ECM", "MTMR"])
@pytest.mark.parametrize("parameters", [False, True])
def test_symbolic_terms_have_the_values_of_the_equations(name, parameters):
    mech, rng = tr.load_mechanism(name), np.random.default_rng(0)
    q, dq = rng.uniform(mech.arm.lower, mech.arm.upper), rng.normal(size=mech.n)
    for term, (inputs, expected) in values(mech, q, dq).items():
        symbolic = symbolic_terms(mech, term, parameters=parameters)
        np.testing.assert_allclose(symbolic.function()(inputs), expected, atol=1e-12, err_msg=term)
        assert bool(symbolic.parameters) == (parameters and term in ("mass_matrix", "bias", "gravity"))


def test_a_symbolic_derivative_is_that_of_the_equations():
    mech = tr.load_mechanism("ECM")
    gravity = symbolic_terms(mech, "gravity")
    assert [str(symbol) for symbol in gravity.inputs] == [f"q_{joint}" for joint in mech.arm.joint_names]
    q, zero = np.array([0.3, -0.4, 0.12, 0.7]), np.zeros(4)
    slope = gravity.expression().jacobian(sympy.Matrix(gravity.inputs))
    found = np.array(slope.subs(dict(zip(gravity.inputs, q, strict=True))), dtype=float)
    np.testing.assert_allclose(found, mech.inverse_dynamics_derivatives(q, zero, zero)[0], atol=1e-10)


def test_parameters_are_symbols_with_the_names_of_links():
    weight = symbolic_terms("PSM", "gravity", parameters=True)
    names = {str(symbol): value for symbol, value in weight.parameters.items()}
    assert names["gravity_z"] == -9.81
    assert names["mass_yaw"] == tr.load_mechanism("PSM").parameters.inertias["yaw"].mass
    with pytest.raises(TrocarError, match="term 'inertia' is unknown"):
        symbolic_terms("PSM", "inertia")
