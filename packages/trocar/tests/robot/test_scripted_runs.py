"""The recordings of scripted runs: repeatable to the last bit, and sensitive to it."""

from pathlib import Path

import numpy as np
import pytest

from tools.scripted_runs import catalogue, comparison
from tools.scripted_runs.recorder import recorded_topics
from trocar.robot import INTERFACES
from trocar.robot.interface import Direction

RUN = "script_api_2_0"  # the shortest run


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    a, b = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    assert catalogue.record(a, [RUN])
    assert catalogue.record(b, [RUN])
    return a, b


def test_two_recordings_of_a_run_are_identical(folders: tuple[Path, Path]) -> None:
    assert comparison.differences(*folders, RUN) == []
    assert comparison.compare(*folders)


def test_a_change_of_one_ulp_is_detected(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = folders
    (tmp_path / f"{RUN}.json").write_bytes((b / f"{RUN}.json").read_bytes())
    with np.load(b / f"{RUN}.npz") as arrays:
        columns = dict(arrays)
    position = columns["PSM1|measured_js.position"]
    position[7, 2] = np.nextafter(position[7, 2], np.inf)
    np.savez_compressed(tmp_path / f"{RUN}.npz", **columns)
    (line,) = comparison.differences(a, tmp_path, RUN)
    assert line.startswith(f"PSM1/measured_js.position: 1 of {len(position)} rows differ, the first at 7")
    assert not comparison.compare(a, tmp_path)
    assert "0 of 1 runs identical" in capsys.readouterr().out


def test_a_changed_event_and_a_missing_run_are_detected(folders: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = folders
    text = (b / f"{RUN}.json").read_text()
    (tmp_path / f"{RUN}.json").write_text(text.replace('"ENABLED"', '"PAUSED"', 1))
    (tmp_path / f"{RUN}.npz").write_bytes((b / f"{RUN}.npz").read_bytes())
    (line,) = comparison.differences(a, tmp_path, RUN)
    assert line.startswith("events: ")
    (tmp_path / f"{RUN}.npz").unlink()
    assert not comparison.compare(a, tmp_path)


def test_every_event_and_state_is_recorded_except_timing() -> None:
    for kind, interface in INTERFACES.items():
        for direction in (Direction.state, Direction.event):
            names = {topic.name for topic in interface.topics if topic.direction is direction}
            assert set(recorded_topics(kind, direction)) == names - {"period_statistics"}
