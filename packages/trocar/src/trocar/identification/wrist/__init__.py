"""Identification of the cables of a wrist: from commanded joints and seen joints or poses to `WristCables`."""

from trocar.identification.wrist.fit import IdentifiedWrist, identify_wrist
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.identification.wrist.motion_files import load_motion
from trocar.identification.wrist.pose_identification import (
    PoseIdentifiedWrist,
    PoseScore,
    identify_wrist_from_poses,
    pose_score,
)
from trocar.identification.wrist.pose_pairs import PosePairs
from trocar.identification.wrist.scores import WristScore, held_out_scores, score

__all__ = [
    "IdentifiedWrist",
    "JointPairs",
    "PoseIdentifiedWrist",
    "PosePairs",
    "PoseScore",
    "WristScore",
    "held_out_scores",
    "identify_wrist",
    "identify_wrist_from_poses",
    "load_motion",
    "pose_score",
    "score",
]
