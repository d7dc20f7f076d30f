"""Hwang et al. 2020: play operators, and a report without data."""

import numpy as np

from trocar.identification.wrist import JointPairs
from trocar.identification.wrist.fit import MotionRows
from trocar_reproductions.datasets import DATASETS
from trocar_reproductions.experiment import Context
from trocar_reproductions.hwang2020 import FITTED, FOLDER, KEPT_APART, play_polynomial, run


def test_a_play_operator_follows_behind_by_its_radius() -> None:
    x = np.concatenate([np.linspace(0.0, 1.0, 50), np.linspace(1.0, -1.0, 100)])
    y = play_polynomial.play(x, 0.2)
    assert np.isclose(y[49], 0.8)
    assert np.isclose(y[-1], -0.8)
    assert np.array_equal(play_polynomial.play(x, 0.0), x)


def test_the_polynomial_explains_a_play_of_one_of_its_radii() -> None:
    random = np.random.default_rng(0)
    command = np.cumsum(random.normal(size=(600, 6)) * 0.05, axis=0)
    seen = command.copy()
    seen[:, 4] = play_polynomial.play(command[:, 4], play_polynomial.RADII[2]) + 0.1
    motion = JointPairs(name="play", command=command, seen=seen)
    first = np.arange(600) < 400
    coefficients = play_polynomial.fitted([MotionRows(motion, first)])
    off = play_polynomial.predicted(MotionRows(motion, ~first), coefficients) - seen[~first]
    raw = (command - seen)[~first]
    assert off.std() < 0.3 * (raw - raw.mean(0)).std()


def test_without_data_every_claim_states_the_reason() -> None:
    report = run(Context(data=None, video=None, progress=lambda text: None))
    assert len(report.claims) > 15
    assert all(claim.ours is None and claim.note.startswith("not run: ") for claim in report.claims)


def test_the_dataset_has_every_motion() -> None:
    assert DATASETS["hwang2020"].folder == FOLDER.as_posix()
    folders = {path.rpartition("/")[0] for path in DATASETS["hwang2020"].files}
    assert folders == {*FITTED.values(), *KEPT_APART.values()}
