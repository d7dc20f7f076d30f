"""From a motion to parameters on the simulated robot: rows and play.py, `trocar run`, `trocar identify`."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.control import GravityCompensation, hold
from trocar.control.trajectories import PeriodicRun, fourier
from trocar.identification import identify
from trocar.identification.excitation import file as files
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.search import sampled
from trocar.robot.rehearsal import rehearse

HARMONICS, RAMP = 3, 0.2
FREQUENCIES = {"PSM": 0.35, "MTMR": 0.25, "ECM": 0.35}  # [Hz]
# short: the search and longer motions are those of `make identification-loop`
WITHIN = 1.2  # errors on the robot's recording relative to those on the rehearsal, of any joint


def short_motion(arm):
    """A random motion within 70 % of the limits."""
    limits, rng = excitation_limits(arm), np.random.default_rng(1)
    low, high, speed = (x[: arm.n] for x in (limits.lower, limits.upper, limits.velocity))
    centre = np.array(arm.home) if arm.name.startswith("MTM") else (low + high) / 2
    a, b, frequency = *rng.normal(size=(2, HARMONICS, arm.n)), FREQUENCIES[arm.name]
    q, dq, *_ = sampled(fourier(centre, a, b, frequency), 200)
    room = np.minimum(high - centre, centre - low) / np.abs(q - centre).max(0)
    scale = 0.7 * np.minimum(room, speed / np.abs(dq).max(0))
    return PeriodicRun(fourier(centre, a * scale, b * scale, frequency), 1, arm.home, ramp=RAMP)


def drift(name, mechanism):
    """Largest motion of a joint in 2 s under the gravity compensation of a mechanism, from home [rad, m]."""
    sim = tr.Simulator(name)
    sim.reset(sim.arm.home)
    run = tr.simulate(sim, GravityCompensation(mechanism), hold(sim.arm.home), 2.0)
    return np.abs(run.q - run.q[0]).max()


def weight_error(name, mechanism):
    """Largest error of the gravity of the first three joints at home [N m]."""
    truth = tr.load_mechanism(name)
    return np.abs(mechanism.gravity(truth.arm.home) - truth.gravity(truth.arm.home))[:3].max()


@pytest.mark.parametrize("name", ["PSM", "MTMR", "ECM"])
def test_what_play_py_records_on_the_simulated_robot_is_identified_as_well_as_the_rehearsal(name, tmp_path):
    arm = tr.load_arm(name)
    run = short_motion(arm)
    files.rows(arm, run, 200.0).save(tmp_path / "excitation.csv")
    (tmp_path / "play.py").write_text(files.player(arm, "excitation.csv", 200.0))
    options = ["--scene", name, "--speed", "fast", "--api", "2.4"]
    script = [tmp_path / "play.py", "--arm", name, "--output", tmp_path / "measured.csv"]
    ran = CliRunner().invoke(app, ["run", *options, *map(str, script)])
    assert ran.exit_code == 0, ran.output
    assert "1500 per second" in ran.output
    played = tr.load_recording(tmp_path / "measured.csv", name)

    engine = tr.Simulator(name, timestep=1 / 1500, motor_limits=True)
    rehearsal = rehearse(engine, files.rows(arm, run, 200.0))
    rehearsed = identify(rehearsal.recording, name, cross_validate=False)
    identified = identify(played, name, cross_validate=False)
    assert not identified.unexplained
    assert (identified.train_relative_error < WITHIN * rehearsed.train_relative_error).all()
    # the commanded efforts tell the bias of the sensors from weight, so that the file holds the arm that made it; the
    # short motion of a master does not determine the weight of its wrist well enough for that
    if name == "MTMR":
        unknown = identify(replace(played, commands={}), name, cross_validate=False)
        assert weight_error(name, identified.mechanism()) < 0.1
        assert weight_error(name, unknown.mechanism()) > 0.4
    else:
        assert drift(name, identified.mechanism()) < 0.02
