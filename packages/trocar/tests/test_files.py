"""A file is written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from trocar.files import write_whole


@pytest.mark.parametrize(("data", "content"), [("12 µm\n", "12 µm\n".encode()), (b"\x00\r\n", b"\x00\r\n")])
def test_data_arrive_unchanged_in_a_new_folder(tmp_path: Path, data: str | bytes, content: bytes) -> None:
    path = write_whole(tmp_path / "a" / "b" / "file", data)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["file"]


def test_a_file_is_replaced_and_gets_the_usual_permissions(tmp_path: Path) -> None:
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    plain.write_text("x")
    whole.write_text("a longer text that was here before")
    write_whole(whole, "new")
    assert whole.read_text() == "new"
    write_whole(tmp_path / "fresh", "new")
    assert (tmp_path / "fresh").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failure_keeps_the_old_content_and_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", "x")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_symbolic_link_is_kept(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "x"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_whole, args=(pipe, "x"), daemon=True)
    writer.start()
    assert pipe.read_text() == "x"
    writer.join()
    assert pipe.is_fifo()
