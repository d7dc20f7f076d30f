"""The command `trocar sweep`, the shipped studies, and the figures of its bench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from tools import killed_sweeps
from tools.bench import sweep as timing
from trocar import batch
from trocar.cli import app
from trocar.identification import covariance
from trocar.sweep import Results, load_study, overview
from trocar.sweep.drawn import DrawnArms
from trocar.sweep.studies import bootstrap as bootstrap_study
from trocar.sweep.studies import gravity as gravity_study
from trocar.sweep.study import STUDIES


def invoke(*command: object) -> Any:
    return CliRunner().invoke(app, ["sweep", *map(str, command)])


def test_a_study_of_a_file_is_run_shown_and_reported(tmp_path: Path) -> None:
    study = tmp_path / "own.py"
    study.write_text(
        '"""A title."""\n'
        "def table(rows, seed):\n    return {'x': [float(k) for k in range(rows)]}\n"
        "def run(x):\n    return {'y': x * x}\n"
        "def findings(results):\n    return [('largest', results['y'].max())]\n"
    )
    done = invoke(study, "-o", tmp_path / "out", "-n", 5, "--executor", "serial")
    assert done.exit_code == 0, done.output
    assert "largest: 16.0" in done.stdout
    assert (tmp_path / "out" / "figure-1.png").stat().st_size > 1000
    printed = invoke("--show", tmp_path / "out")
    assert printed.exit_code == 0, printed.output
    assert "own: 5 of 5 rows, 0 failed" in printed.stdout
    assert "largest" not in printed.stdout  # a file named in a manifest is not executed
    named = invoke(study, "--show", tmp_path / "out", "--report")
    assert "largest: 16.0" in named.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "A title." in page
    assert "5 of 5 rows" in page


def test_a_table_from_a_file_replaces_the_study_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("push\n0.1\n0.2\n")
    study = killed_sweeps.write_study(tmp_path, steps=2)
    done = invoke(study, "-o", tmp_path / "out", "--table", tmp_path / "t.csv", "--executor", "serial")
    assert done.exit_code == 0, done.output
    assert list(Results(tmp_path / "out")["push"]) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["monte_carol", "-o", "out"], "'monte_carol' is unknown. Did you mean 'monte_carlo'"),
        (["monte_carol"], "'monte_carol' is unknown. Did you mean 'monte_carlo'"),
        (["none.py", "-o", "out"], "none.py cannot be read"),
        (["monte_carlo"], "no folder for the results"),
        (["monte_carlo", "-o", "out", "--table", "none.csv"], "none.csv does not exist"),
        (["monte_carlo", "-o", "out", "-n", "5", "--table", "x.csv"], "--rows applies to the study's own table"),
        (["monte_carlo", "-o", "out", "-n", "0"], "rows must be"),
        (["--show", "none"], "none does not exist"),
        (["--show", "none", "-o", "out"], "it can be combined with STUDY and --report only"),
        (["monte_carlo", "-o", "out", "--executor", "ray", "--address", "nowhere"], "no Ray cluster at nowhere"),
    ],
)
def test_bad_commands_give_one_line_and_status_2(
    command: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(*command)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", "raised SyntaxError"),
        ("import sys; sys.exit(3)", "raised SystemExit: 3"),
        ("x = 1", "has no function run"),
        ("def run(x): return {}", "has no function table"),
        ("BATCH = 'many'\ndef run(x): return {}", "BATCH of"),
        ("def run(x): return {}\ndef table(rows, seed): return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_study_file_with_a_mistake_is_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(text)
    done = invoke(tmp_path / "own.py", "-o", tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_sweep_in_which_every_row_fails_has_status_1(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def run(x): raise ValueError('no')\ndef table(rows, seed): return {'x': [1, 2]}")
    done = invoke(tmp_path / "own.py", "-o", tmp_path / "out", "--executor", "serial")
    assert done.exit_code == 1
    assert "row 0 failed: ValueError: no" in done.stdout


def test_studies_that_ship_are_listed() -> None:
    listing = invoke().stdout
    for name in STUDIES:
        assert name in listing
        assert load_study(name).title


def study_results(name: str, table: Any, folder: Path) -> Results:
    results = tr.sweep.run(load_study(name), table, folder)
    assert results.errors == []
    return results


def show(results: Results, count: int = 1) -> list[str]:
    """The study's findings, after a check that it draws its figures."""
    study = overview.study_of(results)
    figures = overview.figures(results, study)
    assert len(figures) == count
    assert all(figure.axes and caption for figure, caption in figures)
    return [f"{text}: {value}" for text, value in overview.findings(results, study)]


def test_monte_carlo_without_deviation_gives_the_nominal_arm_and_spreads_with_it(tmp_path: Path) -> None:
    results = study_results(
        "monte_carlo", {"sigma": [0.0, 0.0] + [1.0] * 6 + [3.0] * 6, "speed": [1.0] * 14}, tmp_path / "a"
    )
    rms, sigma = results["tip_rms"], results["sigma"]
    assert rms[0] == rms[1]
    assert rms[sigma == 0][0] == pytest.approx(np.median(rms[sigma == 1]), rel=0.1)
    assert 0 < rms[sigma == 1].std() < rms[sigma == 3].std()
    assert len(show(results)) == 3


