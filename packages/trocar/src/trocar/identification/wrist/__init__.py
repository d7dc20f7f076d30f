"""Identification of the cables of a wrist: from commanded and seen joints to `WristCables` with intervals."""

from trocar.identification.wrist.fit import IdentifiedWrist, identify_wrist
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.identification.wrist.scores import WristScore, held_out_scores, score

__all__ = ["IdentifiedWrist", "JointPairs", "WristScore", "held_out_scores", "identify_wrist", "score"]
