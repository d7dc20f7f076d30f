"""Episodes as .npz files of NumPy, one per episode."""

from __future__ import annotations

from trocar.files import read_whole, write_whole
from trocar_learning.episodes.data_set import DataSet

FILE = "episode_{number:06d}.npz"
MAX_EPISODE = 2**32  # size of a file [bytes]


def write(data: DataSet) -> None:
    """Write all files."""
    for number, outcome in enumerate(data.outcomes):
        content = read_whole(data.staging.episode_file(outcome.index), "episode", MAX_EPISODE)
        write_whole(data.folder / FILE.format(number=number), content)
