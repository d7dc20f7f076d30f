"""Damaged .npz files, as recordings and as episodes: also entries that share bytes, state other sizes or are bombs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.file_doors import Door, check_damaged, check_sound, episode_door, numbers

DOORS = {
    "recording as npz": Door(".npz", list, numbers),
    "episode as npz": episode_door("npz", "episode_000000.npz", count=1),
}


@pytest.mark.parametrize("name", DOORS)
def test_a_damaged_archive_gives_a_result_or_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    check_damaged(DOORS[name], name, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", DOORS)
def test_the_sound_archives_are_read(tmp_path: Path, name: str) -> None:
    check_sound(DOORS[name], tmp_path)
