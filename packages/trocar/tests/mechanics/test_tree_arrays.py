"""The public tree: the equations of motion rebuilt from plain arrays, without any code of the package."""

import numpy as np
import pytest

import trocar as tr
from tests.support.hysteresis_set import full_set
from trocar.mechanics import Mechanism

CASES = [*tr.ARMS, "PSM without counterweight", "PSM with all friction", "ECM tilted"]


@pytest.fixture(params=CASES)
def mech(request):
    if request.param == "PSM with all friction":
        return Mechanism(tr.load_arm("PSM", "wang2019"), full_set())
    if request.param == "PSM without counterweight":
        return tr.load_mechanism("PSM", counterweight=False)
    if request.param == "ECM tilted":
        return tr.load_mechanism("ECM", gravity=(3.0, -2.0, -8.0))
    return tr.load_mechanism(request.param)


def rotation(axis, angle):
    """Rodrigues' formula."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def newton_euler(tree, q, dq, ddq):
    """Joint efforts (n,) of the links, in the axes of every link; poses (N, 4, 4) of the bodies in the base."""
    s, ds, dds = tree.E @ q, tree.E @ dq, tree.E @ ddq
    count = len(tree.names)
    R, p, w, dw, a, T = {}, {}, {}, {}, {}, np.zeros((count, 4, 4))
    f, n = np.zeros((count, 3)), np.zeros((count, 3))
    for i, k in enumerate(tree.parents):
        z, P = tree.axes[i], tree.T_parent_joint[i]
        turn, slide = (s[i], 0.0) if tree.revolute[i] else (0.0, s[i])
        R[i] = P[:3, :3] @ rotation(z, turn)  # body to parent
        p[i] = P[:3, 3] + P[:3, :3] @ z * slide
        w_k, dw_k, a_k = (w[k], dw[k], a[k]) if k >= 0 else (np.zeros(3), np.zeros(3), -tree.gravity)
        a_i = a_k + np.cross(dw_k, p[i]) + np.cross(w_k, np.cross(w_k, p[i]))
        w[i], dw[i], a[i] = R[i].T @ w_k, R[i].T @ dw_k, R[i].T @ a_i
        if tree.revolute[i]:
            dw[i] = dw[i] + z * dds[i] + np.cross(w[i], z * ds[i])
            w[i] = w[i] + z * ds[i]
        else:
            a[i] = a[i] + z * dds[i] + 2 * np.cross(w[i], z * ds[i])
        T_parent = T[k] if k >= 0 else np.eye(4)
        T[i] = T_parent @ np.block([[R[i], p[i][:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
        c, I = tree.com[i], tree.inertia[i]
        f[i] = tree.mass[i] * (a[i] + np.cross(dw[i], c) + np.cross(w[i], np.cross(w[i], c)))
        n[i] = I @ dw[i] + np.cross(w[i], I @ w[i]) + np.cross(c, f[i])
    tau_tree = np.zeros(count)
    for i in reversed(range(count)):
        tau_tree[i] = tree.axes[i] @ (n[i] if tree.revolute[i] else f[i])
        k = tree.parents[i]
        if k >= 0:
            f[k] += R[i] @ f[i]
            n[k] += R[i] @ n[i] + np.cross(p[i], R[i] @ f[i])
    return tree.E.T @ tau_tree, T


def potentials(tree, q):
    """Efforts (n,) of stiffnesses, springs and cables."""
    d, tau = tree.drives, np.zeros(len(q))
    s = d.A @ q
    tau += d.A.T @ (d.K0 + d.K * s + d.K2 * s**2)
    for j, k, r, h, rest, offset in zip(*vars(tree.springs).values(), strict=True):
        theta = np.pi + offset - q[j]
        length = np.sqrt(r * r + h * h - 2 * r * h * np.cos(theta))
        tau[j] -= k * (length - rest) * r * h * np.sin(theta) / length
    for j, lower, upper, coefficients in zip(*vars(tree.cables).values(), strict=True):
        tau[j] += np.polyval(coefficients, min(max(q[j], lower), upper))
    return tau


def friction(tree, q, dq):
    """Efforts (n,) in steady sliding."""
    d = tree.drives
    s, ds = d.A @ q, d.A @ dq
    zero = np.zeros(len(q))
    load = d.L @ (newton_euler(tree, q, zero, zero)[0] + potentials(tree, q))
    f = d.Fv * ds + (d.Fc + d.Fx * s + d.mu * np.abs(load)) * np.sign(ds)
    for i, F, slope in zip(d.dahl_drive, d.dahl_F, d.dahl_slope, strict=True):
        f[i] += (F + slope * s[i]) * np.sign(ds[i])
    return d.A.T @ f


def states(mech, count=8):
    rng = np.random.default_rng(0)
    q = rng.uniform(mech.arm.lower, mech.arm.upper, (count, mech.n))
    return zip(q, *rng.normal(size=(2, count, mech.n)), strict=True)


def test_inverse_dynamics_follows_from_the_arrays_alone(mech):
    tree, d = mech.tree, mech.tree.drives
    for q, dq, ddq in states(mech):
        tau = newton_euler(tree, q, dq, ddq)[0] + potentials(tree, q) + d.A.T @ (d.Im * (d.A @ ddq))
        expected = mech.inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()))
        tau += friction(tree, q, dq)
        np.testing.assert_allclose(tau, mech.inverse_dynamics(q, dq, ddq, friction=True), rtol=0, atol=1e-9)


def test_tip_and_loops_follow_from_the_arrays_alone(mech):
    tree = mech.tree
    for q, dq, ddq in states(mech):
        T = newton_euler(tree, q, dq, ddq)[1]
        np.testing.assert_allclose(T[tree.tip_body] @ tree.T_body_tip, mech.pose(q, "tip"), atol=1e-12)
        a, point_a, b, point_b = vars(tree.loops).values()
        gap = [T[i] @ [*x, 1.0] - T[k] @ [*y, 1.0] for i, x, k, y in zip(a, point_a, b, point_b, strict=True)]
        assert np.abs(gap).max() < 1e-12


def test_the_arrays_cannot_be_written_to(mech):
    for value in (mech.tree, mech.tree.drives, mech.tree.springs, mech.tree.cables, mech.tree.loops):
        arrays = [x for x in vars(value).values() if isinstance(x, np.ndarray)]
        assert arrays
        assert not any(x.flags.writeable for x in arrays)


def test_every_field_is_used_by_some_arm():
    """Some arm has springs, some has cables and some friction has memory: none of these arrays is always empty."""
    trees = [tr.load_mechanism(name).tree for name in tr.ARMS]
    assert any(len(tree.springs.joint) for tree in trees)
    assert any(len(tree.cables.joint) for tree in trees)
    assert len(Mechanism(tr.load_arm("PSM", "wang2019"), full_set()).tree.drives.dahl_drive)
