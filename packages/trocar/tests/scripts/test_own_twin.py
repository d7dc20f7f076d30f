"""A script's motion, recorded by `trocar run`, identified by `trocar identify`, gives an arm that can be simulated."""

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.control import JointPID, sinusoid
from trocar.identification.signals import relative_error

SCRIPT = """
import crtk, dvrk, numpy as np

ral = crtk.ral("mover")
arm = dvrk.{kind}(ral, "{name}")
ral.check_connections()
arm.enable(30)
arm.home(30)
centre, size, frequency = np.array({centre}), np.array({size}), np.array({frequency})
arm.move_jp(centre).wait()
rate, t = ral.create_rate({rate}), 0.0
while t < 20.0:
    arm.servo_jp(centre + min(t / 2.0, 1.0) * size * np.sin(2 * np.pi * frequency * t))
    {jaw}
    t += 1.0 / {rate}
    rate.sleep()
"""
JAW = "arm.jaw.servo_jp(np.array([0.4 + 0.3 * np.sin(2 * np.pi * 0.33 * t)]))"
PSM = {
    "kind": "psm",
    "jaw": JAW,
    "centre": [0.0, 0.0, 0.12, 0.0, 0.0, 0.0],
    "size": [0.5, 0.4, 0.04, 0.8, 0.6, 0.6],
    "frequency": [0.23, 0.31, 0.37, 0.29, 0.41, 0.47],
}
ECM = {
    "kind": "ecm",
    "jaw": "pass",
    "centre": [0.0, 0.0, 0.12, 0.0],
    "size": [0.6, 0.4, 0.05, 0.8],
    "frequency": [0.13, 0.17, 0.23, 0.31],
}
MTM = {
    "kind": "mtm",
    "jaw": "pass",
    "centre": [0.0, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0],
    "size": [0.4, 0.2, 0.25, 0.5, 0.5, 0.3, 0.8],
    "frequency": [0.23, 0.31, 0.37, 0.29, 0.41, 0.47, 0.53],
}
SECOND = {
    "PSM": sinusoid(
        [0.1, 0.1, 0.1, 0, 0, 0, 0.5], [0.3, 0.4, 0.05, 0.5, 0.4, 0.5, 0.3], [0.3, 0.4, 0.5, 0.6, 0.5, 0.7, 0.4]
    ),
    "ECM": sinusoid([0.1, 0.1, 0.1, 0.0], [0.3, 0.3, 0.04, 0.5], [0.2, 0.15, 0.25, 0.3]),
    "MTMR": sinusoid(
        [0.1, 0.25, 0.15, 0, 0.1, 0, 0], [0.3, 0.15, 0.2, 0.4, 0.3, 0.3, 0.6], [0.3, 0.4, 0.5, 0.3, 0.5, 0.4, 0.6]
    ),
}


def recorded(folder, name, motion, rate, *scene):
    """The bag of a script that sends the motion at a rate [Hz]; scene: options of `trocar run`."""
    script, bag = folder / "move.py", folder / "move.bag"
    script.write_text(SCRIPT.format(name=name, rate=rate, **motion))
    ran = CliRunner().invoke(app, ["run", *scene, "--speed", "fast", "--record", str(bag), str(script)])
    assert ran.exit_code == 0, ran.output
    return str(bag)


def identified(bag, folder, arm, *more):
    """The parameter file identified from a bag."""
    twin = str(folder / "mine.toml")
    result = CliRunner().invoke(app, ["identify", bag, "--arm", arm, "-o", twin, *more])
    assert result.exit_code == 0, result.output
    return twin


def relative_errors(arm, twin, **options):
    """Relative errors of the efforts that a twin predicts along another motion of the arm."""
    motion, sim = SECOND[arm], tr.Simulator(arm, timestep=1 / 1500, **options)
    sim.reset(motion(0.0).q, motion(0.0).dq)
    recording = tr.simulate(sim, JointPID(sim.arm), motion, 6.0, every=6)
    predicted = tr.load_mechanism(arm, twin, **options).effort_along(recording)
    tr.Simulator(arm, twin, timestep=1 / 1500, **options).step(np.zeros(sim.arm.n))
    return relative_error(recording.tau, predicted)


@pytest.mark.parametrize("rate", [100, 200, 500])
def test_a_recorded_script_becomes_a_twin(tmp_path, rate):
    """Set-points at low rates make efforts ripple; the twin must not take the ripple for friction."""
    twin = identified(recorded(tmp_path, "PSM", PSM, rate, "--scene", "PSM"), tmp_path, "PSM")
    error = relative_errors("PSM", twin)
    assert (error < 0.2).all(), error.round(3)


def test_a_recorded_script_of_an_endoscope_arm_becomes_a_twin(tmp_path):
    twin = identified(recorded(tmp_path, "ECM", ECM, 200, "--scene", "ECM"), tmp_path, "ECM")
    error = relative_errors("ECM", twin)
    assert (error < 0.2).all(), error.round(3)


def test_a_recorded_script_of_a_master_becomes_a_twin(tmp_path):
    """The encoder of the roll has 5.9 mrad per count, more than the 2 mrad over which its friction builds up."""
    twin = identified(recorded(tmp_path, "MTMR", MTM, 200, "--scene", "MTMR"), tmp_path, "MTMR")
    error = relative_errors("MTMR", twin)
    assert (error[:6] < 0.2).all(), error.round(3)
    assert error[6] < 0.35, error.round(3)


def test_a_tilted_arm_is_identified_with_its_gravity(tmp_path):
    """PSM1 of the cart hangs at an angle; without its gravity the same bag gives a worse twin."""
    bag = recorded(tmp_path, "PSM1", PSM, 200, "--arms", "PSM1")
    gravity = tr.load_scene("dvrk").arms["PSM1"].mechanism.gravity_vector
    error = {}
    for told, more in ((True, ("--gravity", ",".join(map(str, gravity)))), (False, ())):
        error[told] = relative_errors("PSM", identified(bag, tmp_path, "PSM", *more), gravity=gravity)
    assert (error[True] < 0.2).all(), error
    assert (error[True][:2] < 0.6 * error[False][:2]).all(), error
