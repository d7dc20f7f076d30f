"""Transformations of the expression graph: regrouped sums, polynomials, the inverse of a factored matrix."""

from threading import Thread

import numpy as np
import pytest

from trocar import batch
from trocar.batch.equations.dynamics import Factor
from trocar.batch.equations.simplification import regrouped, shortest
from trocar.laws.graph import Graph, cos, schedule, shortcuts, sin, whole, within
from trocar.laws.program import Program
from trocar.laws.sources import array_source

GRAPH = Graph()
P = [GRAPH.input(f"p@{k}", fixed=True) for k in range(4)]
X = [GRAPH.input(f"x@{k}") for k in range(8)]


def program(outputs, inputs=X):
    return Program(inputs, outputs)


def values(outputs, seed=0):
    """Outputs at random parameters and inputs."""
    rng = np.random.default_rng(seed)
    made = program(outputs)
    given = {node.name: value for node, value in zip(P, rng.normal(size=4), strict=True)}
    fixed = array_source.preparation(made, np)([given[node.name] for node in made.parameters])
    return np.array(array_source.step(made, np)((), fixed, rng.normal(size=8)))


def test_regrouped_sums_are_equal_and_take_fewer_instructions():
    a, b, c, d, e, f, g, h = X
    shared = a * b - c
    results = [(a * b + c * d) + (e * f - g * h), shared - (e - shared * h), -(shared + (d + a * e))]
    new = regrouped(results)
    np.testing.assert_allclose(values(new), values(results), rtol=1e-12)
    assert fused(results[0]) == 2
    assert fused(new[0]) == 3  # all but the first product


def fused(result):
    """Number of additions and subtractions of a product."""
    nodes = schedule([result])
    return sum(node.op in ("add", "subtract") and any(x.op == "multiply" for x in node.args) for node in nodes)


def test_a_whole_term_and_both_values_of_a_shortcut_survive_regrouping():
    a, b, c = X[:3]
    kept = whole(a - b * c)
    (result,) = regrouped([kept + (b - a)])
    assert any(arg.op == "shortcut" for arg in result.args)
    (chosen,) = shortcuts(within([(a, -1.0, 1.0)]), [a * b + c], [c])
    (new,) = regrouped([chosen + (b + c)])
    (branching,) = [arg for arg in new.args if arg.branch is not None]
    assert branching.branch[0].op == "within"
    assert branching.branch[1] is c
    np.testing.assert_allclose(values([result, new]), values([kept + (b - a), chosen + (b + c)]), rtol=1e-12)


def test_polynomials_are_equal_and_drop_coefficients_that_vanish():
    a, b, angle = X[:3]
    s, c = sin(angle), cos(angle)
    turned = (P[0] * c - P[1] * s, P[0] * s + P[1] * c)
    length = turned[0] * turned[0] + turned[1] * turned[1]  # does not depend on the angle
    results = [length * a, (a * P[2] + b) * (a * P[3] - b) * s, P[0] * P[1]]
    new = shortest(results)
    assert {arg.op for arg in new[0].args} <= {"input", "add", "multiply"}
    assert program(new[:1]).operations == 1
    np.testing.assert_allclose(values(new), values(results), rtol=1e-12)


def test_results_with_too_many_monomials_are_left_as_they_are():
    product = GRAPH.constant(1.0)
    for x in X:
        product = product * (x * x + P[0] * x + P[1])  # 3^8 monomials
    assert shortest([product]) == [product]


def test_polynomials_halve_the_step_of_a_psm():
    assert batch.load("PSM")._stepper("effort").program.operations < 800


def test_the_inverse_of_a_factored_matrix_is_symmetric_and_scaled():
    M = [[X[0], X[1], X[2]], [X[1], X[3], X[4]], [X[2], X[4], X[5]]]
    found = Factor(M).inverse(P[0])
    assert found[0][2] is found[2][0]
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    A = root @ root.T + np.eye(3)
    made = program([entry for row in found for entry in row])
    x = [*A[0], A[1, 1], A[1, 2], A[2, 2], 0.0, 0.0]
    np.testing.assert_allclose(
        np.reshape(array_source.step(made, np)((), [2.0], x), (3, 3)), 2 * np.linalg.inv(A), rtol=1e-10
    )


def test_fixed_values_of_many_arms_are_computed_in_parts(monkeypatch):
    made = program([P[0] * P[1] * X[0], P[2] * P[2] * X[1]])
    order = [node.name for node in made.parameters]
    given = {"p@0": np.arange(10.0), "p@1": 3.0, "p@2": 2.0}
    whole_batch = array_source.numpy_preparation(made)([given[name] for name in order])
    monkeypatch.setattr(array_source, "TOGETHER", 4)
    parts = array_source.numpy_preparation(made)([given[name] for name in order])
    for ours, expected in zip(parts, whole_batch, strict=True):
        np.testing.assert_array_equal(ours, expected)
    assert sorted(map(np.shape, parts)) == [(), (10,)]


@pytest.mark.parametrize("threads", [4])
def test_single_steps_from_several_threads_do_not_disturb_each_other(threads):
    arms = batch.load("PSM")
    home = np.array(arms.mechanism.arm.home)
    efforts = [arms.bias(home, np.zeros(7)) + 0.1 * k for k in range(threads)]
    expected = [arms.rollout(arms.state(home), tau, 1e-3, 200, log=False)[0].q for tau in efforts]
    found = {}

    def run(k):
        state = arms.state(home)
        for _ in range(200):
            state = arms.step(state, efforts[k], 1e-3)
        found[k] = state.q

    started = [Thread(target=run, args=(k,)) for k in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    for k in range(threads):
        np.testing.assert_allclose(found[k], expected[k], rtol=1e-12)
