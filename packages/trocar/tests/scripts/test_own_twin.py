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
CENTRE, SIZE = [0.0, 0.0, 0.12, 0.0, 0.0, 0.0], [0.5, 0.4, 0.04, 0.8, 0.6, 0.6]
FREQUENCY = [0.23, 0.31, 0.37, 0.29, 0.41, 0.47]
JAW = "arm.jaw.servo_jp(np.array([0.4 + 0.3 * np.sin(2 * np.pi * 0.33 * t)]))"


@pytest.mark.parametrize("rate", [100, 200, 500])
def test_a_recorded_script_becomes_a_twin(tmp_path, rate):
    """Set-points at low rates make efforts ripple; the twin must not take the ripple for friction."""
    script, bag, twin = tmp_path / "move.py", tmp_path / "move.bag", tmp_path / "mine.toml"
    words = {"kind": "psm", "name": "PSM", "centre": CENTRE, "size": SIZE, "frequency": FREQUENCY, "rate": rate}
    script.write_text(SCRIPT.format(jaw=JAW, **words))
    run = ["run", "--scene", "PSM", "--speed", "fast", "--record", str(bag), str(script)]
    ran = CliRunner().invoke(app, run)
    assert ran.exit_code == 0, ran.output
    identified = CliRunner().invoke(app, ["identify", str(bag), "--arm", "PSM", "-o", str(twin)])
    assert identified.exit_code == 0, identified.output
    sim = tr.Simulator("PSM", timestep=1 / 1500)
    motion = sinusoid(
        [0.1, 0.1, 0.1, 0, 0, 0, 0.5], [0.3, 0.4, 0.05, 0.5, 0.4, 0.5, 0.3], [0.3, 0.4, 0.5, 0.6, 0.5, 0.7, 0.4]
    )
    sim.reset(motion(0.0).q, motion(0.0).dq)
    recording = tr.simulate(sim, JointPID(sim.arm), motion, 6.0, every=6)
    error = relative_error(recording.tau, tr.load_mechanism("PSM", str(twin)).effort_along(recording))
    assert (error < 0.2).all(), error.round(3)
    tr.Simulator("PSM", str(twin), timestep=1 / 1500).step(np.zeros(7))
