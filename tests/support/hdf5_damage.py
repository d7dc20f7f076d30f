"""HDF5 files of robomimic with random damage to data sets, attributes and links."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np

import trocar_learning as tl
from tests.support.file_mutations import damaged_tree
from tests.support.small_episodes import drawn_data_set

KINDS = ("f4", "f8", "f2", "i1", "u8", "c16", "S3", "b1")


@cache
def hdf5_files() -> list[bytes]:
    """Two episodes as trocar writes them, and as older libraries do: without checksums, with compressed pictures."""
    with TemporaryDirectory() as folder:
        new, old = drawn_data_set(Path(folder) / "set", "robomimic") / "demonstrations.hdf5", io.BytesIO()
        with h5py.File(new) as source, h5py.File(old, "w", libver="earliest") as target:
            source.copy("data", target)
            for demo in target["data"].values():
                images = np.zeros((3, 8, 8, 3), dtype=np.uint8)
                demo["obs"].create_dataset("eye", data=images, compression="gzip", chunks=(1, 8, 8, 3))
        return [new.read_bytes(), old.getvalue()]


def read_hdf5(path: Path) -> None:
    """Read all episodes and their pictures."""
    for episode in tl.load_episodes(path):
        for name in episode.pictures:
            assert episode.images(name).dtype == np.uint8


def hdf5_damage(content: bytes, random: np.random.Generator) -> bytes:
    """A sound file with other data sets, attributes and links; damaged bytes could crash the HDF5 library."""
    buffer = io.BytesIO(content)
    with h5py.File(buffer, "r+") as file:
        demo = file["data"][f"demo_{random.integers(2)}"]
        parent = (file, file["data"], demo, demo["obs"], demo["obs"], demo["obs"])[random.integers(6)]
        name = str(random.choice(list(parent)))
        what = int(random.integers(8))
        if what == 0:
            _change_attribute(demo, random)
        elif what == 1:
            parent[str(random.choice(["x", "a\nb", "é" * 300, "demo_9", "position"])) + "'"] = parent[name]
            del parent[name]
        else:
            del parent[name]
        if what > 2:
            _put(parent, name, what, random)
    return buffer.getvalue()


def _change_attribute(demo: Any, random: np.random.Generator) -> None:
    name = str(random.choice(["about", "features", "fps", "instruction"]))
    if name in ("about", "features") and random.integers(2):
        demo.attrs[name] = json.dumps(damaged_tree(json.loads(demo.attrs[name]), random))
    else:
        odd = (np.nan, -1.0, 0, "x", b"\xff", "[" * 5000, np.zeros(3), h5py.Empty("f8"), np.array([b"x"]), 1j)
        demo.attrs[name] = odd[random.integers(len(odd))]


def _put(parent: Any, name: str, what: int, random: np.random.Generator) -> None:
    """Something else under a name: another array, a huge or compressed one, data elsewhere, a link."""
    if what == 3:
        shape = ((), (0,), (3,), (3, 7), (2, 7), (3, 7, 1), (3, 2, 2, 3), (3, 1, 1, 1, 1))[random.integers(8)]
        parent[name] = np.full(shape, random.integers(2)).astype(str(random.choice(KINDS)))
    elif what == 4:
        parent.create_dataset(name, (10 ** int(random.integers(3, 16)), 7), "f8", chunks=(1000, 7))
    elif what == 5:
        layout = h5py.VirtualLayout((3, 7), "f8")
        layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3, 7))
        parent.create_virtual_dataset(name, layout)
    elif what == 6:
        parent.create_dataset(name, (3, 7), "f8", external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])
    else:
        links = h5py.SoftLink("/data"), h5py.ExternalLink("/etc/passwd", "/"), parent.file["/"], parent.file
        parent[name] = links[random.integers(len(links))]
