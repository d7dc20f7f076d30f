"""The demo's claims pass, and its film and figures exist."""

import numpy as np
import pytest
from PIL import Image

from trocar import demo
from trocar.demo import spiral
from trocar.report import Report


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Report, claims and folder of a short run with blank pictures."""
    folder, report, done = tmp_path_factory.mktemp("demo"), Report("short"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spiral, "DURATION", 1.9)
        patch.setattr(spiral, "FILM", 0.3)
        patch.setattr(spiral, "render", lambda sim, camera, size, **_: np.zeros((size[1], size[0], 3), dtype=np.uint8))
        claims = spiral.show(report, folder, done.append)
    assert done[-1] == pytest.approx(1.0)
    return report, {claim.id: claim for claim in claims}, folder


def test_every_joint_is_judged_with_and_without_counterweight(shown):
    _, claims, _ = shown
    assert sum("J" in name for name in claims) == 6
    assert all(claim.holds for claim in claims.values())


def test_a_missing_counterweight_shows_in_the_insertion_effort(shown):
    _, claims, _ = shown
    assert claims["spiral, with counterweight: J3"].ours < 1e-4
    check = claims["spiral, without counterweight: J3, engine minus equations"]
    assert 2.5 < float(check.note.split()[0]) < 3.4  # the missing weight, in the note
    assert "the paper prints 3.3 N" in check.note


def test_the_film_has_its_pictures_side_by_side(shown):
    report, _, folder = shown
    ((path, _),) = report.clips
    assert path == folder / "spiral.gif"
    with Image.open(path) as film:
        assert film.size == (2 * spiral.PANEL[0], spiral.PANEL[1] + spiral.HEADER)
        assert film.n_frames == 3


def test_the_report_has_a_figure_of_efforts_and_one_of_errors(shown):
    report, *_ = shown
    assert [len(figure.axes) for figure, _ in report.figures] == [6, 2]


def test_the_checks_of_all_arms_hold(monkeypatch):
    monkeypatch.setattr(demo, "STATES", 50)
    claims = demo.checks()
    assert len(claims) == 5
    assert all(claim.holds for claim in claims)


def test_bounds_that_no_paper_prints_count_as_our_own(shown, monkeypatch):
    monkeypatch.setattr(demo, "STATES", 5)
    _, claims, _ = shown
    for claim in (*claims.values(), *demo.checks()):
        assert (claim.kind == "own") is claim.source.startswith("own check"), claim.id
