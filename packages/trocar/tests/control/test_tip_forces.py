"""`trocar force`: a known force at the tip of a simulated arm, found again from joint efforts, with intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recording.test_measured import IDENTIFICATION, needs_recording
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner, Result

import trocar as tr
from tests.support.pushed_arm import FREE, SENSOR_AXES, STOP, Pushed, pushed_arm, sensor_readings, write_force_bag
from tools.force_table import CAUSES, Errors, errors
from trocar.cli import app
from trocar.control.observers import FreeResiduals, TipForces, force_per_effort, score, tip_forces
from trocar.errors import TrocarError
from trocar.identification import residual_rms
from trocar.mechanics import Mechanism
from trocar.recording import Recording

pytestmark = pytest.mark.xdist_group("tip forces")  # one worker: fixtures are built once


@pytest.fixture(scope="module")
def psm() -> Mechanism:
    return tr.load_mechanism("PSM")


@pytest.fixture(scope="module")
def run() -> Pushed:
    return pushed_arm(32.0, noise=True, seed=3)


@pytest.fixture(scope="module")
def forces(psm: Mechanism, run: Pushed) -> TipForces:
    return tip_forces(psm, run.recording, FreeResiduals.along(psm, run.recording.between(0.0, FREE)))


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory, run: Pushed) -> Path:
    return write_force_bag(tmp_path_factory.mktemp("force") / "pushed.bag", run)


def truth(run: Pushed, forces: TipForces) -> np.ndarray:
    return run.force[np.searchsorted(run.recording.t, forces.recording.t)]


# -- the map from effort to force --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["PSM", "PSM_Si", "ECM"])
def test_three_joints_give_a_force_at_the_tip_wherever_the_wrist_points(arm: str) -> None:
    """wrist_force would be wrong by the ratio of the levers of tip and wrist."""
    mechanism, rng = tr.load_mechanism(arm), np.random.default_rng(0)
    q = rng.uniform(0.5 * mechanism.arm.lower, 0.5 * mechanism.arm.upper, (20, mechanism.n))
    q[:, 2] = 0.15
    F = rng.normal(size=(20, 3))
    effort = np.einsum("nij,ni->nj", mechanism.jacobian(q)[:, :3], F)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", force_per_effort(mechanism, q), effort[:, :3]), F, atol=1e-9)


def test_an_arm_without_wrist_point_is_refused() -> None:
    with pytest.raises(TrocarError, match="use tip_wrench"):
        force_per_effort(tr.load_mechanism("MTML"), np.zeros(7))


# -- estimate and intervals --------------------------------------------------------------------------------------------


def test_the_force_is_found_within_its_interval(run: Pushed, forces: TipForces) -> None:
    error = forces.force - truth(run, forces)
    assert np.sqrt((error**2).mean(0)).max() < 0.25
    after = forces.recording.t > FREE
    coverage = (np.abs(error) <= forces.half_width)[after].mean(0)
    assert (coverage >= 0.95).all()
    assert (forces.half_width.mean(0) < [0.5, 0.5, 0.25]).all()  # wide intervals would cover anything


def test_the_estimate_has_no_delay(psm: Mechanism) -> None:
    """The best shift against the known force is below a third of the observer's delay of 0.1 s."""
    run = pushed_arm(24.0, noise=False)
    found = tip_forces(psm, run.recording, FreeResiduals.along(psm, run.recording.between(0.0, FREE)))
    t, acted = found.recording.t, truth(run, found)

    def mismatch(shift: float) -> float:
        moved = np.column_stack([np.interp(t - shift, t, column) for column in acted.T])
        return float(((found.force - moved) ** 2).sum())

    shifts = np.linspace(-0.1, 0.1, 21)
    assert abs(shifts[np.argmin([mismatch(s) for s in shifts])]) <= 0.03


@pytest.fixture(scope="module")
def by_cause() -> dict[str, Errors]:
    return {cause.name: errors(cause) for cause in CAUSES}


@pytest.mark.parametrize("name", [cause.name for cause in CAUSES])
def test_intervals_cover_what_they_say_for_every_cause(by_cause: dict[str, Errors], name: str) -> None:
    assert (by_cause[name].coverage >= 0.95).all()
    assert (by_cause[name].resting_coverage >= 0.95).all()


def test_the_table_of_the_documentation_is_that_of_the_tool(by_cause: dict[str, Errors]) -> None:
    page = (Path(__file__).parents[4] / "docs" / "observers.md").read_text(encoding="utf-8")
    lines = dict(line.strip("| ").split(" | ", 1) for line in page.splitlines() if line.startswith("| "))
    for name, result in by_cause.items():
        printed, computed = (
            np.array(text.replace("|", " ").split(), dtype=float) for text in (lines[name], str(result))
        )
        np.testing.assert_allclose(printed[:9], computed[:9], atol=0.011)
        np.testing.assert_allclose(printed[9:], computed[9:], atol=1.0)