def test_drawn_arms_have_the_deviations_of_the_covariance() -> None:
    mechanism = tr.load_mechanism("PSM", "wang2019_refit")
    draws = DrawnArms(mechanism)
    names, C = covariance(mechanism.parameters.path)
    drawn = np.array([draws.draw(1.0, seed)[0] for seed in range(400)])
    for name in ("back.m", "yaw.Lzz", "pitch.Fv", "insertion.K"):
        expected = np.sqrt(C[names.index(name), names.index(name)])
        assert drawn[:, draws.names.index(name)].std() == pytest.approx(expected, rel=0.12), name
    again = draws.arms(batch.load(mechanism), draws.values[None])
    for name in ("mass", "com", "inertia", "Fv", "Im", "K", "dahl_F", "dahl_slope"):
        nominal = getattr(mechanism.tree, name, None)
        nominal = getattr(mechanism.tree.drives, name) if nominal is None else nominal
        np.testing.assert_allclose(again.parameters[name][..., 0], nominal, rtol=1e-12, atol=1e-15)


def test_gravity_drifts_where_the_mounting_is_wrong_and_not_where_it_is_right(tmp_path: Path) -> None:
    table = {
        "yaw": [0.6, 0.6],
        "pitch": [0.3, 0.3],
        "insertion": [0.12, 0.12],
        "mounting": [-0.8, -0.8],
        "mounting_error": [0.0, 0.5],
        "added_mass": [0.0, 0.0],
        "friction": [1.0, 0.5],
    }
    results = study_results("gravity", table, tmp_path / "a")
    assert list(results["drifts"]) == [False, True]
    assert show(results)
    expected = tr.load_mechanism("PSM_Si", mounting=-0.3).gravity_vector
    np.testing.assert_allclose(gravity_study._gravity(np.array([-0.3]))[:, 0], expected, atol=1e-12)


def test_payload_and_force_are_estimated_best_with_the_right_friction(tmp_path: Path) -> None:
    table = {"day": [0.0] * 4 + [0.4] * 4, "mass": [0.05] * 8, "force": [1.0] * 8}
    results = study_results("payload", table, tmp_path / "a")
    mass, force = np.abs(results["mass_estimate"] - 0.05), results["force_error"]
    assert mass[:4].max() < 1e-3
    assert force[:4].max() < 0.05
    assert mass[4:].mean() > 3.0 * mass[:4].mean()
    assert force[4:].mean() > 3.0 * force[:4].mean()
    assert len(show(results)) == 2


def test_sensitivity_is_zero_without_a_change_and_grows_with_it(tmp_path: Path) -> None:
    table = {"parameter": ["back.mass"] * 3 + ["pitch.Fc"], "change": [0.0, 0.05, 0.1, 0.1]}
    results = study_results("sensitivity", table, tmp_path / "a")
    rms = results["tip_rms"]
    assert rms[0] < 1e-9
    assert rms[2] == pytest.approx(2.0 * rms[1], rel=0.3)
    assert rms[3] > 1e-9
    names = load_study("sensitivity").table(10**6, 0)
    assert len(set(names["parameter"])) * 4 == len(names["parameter"])


def test_bootstrap_and_analytic_deviations_are_of_one_size(tmp_path: Path) -> None:
    results = study_results("bootstrap", {"replicate": list(range(8))}, tmp_path / "a")
    ratio, error = bootstrap_study.ratios(results, "least_squares")
    assert len(ratio) == len(bootstrap_study.original()[1]["least_squares"].names)
    assert abs(np.median(ratio) - 1.0) < 2.0 * np.median(error)
    assert 0.87 < np.median(bootstrap_study.ratios(results, "consistent")[0]) < 1.2
    assert len(show(results)) == 2


def test_an_excitation_row_is_a_motion_within_the_limits(tmp_path: Path) -> None:
    table = {"arm": ["ECM"], "harmonics": [3], "iterations": [0.02], "frequency": [0.2], "start": [0]}
    results = study_results("excitation", table, tmp_path / "a")
    assert results["violation"][0] <= 0
    assert results["condition_number"][0] > 1
    assert show(results)


def test_bench_sweep_has_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("ITEMS", 4), ("LIGHT", 400), ("MANY", 3000)):
        monkeypatch.setattr(timing, name, size)
    monkeypatch.setattr(timing, "heavy", lambda push: {"y": push})
    results = timing.figures(rounds=1)
    assert results["sweep_two_workers_speedup"] == results["sweep_one_worker_s"] / results["sweep_two_workers_s"]
    assert {"bare_call_us", "sweep_serial_overhead_us", "sweep_processes_overhead_us"} <= set(results)
    assert results["sweep_100k_rows_write_s"] > 0
    assert 0 <= results["sweep_100k_rows_memory_growth_mb"] < 200


def test_force_estimates_find_the_force_and_worsen_with_friction(tmp_path: Path) -> None:
    results = study_results(
        "force_estimation", {"day": [0.0, 0.0, 0.5, 0.5], "seed": [1, 2, 1, 2]}, tmp_path / "forces"
    )
    calm, changed = results["residual_share"][:2], results["residual_share"][2:]
    assert (calm < 5.0).all()
    assert (changed > calm).all()
    assert results["learned_share"][2:].mean() < changed.mean()  # it has seen the friction of the day
    assert (results["observer_share"] < 20.0).all()
