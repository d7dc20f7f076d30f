"""Link inertias for other engines: the table gives the equations' gravity and inertia."""

import csv
import io

import numpy as np
import pytest

import trocar as tr
from trocar.simulation.export.inertias import inertia_table

T_WORLD_BASE = np.array([[0.0, -1.0, 0.0, 0.3], [1.0, 0.0, 0.0, -0.2], [0.0, 0.0, 1.0, 0.9], [0.0, 0.0, 0.0, 1.0]])


def rows(mech, q):
    table = list(csv.DictReader(io.StringIO(inertia_table(mech, q, T_WORLD_BASE))))
    for row in table:
        x = {key: float(value) for key, value in row.items() if key != "link"}
        I = np.empty((3, 3))
        for i, a in enumerate("xyz"):
            for j, b in enumerate("xyz"):
                I[i, j] = x[f"world_I{''.join(sorted((a, b)))}"]
        yield x["world_m"], np.array([x[f"world_c{a}"] for a in "xyz"]), I


@pytest.fixture(scope="module")
def mech():
    return tr.load_mechanism("PSM", "gondokaryono2019")  # masses only: no cables or springs


Q = np.array([0.3, -0.2, 0.12, 0.4, 0.3, -0.2, 0.3])


def test_the_potential_energy_of_the_table_has_the_gradient_of_gravity(mech):
    def energy(q):
        return sum(9.81 * m * c[2] for m, c, _ in rows(mech, q))

    slope = [(energy(Q + d) - energy(Q - d)) / 2e-3 for d in 1e-3 * np.eye(7)]
    np.testing.assert_allclose(slope, mech.gravity(Q), atol=1e-5)


def test_the_table_has_the_inertia_about_the_yaw_axis(mech):
    """All links turn with the yaw as one rigid body; its axis is y of the base, through the remote centre."""
    axis, centre = T_WORLD_BASE[:3, 1], T_WORLD_BASE[:3, 3]
    turned = sum(axis @ I @ axis + m * np.sum(np.cross(axis, c - centre) ** 2) for m, c, I in rows(mech, Q))
    assert turned == pytest.approx(mech.mass_matrix(Q)[0, 0], rel=1e-6)
