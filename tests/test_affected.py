"""Test folders that a change reaches, for `make quick`."""

from __future__ import annotations

from tools.affected import folders, module_of

TROCAR, LEARNING = "packages/trocar/src/trocar", "packages/trocar-learning/src/trocar_learning"


def test_a_change_reaches_the_rooms_that_import_it():
    reached = set(folders([f"{TROCAR}/view/overlays.py"]))
    assert {"packages/trocar/tests/view", "packages/trocar/tests/commands"} <= reached
    assert not {"packages/trocar/tests", "packages/trocar/tests/mechanics", "packages/trocar/tests/robot"} & reached


def test_learning_reaches_no_room_of_the_robot():
    reached = folders([f"{LEARNING}/envs/actions.py"])
    assert reached
    assert all(folder.startswith("packages/trocar-learning/") for folder in reached)


def test_data_belong_to_their_room_and_other_files_reach_all():
    assert module_of(f"{TROCAR}/arms/data/psm.toml") == "trocar.arms.data"
    assert "packages/trocar/tests/arms" in folders([f"{TROCAR}/arms/data/psm.toml"])
    assert folders(["conftest.py"]) == ["packages", "tests"]
    assert folders(["docs/index.md"]) == []
    assert folders(["packages/trocar/tests/arms/test_psm.py"]) == ["packages/trocar/tests/arms"]
