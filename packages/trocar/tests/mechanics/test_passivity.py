"""Friction dissipates energy, in every parameter set and in every identified model.

A Dahl element stores V = F(s) delta z^2 / 2, F(s) = F + slope s, so friction is passive if its power covers dV/dt.
"""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from tests.support.hysteresis_set import full_set
from trocar.arms.parameters import SETS, Dahl
from trocar.identification.design import with_values
from trocar.identification.pipeline import prepared, problem_of
from trocar.identification.recipes.recipe import load_recipe
from trocar.mechanics.drives import Drives, check_dissipative
from trocar.recording import Recording

NAMED = [(arm, name) for arm, names in SETS.items() for name in names]


@pytest.fixture(params=[*NAMED, ("PSM", full_set())], ids=lambda case: f"{case[0]}-{getattr(case[1], 'name', case[1])}")
def mech(request):
    return tr.load_mechanism(*request.param)


def stored(drives, s, z):
    """Energy (...) in the Dahl elements [J]; s (..., m) of the drives, z (..., k) of the elements."""
    return (0.5 * (drives.F + drives.slope * s[..., drives.owner]) * drives.delta * z**2).sum(-1)


def test_friction_returns_no_more_energy_than_it_stores(mech):
    """At random states: any posture within the limits, any velocity, any memory."""
    drives, arm = mech.drives, mech.arm
    rng = np.random.default_rng(0)
    q = rng.uniform(arm.lower, arm.upper, (2000, arm.n))
    dq = rng.normal(size=q.shape)
    z = rng.uniform(-1.0, 1.0, (len(q), len(drives.owner)))
    z[::4] = np.sign(z[::4])  # the ends of its range, where the condition is tightest
    s, ds = q @ drives.A.T, dq @ drives.A.T
    power = (drives.friction(q, dq, mech.gravity(q), z) * dq).sum(-1)
    h = 1e-7
    ds_element = ds[:, drives.owner]
    dz = (ds_element - z * np.abs(ds_element)) / drives.delta
    rate = (stored(drives, s + h * ds, z + h * dz) - stored(drives, s - h * ds, z - h * dz)) / (2 * h)
    assert (power - rate >= -1e-9).all()


def test_energy_is_balanced_along_a_motion():
    """Work of friction = change of stored energy + energy dissipated by each element, which is never negative."""
    mech = tr.load_mechanism("PSM", full_set())
    drives, arm = mech.drives, mech.arm
    t = np.linspace(0.0, 1.0, 40_001)
    rng = np.random.default_rng(1)
    w, phase = rng.uniform(3.0, 9.0, arm.n), rng.uniform(0.0, 6.0, arm.n)
    q = 0.5 * (arm.lower + arm.upper) + 0.4 * (arm.upper - arm.lower) * np.sin(w * t[:, None] + phase)
    dq = np.gradient(q, t, axis=0)
    z, s, ds = drives.states(q), q @ drives.A.T, dq @ drives.A.T
    work = np.trapezoid((mech.friction_along(q, t, dq) * dq).sum(-1), t)
    element = ds[:, drives.owner]
    F = drives.F + drives.slope * s[:, drives.owner]
    lost = z**2 * (F * np.abs(element) - 0.5 * drives.slope * drives.delta * element)
    sliding = drives.Fv * ds**2 + drives.coulomb(q, mech.gravity(q)) * np.abs(ds)
    energy = stored(drives, s, z)
    assert (lost >= 0).all()
    expected = energy[-1] - energy[0] + np.trapezoid(lost.sum(1) + sliding.sum(1), t)
    assert work == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"hysteresis": (Dahl(0.5, 1.0, 0.21),)}, "Dahl"),  # 0.047 at the limit: positive, but below slope delta / 2
        ({"Fc": -1e-3, "terms": ("Fc",)}, "Fc"),
        ({"Fv": -1e-3, "terms": ("Fv",)}, "Fv"),
    ],
)
def test_friction_that_could_generate_energy_is_rejected(change, what):
    arm, base = tr.load_arm("PSM"), tr.load_mechanism("PSM").parameters.drives
    roll = next(d for d in base if d.name == "roll")
    check_dissipative(Drives(base, arm), arm)
    with pytest.raises(tr.TrocarError, match=f"'roll' is not passive: .*{what}"):
        check_dissipative(Drives([replace(roll, **change)], arm), arm)


def test_every_identified_set_is_passive():
    """Identified friction is a sum, with weights that are not negative, of these."""
    recipe = load_recipe("PSM")
    mechanism = recipe.mechanism()
    t = np.arange(800) / 200.0
    q = np.array(mechanism.arm.home) + np.outer(np.sin(3.0 * t), [0.3, 0.3, 0.01, 0.3, 0.3, 0.3, 0.3])
    dq = np.gradient(q, t, axis=0)
    units = mechanism.arm.joint_units
    recording = Recording(t=t, q=q, dq=dq, tau=dq, joints=mechanism.arm.joint_names, joint_units=units)
    problem = problem_of(recipe, mechanism, np.eye(7), prepared(recipe, recording))
    sloping = [i for i, name in enumerate(problem.names) if name.endswith("slope")]
    tried = np.flatnonzero(np.abs(problem.M[sloping]).any(0))
    assert len(tried) == 2 * len(sloping) > 0
    for coordinate in tried:
        theta = problem.theta_prior + np.eye(len(problem.theta_prior))[coordinate]
        found = with_values(recipe.template, problem.names, problem.M @ theta)
        check_dissipative(Drives(found.drives, mechanism.arm), mechanism.arm)
