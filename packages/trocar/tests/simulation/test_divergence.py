"""A diverging simulation: one error, MuJoCo's warning in the log, and no file in the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import trocar as tr


def test_divergence_is_one_error_and_leaves_no_file_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    sim = tr.Simulator("PSM")
    sim.reset([0, 0, 0.12, 0, 0, 0, 0])
    with pytest.raises(tr.Diverged, match="the last state is in"):
        sim.step([1e8] * 7)
    assert not list(tmp_path.iterdir())
    assert any("The simulation is unstable" in text for text in caplog.messages)
