"""One style for all figures of trocar, and no effect on other figures."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from trocar import plots


def test_style_sets_the_colours_inside_and_restores_them_outside() -> None:
    before = dict(matplotlib.rcParams)
    with plots.style():
        axes = Figure().subplots()
        lines = [axes.plot([0, 1])[0] for _ in plots.COLOURS]
    assert [to_hex(line.get_color()).upper() for line in lines] == list(plots.COLOURS)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_suffix_selects_the_format(tmp_path: Path, suffix: str, magic: bytes) -> None:
    path = plots.save(Figure(), tmp_path / f"figure.{suffix}")
    assert path.read_bytes().startswith(magic)


def test_an_unknown_format_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        plots.save(Figure(), tmp_path / "figure.nonsense")
    assert os.listdir(tmp_path) == []


def test_names_with_dollars_are_no_formulas(tmp_path: Path) -> None:
    def svg(name: str) -> str:
        with plots.style(), matplotlib.rc_context({"svg.fonttype": "none"}):
            figure, axes = plots.panels((3, 3))
            axes.semilogy([1, 1000], label=name)
            axes.set_title(name)
            figure.legend()
            return plots.save(figure, tmp_path / "figure.svg").read_text()

    drawn = svg(r"a$\frac$b$.csv")  # as a formula: an error
    assert drawn.count(r">a$\frac$b$.csv</text>") == 2
    assert r"<!-- $\mathdefault{10^{0}}$ -->" in drawn  # ticks of log axes are still formulas
