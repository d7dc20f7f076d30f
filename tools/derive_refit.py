"""Identifies the refitted sets from the published recordings: `python -m tools.derive_refit PSM|MTM DATA FILE`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from trocar.files import write_whole
from trocar.identification.identified_file import identified_text
from trocar.identification.pipeline import Identified, identify
from trocar.recording import load_recording

NAME = "wang2019_refit"
ARMS = {"PSM": "PSM", "MTM": "MTMR"}  # arm that each family is identified as
RECORDING = "dvrk_dynamics_identification/{}/measured_trajectory/one_results.csv"


def refit(family: str, data: Path, cross_validate: bool = True) -> Identified:
    """The arm identified from recording 'one' of Wang et al. in the data folder, by its recipe."""
    arm = ARMS[family]
    recording = load_recording(data / RECORDING.format(family.lower()), arm, as_recorded=True)
    identified = identify(recording, arm, cross_validate=cross_validate)
    return replace(identified, parameters=replace(identified.parameters, name=NAME))


def text(family: str, identified: Identified) -> str:
    """The parameter file."""
    return identified_text(identified, f"{family.lower()}/measured_trajectory/one_results.csv of Wang et al. 2019")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ARMS:
        sys.exit("usage: python -m tools.derive_refit PSM|MTM DATA FILE")
    print(write_whole(Path(sys.argv[3]), text(sys.argv[1], refit(sys.argv[1], Path(sys.argv[2])))))
