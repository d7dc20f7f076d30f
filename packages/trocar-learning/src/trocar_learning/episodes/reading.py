"""Loading episodes of any format that is understood."""

from __future__ import annotations

import os
from pathlib import Path

from trocar.errors import TrocarError, check_type
from trocar_learning.episodes.lerobot_reading import load_lerobot
from trocar_learning.episodes.loaded import EpisodeSet
from trocar_learning.episodes.other_reading import is_jigsaws, load_jigsaws, load_npz, set_splits
from trocar_learning.episodes.robomimic import FILE as HDF5
from trocar_learning.episodes.robomimic_reading import load_robomimic
from trocar_learning.episodes.staging import STAGING

HDF5_SUFFIXES = (".hdf5", ".h5")
READABLE = (
    "a LeRobot folder (v2.0, v2.1 or v3.0), a .hdf5 file of robomimic, a folder of trocar's .npz episodes, or a "
    "kinematics file or folder of JIGSAWS"
)


def load_episodes(path: str | os.PathLike[str]) -> EpisodeSet:
    """Load the episodes of a data set; each gives a `Recording` per arm.

    Reads what `trocar record` writes (LeRobot v3.0 and v2.1, robomimic, npz), Open-H's data sets, jhu-dvrk's recordings
    in LeRobot v3.0 (topics such as PSM1/measured_js as features) and the kinematics files of JIGSAWS. Data sets
    with tip poses only give recordings of the tip (tip_x, tip_y, tip_z, jaw); `episodes.with_joints` adds the joints.
    """
    check_type("path", path, (str, os.PathLike), "the path of a data set")
    place = Path(path)
    if "\0" in str(place) or not os.path.exists(place):
        raise TrocarError(f"the data set {place} does not exist")
    if place.is_file():
        if place.suffix.lower() in HDF5_SUFFIXES:
            return load_robomimic(place, set_splits(place.parent))
        if place.suffix.lower() == ".txt" and is_jigsaws(place):
            return load_jigsaws([place], place)
    elif place.is_dir():
        if (place / "meta" / "info.json").is_file():
            return load_lerobot(place)
        if (place / STAGING).is_dir():
            raise TrocarError(f"{place} holds an unfinished recording; run trocar record with the same options again")
        if (place / HDF5).is_file():
            return load_robomimic(place / HDF5, set_splits(place))
        if any(place.glob("episode_*.npz")):
            return load_npz(place)
        trials = [path for path in sorted(place.glob("**/*.txt")) if is_jigsaws(path)]
        if trials:
            return load_jigsaws(trials, place)
    raise TrocarError(f"{place} holds no episodes; readable are {READABLE}")