def test_elastic_cables_of_the_wrist_hardly_matter_and_a_port_adds_its_friction(by_cause: dict[str, Errors]) -> None:
    ideal, cables, port, known = (by_cause[cause.name] for cause in CAUSES[:4])
    assert np.abs(cables.contact - ideal.contact).max() < 0.02
    assert 0.8 < port.free[2] < 1.1  # 1 N along the shaft, which is nearly z
    assert known.free[2] < 0.15


def test_at_rest_the_interval_needs_the_static_friction(psm: Mechanism) -> None:
    run = pushed_arm(STOP + 4.0, noise=False)
    found = tip_forces(psm, run.recording, FreeResiduals.along(psm, run.recording.between(0.0, FREE)))
    error, rest = np.abs(found.force - truth(run, found)), found.recording.t > STOP + 2.0
    assert (error <= found.half_width)[rest].mean() > 0.95
    without = found.half_width - found.half_widths["friction at rest"]
    assert (error <= without)[rest].mean() < 0.5


def test_the_friction_of_a_port_widens_the_interval_along_the_shaft(psm: Mechanism, run: Pushed) -> None:
    free = FreeResiduals.along(psm, run.recording.between(0.0, FREE))
    found = tip_forces(psm, run.recording, free, port=2.0)
    shaft = psm.pose(found.recording.q, "insertion")[:, :3, 2]
    widths = found.half_widths["port"]
    # the force along the shaft whose effort on the insertion is 2 N, and none on yaw and pitch
    np.testing.assert_allclose(np.linalg.norm(widths, axis=1), 2.0, rtol=0.2)
    assert (np.abs((widths * np.abs(shaft)).sum(1)) > 1.7).all()
    with pytest.raises(TrocarError, match="port must be a number from 0"):
        tip_forces(psm, run.recording, free, port=-1.0)


def test_free_motion_at_rest_is_no_free_motion(psm: Mechanism, run: Pushed) -> None:
    held = run.recording.between(0.0, 5.0)
    still = replace(held, q=np.tile(held.q[0], (len(held), 1)), dq=np.zeros_like(held.dq), ddq=None)
    with pytest.raises(TrocarError, match="free motion is too short"):
        FreeResiduals.along(psm, still)
    with pytest.raises(TrocarError, match="settle"):
        FreeResiduals.along(psm, run.recording.between(0.0, 0.5))


@needs_recording
@pytest.mark.parametrize("size", [0.0, 3.0])
def test_intervals_cover_a_force_that_is_added_to_a_real_recording(size: float) -> None:
    """`one_no_weight`, a session after the one that the set was identified in; free motion: its first 10 s."""
    mechanism = tr.load_mechanism("PSM", "wang2019_refit")
    recording = tr.load_recording(IDENTIFICATION / "one_no_weight_results.csv", "PSM")
    assert recording.tau is not None
    t, tau, force = recording.t, recording.tau.copy(), np.zeros((len(recording), 3))
    for k, begin in enumerate(np.arange(11.0, 28.0, 2.0)):
        rows = (t >= begin) & (t < begin + 1.5)
        force[rows, k % 3] = (-1) ** k * size * np.sin(np.pi * (t[rows] - begin) / 1.5) ** 2
    tau[:, :3] -= np.einsum("nij,ni->nj", mechanism.jacobian(recording.q)[:, :3, :3], force)
    free = FreeResiduals.along(mechanism, recording.between(0.0, 10.0))
    found = tip_forces(mechanism, replace(recording, tau=tau), free)
    later = found.recording.t > 10.5
    error = (found.force - force[np.searchsorted(t, found.recording.t)])[later]
    assert ((np.abs(error) <= found.half_width[later]).mean(0) >= 0.95).all()
    np.testing.assert_allclose(np.sqrt((error**2).mean(0)), [0.21, 0.33, 0.21], atol=0.01)
    assert (found.half_width[later].mean(0) < 0.8).all()


# -- score against a sensor --------------------------------------------------------------------------------------------


def test_axes_and_sign_of_a_sensor_are_fitted_on_one_half_and_judged_on_the_other(
    run: Pushed, forces: TipForces
) -> None:
    result = score(forces, sensor_readings(truth(run, forces)))
    turned = Rotation.from_matrix(result.rotation.T @ SENSOR_AXES).magnitude()
    assert np.degrees(turned) < 3.0
    assert result.reaction
    assert result.fitted
    assert (result.share < 0.1).all()
    known = score(forces, -sensor_readings(truth(run, forces)), SENSOR_AXES)
    assert not known.reaction
    assert known.rows[0] > 1.9 * result.rows[0]
    judged = forces.recording.t > FREE + 0.5 * (32.0 - FREE) - 2.0
    assert sum(result.rows) < judged.sum()


