"""The peg transfer of the ICRA 2026 competition "AI for Robotic Surgery": its scene and its rules.

`contest_scene` builds the scene with the board at a drawn pose; `Referee` counts points in any simulation of it, of an
environment, a live robot or a script.
"""

from trocar_learning.contest.peg_board import ContestSetting, contest_scene, draw_setting, seeded_setting
from trocar_learning.contest.referee import DURATION, PlacedPeg, Referee, Score

__all__ = [
    "DURATION",
    "ContestSetting",
    "PlacedPeg",
    "Referee",
    "Score",
    "contest_scene",
    "draw_setting",
    "seeded_setting",
]
