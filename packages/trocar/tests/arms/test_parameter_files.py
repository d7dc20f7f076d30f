"""Parameter files with mistakes: the error names the file, the field and the expected content."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

import trocar as tr

ARMS = {"PSM": "psm_wang2019.toml", "MTML": "mtm_wang2019.toml"}


def written(tmp_path: Path, arm: str, old: str, new: str) -> Path:
    """The arm's own file with one mistake."""
    text = files("trocar.arms").joinpath("data", "parameters", ARMS[arm]).read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arm", "old", "new", "message"),
    [
        ("PSM", 'geometry = "wang2019"', "geometry = 3", "'geometry' must be a non-empty string, got 3"),
        ("PSM", 'arm = "PSM"', "arm = []", "'arm' must be a non-empty string"),
        ("PSM", "joints = {yaw = 1.0}", "joints = 1", "drives.yaw: 'joints' must hold weights by name"),
        ("PSM", "joints = {yaw = 1.0}", 'joints = { yaw = "a" }', "drives.yaw.joints: 'yaw' must be a finite number"),
        ("PSM", "joints = {yaw = 1.0}", "joints = { yaw = nan }", "drives.yaw.joints: 'yaw' must be a finite number"),
        (
            "PSM",
            "joints = {yaw = 1.0}",
            "joints = { yaw = true }",
            "drives.yaw.joints: 'yaw' must be a finite number",
        ),
        (
            "PSM",
            "joints = {yaw = 1.0}",
            "joints = { yw = 1.0 }",
            "drive 'yaw': joint of PSM 'yw' is unknown. Did you",
        ),
        ("PSM", "[bodies.yaw]", "bodies.yaw = 1\n[provenance]", "bodies.yaw must be a table"),
        ("MTML", 'kind = "lever"', "kind = []", "kind"),
        (
            "MTML",
            'joint = "wrist_pitch"',
            'joint = "wrist_pich"',
            "joint of MTML 'wrist_pich' is unknown",
        ),
        ("MTML", 'joint = "wrist_pitch"', "joint = 3", "'joint' must be a non-empty string, got 3"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, arm: str, old: str, new: str, message: str) -> None:
    path = written(tmp_path, arm, old, new)
    with pytest.raises(tr.TrocarError) as caught:
        tr.load_mechanism(arm, path).inverse_dynamics([0] * 7, [0] * 7, [0] * 7)
    assert message in str(caught.value)
