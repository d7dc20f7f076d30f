"""HDF5 files of strangers: links, data in other files, and more data than the memory holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.support.hdf5_damage import hdf5_files
from trocar.errors import TrocarError
from trocar_learning.episodes import load_episodes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two episodes with pictures in a file without checksums."""
    (path := tmp_path / "demonstrations.hdf5").write_bytes(hdf5_files()[1])
    return path


def put_external(group: h5py.Group, secret: Path) -> None:
    group.create_dataset("position", (3, 7), "f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def put_virtual(group: h5py.Group, secret: Path) -> None:
    layout = h5py.VirtualLayout((3, 7), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "data/demo_1/obs/position", (3, 7))
    group.create_virtual_dataset("position", layout)


def put_link(group: h5py.Group, secret: Path) -> None:
    group["position"] = h5py.ExternalLink(str(secret), "data/demo_1/obs/position")


@pytest.mark.parametrize(
    ("put", "message"),
    [
        (put_external, "obs/position has its data in other files"),
        (put_virtual, "obs/position has its data in other files"),
        (put_link, "obs/position is a link to another place"),
    ],
)
def test_data_in_other_files_are_refused(path, put, message):
    secret = shutil.copy(path, path.with_name("secret.hdf5"))
    with h5py.File(path, "r+") as file:
        obs = file["data/demo_0/obs"]
        del obs["position"]
        put(obs, Path(secret))
    episodes = load_episodes(path)
    with pytest.raises(TrocarError, match=message):
        episodes[0]
    assert len(episodes[1].recording.t) == 3


def test_an_episode_beyond_the_memory_is_refused_before_it_is_read(path):
    with h5py.File(path, "r+") as file:
        file["data/demo_0/obs"].create_dataset("large", (10**13, 7), "f8", chunks=(1000, 7))
    with pytest.raises(TrocarError, match=r"demo_0 needs .* of memory; this machine has"):
        load_episodes(path)[0]


def test_a_file_that_is_no_hdf5_is_one_line(path):
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(TrocarError, match=r"is no HDF5 file of robomimic, or a damaged one: .*truncated") as caught:
        load_episodes(path)
    assert "\n" not in str(caught.value)


def test_pictures_of_a_file_are_read(path):
    episode = load_episodes(path)[1]
    assert episode.images("eye").shape == (3, 8, 8, 3)
    assert np.isfinite(episode.recording.q).all()
