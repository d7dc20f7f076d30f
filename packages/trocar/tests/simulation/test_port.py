"""The port: body wall and seal against closed forms."""

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.simulation import Port

Q = {"PSM": np.array([0.5, -0.3, 0.12, 0.2, 0.1, -0.2, 0.3]), "ECM": np.array([0.5, -0.3, 0.12, 0.2])}
STIFF = {"PSM": [400, 400, 4000, 0.05, 0.05, 0.05, 0.05], "ECM": [4000, 4000, 4000, 20]}
DAMPING = {"PSM": [40, 40, 100, 2e-3, 2e-3, 2e-3, 2e-3], "ECM": [200, 200, 100, 0.5]}


def at_rest(name, port, **options):
    """A simulator whose arm a stiff servo holds, and its mechanism."""
    mech = tr.load_mechanism(name)
    sim = tr.Simulator(name, friction=False, port=port, **options)
    q = Q[name]
    sim.reset(q)
    for _ in range(1000):
        servo = np.array(STIFF[name]) * (q - sim.q) - np.array(DAMPING[name]) * sim.dq
        sim.step(mech.gravity(sim.q) + servo)
    return sim, mech


@pytest.mark.parametrize("name", ["PSM", "ECM"])
@pytest.mark.parametrize("offset", [(0, 0, 0.02), (0.01, 0, 0), (0.01, -0.015, -0.02)])
def test_a_misplaced_port_loads_the_joints_by_its_jacobian(name, offset):
    """F = k times the distance from the cannula's axis to the hole; the holding efforts are -J' F."""
    sim, mech = at_rest(name, Port(offset=offset, stiffness=800.0, friction=0.0, viscous=0.0))
    p = np.array(offset, dtype=float)

    def nearest(q):
        axis = mech.pose(q, "insertion")[:3, 2]
        return axis * (axis @ p)

    F = 800.0 * (p - nearest(sim.q))
    wrench = sim.port_wrench()
    np.testing.assert_allclose(wrench[:3], F, atol=1e-3)
    np.testing.assert_allclose(wrench[3:], np.cross(nearest(sim.q), F), atol=1e-5)
    # at constant distance along the axis: the cannula does not slide with the point, the force is across it
    h = 1e-6
    along = mech.pose(sim.q, "insertion")[:3, 2] @ p
    J = np.zeros((3, mech.n))
    for j in range(mech.n):
        step = h * np.eye(mech.n)[j]
        ahead, behind = (mech.pose(sim.q + s * step, "insertion")[:3, 2] for s in (1, -1))
        J[:, j] = along * (ahead - behind) / (2 * h)
    np.testing.assert_allclose(sim.tau - mech.gravity(sim.q), -J.T @ F, atol=2e-4 * np.linalg.norm(F))
    assert np.linalg.norm(F) > 1.0


def test_a_port_at_the_remote_centre_does_not_load_the_joints():
    sim, mech = at_rest("PSM", Port(friction=0.0, viscous=0.0))
    np.testing.assert_allclose(sim.port_wrench(), 0.0, atol=1e-4)
    np.testing.assert_allclose(sim.tau - mech.gravity(sim.q), 0.0, atol=1e-5)


def test_the_wall_damps_a_cannula_that_moves():
    port = Port(offset=(0, 0, 0.05), stiffness=0.0, damping=50.0, friction=0.0, viscous=0.0)
    sim = tr.Simulator("PSM", friction=False, port=port)
    sim.reset(np.array([0.0, 0, 0.12, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0, 0, 0]))
    sim.step(np.zeros(7))
    wrench = sim.port_wrench()
    assert np.linalg.norm(wrench[:3]) == pytest.approx(50.0 * 0.05, rel=1e-6)
    assert np.linalg.norm(wrench[3:]) == pytest.approx(50.0 * 0.05**2, rel=1e-6)
    assert wrench[3:] @ tr.load_mechanism("PSM").jacobian(sim.q)[3:, 0] < 0  # against the turn


def test_the_seal_has_friction_along_and_about_the_shaft():
    sim = tr.Simulator("PSM", friction=False, port=Port(friction=2.0, viscous=5.0))
    mech = tr.load_mechanism("PSM")
    sim.reset(np.array([0.1, 0.0, 0.1, 0, 0, 0, 0]))
    for _ in range(600):
        sim.step(mech.gravity(sim.q) + [0, 0, 200 * (0.03 - sim.dq[2]), 0.05 * (1.0 - sim.dq[3]), 0, 0, 0])
    force, torque = sim.seal_friction()
    slide, turn = sim.dq[2:4]
    assert slide > 0.01
    assert turn > 0.1
    assert force == pytest.approx(-(2.0 + 5.0 * slide), rel=1e-3)
    assert torque == pytest.approx(-(2.0 * 0.004 + 5.0 * 0.004**2 * turn), rel=1e-3)
    # at constant speed this is the effort of the joints
    np.testing.assert_allclose((sim.tau - mech.gravity(sim.q))[2:4], [-force, -torque], rtol=2e-3)


def test_the_seal_holds_the_shaft_below_its_friction():
    sim = tr.Simulator("PSM", friction=False, port=Port(friction=2.0))
    q = np.array([0.0, 0.0, 0.1, 0, 0, 0, 0])
    tau = tr.load_mechanism("PSM").gravity(q) + [0, 0, 1.5, 0, 0, 0, 0]
    sim.reset(q)
    for _ in range(1000):
        sim.step(tau)
    assert abs(sim.q[2] - 0.1) < 1e-5
    assert sim.seal_friction()[0] == pytest.approx(-1.5, rel=1e-3)


def test_reset_and_snapshots_restore_a_port():
    sim, mech = at_rest("PSM", Port(offset=(0.01, 0, 0.02)))
    state = sim.snapshot()
    after = []
    for _ in range(2):
        sim.restore(state)
        for _ in range(20):
            sim.step(mech.gravity(sim.q))
        after.append(sim.q)
    np.testing.assert_array_equal(*after)
    sim.reset(Q["PSM"])
    assert not sim.port_wrench().any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Port(offset=(0, 0)), "offset of a port must be three"),
        (lambda: Port(stiffness=-1.0), "stiffness of a port"),
        (lambda: Port(friction=np.nan), "friction of a port"),
        (lambda: tr.Simulator("MTML", port=Port()), "no remote centre"),
        (lambda: tr.Simulator("PSM").port_wrench(), "has no port"),
        (lambda: tr.Simulator("PSM").seal_friction(), "has no port"),
    ],
)
def test_bad_input_is_rejected(make, message):
    with pytest.raises(TrocarError, match=message):
        make()