def test_forces_along_one_line_do_not_determine_a_rotation(run: Pushed, forces: TipForces) -> None:
    size = np.linalg.norm(truth(run, forces), axis=1)
    with pytest.raises(TrocarError, match="one line"):
        score(forces, size[:, None] * [0.0, 0.0, 1.0])
    with pytest.raises(TrocarError, match="nothing to score"):
        score(forces, np.zeros_like(forces.force))
    with pytest.raises(TrocarError, match="determinant 1"):
        score(forces, truth(run, forces), -np.eye(3))


# -- the command -------------------------------------------------------------------------------------------------------


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["force", *map(str, arguments)], env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_a_bag_in_the_form_of_the_force_data_set_is_scored(bag: Path, tmp_path: Path, forces: TipForces) -> None:
    files = [tmp_path / name for name in ("forces.npz", "forces.png", "forces.json")]
    ran = call(bag, "--arm", "PSM", "--free", 0, FREE, "-o", files[0], "--plot", files[1], "--json", files[2])
    assert ran.exit_code == 0, ran.output
    assert "force of the arm on its surroundings" in ran.output
    figures = json.loads(files[2].read_text())
    assert max(figures["sensor"]["rmse"]) < 0.3
    assert max(figures["sensor"]["share_of_range"]) < 0.12
    assert min(figures["sensor"]["coverage"]) >= 0.95
    assert files[1].stat().st_size > 1000
    written = Recording.load(files[0])
    assert {"sensor_force", "tip_force", "tip_force_low", "tip_force_high"} == set(written.extra)
    assert (written.extra["tip_force_low"] <= written.extra["tip_force"]).all()
    # a bag is measured: its effort is interpolated, that of a simulation is held
    np.testing.assert_allclose(written.extra["tip_force"], forces.force[: len(written)], atol=0.1)


def test_free_motion_can_be_another_recording_and_the_sensor_another_channel(run: Pushed, tmp_path: Path) -> None:
    free = run.recording.between(0.0, FREE).save(tmp_path / "free.csv")
    wrench = {"ati": np.hstack([run.force, np.zeros_like(run.force)])}
    path = replace(run.recording, extra=wrench, extra_units={}).save(tmp_path / "run.npz")
    ran = call(path, "--free-recording", free, "--sensor", "ati", "--rotation", "1,0,0,0")
    assert ran.exit_code == 0, ran.output
    assert "as passed" in ran.output
    assert "the force on the arm" in ran.output


def test_a_set_of_trocar_identify_has_its_own_residuals(bag: Path) -> None:
    ran = call(bag, "--arm", "PSM", "-p", "wang2019_refit")
    assert ran.exit_code == 0, ran.output
    assert "Model error from the identification of psm_wang2019_refit.toml" in ran.output
    rms = residual_rms("psm_wang2019_refit.toml")
    assert rms["insertion"] == pytest.approx(0.140424)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "it was not written by `trocar identify`; pass --free START END or --free-recording FILE"),
        (("--free", 0, 9, "--free-recording", "x.csv"), "choose one of --free and --free-recording"),
        (("--free", 100, 200), "no row between 100.0 and 200.0 s"),
        (("--free", 0, FREE, "--sensor", "wind"), "no topic wind of type geometry_msgs/WrenchStamped"),
        (("--free", 0, FREE, "--rotation", "1,2,3,4"), "--rotation must be a unit quaternion"),
        (("--free", 0, FREE, "--bandwidth", 0), "bandwidth must be positive"),
        (("--free", 0, FREE, "-o", "forces.txt"), "must end in .npz or .csv"),
    ],
)
def test_options_that_cannot_work_are_refused_in_one_line(bag: Path, options: tuple[object, ...], message: str) -> None:
    ran = call(bag, "--arm", "PSM", *options)
    assert ran.exit_code == 2, ran.output
    (line,) = ran.stderr.splitlines()
    assert message in line


def test_a_recording_without_efforts_or_sensor_is_named(run: Pushed, tmp_path: Path) -> None:
    path = run.recording.between(0.0, 14.0).save(tmp_path / "run.csv")
    assert "--rotation needs a force sensor" in call(path, "--free", 0, FREE, "--rotation", "1,0,0,0").stderr
    assert "has no channel 'ati'" in call(path, "--free", 0, FREE, "--sensor", "ati").stderr
    replace(run.recording, tau=None).save(tmp_path / "mute.npz")
    assert "the recording has no efforts" in call(tmp_path / "mute.npz", "--free", 0, FREE).stderr
