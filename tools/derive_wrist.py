"""Identifies the built-in wrist cables from published joints: `python -m tools.derive_wrist DATA FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from trocar.arms.wrist_cables import WristCables, wrist_text
from trocar.files import write_whole
from trocar.identification.wrist import JointPairs, identify_wrist
from trocar.mechanics import load_mechanism

NAME = "hwang2020"
FOLDER = Path("dvrkCalibration/experiment")
MOTIONS = (*(f"2_error_identification/exp{k}" for k in range(1, 6)), "3_training/random/unfiltered")
SOURCE = (
    "identified from the joints of a Classic PSM with a large needle driver, published by Hwang et al. 2020 "
    "(github BerkeleyAutomation/dvrkCalibration); scale of stiffness and friction by Wang et al. 2019"
)
COMMENTS = (
    "Cables of the wrist of one instrument. SI units, radians; roll, wrist pitch, wrist yaw.",
    "",
    "Derived by `python -m tools.derive_wrist DATA FILE` (see docs/wrist.md). Positions fix friction over stiffness",
    "only: their common scale, and that of roll, is that of the friction of the set wang2019.",
    "The covariance is that of `numbers` of trocar.arms.wrist_cables: of one instrument, with correlated residuals.",
)


def motions(data: Path) -> list[JointPairs]:
    """The published motions of the data folder."""
    return [JointPairs.load(data / FOLDER / name) for name in MOTIONS]


def derived(data: Path) -> WristCables:
    """The cables identified from all motions."""
    return identify_wrist(motions(data), load_mechanism("PSM"), NAME, SOURCE, folds=0).cables


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tools.derive_wrist DATA FILE")
    print(write_whole(Path(sys.argv[2]), wrist_text(derived(Path(sys.argv[1])), COMMENTS)))
